// Requests that pend in a driver and are completed on the same thread.
#include "measurements.hpp"
#include "ours_pend.hpp"

namespace irpverbs::bench {
namespace {

// Each completion sends the next request, as a coroutine does.
struct chained {
    packet request;
    std::uint64_t left;
    std::uint64_t sum;
};

BENCH_OPAQUE NTSTATUS count_and_send_next(PDEVICE_OBJECT, PIRP irp, PVOID context) {
    auto& chain = *static_cast<chained*>(context);
    chain.sum += irp->IoStatus.Information;
    if (--chain.left != 0) chain.request.send(count_and_send_next, &chain);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

void pend_chain(run& sample) {
    pended_irp place;
    const device_stack stack(pend, 0, &place);
    chained chain{packet(stack.top()), sample.operations(), 0};
    sample.start();
    chain.request.send(count_and_send_next, &chain);
    while (place.release()) {
    }
    sample.stop();
    expect(chain.sum == sample.operations() * result_information, "ours/pend_chain");
}

} // namespace

void add_ours_pended(catalog& all) {
    all.add("ours/pend", "pended with a cancel routine, completed, callback", pend<1>);
    all.add("ours/pend_chain", "the same, each callback sends the next", pend_chain);
    all.add("ours/pend_3", "the same through two filters", pend<3>);
}

} // namespace irpverbs::bench
