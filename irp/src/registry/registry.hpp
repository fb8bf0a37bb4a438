// The machine's registry: a tree of keys with their values.
#pragma once

#include "names.hpp"

#include <irp/registry.h>

#include <dispatch/support/scheduled_spin.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace irpverbs::irp {

struct registry_value {
    std::u16string name;
    ULONG type = REG_NONE;
    std::vector<std::byte> data;
};

/// A key. Its fields are guarded by the registry's lock, but for those that are const.
struct registry_key {
    registry_key(std::u16string its_path, bool volatile_key, registry_key* above, LONGLONG time);

    const std::u16string path; // from the root, in the letters of its creation
    const bool is_volatile;
    registry_key* parent; // null: the root, or a deleted key
    bool deleted = false;
    LONGLONG written;                                             // in system time
    std::map<std::u16string, std::shared_ptr<registry_key>> keys; // by upper-case name
    std::vector<registry_value> values;                           // in the order of their creation

    std::u16string_view name() const {
        return std::u16string_view(path).substr(path.rfind(u'\\') + 1);
    }
    /// Null: there is no such value.
    registry_value* find(std::u16string_view value_name);
};

using key_reference = std::shared_ptr<registry_key>;

/// Distinct threads may call all members but the destructor; they may throw std::bad_alloc. IRQL:
/// <= DISPATCH_LEVEL.
class registry {
public:
    // The keys that every registry begins with, and that callers name.
    static constexpr std::u16string_view services =
        u"\\Registry\\Machine\\System\\CurrentControlSet\\Services";
    static constexpr std::u16string_view control =
        u"\\Registry\\Machine\\System\\CurrentControlSet\\Control";
    static constexpr std::u16string_view devices =
        u"\\Registry\\Machine\\System\\CurrentControlSet\\Enum";
    static constexpr std::u16string_view device_map = u"\\Registry\\Machine\\Hardware\\DeviceMap";
    static constexpr std::u16string_view windows_nt =
        u"\\Registry\\Machine\\Software\\Microsoft\\Windows NT\\CurrentVersion";
    static constexpr std::u16string_view user = u"\\Registry\\User\\.Default";

    registry();

    /// The registry of the calling thread's machine.
    static registry& current();

    /// Opens the key at `path`: below `base`, or from the root when that is null. Statuses: those
    /// of ZwOpenKey.
    NTSTATUS open(const key_reference& base, std::u16string_view path, key_reference& found);
    /// Opens the key, or creates its last part. Statuses: those of ZwCreateKey.
    NTSTATUS create(const key_reference& base, std::u16string_view path, bool is_volatile,
                    key_reference& found, bool& created);
    /// Opens the key at a path from the root; creates each part that does not exist. Null: the path
    /// has an empty part.
    key_reference ensure(std::u16string_view path);
    /// Statuses: those of ZwDeleteKey.
    NTSTATUS remove(registry_key& key);

    /// Calls `use` with the key under the registry's lock. Returns its status, or
    /// STATUS_KEY_DELETED.
    template <class Use>
    NTSTATUS with(registry_key& key, Use use) {
        const std::lock_guard guard(lock_);
        return key.deleted ? STATUS_KEY_DELETED : use(key);
    }

    NTSTATUS set_value(registry_key& key, std::u16string_view name, ULONG type,
                       std::span<const std::byte> data);
    /// Copies the value. STATUS_OBJECT_NAME_NOT_FOUND: there is none of that name.
    NTSTATUS value(registry_key& key, std::u16string_view name, registry_value& copy);
    /// Copies the value of that number. STATUS_NO_MORE_ENTRIES.
    NTSTATUS value(registry_key& key, std::size_t number, registry_value& copy);
    NTSTATUS remove_value(registry_key& key, std::u16string_view name);

private:
    struct place {
        NTSTATUS status;
        key_reference key; // the one found, or the deepest of the path
        std::u16string_view rest;
    };
    place walk(const key_reference& base, std::u16string_view path) const; // under lock_
    static key_reference add(registry_key& parent, std::u16string_view name, bool is_volatile);

    dispatch::detail::scheduled_spin lock_;
    key_reference root_;
};

/// Returns a handle of the key; null: there is no memory.
HANDLE new_key_handle(key_reference key);
/// Returns the key of a handle. STATUS_SUCCESS, STATUS_INVALID_HANDLE, STATUS_OBJECT_TYPE_MISMATCH.
NTSTATUS key_of(HANDLE handle, key_reference& key);

} // namespace irpverbs::irp
