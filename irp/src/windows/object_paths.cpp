#include "standard.hpp"

#include "object_paths.hpp"

#include <new>
#include <windows/wdk/objects.h>
#include <windows/wdk/status_codes.h>

using namespace irpverbs::dispatch::detail;
using namespace irpverbs::irp;

namespace irpverbs::windows {
namespace {

NTSTATUS give_handle(const object_reference& object, HANDLE* handle) {
    *handle = new_handle(object);
    if (*handle != nullptr) return STATUS_SUCCESS;
    named_handle_closed(*object, false);
    return STATUS_INSUFFICIENT_RESOURCES;
}

} // namespace

NTSTATUS path_of(const OBJECT_ATTRIBUTES* attributes, std::u16string& path) {
    if (attributes == nullptr || attributes->ObjectName == nullptr) return STATUS_INVALID_PARAMETER;
    if (attributes->RootDirectory != nullptr) {
        void* folder = nullptr;
        const NTSTATUS status = ObReferenceObjectByHandle(
            attributes->RootDirectory, 0, &folder_type, KernelMode, &folder, nullptr);
        if (!NT_SUCCESS(status)) return status;
        const object_reference root(static_cast<OBJECT_HEADER*>(folder), false);
        path = static_cast<named_object&>(*root).path + u'\\';
    }
    const UNICODE_STRING& name = *attributes->ObjectName;
    path.append(reinterpret_cast<const char16_t*>(name.Buffer), name.Length / sizeof(WCHAR));
    return STATUS_SUCCESS;
}

NTSTATUS open_named(HANDLE* handle, const OBJECT_ATTRIBUTES* attributes,
                    const OBJECT_TYPE& type) try {
    std::u16string path;
    object_reference found;
    NTSTATUS status = path_of(attributes, path);
    if (NT_SUCCESS(status)) status = find_named_object(path, type, found);
    return NT_SUCCESS(status) ? give_handle(found, handle) : status;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS create_named(HANDLE* handle, const OBJECT_ATTRIBUTES* attributes, const OBJECT_TYPE& type,
                      std::u16string_view target) try {
    std::u16string path;
    NTSTATUS status = path_of(attributes, path);
    if (!NT_SUCCESS(status)) return status;
    const object_reference made = make_named_object(type);
    if (made == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    auto& named = static_cast<named_object&>(*made);
    named.target = target;
    named.permanent = (attributes->Attributes & OBJ_PERMANENT) != 0;
    status = insert_named_object(path, named);
    if (NT_SUCCESS(status)) return give_handle(made, handle);
    if (status != STATUS_OBJECT_NAME_COLLISION || (attributes->Attributes & OBJ_OPENIF) == 0)
        return status;
    status = open_named(handle, attributes, type);
    return status == STATUS_SUCCESS ? STATUS_OBJECT_NAME_EXISTS : status;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

} // namespace irpverbs::windows
