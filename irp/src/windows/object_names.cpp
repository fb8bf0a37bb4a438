// Folders and symbolic links of the object namespace, and the names of objects.
#include "standard.hpp"

#include "object_paths.hpp"

#include <new>
#include <windows/wdk/io.h>
#include <windows/wdk/objects.h>
#include <windows/wdk/status_codes.h>

using namespace irpverbs::dispatch::detail;
using namespace irpverbs::irp;
using namespace irpverbs::windows;

namespace {

// The object of a handle, of this type or with null of any.
NTSTATUS object_of(HANDLE handle, const OBJECT_TYPE* type, object_reference& found) {
    void* object = nullptr;
    const NTSTATUS status = ObReferenceObjectByHandle(handle, 0, const_cast<OBJECT_TYPE*>(type),
                                                      KernelMode, &object, nullptr);
    if (NT_SUCCESS(status)) found = object_reference(static_cast<OBJECT_HEADER*>(object), false);
    return status;
}

} // namespace

extern "C" {

NTSTATUS ZwCreateDirectoryObject(PHANDLE Handle, ACCESS_MASK, POBJECT_ATTRIBUTES ObjectAttributes) {
    return create_named(Handle, ObjectAttributes, folder_type, {});
}
NTSTATUS ZwOpenDirectoryObject(PHANDLE Handle, ACCESS_MASK, POBJECT_ATTRIBUTES ObjectAttributes) {
    return open_named(Handle, ObjectAttributes, folder_type);
}
NTSTATUS ZwCreateSymbolicLinkObject(PHANDLE Handle, ACCESS_MASK,
                                    POBJECT_ATTRIBUTES ObjectAttributes,
                                    PUNICODE_STRING LinkTarget) {
    return create_named(Handle, ObjectAttributes, link_type,
                        {reinterpret_cast<const char16_t*>(LinkTarget->Buffer),
                         LinkTarget->Length / sizeof(WCHAR)});
}
NTSTATUS ZwOpenSymbolicLinkObject(PHANDLE Handle, ACCESS_MASK,
                                  POBJECT_ATTRIBUTES ObjectAttributes) {
    return open_named(Handle, ObjectAttributes, link_type);
}

NTSTATUS ZwQuerySymbolicLinkObject(HANDLE Handle, PUNICODE_STRING LinkTarget,
                                   PULONG ReturnedLength) {
    object_reference found;
    const NTSTATUS status = object_of(Handle, &link_type, found);
    if (!NT_SUCCESS(status)) return status;
    const std::u16string& target = static_cast<named_object&>(*found).target;
    const SIZE_T length = target.size() * sizeof(WCHAR);
    if (ReturnedLength != nullptr) *ReturnedLength = static_cast<ULONG>(length);
    if (length > LinkTarget->MaximumLength) return STATUS_BUFFER_TOO_SMALL;
    memcpy(LinkTarget->Buffer, target.data(), length);
    LinkTarget->Length = static_cast<USHORT>(length);
    return STATUS_SUCCESS;
}

NTSTATUS ZwMakeTemporaryObject(HANDLE Handle) {
    object_reference found;
    const NTSTATUS status = object_of(Handle, nullptr, found);
    if (!NT_SUCCESS(status)) return status;
    named_object* const named = as_named_object(*found);
    if (named == nullptr) return STATUS_OBJECT_TYPE_MISMATCH;
    make_temporary(*named);
    return STATUS_SUCCESS;
}

void ObMakeTemporaryObject(PVOID Object) {
    named_object* const named = as_named_object(*static_cast<OBJECT_HEADER*>(Object));
    if (named != nullptr) make_temporary(*named);
}

NTSTATUS IoCreateUnprotectedSymbolicLink(PUNICODE_STRING SymbolicLinkName,
                                         PUNICODE_STRING DeviceName) {
    return IoCreateSymbolicLink(SymbolicLinkName, DeviceName);
}

NTSTATUS ObQueryNameString(PVOID Object, POBJECT_NAME_INFORMATION Information, ULONG Length,
                           PULONG ReturnLength) try {
    const std::u16string path = path_of_object(*static_cast<OBJECT_HEADER*>(Object));
    const SIZE_T bytes = path.size() * sizeof(WCHAR);
    const SIZE_T with_end = path.empty() ? 0 : bytes + sizeof(WCHAR);
    *ReturnLength = static_cast<ULONG>(sizeof(OBJECT_NAME_INFORMATION) + with_end);
    if (Length < *ReturnLength) return STATUS_INFO_LENGTH_MISMATCH;
    Information->Name = {static_cast<USHORT>(bytes), static_cast<USHORT>(with_end), nullptr};
    if (path.empty()) return STATUS_SUCCESS;
    Information->Name.Buffer = reinterpret_cast<PWSTR>(Information + 1);
    memcpy(Information->Name.Buffer, path.c_str(), with_end);
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

} // extern "C"
