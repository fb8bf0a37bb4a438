#include "irql_rules.hpp"
#include "require.hpp"
#include "verify/hooks.hpp"

#include <irp/start_io.h>

#include <dispatch/interlocked.h>
#include <dispatch/testing/probe.hpp>

using namespace irpverbs::dispatch::detail;

namespace {

// DEVICE_OBJECT.StartIoFlags
constexpr UCHAR one_call_at_a_time = 1;
constexpr UCHAR not_cancelable = 2;

// DEVICE_OBJECT.StartIoNext: how to start the next IRP; 0: do not start one.
constexpr UCHAR next_wanted = 1;
constexpr UCHAR next_cancelable = 2;
constexpr UCHAR next_by_key = 4;

IRP* irp_of(KDEVICE_QUEUE_ENTRY* entry) {
    return entry == nullptr ? nullptr
                            : CONTAINING_RECORD(entry, IRP, Tail.Overlay.DeviceQueueEntry);
}

bool is_deferred(const DEVICE_OBJECT* device) {
    return (device->StartIoFlags & one_call_at_a_time) != 0;
}

void call_driver(DEVICE_OBJECT* device, IRP* irp) {
    if (instrumented()) return irpverbs::irp::verify::call_start_io(device, irp);
    device->DriverObject->DriverStartIo(device, irp);
}

// The cancel spin lock is held: it guards the cancel routine of the IRP that begins.
void make_current(DEVICE_OBJECT* device, IRP* irp) {
    __atomic_store_n(&device->CurrentIrp, irp, __ATOMIC_RELEASE);
    if ((device->StartIoFlags & not_cancelable) != 0) IoSetCancelRoutine(irp, nullptr);
}

IRP* remove_next(DEVICE_OBJECT* device, UCHAR how, ULONG key) {
    sched_point(point::interlocked, device); // others may have read CurrentIrp
    __atomic_store_n(&device->CurrentIrp, nullptr, __ATOMIC_RELEASE);
    IRP* next =
        irp_of((how & next_by_key) != 0 ? KeRemoveByKeyDeviceQueue(&device->DeviceQueue, key)
                                        : KeRemoveDeviceQueue(&device->DeviceQueue));
    if (next != nullptr) make_current(device, next);
    return next;
}

void start_next(DEVICE_OBJECT* device, UCHAR how, ULONG key) {
    KIRQL level = DISPATCH_LEVEL;
    if ((how & next_cancelable) != 0) IoAcquireCancelSpinLock(&level);
    IRP* next = remove_next(device, how, key);
    if ((how & next_cancelable) != 0) IoReleaseCancelSpinLock(level);
    if (next != nullptr) call_driver(device, next);
}

// The first thread inside serves its own request and those of threads that arrive before it leaves.
void serve_in_turn(DEVICE_OBJECT* device) {
    sched_point(point::interlocked, device);
    if (__atomic_add_fetch(&device->StartIoCount, 1, __ATOMIC_SEQ_CST) != 1) {
        IRPVERBS_PROBE("start_io.left_to_running_call");
        return;
    }
    do {
        if (IRP* irp = __atomic_exchange_n(&device->StartIoWaiting, nullptr, __ATOMIC_ACQ_REL))
            call_driver(device, irp);
        const ULONG key = device->StartIoKey;
        if (const UCHAR how = __atomic_exchange_n(&device->StartIoNext, UCHAR{0}, __ATOMIC_ACQ_REL))
            start_next(device, how, key);
        sched_point(point::interlocked, device);
    } while (__atomic_sub_fetch(&device->StartIoCount, 1, __ATOMIC_SEQ_CST) != 0);
}

void start(DEVICE_OBJECT* device, IRP* irp) {
    if (is_deferred(device))
        serve_in_turn(device);
    else
        call_driver(device, irp);
}

// One IRP at a time is current, so at most one request for the next is outstanding.
void start_next_packet(DEVICE_OBJECT* device, UCHAR how, ULONG key) {
    const KIRQL level = KeRaiseIrqlToDpcLevel(); // the IRQL of DriverStartIo
    if (is_deferred(device)) {
        __atomic_store_n(&device->StartIoKey, key, __ATOMIC_RELAXED);
        __atomic_store_n(&device->StartIoNext, how, __ATOMIC_RELEASE);
        serve_in_turn(device);
    } else {
        start_next(device, how, key);
    }
    KeLowerIrql(level);
}

// True: the IRP waits.
bool queue_or_make_current(DEVICE_OBJECT* device, IRP* irp, const ULONG* key) {
    KDEVICE_QUEUE_ENTRY* entry = &irp->Tail.Overlay.DeviceQueueEntry;
    const BOOLEAN waits = key != nullptr
                              ? KeInsertByKeyDeviceQueue(&device->DeviceQueue, entry, *key)
                              : KeInsertDeviceQueue(&device->DeviceQueue, entry);
    if (waits) return true;
    make_current(device, irp);
    // This precedes any cancellation, whose cancel routine would request the next IRP.
    __atomic_store_n(&device->StartIoWaiting, irp, __ATOMIC_RELEASE);
    return false;
}

// Called with the cancel spin lock held; releases it. No canceller would call the cancel routine of
// an IRP that was cancelled before the routine was set, so it is called here.
void leave_queued(DEVICE_OBJECT* device, IRP* irp, KIRQL level) {
    const PDRIVER_CANCEL routine = irp->Cancel ? IoSetCancelRoutine(irp, nullptr) : nullptr;
    if (routine == nullptr) {
        IoReleaseCancelSpinLock(level);
        return;
    }
    IRPVERBS_PROBE("start_io.cancelled_before_it_waited");
    irp->CancelIrql = level;
    routine(device, irp);
}

void start_cancelable(DEVICE_OBJECT* device, IRP* irp, const ULONG* key, PDRIVER_CANCEL cancel) {
    KIRQL level = DISPATCH_LEVEL;
    IoAcquireCancelSpinLock(&level);
    IoSetCancelRoutine(irp, cancel);
    if (queue_or_make_current(device, irp, key)) {
        leave_queued(device, irp, level);
        return;
    }
    IoReleaseCancelSpinLock(level);
    start(device, irp);
}

} // namespace

