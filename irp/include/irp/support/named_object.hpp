// Objects with a path in the machine's namespace: folders, symbolic links, and those of other
// packages' types. As on Windows a name goes with the last handle, unless the object is permanent.
#pragma once

#include <dispatch/support/object.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace irpverbs::irp {

class object_namespace;

struct named_object : OBJECT_HEADER {
    std::weak_ptr<object_namespace> names; // set while it has a name, with key and handles
    std::u16string key;
    std::u16string path;
    std::u16string target; // of a symbolic link
    LONG handles = 0;      // guarded by the namespace, like permanent
    bool permanent = false;
};

NT_API extern const OBJECT_TYPE folder_type;
NT_API extern const OBJECT_TYPE link_type;

/// OBJECT_TYPE::handle_closed of every type of named objects.
NT_API void named_handle_closed(OBJECT_HEADER& object, bool machine_ends);

/// A folder or link without a name; null without memory.
NT_API dispatch::detail::object_reference make_named_object(const OBJECT_TYPE& type);

/// Both count one handle more, which the caller creates or ends by named_handle_closed. IRQL:
/// PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_OBJECT_NAME_COLLISION (insert);
/// STATUS_OBJECT_NAME_NOT_FOUND, STATUS_OBJECT_TYPE_MISMATCH (find); STATUS_OBJECT_PATH_NOT_FOUND,
/// STATUS_OBJECT_PATH_SYNTAX_BAD, STATUS_OBJECT_NAME_INVALID; STATUS_INSUFFICIENT_RESOURCES.
NT_API NTSTATUS insert_named_object(std::u16string_view path, named_object& object);
NT_API NTSTATUS find_named_object(std::u16string_view path, const OBJECT_TYPE& type,
                                  dispatch::detail::object_reference& found);

/// The name goes with the last handle, or at once. IRQL: PASSIVE_LEVEL.
NT_API void make_temporary(named_object& object);

/// Null: it is of another type.
NT_API named_object* as_named_object(OBJECT_HEADER& object);

/// The path of a device, file, driver or named object; empty: it has no name. May throw
/// std::bad_alloc.
NT_API std::u16string path_of_object(const OBJECT_HEADER& object);

} // namespace irpverbs::irp
