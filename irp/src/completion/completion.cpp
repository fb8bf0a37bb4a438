#include "complete_locations.hpp"
#include "irql_rules.hpp"
#include "packet/poison.hpp"
#include "verify/hooks.hpp"

#include <dispatch/support/checks.hpp>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

// Sending and completion are a cost of every request: one test of instrumented() each, with the
// reports in separate functions.
namespace {

ULONG_PTR address(const void* object) { return reinterpret_cast<ULONG_PTR>(object); }

bool completable(const IRP& irp, CCHAR current) {
    return __atomic_load_n(&irp.CancelRoutine, __ATOMIC_RELAXED) == nullptr &&
           irp.Type == live_irp_type && current <= irp.StackCount &&
           irp.IoStatus.Status != STATUS_PENDING && irp.IoStatus.Status != -1;
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_completion(const IRP* irp) {
    if (irp->Type != live_irp_type || irp->CurrentLocation > irp->StackCount)
        bug_check(MULTIPLE_IRP_COMPLETE_REQUESTS,
                  "IoCompleteRequest: the IRP was completed before, or was never sent",
                  address(irp));
    if (irp->CancelRoutine != nullptr)
        bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION,
                  "IoCompleteRequest: the IRP still has a cancel routine", 0x07,
                  address(reinterpret_cast<void*>(irp->CancelRoutine)), address(irp));
    bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION,
              "IoCompleteRequest: the IRP's status is STATUS_PENDING or -1", 0x06,
              static_cast<ULONG_PTR>(irp->IoStatus.Status), address(irp));
}

[[gnu::noinline]] void complete_locations(IRP* irp) {
    no_hooks none;
    irpverbs::irp::complete_locations(irp, none);
}

// The first location is handled apart from the others: most IRPs have only one.
[[gnu::always_inline]] inline void complete_irp(IRP* irp) {
    unpoison_locations(irp); // the verifier may have been on when it was sent
    const CCHAR current = irp->CurrentLocation;
    if (!completable(*irp, current)) [[unlikely]]
        refuse_completion(irp);
    no_hooks none;
    if (!complete_location(irp, current, none)) complete_locations(irp);
}

[[noreturn, gnu::cold, gnu::noinline]] void no_location_left(const IRP* irp) {
    bug_check(NO_MORE_IRP_STACK_LOCATIONS, "the IRP has no stack location left", address(irp));
}

// Reports why there is no dispatch routine to call. Returns only for a major function that the
// driver has no entry for.
[[gnu::cold, gnu::noinline]] NTSTATUS cannot_send(const DEVICE_OBJECT* device, IRP* irp) {
    if (device == nullptr)
        bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION, "IoCallDriver: the device is NULL", 0x204, 0,
                  address(irp));
    if (irp->Type != live_irp_type)
        bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION,
                  "IoCallDriver: this is no IRP, or it was freed", 0x03, address(irp));
    if (irp->CurrentLocation <= 0) no_location_left(irp);
    irp->IoStatus.Status = STATUS_INVALID_DEVICE_REQUEST;
    irp->IoStatus.Information = 0;
    IoCompleteRequest(irp, 0);
    return STATUS_INVALID_DEVICE_REQUEST;
}

[[gnu::always_inline]] inline NTSTATUS send_down(DEVICE_OBJECT* device, IRP* irp) {
    if (device == nullptr || irp->Type != live_irp_type || --irp->CurrentLocation <= 0) [[unlikely]]
        return cannot_send(device, irp);
    PIO_STACK_LOCATION location = IoGetCurrentIrpStackLocation(irp);
    location->DeviceObject = device;
    const UCHAR major = location->MajorFunction;
    if (major > IRP_MJ_MAXIMUM_FUNCTION) [[unlikely]]
        return cannot_send(device, irp);
    const PDRIVER_DISPATCH dispatch = device->DriverObject->MajorFunction[major];
    if (dispatch == nullptr) [[unlikely]]
        return cannot_send(device, irp);
    return dispatch(device, irp);
}

} // namespace

namespace irpverbs::irp {

[[gnu::cold, gnu::noinline]] NTSTATUS call_driver_unchecked(DEVICE_OBJECT* device, IRP* irp) {
    return send_down(device, irp);
}
[[gnu::cold, gnu::noinline]] void complete_request_unchecked(IRP* irp) { complete_irp(irp); }

} // namespace irpverbs::irp

extern "C" {

void IoCompleteRequest(PIRP Irp, CCHAR) {
    if (instrumented()) return verify::complete_request(Irp);
    complete_irp(Irp);
}

NTSTATUS IoCallDriver(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    if (instrumented()) return verify::call_driver(DeviceObject, Irp, __builtin_return_address(0));
    return send_down(DeviceObject, Irp);
}

void IoSetNextIrpStackLocation(PIRP Irp) {
    if (instrumented()) verify::check_use(Irp, "IoSetNextIrpStackLocation");
    if (--Irp->CurrentLocation <= 0) no_location_left(Irp);
}

} // extern "C"
