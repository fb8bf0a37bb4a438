// Properties of devices, and their keys.
#include "file/device_name.hpp"
#include "irql_rules.hpp"
#include "plug_and_play.hpp"
#include "registry/registry.hpp"

#include <cstring>
#include <new>

using namespace irpverbs::irp;

namespace {

// The values of a device's key that hold properties; null: the key holds no such property.
constexpr const char16_t* value_names[] = {
    u"DeviceDesc",
    u"HardwareID",
    u"CompatibleIDs",
    nullptr,
    nullptr,
    u"Class",
    u"ClassGUID",
    u"Driver",
    u"Mfg",
    u"FriendlyName",
    u"LocationInformation",
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    u"Address",
    u"UINumber",
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};
static_assert(std::size(value_names) == DevicePropertyContainerID + 1);

std::vector<std::byte> bytes_of(std::u16string text) {
    text += u'\0';
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

NTSTATUS property_of(const DEVICE_OBJECT& device, const std::u16string& instance,
                     DEVICE_REGISTRY_PROPERTY which, std::vector<std::byte>& data) {
    if (which == DevicePropertyPhysicalDeviceObjectName) {
        data = bytes_of(name_of_device(device));
        return STATUS_SUCCESS;
    }
    if (which == DevicePropertyEnumeratorName) {
        data = bytes_of(instance.substr(0, instance.find(u'\\')));
        return STATUS_SUCCESS;
    }
    if (value_names[which] == nullptr) return STATUS_OBJECT_NAME_NOT_FOUND;
    const key_reference key = registry::current().ensure(enum_path(instance));
    registry_value value;
    const NTSTATUS status = registry::current().value(*key, value_names[which], value);
    data = std::move(value.data);
    return status;
}

NTSTATUS open_key(const std::u16string& path, HANDLE& handle) {
    key_reference key = registry::current().ensure(path);
    if (key == nullptr) return STATUS_OBJECT_NAME_NOT_FOUND;
    handle = new_key_handle(std::move(key));
    return handle != nullptr ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS driver_key_path(const DEVICE_OBJECT& device, const std::u16string& instance,
                         std::u16string& path) {
    std::vector<std::byte> data;
    const NTSTATUS status = property_of(device, instance, DevicePropertyDriverKeyName, data);
    if (!NT_SUCCESS(status)) return status;
    std::u16string name(data.size() / sizeof(WCHAR), u'\0');
    std::memcpy(name.data(), data.data(), name.size() * sizeof(WCHAR));
    path = registry::control;
    path += u"\\Class\\" + name.substr(0, name.find(u'\0')); // anyone may have set it
    return STATUS_SUCCESS;
}

} // namespace

extern "C" {

NTSTATUS IoGetDeviceProperty(PDEVICE_OBJECT DeviceObject, DEVICE_REGISTRY_PROPERTY DeviceProperty,
                             ULONG BufferLength, PVOID PropertyBuffer, PULONG ResultLength) try {
    VERIFY_IRQL(IoGetDeviceProperty);
    if (static_cast<std::size_t>(DeviceProperty) >= std::size(value_names))
        return STATUS_INVALID_PARAMETER_2;
    const std::u16string instance = plug_and_play::current()->instance_of(DeviceObject);
    if (instance.empty()) return STATUS_INVALID_DEVICE_REQUEST;
    std::vector<std::byte> data;
    const NTSTATUS status = property_of(*DeviceObject, instance, DeviceProperty, data);
    if (!NT_SUCCESS(status)) return status;
    *ResultLength = static_cast<ULONG>(data.size());
    if (BufferLength < data.size()) return STATUS_BUFFER_TOO_SMALL;
    std::memcpy(PropertyBuffer, data.data(), data.size());
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS IoOpenDeviceRegistryKey(PDEVICE_OBJECT DeviceObject, ULONG DevInstKeyType, ACCESS_MASK,
                                 PHANDLE DeviceRegKey) try {
    VERIFY_IRQL(IoOpenDeviceRegistryKey);
    const std::u16string instance = plug_and_play::current()->instance_of(DeviceObject);
    if (instance.empty()) return STATUS_INVALID_DEVICE_REQUEST;
    std::u16string path;
    switch (DevInstKeyType & ~ULONG{PLUGPLAY_REGKEY_CURRENT_HWPROFILE}) {
    case PLUGPLAY_REGKEY_DEVICE:
        path = enum_path(instance) + u"\\Device Parameters";
        break;
    case PLUGPLAY_REGKEY_DRIVER: {
        const NTSTATUS status = driver_key_path(*DeviceObject, instance, path);
        if (!NT_SUCCESS(status)) return status;
        break;
    }
    default:
        return STATUS_INVALID_PARAMETER;
    }
    return open_key(path, *DeviceRegKey);
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS IoOpenDeviceInterfaceRegistryKey(PUNICODE_STRING SymbolicLinkName, ACCESS_MASK,
                                          PHANDLE DeviceInterfaceRegKey) try {
    VERIFY_IRQL(IoOpenDeviceInterfaceRegistryKey);
    const std::u16string path =
        plug_and_play::current()->key_of_interface(view_of(*SymbolicLinkName));
    return path.empty() ? STATUS_OBJECT_NAME_NOT_FOUND : open_key(path, *DeviceInterfaceRegKey);
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

} // extern "C"
