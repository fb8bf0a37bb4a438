// The smallest driver that pends: it holds one request, which can be cancelled.
#pragma once

#include "ours_stack.hpp"

namespace irpverbs::bench {

struct parking_place {
    PIRP parked = nullptr;

    // Completes the parked request unless its canceller was faster; tells whether one was parked.
    bool release() {
        PIRP irp = parked;
        parked = nullptr;
        if (irp == nullptr) return false;
        if (IoSetCancelRoutine(irp, nullptr) != nullptr) complete(irp, STATUS_SUCCESS, answer);
        return true;
    }
};

// Dispatch routine; the stack's context is a parking_place.
NTSTATUS park(PDEVICE_OBJECT device, PIRP irp);

} // namespace irpverbs::bench
