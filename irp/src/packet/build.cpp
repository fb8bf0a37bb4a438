#include "build.hpp"
#include "completion/finalize_irp.hpp"
#include "irp_allocation.hpp"
#include "irql_rules.hpp"
#include "require.hpp"
#include "verify/hooks.hpp"

#include <dispatch/support/unset_bytes.hpp>
#include <irp/build.h>
#include <irp/completion_port.h>
#include <irp/mdl.h>

#include <algorithm>
#include <cstring>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

namespace {

constexpr ULONG buffer_tag = 0x20206F49; // "Io  "

IRP* allocate_for(DEVICE_OBJECT* device, ULONG major) {
    require(device, "a request is built for a device of NULL");
    IRP* irp = IoAllocateIrp(device->StackSize, FALSE);
    if (irp != nullptr) IoGetNextIrpStackLocation(irp)->MajorFunction = static_cast<UCHAR>(major);
    return irp;
}

// Frees a request that could not be built completely and was not sent.
IRP* free_unsent(IRP* irp) {
    free_buffers(irp);
    IoFreeIrp(irp);
    return nullptr;
}

// Allocates a system buffer of `size` bytes that begins with a copy of the input.
bool add_system_buffer(IRP* irp, const void* input, ULONG input_length, ULONG size) {
    if (size == 0) return true;
    void* buffer = ExAllocatePoolWithTag(NonPagedPool, size, buffer_tag);
    if (buffer == nullptr) return false;
    if (input_length != 0) std::memcpy(buffer, input, input_length);
    // The driver may write less than the buffer holds: the rest must not expose old bytes. With the
    // verifier on, the caller sees which bytes the driver left, as on Windows.
    const int rest = verifying() ? unset_byte : 0;
    std::memset(static_cast<char*>(buffer) + input_length, rest, size - input_length);
    irp->AssociatedIrp.SystemBuffer = buffer;
    irp->Flags |= IRP_BUFFERED_IO | IRP_DEALLOCATE_BUFFER;
    return true;
}

void copy_back_to(IRP* irp, void* output) {
    irp->UserBuffer = output;
    if (output != nullptr && irp->AssociatedIrp.SystemBuffer != nullptr)
        irp->Flags |= IRP_INPUT_OPERATION;
}

bool add_mdl(IRP* irp, void* buffer, ULONG length, LOCK_OPERATION operation) {
    if (buffer == nullptr || length == 0) return true;
    MDL* mdl = IoAllocateMdl(buffer, length, FALSE, FALSE, irp);
    if (mdl == nullptr) return false;
    MmProbeAndLockPages(mdl, KernelMode, operation);
    return true;
}

bool add_control_buffers(IRP* irp, ULONG method, const control_buffers& buffers) {
    switch (method) {
    case METHOD_BUFFERED:
        if (!add_system_buffer(irp, buffers.input, buffers.input_length,
                               std::max(buffers.input_length, buffers.output_length)))
            return false;
        copy_back_to(irp, buffers.output);
        return true;
    case METHOD_NEITHER:
        IoGetNextIrpStackLocation(irp)->Parameters.DeviceIoControl.Type3InputBuffer = buffers.input;
        irp->UserBuffer = buffers.output;
        return true;
    default: // METHOD_IN_DIRECT, METHOD_OUT_DIRECT
        return add_system_buffer(irp, buffers.input, buffers.input_length, buffers.input_length) &&
               add_mdl(irp, buffers.output, buffers.output_length,
                       method == METHOD_IN_DIRECT ? IoReadAccess : IoWriteAccess);
    }
}

bool add_transfer_buffer(IRP* irp, const DEVICE_OBJECT& device, void* buffer, ULONG length) {
    const bool reads = IoGetNextIrpStackLocation(irp)->MajorFunction == IRP_MJ_READ;
    if ((device.Flags & DO_BUFFERED_IO) != 0) {
        if (!add_system_buffer(irp, buffer, reads ? 0 : length, length)) return false;
        if (reads) copy_back_to(irp, buffer);
        return true;
    }
    if ((device.Flags & DO_DIRECT_IO) != 0)
        return add_mdl(irp, buffer, length, reads ? IoWriteAccess : IoReadAccess);
    irp->UserBuffer = buffer;
    return true;
}

IRP* build_transfer(ULONG major, DEVICE_OBJECT* device, void* buffer, ULONG length,
                    const LARGE_INTEGER* offset, PIO_STATUS_BLOCK status_block) {
    IRP* irp = allocate_for(device, major);
    if (irp == nullptr) return nullptr;
    irp->UserIosb = status_block;
    if (major != IRP_MJ_READ && major != IRP_MJ_WRITE) return irp;
    return add_transfer(irp, *device, buffer, length, offset) ? irp : free_unsent(irp);
}

NTSTATUS wake_sender(DEVICE_OBJECT*, IRP* irp, void* event) {
    if (irp->PendingReturned) KeSetEvent(static_cast<KEVENT*>(event), IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

} // namespace

namespace irpverbs::irp {

bool add_transfer(IRP* irp, const DEVICE_OBJECT& device, void* buffer, ULONG length,
                  const LARGE_INTEGER* offset) {
    auto& parameters = IoGetNextIrpStackLocation(irp)->Parameters.Read; // Write has the same layout
    parameters.Length = length;
    if (offset != nullptr) parameters.ByteOffset = *offset;
    return add_transfer_buffer(irp, device, buffer, length);
}

bool add_control(IRP* irp, ULONG code, const control_buffers& buffers) {
    auto& parameters = IoGetNextIrpStackLocation(irp)->Parameters.DeviceIoControl;
    parameters.IoControlCode = code;
    parameters.InputBufferLength = buffers.input_length;
    parameters.OutputBufferLength = buffers.output_length;
    return add_control_buffers(irp, METHOD_FROM_CTL_CODE(code), buffers);
}

bool add_information(IRP* irp, void* information, ULONG length) {
    const bool sets = IoGetNextIrpStackLocation(irp)->MajorFunction == IRP_MJ_SET_INFORMATION;
    if (!add_system_buffer(irp, information, sets ? length : 0, length)) return false;
    if (!sets) copy_back_to(irp, information);
    return true;
}

NTSTATUS send_synchronously(DEVICE_OBJECT* device, IRP* irp) {
    KEVENT done;
    KeInitializeEvent(&done, NotificationEvent, FALSE);
    IoSetCompletionRoutine(irp, wake_sender, &done, TRUE, TRUE, TRUE);
    if (IoCallDriver(device, irp) == STATUS_PENDING)
        KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr);
    return irp->IoStatus.Status;
}

} // namespace irpverbs::irp

extern "C" {

PIRP IoBuildDeviceIoControlRequest(ULONG IoControlCode, PDEVICE_OBJECT DeviceObject,
                                   PVOID InputBuffer, ULONG InputBufferLength, PVOID OutputBuffer,
                                   ULONG OutputBufferLength, BOOLEAN InternalDeviceIoControl,
                                   PKEVENT Event, PIO_STATUS_BLOCK IoStatusBlock) {
    VERIFY_IRQL(IoBuildDeviceIoControlRequest);
    if (instrumented()) verify::check_strict_irql("IoBuildDeviceIoControlRequest");
    IRP* irp = allocate_for(DeviceObject, InternalDeviceIoControl ? IRP_MJ_INTERNAL_DEVICE_CONTROL
                                                                  : IRP_MJ_DEVICE_CONTROL);
    if (irp == nullptr) return nullptr;
    if (!add_control(irp, IoControlCode,
                     {InputBuffer, InputBufferLength, OutputBuffer, OutputBufferLength}))
        return free_unsent(irp);
    if (instrumented()) verify::set_origin(irp, verify::origin::built_device_control);
    irp->AllocationFlags |= thread_bound;
    irp->UserIosb = IoStatusBlock;
    irp->UserEvent = Event;
    if (Event == nullptr && DeviceObject->CompletionContext != nullptr)
        IoSetCompletionContext(irp, DeviceObject->CompletionContext, IoStatusBlock);
    return irp;
}

PIRP IoBuildAsynchronousFsdRequest(ULONG MajorFunction, PDEVICE_OBJECT DeviceObject, PVOID Buffer,
                                   ULONG Length, PLARGE_INTEGER StartingOffset,
                                   PIO_STATUS_BLOCK IoStatusBlock) {
    VERIFY_IRQL(IoBuildAsynchronousFsdRequest);
    IRP* irp =
        build_transfer(MajorFunction, DeviceObject, Buffer, Length, StartingOffset, IoStatusBlock);
    if (irp != nullptr && instrumented()) verify::set_origin(irp, verify::origin::built_async_fsd);
    return irp;
}

PIRP IoBuildSynchronousFsdRequest(ULONG MajorFunction, PDEVICE_OBJECT DeviceObject, PVOID Buffer,
                                  ULONG Length, PLARGE_INTEGER StartingOffset, PKEVENT Event,
                                  PIO_STATUS_BLOCK IoStatusBlock) {
    VERIFY_IRQL(IoBuildSynchronousFsdRequest);
    IRP* irp =
        build_transfer(MajorFunction, DeviceObject, Buffer, Length, StartingOffset, IoStatusBlock);
    if (irp == nullptr) return nullptr;
    if (instrumented()) verify::set_origin(irp, verify::origin::built_sync_fsd);
    irp->AllocationFlags |= thread_bound;
    irp->Flags |= IRP_SYNCHRONOUS_API;
    irp->UserEvent = Event;
    return irp;
}

BOOLEAN IoForwardIrpSynchronously(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    VERIFY_IRQL(IoForwardIrpSynchronously);
    if (Irp->CurrentLocation <= 1) return FALSE;
    IoCopyCurrentIrpStackLocationToNext(Irp);
    send_synchronously(DeviceObject, Irp);
    return TRUE;
}

PIRP IoMakeAssociatedIrp(PIRP Irp, CCHAR StackSize) {
    require_irp(Irp, "IoMakeAssociatedIrp: the IRP is NULL");
    VERIFY_IRQL(IoMakeAssociatedIrp);
    if (instrumented()) verify::check_use(Irp, "IoMakeAssociatedIrp");
    IRP* associated = IoAllocateIrp(StackSize, FALSE);
    if (associated == nullptr) return nullptr;
    if (instrumented()) verify::set_origin(associated, verify::origin::associated);
    associated->Flags = IRP_ASSOCIATED_IRP;
    associated->AssociatedIrp.MasterIrp = Irp;
    return associated;
}

} // extern "C"
