// Planted bugs in code that is written for Windows.
#include <functional>
#include <string_view>

#include <ntddk.h>

namespace planted {

bool planted(std::string_view rule);

namespace {

NTSTATUS acquire_in_read(PDEVICE_OBJECT device, PIRP irp) {
    auto* const resource = static_cast<ERESOURCE*>(device->DeviceExtension);
    const bool misplaced = planted("WithinCriticalRegion");
    if (!misplaced) KeEnterCriticalRegion();
    ExAcquireResourceExclusiveLite(resource, TRUE);
    if (!planted("ExclusiveResourceAccess")) ExReleaseResourceLite(resource);
    if (!misplaced) KeLeaveCriticalRegion();
    irp->IoStatus.Status = STATUS_SUCCESS;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return STATUS_SUCCESS;
}

NTSTATUS keep(PDEVICE_OBJECT, PIRP, PVOID) { return STATUS_MORE_PROCESSING_REQUIRED; }

void read(PDEVICE_OBJECT device) {
    PIRP irp = IoAllocateIrp(1, FALSE);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_READ;
    IoSetCompletionRoutine(irp, keep, nullptr, TRUE, TRUE, TRUE);
    IoCallDriver(device, irp);
    IoFreeIrp(irp);
}

} // namespace

void use_resource() {
    DRIVER_OBJECT driver{};
    PDEVICE_OBJECT device;
    driver.MajorFunction[IRP_MJ_READ] = acquire_in_read;
    IoCreateDevice(&driver, sizeof(ERESOURCE), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    auto* const resource = static_cast<ERESOURCE*>(device->DeviceExtension);
    ExInitializeResourceLite(resource);
    read(device);
    KIRQL before;
    KeRaiseIrql(planted("IrqlExApcLte3") ? DISPATCH_LEVEL : APC_LEVEL, &before);
    if (ExAcquireResourceSharedLite(resource, FALSE)) ExReleaseResourceLite(resource);
    KeLowerIrql(before);
    ExDeleteResourceLite(resource);
    IoDeleteDevice(device);
}

} // namespace planted
