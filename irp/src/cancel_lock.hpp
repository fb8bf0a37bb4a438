// The cancel spin lock, one a machine, and the exchange that decides who completes an IRP.
#pragma once

#include <dispatch/detail/spin_lock.hpp>
#include <dispatch/machine.hpp>
#include <irp/irp.h>

namespace irpverbs::irp {

inline KSPIN_LOCK& cancel_lock_of(const dispatch::detail::processor& self) {
    return self.owner->system_lock;
}

/// False, and nothing is done, when somebody holds it.
inline bool try_acquire_cancel_lock(dispatch::detail::processor& self, KIRQL& old) {
    return dispatch::detail::try_acquire_raising(self, cancel_lock_of(self), old);
}

/// False, and nothing is done, when there is more to it: DPCs to run, or a misuse to report.
inline bool try_release_cancel_lock(dispatch::detail::processor& self, KIRQL level) {
    return dispatch::detail::try_release_lowering(self, cancel_lock_of(self), level);
}

/// A caller that gets a routine back owns the completion.
inline PDRIVER_CANCEL exchange_routine(IRP* irp, PDRIVER_CANCEL routine) {
    return __atomic_exchange_n(&irp->CancelRoutine, routine, __ATOMIC_SEQ_CST);
}

// Against each other stand "set the routine, look at Cancel" and "set Cancel, take the routine":
// one of the two must see what the other has set. Where a locked instruction follows that is a
// barrier to everything (x86), a plain store will do.
#if defined(__x86_64__)
inline constexpr bool locked_instruction_is_barrier = true;
#else
inline constexpr bool locked_instruction_is_barrier = false;
#endif

/// Cancel, before exchange_routine.
inline void store_cancel(IRP* irp) {
    if constexpr (locked_instruction_is_barrier)
        __atomic_store_n(&irp->Cancel, BOOLEAN{TRUE}, __ATOMIC_RELEASE);
    else
        __atomic_store_n(&irp->Cancel, BOOLEAN{TRUE}, __ATOMIC_SEQ_CST);
}

/// The routine, before a lock is taken under which Cancel is looked at.
inline void store_routine_before_lock(IRP* irp, PDRIVER_CANCEL routine) {
    __atomic_store_n(&irp->CancelRoutine, routine, __ATOMIC_RELEASE);
    if constexpr (locked_instruction_is_barrier)
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    else
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

} // namespace irpverbs::irp
