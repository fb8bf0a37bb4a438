// The calls on device interfaces.
#include "irql_rules.hpp"
#include "plug_and_play.hpp"

#include <dispatch/pool.h>
#include <dispatch/support/faults.hpp>

#include <cstring>
#include <new>

using namespace irpverbs::irp;
using irpverbs::dispatch::detail::fault_point;

namespace {

constexpr ULONG pool_tag = 0x66496E50; // "PnIf"

// Copies text, with a terminator behind it, to pool memory of the caller's; null: there is none.
PWSTR allocated(std::u16string_view text) {
    const std::size_t bytes = text.size() * sizeof(WCHAR);
    auto* const made =
        static_cast<PWSTR>(ExAllocatePoolWithTag(PagedPool, bytes + sizeof(WCHAR), pool_tag));
    if (made == nullptr) return nullptr;
    std::memcpy(made, text.data(), bytes);
    made[text.size()] = 0;
    return made;
}

void call_for_existing(plug_and_play& manager, notifications::registration& made) {
    for (std::u16string& link : manager.links(made.type, nullptr, false)) {
        notifications::event existing{made.type, true, std::move(link)};
        manager.callbacks().call(made, existing);
    }
}

} // namespace

extern "C" {

const GUID GUID_DEVICE_INTERFACE_ARRIVAL = {
    0xcb3a4004, 0x46f0, 0x11d0, {0xb0, 0x8f, 0x00, 0x60, 0x97, 0x13, 0x05, 0x3f}};
const GUID GUID_DEVICE_INTERFACE_REMOVAL = {
    0xcb3a4005, 0x46f0, 0x11d0, {0xb0, 0x8f, 0x00, 0x60, 0x97, 0x13, 0x05, 0x3f}};

NTSTATUS IoRegisterDeviceInterface(PDEVICE_OBJECT PhysicalDeviceObject,
                                   const GUID* InterfaceClassGuid, PUNICODE_STRING ReferenceString,
                                   PUNICODE_STRING SymbolicLinkName) try {
    VERIFY_IRQL(IoRegisterDeviceInterface);
    if (fault_point("irp.register_interface")) return STATUS_INSUFFICIENT_RESOURCES;
    std::u16string link;
    const NTSTATUS status = plug_and_play::current()->register_interface(
        PhysicalDeviceObject, *InterfaceClassGuid,
        ReferenceString != nullptr ? view_of(*ReferenceString) : std::u16string_view(), link);
    if (!NT_SUCCESS(status)) return status;
    const PWSTR text = allocated(link);
    if (text == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    const auto length = static_cast<USHORT>(link.size() * sizeof(WCHAR));
    *SymbolicLinkName = {length, static_cast<USHORT>(length + sizeof(WCHAR)), text};
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS IoSetDeviceInterfaceState(PUNICODE_STRING SymbolicLinkName, BOOLEAN Enable) try {
    VERIFY_IRQL(IoSetDeviceInterfaceState);
    if (Enable && fault_point("irp.enable_interface")) return STATUS_INSUFFICIENT_RESOURCES;
    return plug_and_play::current()->set_state(view_of(*SymbolicLinkName), Enable != FALSE);
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS IoGetDeviceInterfaces(const GUID* InterfaceClassGuid, PDEVICE_OBJECT PhysicalDeviceObject,
                               ULONG Flags, PZZWSTR* SymbolicLinkList) try {
    VERIFY_IRQL(IoGetDeviceInterfaces);
    const auto manager = plug_and_play::current();
    if (PhysicalDeviceObject != nullptr && manager->instance_of(PhysicalDeviceObject).empty())
        return STATUS_INVALID_DEVICE_REQUEST;
    std::u16string list;
    for (const std::u16string& each :
         manager->links(*InterfaceClassGuid, PhysicalDeviceObject,
                        (Flags & DEVICE_INTERFACE_INCLUDE_NONACTIVE) != 0))
        list += each + u'\0';
    *SymbolicLinkList = allocated(list);
    return *SymbolicLinkList != nullptr ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS IoRegisterPlugPlayNotification(IO_NOTIFICATION_EVENT_CATEGORY EventCategory,
                                        ULONG EventCategoryFlags, PVOID EventCategoryData,
                                        PDRIVER_OBJECT DriverObject,
                                        PDRIVER_NOTIFICATION_CALLBACK_ROUTINE CallbackRoutine,
                                        PVOID Context, PVOID* NotificationEntry) try {
    VERIFY_IRQL(IoRegisterPlugPlayNotification);
    const bool interfaces = EventCategory == EventCategoryDeviceInterfaceChange;
    if (!interfaces && EventCategory != EventCategoryHardwareProfileChange)
        return STATUS_NOT_SUPPORTED;
    if (fault_point("irp.register_notification")) return STATUS_INSUFFICIENT_RESOURCES;
    const auto manager = plug_and_play::current();
    auto made = std::make_shared<notifications::registration>(notifications::registration{
        EventCategory, interfaces ? *static_cast<const GUID*>(EventCategoryData) : GUID{},
        DriverObject, CallbackRoutine, Context});
    *NotificationEntry = manager->callbacks().add(made);
    if (interfaces &&
        (EventCategoryFlags & PNPNOTIFY_DEVICE_INTERFACE_INCLUDE_EXISTING_INTERFACES) != 0)
        call_for_existing(*manager, *made);
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS IoUnregisterPlugPlayNotification(PVOID NotificationEntry) {
    VERIFY_IRQL(IoUnregisterPlugPlayNotification);
    return plug_and_play::current()->callbacks().remove(NotificationEntry, false)
               ? STATUS_SUCCESS
               : STATUS_INVALID_PARAMETER;
}

NTSTATUS IoUnregisterPlugPlayNotificationEx(PVOID NotificationEntry) {
    VERIFY_IRQL(IoUnregisterPlugPlayNotificationEx);
    return plug_and_play::current()->callbacks().remove(NotificationEntry, true)
               ? STATUS_SUCCESS
               : STATUS_INVALID_PARAMETER;
}

} // extern "C"
