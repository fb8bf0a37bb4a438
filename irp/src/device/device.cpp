#include "completion/completion_port.hpp"
#include "irql_rules.hpp"
#include "require.hpp"
#include "verify/hooks.hpp"

#include <irp/device.h>

#include <dispatch/support/checks.hpp>
#include <dispatch/support/faults.hpp>
#include <dispatch/support/object.hpp>
#include <dispatch/support/scheduled_spin.hpp>
#include <dispatch/support/verify.hpp>

#include <cstdlib>
#include <mutex>
#include <new>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

namespace {

// Guards the links between devices, and the drivers' lists.
process_spin stack_lock;

constexpr std::size_t extension_offset = (sizeof(DEVICE_OBJECT) + 15) / 16 * 16;

DEVICE_OBJECT* top_of(DEVICE_OBJECT* device) {
    while (device->AttachedDevice != nullptr)
        device = device->AttachedDevice;
    return device;
}

DEVICE_OBJECT& device_of(OBJECT_HEADER& object) {
    return *CONTAINING_RECORD(&object, DEVICE_OBJECT, Header);
}

// The device holds a reference to itself until IoDeleteDevice.
bool destroy_device(OBJECT_HEADER& object) {
    DEVICE_OBJECT& device = device_of(object);
    if (device.Deleted == 0) return false;
    if (verifying()) check_freed_memory(&device, extension_offset + device.ExtensionSize);
    dereference_completion_context(device.CompletionContext);
    object.Signature = 0;
    std::free(&device);
    return true;
}

void note_dereference(OBJECT_HEADER& object) {
    irpverbs::irp::verify::device_dereferenced(&device_of(object));
}

// The memory of a driver belongs to its creator.
bool keep_driver(OBJECT_HEADER&) { return false; }

constexpr OBJECT_TYPE device_type{"device", device_object_type, destroy_device, note_dereference};
constexpr OBJECT_TYPE driver_type{"driver", driver_object_type, keep_driver, nullptr};

void unlink_from_driver(DEVICE_OBJECT* device) {
    DEVICE_OBJECT** place = &device->DriverObject->DeviceObject;
    while (*place != nullptr && *place != device)
        place = &(*place)->NextDevice;
    if (*place != nullptr) *place = device->NextDevice;
}

// References the device until its completion routine has returned.
struct completion_reference {
    DEVICE_OBJECT* device;
    PIO_COMPLETION_ROUTINE routine;
    void* context;
    bool on_success;
    bool on_error;
    bool on_cancel;
};

bool wants_call(const completion_reference& call, const IRP& irp) {
    if (NT_SUCCESS(irp.IoStatus.Status) ? call.on_success : call.on_error) return true;
    return call.on_cancel && irp.Cancel;
}

NTSTATUS complete_with_reference(DEVICE_OBJECT* device, IRP* irp, void* held) {
    const completion_reference call = *static_cast<completion_reference*>(held);
    delete static_cast<completion_reference*>(held);
    NTSTATUS status = STATUS_CONTINUE_COMPLETION;
    if (wants_call(call, *irp))
        status = call.routine(device, irp, call.context);
    else if (irp->PendingReturned && device != nullptr)
        IoMarkIrpPending(irp);
    dereference_object(call.device->Header);
    return status;
}

} // namespace

extern "C" {

NTSTATUS IoCreateDevice(PDRIVER_OBJECT DriverObject, ULONG DeviceExtensionSize, PUNICODE_STRING,
                        DEVICE_TYPE DeviceType, ULONG DeviceCharacteristics, BOOLEAN,
                        PDEVICE_OBJECT* DeviceObject) {
    require(DriverObject, "IoCreateDevice: the driver is NULL");
    require(DeviceObject, "IoCreateDevice: there is no place for the device");
    VERIFY_IRQL(IoCreateDevice);
    if (instrumented()) irpverbs::irp::verify::check_strict_irql("IoCreateDevice");
    if (fault_point("irp.create_device")) return STATUS_INSUFFICIENT_RESOURCES;
    void* memory = std::calloc(1, extension_offset + DeviceExtensionSize);
    if (memory == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    auto* device = new (memory) DEVICE_OBJECT{};
    initialize_object(device->Header, device_type);
    device->StackSize = 1;
    device->ExtensionSize = DeviceExtensionSize;
    device->DriverObject = DriverObject;
    device->DeviceType = DeviceType;
    device->Characteristics = DeviceCharacteristics;
    device->Flags = DO_DEVICE_INITIALIZING;
    device->DeviceExtension = static_cast<char*>(memory) + extension_offset;
    KeInitializeDeviceQueue(&device->DeviceQueue);
    if (instrumented()) irpverbs::irp::verify::device_created(device);
    const std::lock_guard guard(stack_lock);
    if (DriverObject->Header.ObjectType != &driver_type)
        initialize_object(DriverObject->Header, driver_type);
    device->NextDevice = DriverObject->DeviceObject;
    DriverObject->DeviceObject = device;
    *DeviceObject = device;
    return STATUS_SUCCESS;
}

void IoDeleteDevice(PDEVICE_OBJECT DeviceObject) {
    require(DeviceObject, "IoDeleteDevice: the device is NULL");
    VERIFY_IRQL(IoDeleteDevice);
    {
        const std::lock_guard guard(stack_lock);
        if (DeviceObject->AttachedDevice != nullptr)
            bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION,
                      "IoDeleteDevice: another device is attached to this one", 0x201,
                      reinterpret_cast<ULONG_PTR>(DeviceObject));
        if (DeviceObject->Deleted != 0)
            bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION,
                      "IoDeleteDevice: the device was deleted before", 0x202,
                      reinterpret_cast<ULONG_PTR>(DeviceObject));
        DeviceObject->Deleted = 1;
        unlink_from_driver(DeviceObject);
    }
    if (instrumented()) irpverbs::irp::verify::device_deleted(DeviceObject);
    dereference_object(DeviceObject->Header);
}

