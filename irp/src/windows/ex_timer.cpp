// EX_TIMER: a KTIMER, for waits, whose DPC calls the driver.
#include "standard.hpp"

#include <dispatch/spin_lock.h>
#include <dispatch/timer.h>
#include <dispatch/work_item.h>
#include <windows/wdk/executive.h>
#include <windows/wdk/memory.h>

struct _EX_TIMER {
    KTIMER timer;
    KDPC dpc;
    PEXT_CALLBACK callback;
    void* context;
    WORK_QUEUE_ITEM end;
    EXT_DELETE_PARAMETERS at_end;
    KSPIN_LOCK lock;
    bool armed;   // a timer without a period is set, and its DPC has not run; under the lock
    bool deleted; // under the lock
};

using EX_TIMER = _EX_TIMER;

namespace {

constexpr ULONG tag = 0x6d695445; // ETim
constexpr LONGLONG ticks_of_ms = 10'000;

/* At PASSIVE_LEVEL: the timer is not set any more, but its DPC may run. */
void release(void* which) {
    KeFlushQueuedDpcs();
    const EXT_DELETE_PARAMETERS at_end = static_cast<EX_TIMER*>(which)->at_end;
    ExFreePoolWithTag(which, tag);
    if (at_end.DeleteCallback != nullptr) at_end.DeleteCallback(at_end.DeleteContext);
}

/* Returns whether the timer was deleted while it was set. */
bool disarm(EX_TIMER& timer) {
    KIRQL level;
    KeAcquireSpinLock(&timer.lock, &level);
    const bool last = timer.armed && timer.deleted;
    timer.armed = false;
    KeReleaseSpinLock(&timer.lock, level);
    return last;
}

void run(PKDPC, PVOID which, PVOID, PVOID) {
    auto& timer = *static_cast<EX_TIMER*>(which);
    const bool last = disarm(timer);
    if (timer.callback != nullptr) timer.callback(&timer, timer.context);
    if (last) ExQueueWorkItem(&timer.end, DelayedWorkQueue);
}

} // namespace

extern "C" {

PEX_TIMER ExAllocateTimer(PEXT_CALLBACK Callback, PVOID CallbackContext, ULONG Attributes) {
    void* const memory = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(EX_TIMER), tag);
    if (memory == nullptr) return nullptr;
    auto* const timer = new (memory) EX_TIMER{};
    KeInitializeTimerEx(&timer->timer, (Attributes & EX_TIMER_NOTIFICATION) != 0
                                           ? NotificationTimer
                                           : SynchronizationTimer);
    KeInitializeDpc(&timer->dpc, run, timer);
    ExInitializeWorkItem(&timer->end, release, timer);
    timer->callback = Callback;
    timer->context = CallbackContext;
    return timer;
}

BOOLEAN ExSetTimer(PEX_TIMER Timer, LONGLONG DueTime, LONGLONG Period, PEXT_SET_PARAMETERS) {
    KIRQL level;
    KeAcquireSpinLock(&Timer->lock, &level);
    Timer->armed = Period == 0;
    KeReleaseSpinLock(&Timer->lock, level);
    LARGE_INTEGER due;
    due.QuadPart = DueTime;
    const auto period = static_cast<LONG>((Period + ticks_of_ms - 1) / ticks_of_ms);
    return KeSetTimerEx(&Timer->timer, due, period, &Timer->dpc);
}

BOOLEAN ExCancelTimer(PEX_TIMER Timer, PVOID) {
    const BOOLEAN cancelled = KeCancelTimer(&Timer->timer);
    if (cancelled) disarm(*Timer);
    return cancelled;
}

BOOLEAN ExDeleteTimer(PEX_TIMER Timer, BOOLEAN Cancel, BOOLEAN Wait,
                      PEXT_DELETE_PARAMETERS Parameters) {
    const BOOLEAN cancelled = Cancel && KeCancelTimer(&Timer->timer);
    if (Cancel) disarm(*Timer);
    if (Parameters != nullptr) Timer->at_end = *Parameters;
    KIRQL level;
    KeAcquireSpinLock(&Timer->lock, &level);
    Timer->deleted = true;
    const bool ends_with_its_dpc = Timer->armed;
    KeReleaseSpinLock(&Timer->lock, level);
    if (Wait)
        release(Timer);
    else if (!ends_with_its_dpc)
        ExQueueWorkItem(&Timer->end, DelayedWorkQueue);
    return cancelled;
}

BOOLEAN KeSetCoalescableTimer(PKTIMER Timer, LARGE_INTEGER DueTime, ULONG Period, ULONG,
                              PKDPC Dpc) {
    return KeSetTimerEx(Timer, DueTime, static_cast<LONG>(Period), Dpc);
}

} // extern "C"
