// RTL_RUN_ONCE.Ptr has the stage in its low two bits; above them the waiting threads while a thread
// initializes, and the context when that is done.
#include "standard.hpp"

#include <windows/wdk/executive.h>
#include <windows/wdk/rtl.h>
#include <windows/wdk/status_codes.h>

namespace {

enum class stage : ULONG_PTR { unbegun, running, done, shared };
constexpr ULONG_PTR stage_mask = 3;

struct waiting_thread {
    waiting_thread* next;
    KEVENT ended;
};

stage stage_of(PVOID value) {
    return static_cast<stage>(reinterpret_cast<ULONG_PTR>(value) & stage_mask);
}
PVOID payload_of(PVOID value) {
    return reinterpret_cast<PVOID>(reinterpret_cast<ULONG_PTR>(value) & ~stage_mask);
}
PVOID combined(PVOID payload, stage at) {
    return reinterpret_cast<PVOID>(reinterpret_cast<ULONG_PTR>(payload) |
                                   static_cast<ULONG_PTR>(at));
}

bool change(RTL_RUN_ONCE& once, PVOID from, PVOID to) {
    return InterlockedCompareExchangePointer(&once.Ptr, to, from) == from;
}

PVOID value_of(RTL_RUN_ONCE& once) {
    return InterlockedCompareExchangePointer(&once.Ptr, nullptr, nullptr);
}

// Waits for the end of the initialization that `seen` shows, unless it has ended already.
void wait_for_end(RTL_RUN_ONCE& once, PVOID seen) {
    waiting_thread self{static_cast<waiting_thread*>(payload_of(seen)), {}};
    KeInitializeEvent(&self.ended, NotificationEvent, FALSE);
    if (change(once, seen, combined(&self, stage::running)))
        KeWaitForSingleObject(&self.ended, Executive, KernelMode, FALSE, nullptr);
}

// Ends the calling thread's initialization. The waiting threads look again.
void end(RTL_RUN_ONCE& once, PVOID value) {
    PVOID const before = InterlockedExchangePointer(&once.Ptr, value);
    auto* each = static_cast<waiting_thread*>(payload_of(before));
    while (each != nullptr) {
        waiting_thread* const next = each->next; // a thread that goes on takes its memory with it
        KeSetEvent(&each->ended, IO_NO_INCREMENT, FALSE);
        each = next;
    }
}

// STATUS_SUCCESS: it is done, and *value has the context. STATUS_PENDING: the caller initializes.
NTSTATUS begin(RTL_RUN_ONCE& once, stage how, PVOID* value) {
    while (true) {
        *value = value_of(once);
        const stage seen = stage_of(*value);
        if (seen == stage::done) return STATUS_SUCCESS;
        if (seen == stage::unbegun) {
            if (change(once, *value, combined(nullptr, how))) return STATUS_PENDING;
        } else if (seen != how) {
            return STATUS_INVALID_PARAMETER;
        } else if (how == stage::shared) {
            return STATUS_PENDING;
        } else {
            wait_for_end(once, *value);
        }
    }
}

NTSTATUS end_shared(RTL_RUN_ONCE& once, PVOID context) {
    if (change(once, combined(nullptr, stage::shared), combined(context, stage::done)))
        return STATUS_SUCCESS;
    return stage_of(value_of(once)) == stage::done ? STATUS_OBJECT_NAME_COLLISION
                                                   : STATUS_UNSUCCESSFUL;
}

} // namespace

extern "C" {

void RtlRunOnceInitialize(PRTL_RUN_ONCE RunOnce) noexcept { RunOnce->Ptr = nullptr; }

NTSTATUS RtlRunOnceBeginInitialize(PRTL_RUN_ONCE RunOnce, ULONG Flags, PVOID* Context) {
    if ((Flags & ~(RTL_RUN_ONCE_CHECK_ONLY | RTL_RUN_ONCE_ASYNC)) != 0)
        return STATUS_INVALID_PARAMETER;
    PVOID value = nullptr;
    NTSTATUS status = STATUS_SUCCESS;
    if ((Flags & RTL_RUN_ONCE_CHECK_ONLY) != 0) {
        value = value_of(*RunOnce);
        if (stage_of(value) != stage::done) status = STATUS_UNSUCCESSFUL;
    } else {
        const bool is_shared = (Flags & RTL_RUN_ONCE_ASYNC) != 0;
        status = begin(*RunOnce, is_shared ? stage::shared : stage::running, &value);
    }
    if (status == STATUS_SUCCESS && Context != nullptr) *Context = payload_of(value);
    return status;
}

NTSTATUS RtlRunOnceComplete(PRTL_RUN_ONCE RunOnce, ULONG Flags, PVOID Context) {
    const bool failed = (Flags & RTL_RUN_ONCE_INIT_FAILED) != 0;
    if (payload_of(Context) != Context || (failed && Context != nullptr))
        return STATUS_INVALID_PARAMETER;
    if (Flags == RTL_RUN_ONCE_ASYNC) return end_shared(*RunOnce, Context);
    if ((Flags & ~RTL_RUN_ONCE_INIT_FAILED) != 0) return STATUS_INVALID_PARAMETER;
    if (stage_of(value_of(*RunOnce)) != stage::running) return STATUS_UNSUCCESSFUL;
    end(*RunOnce, failed ? nullptr : combined(Context, stage::done));
    return STATUS_SUCCESS;
}

NTSTATUS RtlRunOnceExecuteOnce(PRTL_RUN_ONCE RunOnce, PRTL_RUN_ONCE_INIT_FN InitFn, PVOID Parameter,
                               PVOID* Context) {
    NTSTATUS status = RtlRunOnceBeginInitialize(RunOnce, 0, Context);
    if (status != STATUS_PENDING) return status;
    PVOID made = nullptr;
    if (InitFn(RunOnce, Parameter, &made) == 0) {
        RtlRunOnceComplete(RunOnce, RTL_RUN_ONCE_INIT_FAILED, nullptr);
        return STATUS_UNSUCCESSFUL;
    }
    status = RtlRunOnceComplete(RunOnce, 0, made);
    if (!NT_SUCCESS(status)) {
        RtlRunOnceComplete(RunOnce, RTL_RUN_ONCE_INIT_FAILED, nullptr);
        return status;
    }
    if (Context != nullptr) *Context = made;
    return STATUS_SUCCESS;
}

} // extern "C"
