#include "straight_through.hpp"

namespace irpverbs::hca_software::transport {

// For surroundings of any types.
template class straight_through<memory_access, queue_pair_owner>;

} // namespace irpverbs::hca_software::transport
