// Requests that pend in a driver's hands and are completed on the same thread.
#include "measurements.hpp"
#include "ours_park.hpp"
#include "ours_stack.hpp"

namespace irpverbs::bench {
namespace {

template <int Levels>
void pend(run& sample) {
    parking_place place;
    const device_stack stack(park, Levels - 1, &place);
    packet request(stack.top());
    std::uint64_t sum = 0;
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i) {
        request.send(count_and_keep, &sum);
        place.release();
    }
    sample.stop();
    expect(sum == operations * answer, "ours/pend");
}

} // namespace

void add_ours_pended(catalog& all) {
    all.add("ours/pend", "pended with a cancel routine, withdrawn, completed, callback", pend<1>);
    all.add("ours/pend_3", "the same through two filters", pend<3>);
}

} // namespace irpverbs::bench
