#include "device_name.hpp"
#include "object_namespace.hpp"

#include <irp/file.h>
#include <irp/support/named_object.hpp>

#include <new>

namespace irpverbs::irp {
namespace {

using namespace dispatch::detail;

bool destroy_named(OBJECT_HEADER& object) {
    delete static_cast<named_object*>(&object);
    return true;
}

} // namespace

const OBJECT_TYPE folder_type{"folder", named_object_type, destroy_named, nullptr,
                              named_handle_closed};
const OBJECT_TYPE link_type{"symbolic link", named_object_type, destroy_named, nullptr,
                            named_handle_closed};

object_reference make_named_object(const OBJECT_TYPE& type) {
    auto* made = new (std::nothrow) named_object;
    if (made == nullptr) return nullptr;
    initialize_object(*made, type);
    return {made, false};
}

NTSTATUS insert_named_object(std::u16string_view path, named_object& object) try {
    return object_namespace::current()->insert_object(path, object);
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS find_named_object(std::u16string_view path, const OBJECT_TYPE& type,
                           object_reference& found) try {
    return object_namespace::current()->find_object(path, type, found);
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

void named_handle_closed(OBJECT_HEADER& object, bool) {
    auto& named = static_cast<named_object&>(object);
    if (const auto names = named.names.lock()) names->handle_closed(named);
}

void make_temporary(named_object& object) {
    if (const auto names = object.names.lock()) names->make_temporary(object);
}

named_object* as_named_object(OBJECT_HEADER& object) {
    return object.Dispatcher.Type == named_object_type ? static_cast<named_object*>(&object)
                                                       : nullptr;
}

std::u16string path_of_object(const OBJECT_HEADER& object) {
    switch (object.Dispatcher.Type) {
    case device_object_type:
        return name_of_device(reinterpret_cast<const DEVICE_OBJECT&>(object));
    case file_object_type: {
        const auto& file = reinterpret_cast<const FILE_OBJECT&>(object);
        return name_of_device(*file.DeviceObject) + std::u16string(view_of(file.FileName));
    }
    case driver_object_type:
        return std::u16string(view_of(reinterpret_cast<const DRIVER_OBJECT&>(object).DriverName));
    case named_object_type:
        return static_cast<const named_object&>(object).path;
    default:
        return {};
    }
}

} // namespace irpverbs::irp
