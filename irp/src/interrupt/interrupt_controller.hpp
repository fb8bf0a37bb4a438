// The machine's interrupt controller: which service routines are connected to which vector.
#pragma once

#include <irp/interrupt.h>

#include <dispatch/rundown.h>
#include <dispatch/support/scheduled_spin.hpp>

#include <memory>
#include <optional>
#include <vector>

// Windows' opaque structure.
struct _KINTERRUPT {
    PKSERVICE_ROUTINE routine;
    void* context;
    KSPIN_LOCK* lock; // null: own_lock
    ULONG vector;
    KIRQL synchronize_irql;
    KINTERRUPT_MODE mode;
    bool shared;
    KSPIN_LOCK own_lock = 0;
    EX_RUNDOWN_REF calls{};
};

namespace irpverbs::irp {

/// Distinct threads may call all members but the destructor; they may throw std::bad_alloc. IRQL:
/// <= DISPATCH_LEVEL.
class interrupt_controller {
public:
    using reference = std::shared_ptr<KINTERRUPT>;

    static interrupt_controller& current();

    /// False: the vector is not shared by all.
    bool connect(reference made);
    /// Null: it is not connected.
    reference disconnect(const KINTERRUPT* interrupt);
    std::vector<reference> connected_to(ULONG vector);

private:
    dispatch::detail::scheduled_spin lock_;
    std::vector<reference> connected_; // guarded by lock_
};

/// The line of a device of a bus.
struct interrupt_line {
    ULONG vector;
    KIRQL irql;
};
/// Returns the line of the device with that number.
interrupt_line line_of(unsigned device);

} // namespace irpverbs::irp
