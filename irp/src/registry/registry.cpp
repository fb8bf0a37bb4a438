#include "registry.hpp"

#include <dispatch/support/locals.hpp>

#include <algorithm>
#include <utility>

namespace irpverbs::irp {
namespace {

IRPVERBS_REGISTERED_EARLY const dispatch::detail::machine_local<registry> registries(0);

constexpr std::u16string_view initial_keys[] = {registry::device_map, registry::windows_nt,
                                                registry::control,    registry::devices,
                                                registry::services,   registry::user};

LONGLONG now() {
    LARGE_INTEGER time;
    KeQuerySystemTime(&time);
    return time.QuadPart;
}

// Removes the first part of the path, and the backslash behind it.
std::u16string_view take_part(std::u16string_view& path) {
    const std::size_t end = std::min(path.find(u'\\'), path.size());
    const std::u16string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    return part;
}

} // namespace

registry_key::registry_key(std::u16string its_path, bool volatile_key, registry_key* above,
                           LONGLONG time)
    : path(std::move(its_path)), is_volatile(volatile_key), parent(above), written(time) {}

registry_value* registry_key::find(std::u16string_view value_name) {
    const std::u16string wanted = upper(value_name);
    const auto found = std::find_if(values.begin(), values.end(), [&](const registry_value& each) {
        return upper(each.name) == wanted;
    });
    return found == values.end() ? nullptr : &*found;
}

registry::registry() : root_(std::make_shared<registry_key>(u"\\REGISTRY", false, nullptr, now())) {
    for (const std::u16string_view path : initial_keys)
        ensure(path);
}

registry& registry::current() { return registries.current(); }

registry::place registry::walk(const key_reference& base, std::u16string_view path) const {
    const bool from_root = !path.empty() && path.front() == u'\\';
    if (from_root == (base != nullptr)) return {STATUS_OBJECT_PATH_SYNTAX_BAD, nullptr, {}};
    key_reference key = base;
    if (base == nullptr) {
        path.remove_prefix(1);
        if (upper(take_part(path)) != u"REGISTRY")
            return {STATUS_OBJECT_NAME_NOT_FOUND, nullptr, {}};
        key = root_;
    }
    if (key->deleted) return {STATUS_KEY_DELETED, nullptr, {}};
    while (!path.empty()) {
        const std::u16string_view rest = path;
        const std::u16string_view part = take_part(path);
        if (part.empty()) return {STATUS_OBJECT_NAME_INVALID, nullptr, {}};
        const auto below = key->keys.find(upper(part));
        if (below == key->keys.end()) return {STATUS_OBJECT_NAME_NOT_FOUND, key, rest};
        key = below->second;
    }
    return {STATUS_SUCCESS, key, {}};
}

key_reference registry::add(registry_key& parent, std::u16string_view name, bool is_volatile) {
    auto made = std::make_shared<registry_key>(parent.path + u'\\' + std::u16string(name),
                                               is_volatile, &parent, now());
    parent.keys.emplace(upper(name), made);
    parent.written = made->written;
    return made;
}

NTSTATUS registry::open(const key_reference& base, std::u16string_view path, key_reference& found) {
    const std::lock_guard guard(lock_);
    place there = walk(base, path);
    if (NT_SUCCESS(there.status)) found = std::move(there.key);
    return there.status;
}

NTSTATUS registry::create(const key_reference& base, std::u16string_view path, bool is_volatile,
                          key_reference& found, bool& created) {
    const std::lock_guard guard(lock_);
    place there = walk(base, path);
    created = there.status == STATUS_OBJECT_NAME_NOT_FOUND && there.key != nullptr;
    if (created) {
        const std::u16string_view name = take_part(there.rest);
        if (!there.rest.empty()) return STATUS_OBJECT_NAME_NOT_FOUND;
        if (there.key->is_volatile && !is_volatile) return STATUS_CHILD_MUST_BE_VOLATILE;
        found = add(*there.key, name, is_volatile);
        return STATUS_SUCCESS;
    }
    if (NT_SUCCESS(there.status)) found = std::move(there.key);
    return there.status;
}

key_reference registry::ensure(std::u16string_view path) {
    if (path.find(u"\\\\") != path.npos) return nullptr;
    const std::lock_guard guard(lock_);
    place there = walk(nullptr, path);
    while (!there.rest.empty())
        there.key = add(*there.key, take_part(there.rest), false);
    return there.key;
}

NTSTATUS registry::remove(registry_key& key) {
    return with(key, [&](registry_key& removed) -> NTSTATUS {
        if (removed.parent == nullptr || !removed.keys.empty()) return STATUS_CANNOT_DELETE;
        removed.deleted = true;
        registry_key& parent = *std::exchange(removed.parent, nullptr);
        parent.written = now();
        parent.keys.erase(upper(removed.name()));
        return STATUS_SUCCESS;
    });
}

NTSTATUS registry::set_value(registry_key& key, std::u16string_view name, ULONG type,
                             std::span<const std::byte> data) {
    registry_value made{std::u16string(name), type, {data.begin(), data.end()}};
    return with(key, [&](registry_key& changed) -> NTSTATUS {
        if (registry_value* const there = changed.find(name)) {
            made.name = there->name;
            *there = std::move(made);
        } else {
            changed.values.push_back(std::move(made));
        }
        changed.written = now();
        return STATUS_SUCCESS;
    });
}

NTSTATUS registry::value(registry_key& key, std::u16string_view name, registry_value& copy) {
    return with(key, [&](registry_key& read) -> NTSTATUS {
        const registry_value* const there = read.find(name);
        if (there == nullptr) return STATUS_OBJECT_NAME_NOT_FOUND;
        copy = *there;
        return STATUS_SUCCESS;
    });
}

NTSTATUS registry::value(registry_key& key, std::size_t number, registry_value& copy) {
    return with(key, [&](registry_key& read) -> NTSTATUS {
        if (number >= read.values.size()) return STATUS_NO_MORE_ENTRIES;
        copy = read.values[number];
        return STATUS_SUCCESS;
    });
}

NTSTATUS registry::remove_value(registry_key& key, std::u16string_view name) {
    return with(key, [&](registry_key& changed) -> NTSTATUS {
        const registry_value* const there = changed.find(name);
        if (there == nullptr) return STATUS_OBJECT_NAME_NOT_FOUND;
        changed.values.erase(changed.values.begin() + (there - changed.values.data()));
        changed.written = now();
        return STATUS_SUCCESS;
    });
}

} // namespace irpverbs::irp
