#include "straight_through.hpp"

namespace irpverbs::hca_software::transport {

template class straight_through<straight_end>;

} // namespace irpverbs::hca_software::transport
