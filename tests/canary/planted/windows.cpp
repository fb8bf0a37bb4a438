// Planted bugs in code that is written for Windows.
#include <functional>
#include <string_view>

#include <ntddk.h>

extern "C" void __sanitizer_cov_store4(const void* address);

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

namespace {

IO_ALLOCATION_ACTION transfer(PDEVICE_OBJECT, PIRP, PVOID base, PVOID context) {
    auto* const adapter = static_cast<PDMA_ADAPTER>(context);
    DMA_OPERATIONS& calls = *adapter->DmaOperations;
    static char buffer[16];
    ULONG length = sizeof buffer;
    PMDL mdl = IoAllocateMdl(buffer, length, FALSE, FALSE, nullptr);
    MmBuildMdlForNonPagedPool(mdl);
    calls.MapTransfer(adapter, mdl, base, buffer, &length, FALSE);
    if (!planted("DmaNotFlushed"))
        calls.FlushAdapterBuffers(adapter, mdl, base, buffer, length, FALSE);
    IoFreeMdl(mdl);
    return DeallocateObject;
}

void transfer_by(PDMA_ADAPTER adapter) {
    DRIVER_OBJECT driver{};
    PDEVICE_OBJECT device;
    IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    KIRQL before;
    KeRaiseIrql(DISPATCH_LEVEL, &before);
    adapter->DmaOperations->AllocateAdapterChannel(adapter, device, 1, transfer, adapter);
    KeLowerIrql(before);
    IoDeleteDevice(device);
}

// The store is reported as by code that clang compiled with trace-stores.
NTSTATUS write_output(PDEVICE_OBJECT, PIRP irp) {
    if (!planted("UserBufferProbed")) ProbeForWrite(irp->UserBuffer, sizeof(ULONG), 4);
    __sanitizer_cov_store4(irp->UserBuffer);
    irp->IoStatus.Status = STATUS_SUCCESS;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return STATUS_SUCCESS;
}

} // namespace

void use_dma_adapter() {
    DEVICE_DESCRIPTION wanted{};
    wanted.Master = TRUE;
    wanted.MaximumLength = PAGE_SIZE;
    ULONG registers;
    PDMA_ADAPTER adapter = IoGetDmaAdapter(nullptr, &wanted, &registers);
    DMA_OPERATIONS& calls = *adapter->DmaOperations;
    PHYSICAL_ADDRESS logical;
    PVOID const common = calls.AllocateCommonBuffer(adapter, PAGE_SIZE, &logical, FALSE);
    transfer_by(adapter);
    if (!planted("DmaAdapterInUse"))
        calls.FreeCommonBuffer(adapter, PAGE_SIZE, logical, common, FALSE);
    if (planted("DmaFreedTwice"))
        calls.FreeCommonBuffer(adapter, PAGE_SIZE, logical, common, FALSE);
    calls.PutDmaAdapter(adapter);
}

void use_user_buffer() {
    DRIVER_OBJECT driver{};
    PDEVICE_OBJECT device;
    driver.MajorFunction[IRP_MJ_DEVICE_CONTROL] = write_output;
    IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    static ULONG output;
    PIRP irp = IoAllocateIrp(1, FALSE);
    irp->RequestorMode = UserMode;
    irp->UserBuffer = &output;
    PIO_STACK_LOCATION next = IoGetNextIrpStackLocation(irp);
    next->MajorFunction = IRP_MJ_DEVICE_CONTROL;
    next->Parameters.DeviceIoControl.IoControlCode =
        CTL_CODE(FILE_DEVICE_UNKNOWN, 0x800, METHOD_NEITHER, FILE_ANY_ACCESS);
    next->Parameters.DeviceIoControl.OutputBufferLength = sizeof output;
    IoSetCompletionRoutine(irp, keep, nullptr, TRUE, TRUE, TRUE);
    IoCallDriver(device, irp);
    IoFreeIrp(irp);
    IoDeleteDevice(device);
}

} // namespace planted
