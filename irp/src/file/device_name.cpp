#include "device_name.hpp"

#include "irql_rules.hpp"
#include "object_namespace.hpp"

#include <irp/file.h>

#include <dispatch/support/faults.hpp>

#include <new>
#include <utility>

// Windows' opaque structure behind DEVICE_OBJECT.
struct _DEVOBJ_EXTENSION {
    std::shared_ptr<irpverbs::irp::object_namespace> names;
    std::u16string path;
    std::u16string key;
};

namespace irpverbs::irp {

NTSTATUS name_device(DEVICE_OBJECT& device, const UNICODE_STRING* name) try {
    auto place = std::make_unique<_DEVOBJ_EXTENSION>();
    place->names = object_namespace::current();
    place->path =
        name != nullptr ? std::u16string(view_of(*name)) : place->names->unused_device_path();
    const NTSTATUS status = place->names->insert_device(place->path, device, place->key);
    if (!NT_SUCCESS(status)) return status;
    device.Flags |= DO_DEVICE_HAS_NAME;
    device.DeviceObjectExtension = place.release();
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

std::u16string name_of_device(const DEVICE_OBJECT& device) {
    return device.DeviceObjectExtension != nullptr ? device.DeviceObjectExtension->path
                                                   : std::u16string();
}

void remove_device_name(DEVICE_OBJECT& device) {
    const std::unique_ptr<_DEVOBJ_EXTENSION> place(
        std::exchange(device.DeviceObjectExtension, nullptr));
    if (place != nullptr) place->names->remove_device(place->key);
}

} // namespace irpverbs::irp

using namespace irpverbs::irp;

extern "C" {

NTSTATUS IoCreateSymbolicLink(PUNICODE_STRING SymbolicLinkName, PUNICODE_STRING DeviceName) try {
    VERIFY_IRQL(IoCreateSymbolicLink);
    if (irpverbs::dispatch::detail::fault_point("irp.symbolic_link"))
        return STATUS_INSUFFICIENT_RESOURCES;
    return object_namespace::current()->insert_link(view_of(*SymbolicLinkName),
                                                    view_of(*DeviceName));
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS IoDeleteSymbolicLink(PUNICODE_STRING SymbolicLinkName) try {
    VERIFY_IRQL(IoDeleteSymbolicLink);
    return object_namespace::current()->remove_link(view_of(*SymbolicLinkName));
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

} // extern "C"
