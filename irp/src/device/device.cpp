#include "completion/completion_port.hpp"
#include "file/access_list.hpp"
#include "file/device_name.hpp"
#include "io_timer.hpp"
#include "irql_rules.hpp"
#include "require.hpp"
#include "shutdown.hpp"
#include "verify/hooks.hpp"

#include <irp/device_stack.h>
#include <irp/file.h>

#include <dispatch/support/checks.hpp>
#include <dispatch/support/faults.hpp>
#include <dispatch/support/object.hpp>
#include <dispatch/support/scheduled_spin.hpp>
#include <dispatch/support/verify.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <optional>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

namespace {

// Guards the links between devices, and the drivers' lists.
process_spin stack_lock;

constexpr CSHORT io_type_device = 3; // IO_TYPE_DEVICE
constexpr std::size_t extension_offset = (sizeof(DEVICE_OBJECT) + 15) / 16 * 16;

DEVICE_OBJECT* top_of(DEVICE_OBJECT* device) {
    while (device->AttachedDevice != nullptr)
        device = device->AttachedDevice;
    return device;
}

DEVICE_OBJECT* bottom_of(DEVICE_OBJECT* device) {
    while (device->AttachedTo != nullptr)
        device = device->AttachedTo;
    return device;
}

// Below stack_lock. Returns the device, which may be null, with a reference for the driver.
DEVICE_OBJECT* referenced(DEVICE_OBJECT* device) {
    if (device == nullptr) return nullptr;
    reference_object(device->Header);
    if (instrumented()) irpverbs::irp::verify::device_referenced(device);
    return device;
}

DEVICE_OBJECT& device_of(OBJECT_HEADER& object) {
    return *CONTAINING_RECORD(&object, DEVICE_OBJECT, Header);
}

// The device holds a reference to itself until IoDeleteDevice.
bool destroy_device(OBJECT_HEADER& object) {
    DEVICE_OBJECT& device = device_of(object);
    if (device.Deleted == 0) return false;
    const std::size_t size = extension_offset + device.ExtensionSize;
    if (verifying()) check_freed_memory(&device, size);
    dereference_completion_context(device.CompletionContext);
    delete device.Timer;
    delete static_cast<access_list*>(device.SecurityDescriptor);
    object.Signature = 0;
    free_to_special_pool(&device, size, "device object with its extension");
    return true;
}

void note_dereference(OBJECT_HEADER& object) {
    irpverbs::irp::verify::device_dereferenced(&device_of(object));
}

// The memory of a driver belongs to its creator.
bool keep_driver(OBJECT_HEADER&) { return false; }

constexpr OBJECT_TYPE device_type{"device", device_object_type, destroy_device, note_dereference};
constexpr OBJECT_TYPE driver_type{"driver", driver_object_type, keep_driver, nullptr};
POBJECT_TYPE device_type_pointer = const_cast<POBJECT_TYPE>(&device_type);
POBJECT_TYPE driver_type_pointer = const_cast<POBJECT_TYPE>(&driver_type);

void unlink_from_driver(DEVICE_OBJECT* device) {
    DEVICE_OBJECT** place = &device->DriverObject->DeviceObject;
    while (*place != nullptr && *place != device)
        place = &(*place)->NextDevice;
    if (*place != nullptr) *place = device->NextDevice;
}

// A use of a device that ends in a bug check.
struct misuse {
    ULONG_PTR id;
    const char* text;
};

// Without stack_lock: a bug check may end a simulated run, which never releases what it holds.
void stop_on(const std::optional<misuse>& found, const DEVICE_OBJECT* device) {
    if (found)
        bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION, found->text, found->id,
                  reinterpret_cast<ULONG_PTR>(device));
}

std::optional<misuse> mark_deleted(DEVICE_OBJECT* device) {
    const std::lock_guard guard(stack_lock);
    if (device->AttachedDevice != nullptr)
        return misuse{0x201, "IoDeleteDevice: another device is attached to this one"};
    if (device->Deleted != 0) return misuse{0x202, "IoDeleteDevice: the device was deleted before"};
    device->Deleted = 1;
    unlink_from_driver(device);
    return std::nullopt;
}

