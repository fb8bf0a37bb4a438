// The cancel spin lock, one per machine, and the exchange that decides which thread completes an
// IRP.
#pragma once

#include <dispatch/machine.hpp>
#include <dispatch/support/spin_lock.hpp>
#include <irp/irp.h>

namespace irpverbs::irp {

inline KSPIN_LOCK& cancel_lock_of(const dispatch::detail::processor& self) {
    return self.owner->cancel_spin_lock;
}

/// Returns false without effect if the lock is held.
inline bool try_acquire_cancel_lock(dispatch::detail::processor& self, KIRQL& old) {
    return dispatch::detail::try_acquire_raising(self, cancel_lock_of(self), old);
}

/// Returns false without effect if the release needs more work: DPCs to run, or a misuse to report.
inline bool try_release_cancel_lock(dispatch::detail::processor& self, KIRQL level) {
    return dispatch::detail::try_release_lowering(self, cancel_lock_of(self), level);
}

/// A caller that receives a routine owns the completion.
inline PDRIVER_CANCEL exchange_routine(IRP* irp, PDRIVER_CANCEL routine) {
    return __atomic_exchange_n(&irp->CancelRoutine, routine, __ATOMIC_SEQ_CST);
}

// Two sequences race: "set the routine, load Cancel" and "set Cancel, take the routine". At least
// one must see the other's store. Where the locked instruction that follows is a full barrier
// (x86), a plain store suffices.
#if defined(__x86_64__)
inline constexpr bool locked_instruction_is_barrier = true;
#else
inline constexpr bool locked_instruction_is_barrier = false;
#endif

/// Sets Cancel, before exchange_routine.
inline void store_cancel(IRP* irp) {
    if constexpr (locked_instruction_is_barrier)
        __atomic_store_n(&irp->Cancel, BOOLEAN{TRUE}, __ATOMIC_RELEASE);
    else
        __atomic_store_n(&irp->Cancel, BOOLEAN{TRUE}, __ATOMIC_SEQ_CST);
}

/// Sets the routine, before the acquisition of the lock under which Cancel is loaded.
inline void store_routine_before_lock(IRP* irp, PDRIVER_CANCEL routine) {
    __atomic_store_n(&irp->CancelRoutine, routine, __ATOMIC_RELEASE);
    if constexpr (locked_instruction_is_barrier)
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    else
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

} // namespace irpverbs::irp
