// The timers of a machine's devices, which are called one after the other by one KTIMER.
#pragma once

#include <irp/io_timer.h>

#include <optional>

struct _IO_TIMER {
    LIST_ENTRY Entry; // of io_timers; empty: the timer is stopped
    PIO_TIMER_ROUTINE Routine;
    PVOID Context;
    PDEVICE_OBJECT Device;
};

namespace irpverbs::irp {

class io_timers {
public:
    io_timers();
    ~io_timers();

    /// The timers of the calling thread's machine.
    static io_timers& current();

    /// IRQL: <= DISPATCH_LEVEL.
    void start(_IO_TIMER& timer);
    void stop(_IO_TIMER& timer);

private:
    static void tick(KDPC* dpc, void* self, void* ignored, void* also_ignored);
    void call_all();
    std::optional<_IO_TIMER> take_due();

    KSPIN_LOCK lock_ = 0;
    LIST_ENTRY started_; // guarded by lock_, as the one below
    LIST_ENTRY due_;     // those that a tick has not called yet
    KTIMER timer_{};
    KDPC dpc_{};
};

} // namespace irpverbs::irp