std::optional<misuse> unlink_attached(DEVICE_OBJECT* target) {
    const std::lock_guard guard(stack_lock);
    if (target->AttachedDevice == nullptr)
        return misuse{0x220, "IoDetachDevice: nothing is attached to this device"};
    target->AttachedDevice->AttachedTo = nullptr;
    target->AttachedDevice = nullptr;
    return std::nullopt;
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

POBJECT_TYPE* IoDeviceObjectType = &device_type_pointer;
POBJECT_TYPE* IoDriverObjectType = &driver_type_pointer;

NTSTATUS IoCreateDevice(PDRIVER_OBJECT DriverObject, ULONG DeviceExtensionSize,
                        PUNICODE_STRING DeviceName, DEVICE_TYPE DeviceType,
                        ULONG DeviceCharacteristics, BOOLEAN Exclusive,
                        PDEVICE_OBJECT* DeviceObject) {
    require(DriverObject, "IoCreateDevice: the driver is NULL");
    require(DeviceObject, "IoCreateDevice: there is no place for the device");
    VERIFY_IRQL(IoCreateDevice);
    if (verifying()) check_freed_use(DriverObject, "a device is created for a driver");
    if (instrumented()) irpverbs::irp::verify::check_strict_irql("IoCreateDevice");
    if (fault_point("irp.create_device")) return STATUS_INSUFFICIENT_RESOURCES;
    void* memory = std::calloc(1, extension_offset + DeviceExtensionSize);
    if (memory == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    auto* device = new (memory) DEVICE_OBJECT{};
    initialize_object(device->Header, device_type);
    device->StackSize = 1;
    device->Type = io_type_device;
    device->Size = static_cast<USHORT>(
        std::min<std::size_t>(sizeof(DEVICE_OBJECT) + DeviceExtensionSize, UINT16_MAX));
    device->ExtensionSize = DeviceExtensionSize;
    device->DriverObject = DriverObject;
    device->DeviceType = DeviceType;
    device->Characteristics = DeviceCharacteristics;
    device->Flags = DO_DEVICE_INITIALIZING | (Exclusive ? DO_EXCLUSIVE : 0);
    device->DeviceExtension = static_cast<char*>(memory) + extension_offset;
    KeInitializeDeviceQueue(&device->DeviceQueue);
    if (DeviceName != nullptr || (DeviceCharacteristics & FILE_AUTOGENERATED_DEVICE_NAME) != 0) {
        const NTSTATUS status = name_device(*device, DeviceName);
        if (!NT_SUCCESS(status)) {
            std::free(memory);
            return status;
        }
    }
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
    stop_on(mark_deleted(DeviceObject), DeviceObject);
    remove_device_name(*DeviceObject);
    if (DeviceObject->Timer != nullptr) IoStopTimer(DeviceObject);
    forget_shutdown(*DeviceObject);
    if (instrumented()) irpverbs::irp::verify::device_deleted(DeviceObject);
    dereference_object(DeviceObject->Header);
}

PDEVICE_OBJECT IoAttachDeviceToDeviceStack(PDEVICE_OBJECT SourceDevice,
                                           PDEVICE_OBJECT TargetDevice) {
    DEVICE_OBJECT* below;
    IoAttachDeviceToDeviceStackSafe(SourceDevice, TargetDevice, &below);
    return below;
}

NTSTATUS IoAttachDeviceToDeviceStackSafe(PDEVICE_OBJECT SourceDevice, PDEVICE_OBJECT TargetDevice,
                                         PDEVICE_OBJECT* AttachedToDeviceObject) {
    require(SourceDevice, "IoAttachDeviceToDeviceStack: the source device is NULL");
    require(TargetDevice, "IoAttachDeviceToDeviceStack: the target device is NULL");
    VERIFY_IRQL(IoAttachDeviceToDeviceStack);
    const std::lock_guard guard(stack_lock);
    DEVICE_OBJECT* below = top_of(TargetDevice);
    *AttachedToDeviceObject = below->Deleted != 0 ? nullptr : below;
    if (below->Deleted != 0) return STATUS_NO_SUCH_DEVICE;
    SourceDevice->AttachedTo = below;
    SourceDevice->StackSize = static_cast<CCHAR>(below->StackSize + 1);
    below->AttachedDevice = SourceDevice;
    return STATUS_SUCCESS;
}

void IoDetachDevice(PDEVICE_OBJECT TargetDevice) {
    require(TargetDevice, "IoDetachDevice: the device is NULL");
    VERIFY_IRQL(IoDetachDevice);
    if (instrumented() && TargetDevice->AttachedDevice != nullptr)
        irpverbs::irp::verify::device_detached(TargetDevice->AttachedDevice);
    stop_on(unlink_attached(TargetDevice), TargetDevice);
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
    return referenced(top_of(DeviceObject));
}

PDEVICE_OBJECT IoGetLowerDeviceObject(PDEVICE_OBJECT DeviceObject) {
    require(DeviceObject, "IoGetLowerDeviceObject: the device is NULL");
    VERIFY_IRQL(IoGetAttachedDevice);
    const std::lock_guard guard(stack_lock);
    return referenced(DeviceObject->AttachedTo);
}

PDEVICE_OBJECT IoGetDeviceAttachmentBaseRef(PDEVICE_OBJECT DeviceObject) {
    require(DeviceObject, "IoGetDeviceAttachmentBaseRef: the device is NULL");
    VERIFY_IRQL(IoGetAttachedDevice);
    const std::lock_guard guard(stack_lock);
    return referenced(bottom_of(DeviceObject));
}

NTSTATUS IoEnumerateDeviceObjectList(PDRIVER_OBJECT DriverObject, PDEVICE_OBJECT* DeviceObjectList,
                                     ULONG DeviceObjectListSize, PULONG ActualNumberDeviceObjects) {
    require(DriverObject, "IoEnumerateDeviceObjectList: the driver is NULL");
    VERIFY_IRQL(IoGetAttachedDevice);
    const std::lock_guard guard(stack_lock);
    const std::size_t room = DeviceObjectListSize / sizeof(void*);
    ULONG count = 0;
    for (DEVICE_OBJECT* each = DriverObject->DeviceObject; each != nullptr; each = each->NextDevice)
        if (count++ < room) DeviceObjectList[count - 1] = referenced(each);
    *ActualNumberDeviceObjects = count;
    return count <= room ? STATUS_SUCCESS : STATUS_BUFFER_TOO_SMALL;
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
