// The smallest driver that pends: it holds one cancellable request.
#pragma once

#include "measurements.hpp"
#include "ours_stack.hpp"

namespace irpverbs::bench {

struct pended_irp {
    PIRP pended = nullptr;

    // Completes the pended request unless it is being cancelled; returns whether there was one.
    bool release() {
        PIRP irp = pended;
        pended = nullptr;
        if (irp == nullptr) return false;
        if (IoSetCancelRoutine(irp, nullptr) != nullptr)
            complete(irp, STATUS_SUCCESS, result_information);
        return true;
    }
};

// Dispatch routine; the stack's context is a pended_irp.
NTSTATUS pend(PDEVICE_OBJECT device, PIRP irp);

/// Measures a request that passes `Levels` drivers, pends in the last and is completed there.
template <int Levels>
void pend(run& sample) {
    pended_irp place;
    const device_stack stack(pend, Levels - 1, &place);
    packet request(stack.top());
    std::uint64_t sum = 0;
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i) {
        request.send(count_and_keep, &sum);
        place.release();
    }
    sample.stop();
    expect(sum == operations * result_information, "ours/pend");
}

} // namespace irpverbs::bench
