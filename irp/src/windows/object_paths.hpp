// The path that OBJECT_ATTRIBUTES name.
#ifndef IRPVERBS_IRP_SRC_WINDOWS_OBJECT_PATHS_HPP
#define IRPVERBS_IRP_SRC_WINDOWS_OBJECT_PATHS_HPP

#include <dispatch/object_attributes.h>
#include <irp/support/named_object.hpp>

namespace irpverbs::windows {

/// From the root, or from the folder of RootDirectory. STATUS_SUCCESS; STATUS_INVALID_PARAMETER:
/// there is no name; statuses of ObReferenceObjectByHandle. May throw std::bad_alloc.
NTSTATUS path_of(const OBJECT_ATTRIBUTES* attributes, std::u16string& path);

/// Opens, or creates and opens, and stores a handle: the bodies of the calls for folders and links.
/// Statuses: those of path_of, find_named_object and insert_named_object;
/// STATUS_OBJECT_NAME_EXISTS: it was there, and OBJ_OPENIF is set; STATUS_INSUFFICIENT_RESOURCES.
NTSTATUS open_named(HANDLE* handle, const OBJECT_ATTRIBUTES* attributes, const OBJECT_TYPE& type);
NTSTATUS create_named(HANDLE* handle, const OBJECT_ATTRIBUTES* attributes, const OBJECT_TYPE& type,
                      std::u16string_view target);

} // namespace irpverbs::windows

#endif
