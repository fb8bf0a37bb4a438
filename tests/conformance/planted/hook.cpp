#include "hook.hpp"

#include "../program/software.hpp"

#include <hca/software.h>

#include <cstring>
#include <memory>

namespace planted {

namespace {

constexpr UCHAR ours = 0x80; // IO_STACK_LOCATION.Flags of the IRPs that `forward` sends

hook* hooked; // the suite has one HCA at a time; a verb may arrive while it is being detached

NTSTATUS note(DEVICE_OBJECT*, IRP*, void* completed) {
    KeSetEvent(static_cast<KEVENT*>(completed), IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

NTSTATUS dispatch(DEVICE_OBJECT*, IRP* irp) {
    hook& at = *hooked;
    IO_STACK_LOCATION* location = IoGetCurrentIrpStackLocation(irp);
    const bool straight = (location->Flags & ours) != 0 || at.plan->dispatch == nullptr;
    location->Flags &= static_cast<UCHAR>(~ours);
    return straight ? at.pass(irp) : at.plan->dispatch(at, irp);
}

const defect* find(const char* name) {
    for (const defect* each : all_defects())
        if (std::strcmp(each->name, name) == 0) return each;
    return nullptr;
}

NTSTATUS attach(const char* location, ULONG* count, VOID** attachment, char* message, SIZE_T size) {
    const defect* plan = find(location);
    if (plan == nullptr) return STATUS_NO_SUCH_FILE;
    const NTSTATUS status = HcaAttachEx("software:", count, message, size);
    if (!NT_SUCCESS(status)) return status;
    auto made = std::make_unique<hook>();
    ULONG one = 1;
    HcaEnumerate(&made->guid, &one);
    made->fdo = HcaFromGuid(made->guid);
    made->plan = plan;
    made->original = made->fdo->DriverObject;
    made->driver.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = dispatch;
    made->fdo->DriverObject = &made->driver;
    hooked = made.release();
    *attachment = hooked;
    return STATUS_SUCCESS;
}

NTSTATUS detach(VOID* attachment) {
    auto* leaving = static_cast<hook*>(attachment);
    leaving->fdo->DriverObject = leaving->original;
    const NTSTATUS status = HcaDetach("software:");
    if (NT_SUCCESS(status))
        delete leaving;
    else
        leaving->fdo->DriverObject = &leaving->driver;
    return status;
}

NTSTATUS raise(ib_guid_t, UCHAR port, IB_ASYNC_EVENT event) {
    hook& at = *hooked;
    return at.plan->raise != nullptr ? at.plan->raise(at, port, event) : at.raise(port, event);
}

} // namespace

NTSTATUS hook::raise(UCHAR port, IB_ASYNC_EVENT event) const {
    return software_adapter.RaisePortEvent(guid, port, event);
}

outcome forward(hook& at, IRP* irp) {
    KEVENT completed;
    KeInitializeEvent(&completed, NotificationEvent, FALSE);
    IRP* own = IoAllocateIrp(1, FALSE);
    own->RequestorMode = irp->RequestorMode;
    IO_STACK_LOCATION* next = IoGetNextIrpStackLocation(own);
    const IO_STACK_LOCATION* asked = IoGetCurrentIrpStackLocation(irp);
    next->MajorFunction = asked->MajorFunction;
    next->MinorFunction = asked->MinorFunction;
    next->Reserved = asked->Reserved;
    next->Parameters = asked->Parameters;
    next->Flags = ours;
    IoSetCompletionRoutine(own, note, &completed, TRUE, TRUE, TRUE);
    const UCHAR minor = asked->MinorFunction;
    IoCallDriver(at.fdo, own);
    KeWaitForSingleObject(&completed, Executive, KernelMode, FALSE, nullptr);
    const outcome seen{own->IoStatus.Status, own->IoStatus.Information};
    IoFreeIrp(own);
    if (minor == HCA_MN_OPEN_CA && NT_SUCCESS(seen.status)) {
        auto* ca = reinterpret_cast<HCA_CA*>(seen.information);
        at.clients.push_back({&ca->Ca, ca->Ca.Dispatch, ca->Context});
    }
    return seen;
}

NTSTATUS complete(IRP* irp, outcome with) {
    irp->IoStatus.Status = with.status;
    irp->IoStatus.Information = with.information;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return with.status;
}

std::vector<const defect*> all_defects() {
    std::vector<const defect*> all;
    for (const std::span<const defect>& part : {verb_defects, qp_defects, event_defects})
        for (const defect& each : part)
            all.push_back(&each);
    return all;
}

HCA_DRIVER driver = {"planted", attach, detach, nullptr};

const CONFORMANCE_ADAPTER adapter = {
    .Scheme = "planted",
    .Variants = nullptr,
    .VariantCount = 0,
    .RealOnly = FALSE,
    .RaisePortEvent = raise,
    .Fail = HcaSoftwareFail,
    .Complete = HcaSoftwareInsertCompletion,
};

} // namespace planted