extern "C" {

void IoStartPacket(PDEVICE_OBJECT DeviceObject, PIRP Irp, PULONG Key,
                   PDRIVER_CANCEL CancelFunction) {
    irpverbs::irp::require(DeviceObject, "IoStartPacket: the device is NULL");
    VERIFY_IRQL(IoStartPacket);
    irpverbs::irp::require_irp(Irp, "IoStartPacket: the IRP is NULL");
    if (instrumented()) irpverbs::irp::verify::check_use(Irp, "IoStartPacket");
    if (instrumented()) irpverbs::irp::verify::given_to_start_io(DeviceObject, Irp, CancelFunction);
    const KIRQL level = KeRaiseIrqlToDpcLevel();
    if (CancelFunction != nullptr)
        start_cancelable(DeviceObject, Irp, Key, CancelFunction);
    else if (!queue_or_make_current(DeviceObject, Irp, Key))
        start(DeviceObject, Irp);
    KeLowerIrql(level);
}

void IoStartNextPacket(PDEVICE_OBJECT DeviceObject, BOOLEAN Cancelable) {
    irpverbs::irp::require(DeviceObject, "IoStartNextPacket: the device is NULL");
    irpverbs::irp::verify::check_queue_irql(irpverbs::irp::irql_rules::IoStartNextPacket);
    if (instrumented())
        irpverbs::irp::verify::check_start_next(DeviceObject, is_deferred(DeviceObject));
    start_next_packet(DeviceObject, Cancelable ? next_wanted | next_cancelable : next_wanted, 0);
}

void IoStartNextPacketByKey(PDEVICE_OBJECT DeviceObject, BOOLEAN Cancelable, ULONG Key) {
    irpverbs::irp::require(DeviceObject, "IoStartNextPacketByKey: the device is NULL");
    irpverbs::irp::verify::check_queue_irql(irpverbs::irp::irql_rules::IoStartNextPacketByKey);
    if (instrumented())
        irpverbs::irp::verify::check_start_next(DeviceObject, is_deferred(DeviceObject));
    const UCHAR how = next_wanted | next_by_key;
    start_next_packet(DeviceObject, Cancelable ? how | next_cancelable : how, Key);
}

void IoSetStartIoAttributes(PDEVICE_OBJECT DeviceObject, BOOLEAN DeferredStartIo,
                            BOOLEAN NonCancelable) {
    irpverbs::irp::require(DeviceObject, "IoSetStartIoAttributes: the device is NULL");
    VERIFY_IRQL(IoSetStartIoAttributes);
    if (instrumented()) irpverbs::irp::verify::start_io_attributes(DeviceObject, !NonCancelable);
    DeviceObject->StartIoFlags = static_cast<UCHAR>((DeferredStartIo ? one_call_at_a_time : 0) |
                                                    (NonCancelable ? not_cancelable : 0));
}

} // extern "C"
