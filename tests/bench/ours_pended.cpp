// Requests that pend in a driver's hands and are completed on the same thread.
#include "measurements.hpp"
#include "ours_park.hpp"

namespace irpverbs::bench {
void add_ours_pended(catalog& all) {
    all.add("ours/pend", "pended with a cancel routine, withdrawn, completed, callback", pend<1>);
    all.add("ours/pend_3", "the same through two filters", pend<3>);
}

} // namespace irpverbs::bench