PDEVICE_OBJECT IoAttachDeviceToDeviceStack(PDEVICE_OBJECT SourceDevice,
                                           PDEVICE_OBJECT TargetDevice) {
    require(SourceDevice, "IoAttachDeviceToDeviceStack: the source device is NULL");
    require(TargetDevice, "IoAttachDeviceToDeviceStack: the target device is NULL");
    VERIFY_IRQL(IoAttachDeviceToDeviceStack);
    const std::lock_guard guard(stack_lock);
    DEVICE_OBJECT* below = top_of(TargetDevice);
    if (below->Deleted != 0) return nullptr;
    below->AttachedDevice = SourceDevice;
    SourceDevice->AttachedTo = below;
    SourceDevice->StackSize = static_cast<CCHAR>(below->StackSize + 1);
    return below;
}

void IoDetachDevice(PDEVICE_OBJECT TargetDevice) {
    require(TargetDevice, "IoDetachDevice: the device is NULL");
    VERIFY_IRQL(IoDetachDevice);
    const std::lock_guard guard(stack_lock);
    if (TargetDevice->AttachedDevice == nullptr)
        bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION,
                  "IoDetachDevice: nothing is attached to this device", 0x220,
                  reinterpret_cast<ULONG_PTR>(TargetDevice));
    TargetDevice->AttachedDevice->AttachedTo = nullptr;
    TargetDevice->AttachedDevice = nullptr;
}

PDEVICE_OBJECT IoGetAttachedDevice(PDEVICE_OBJECT DeviceObject) {
    require(DeviceObject, "IoGetAttachedDevice: the device is NULL");
    VERIFY_IRQL(IoGetAttachedDevice);
    const std::lock_guard guard(stack_lock);
    return top_of(DeviceObject);
}

PDEVICE_OBJECT IoGetAttachedDeviceReference(PDEVICE_OBJECT DeviceObject) {
    require(DeviceObject, "IoGetAttachedDeviceReference: the device is NULL");
    VERIFY_IRQL(IoGetAttachedDevice);
    const std::lock_guard guard(stack_lock);
    DEVICE_OBJECT* top = top_of(DeviceObject);
    reference_object(top->Header);
    if (instrumented()) irpverbs::irp::verify::device_referenced(top);
    return top;
}

NTSTATUS IoSetCompletionRoutineEx(PDEVICE_OBJECT DeviceObject, PIRP Irp,
                                  PIO_COMPLETION_ROUTINE CompletionRoutine, PVOID Context,
                                  BOOLEAN InvokeOnSuccess, BOOLEAN InvokeOnError,
                                  BOOLEAN InvokeOnCancel) {
    require(DeviceObject, "IoSetCompletionRoutineEx: the device is NULL");
    VERIFY_IRQL(IoSetCompletionRoutineEx);
    if (instrumented()) irpverbs::irp::verify::check_use(Irp, "IoSetCompletionRoutineEx");
    if (fault_point("irp.completion_routine_ex")) {
        irpverbs::irp::verify::routine_ex_failed(Irp);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    auto* held = new (std::nothrow)
        completion_reference{DeviceObject,         CompletionRoutine,  Context,
                             InvokeOnSuccess != 0, InvokeOnError != 0, InvokeOnCancel != 0};
    if (held == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    reference_object(DeviceObject->Header);
    // Called for every result, or the reference would leak; the caller's routine is called only for
    // the results that it asked for.
    IoSetCompletionRoutine(Irp, complete_with_reference, held, TRUE, TRUE, TRUE);
    if (instrumented()) irpverbs::irp::verify::routine_ex_set(DeviceObject, Irp);
    return STATUS_SUCCESS;
}

} // extern "C"
