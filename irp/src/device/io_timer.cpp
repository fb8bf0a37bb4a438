#include "io_timer.hpp"

#include "irql_rules.hpp"
#include "require.hpp"

#include <dispatch/support/faults.hpp>
#include <dispatch/support/locals.hpp>
#include <dispatch/support/object.hpp>
#include <dispatch/support/spin_lock.hpp>
#include <dispatch/timer.h>

#include <new>

using namespace irpverbs::dispatch::detail;

namespace irpverbs::irp {
namespace {

IRPVERBS_REGISTERED_EARLY const machine_local<io_timers> timers_of_machine(0);

constexpr LONG second = 1000; // ms
constexpr LONGLONG ticks_of_ms = 10'000;

_IO_TIMER& timer_of(LIST_ENTRY& entry) { return *CONTAINING_RECORD(&entry, _IO_TIMER, Entry); }

} // namespace

io_timers& io_timers::current() { return timers_of_machine.current(); }

io_timers::io_timers() {
    InitializeListHead(&started_);
    InitializeListHead(&due_);
    KeInitializeTimer(&timer_);
    KeInitializeDpc(&dpc_, tick, this);
}

io_timers::~io_timers() {
    KeCancelTimer(&timer_);
    KeFlushQueuedDpcs();
    for (LIST_ENTRY* list : {&started_, &due_})
        while (!IsListEmpty(list))
            InitializeListHead(RemoveHeadList(list));
}

void io_timers::start(_IO_TIMER& timer) {
    const spin_guard guard(lock_);
    if (!IsListEmpty(&timer.Entry)) return;
    const bool first = IsListEmpty(&started_) && IsListEmpty(&due_);
    InsertTailList(&started_, &timer.Entry);
    if (!first) return;
    LARGE_INTEGER due;
    due.QuadPart = -second * ticks_of_ms;
    KeSetTimerEx(&timer_, due, second, &dpc_);
}

void io_timers::stop(_IO_TIMER& timer) {
    const spin_guard guard(lock_);
    if (IsListEmpty(&timer.Entry)) return;
    RemoveEntryList(&timer.Entry);
    InitializeListHead(&timer.Entry);
    if (IsListEmpty(&started_) && IsListEmpty(&due_)) KeCancelTimer(&timer_);
}

void io_timers::tick(KDPC*, void* self, void*, void*) { static_cast<io_timers*>(self)->call_all(); }

// A copy of the next timer that is due, with a reference to its device.
std::optional<_IO_TIMER> io_timers::take_due() {
    const spin_guard guard(lock_);
    if (IsListEmpty(&due_)) return std::nullopt;
    _IO_TIMER& next = timer_of(*RemoveHeadList(&due_));
    InsertTailList(&started_, &next.Entry);
    reference_object(next.Device->Header);
    return next;
}

// Without lock_ around the routines: they start timers, and acquire locks under which others do.
void io_timers::call_all() {
    {
        const spin_guard guard(lock_);
        while (!IsListEmpty(&started_))
            InsertTailList(&due_, RemoveHeadList(&started_));
    }
    while (const std::optional<_IO_TIMER> timer = take_due()) {
        timer->Routine(timer->Device, timer->Context);
        dereference_object(timer->Device->Header);
    }
}

} // namespace irpverbs::irp

using namespace irpverbs::irp;

extern "C" {

NTSTATUS IoInitializeTimer(PDEVICE_OBJECT DeviceObject, PIO_TIMER_ROUTINE TimerRoutine,
                           PVOID Context) {
    require(DeviceObject, "IoInitializeTimer: the device is NULL");
    VERIFY_IRQL(IoInitializeTimer);
    if (DeviceObject->Timer == nullptr) {
        if (fault_point("irp.io_timer")) return STATUS_INSUFFICIENT_RESOURCES;
        auto* made = new (std::nothrow) _IO_TIMER{};
        if (made == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
        InitializeListHead(&made->Entry);
        made->Device = DeviceObject;
        DeviceObject->Timer = made;
    }
    io_timers::current().stop(*DeviceObject->Timer);
    DeviceObject->Timer->Routine = TimerRoutine;
    DeviceObject->Timer->Context = Context;
    return STATUS_SUCCESS;
}

void IoStartTimer(PDEVICE_OBJECT DeviceObject) {
    require(DeviceObject, "IoStartTimer: the device is NULL");
    require(DeviceObject->Timer, "IoStartTimer: the device has no timer");
    VERIFY_IRQL(IoStartTimer);
    io_timers::current().start(*DeviceObject->Timer);
}

void IoStopTimer(PDEVICE_OBJECT DeviceObject) {
    require(DeviceObject, "IoStopTimer: the device is NULL");
    require(DeviceObject->Timer, "IoStopTimer: the device has no timer");
    VERIFY_IRQL(IoStopTimer);
    io_timers::current().stop(*DeviceObject->Timer);
}

} // extern "C"
