// Short forms of calls that tests of the kernel interface use often.
#pragma once

#include <dispatch/ke.h>

namespace irpverbs::testing {

inline constexpr LONGLONG microsecond = 10;
inline constexpr LONGLONG millisecond = 10'000;
inline constexpr LONGLONG second = 10'000'000;

inline LARGE_INTEGER from_now(LONGLONG ticks) {
    LARGE_INTEGER due;
    due.QuadPart = -ticks;
    return due;
}

inline LARGE_INTEGER system_time() {
    LARGE_INTEGER now;
    KeQuerySystemTime(&now);
    return now;
}

/// Waits without a timeout.
inline NTSTATUS wait(PVOID object) {
    return KeWaitForSingleObject(object, Executive, KernelMode, FALSE, nullptr);
}

inline NTSTATUS wait_at_most(PVOID object, LONGLONG ticks) {
    LARGE_INTEGER timeout = from_now(ticks);
    return KeWaitForSingleObject(object, Executive, KernelMode, FALSE, &timeout);
}

/// Waits with a timeout of zero: acquires the object if it is signalled now.
inline NTSTATUS try_wait(PVOID object) { return wait_at_most(object, 0); }

inline NTSTATUS delay(LONGLONG ticks) {
    LARGE_INTEGER interval = from_now(ticks);
    return KeDelayExecutionThread(KernelMode, FALSE, &interval);
}

inline void set(KEVENT& event) { KeSetEvent(&event, IO_NO_INCREMENT, FALSE); }

struct event : KEVENT {
    explicit event(EVENT_TYPE type = NotificationEvent, bool state = false) {
        KeInitializeEvent(this, type, state ? TRUE : FALSE);
    }
};

/// Records the circumstances of its last run; `then`, if set, is called last.
struct counted_dpc : KDPC {
    int runs = 0;
    KIRQL irql = HIGH_LEVEL;
    ULONG processor = ~0u;
    PVOID argument1 = nullptr;
    PVOID argument2 = nullptr;
    void (*then)(counted_dpc&) = nullptr;

    counted_dpc() { KeInitializeDpc(this, note, this); }
    static void note(KDPC*, PVOID context, PVOID first, PVOID last) {
        auto& self = *static_cast<counted_dpc*>(context);
        ++self.runs;
        self.irql = KeGetCurrentIrql();
        self.processor = KeGetCurrentProcessorNumber();
        self.argument1 = first;
        self.argument2 = last;
        if (self.then != nullptr) self.then(self);
    }
};

/// Sets `done` at each run from run number `wanted` on.
struct signaling_dpc : counted_dpc {
    event done;
    int wanted;
    explicit signaling_dpc(int runs_wanted = 1) : wanted(runs_wanted) {
        then = [](counted_dpc& base) {
            auto& self = static_cast<signaling_dpc&>(base);
            if (self.runs >= self.wanted) set(self.done);
        };
    }
};

} // namespace irpverbs::testing
