#include "object_namespace.hpp"

#include <dispatch/support/locals.hpp>

#include <cstdio>
#include <mutex>
#include <new>

namespace irpverbs::irp {
namespace {

using namespace dispatch::detail;

constexpr int most_links = 32;
constexpr std::u16string_view global_folder = u"\\GLOBAL??";

struct machine_names {
    std::shared_ptr<object_namespace> names = std::make_shared<object_namespace>();
};
IRPVERBS_REGISTERED_EARLY const machine_local<machine_names> names_of_machine(0);

} // namespace

object_namespace::object_namespace() {
    for (const char16_t* folder : {u"\\DEVICE", u"\\DRIVER", u"\\FILESYSTEM", u"\\GLOBAL??",
                                   u"\\CALLBACK", u"\\BASENAMEDOBJECTS"})
        entries_.emplace(folder, entry{kind::folder, {}});
    for (const char16_t* link : {u"\\??", u"\\DOSDEVICES", u"\\GLOBAL??\\GLOBAL"})
        entries_.emplace(link, entry{kind::link, std::u16string(global_folder)});
    entries_.emplace(u"\\GLOBAL??\\GLOBALROOT", entry{kind::link, {}}); // to the root
}

// A device keeps its namespace, which may therefore outlive the machine.
std::shared_ptr<object_namespace> object_namespace::current() {
    return names_of_machine.current().names;
}

object_namespace::place object_namespace::walk(std::u16string path, bool follow_last_link) {
    std::u16string key;
    std::size_t at = 0;
    int links = 0;
    while (true) {
        if (at == path.size()) return {STATUS_OBJECT_TYPE_MISMATCH, key, entries_.end(), {}};
        if (path[at] != u'\\') return {STATUS_OBJECT_PATH_SYNTAX_BAD, {}, entries_.end(), {}};
        const std::size_t end = std::min(path.find(u'\\', at + 1), path.size());
        const bool last = end == path.size();
        if (end == at + 1)
            return {last ? STATUS_OBJECT_TYPE_MISMATCH : STATUS_OBJECT_NAME_INVALID,
                    {},
                    entries_.end(),
                    {}};
        key += upper(std::u16string_view(path).substr(at, end - at));
        const auto which = entries_.find(key);
        if (which == entries_.end())
            return {
                last ? STATUS_OBJECT_NAME_NOT_FOUND : STATUS_OBJECT_PATH_NOT_FOUND, key, which, {}};
        if (which->second.kind == kind::device)
            return {STATUS_SUCCESS, key, which, path.substr(end)};
        if (which->second.kind == kind::other)
            return {
                last ? STATUS_OBJECT_TYPE_MISMATCH : STATUS_OBJECT_PATH_NOT_FOUND, key, which, {}};
        at = end;
        if (which->second.kind == kind::folder) continue;
        if (last && !follow_last_link) return {STATUS_SUCCESS, key, which, {}};
        if (++links > most_links) return {STATUS_OBJECT_NAME_NOT_FOUND, {}, entries_.end(), {}};
        path = which->second.target + path.substr(end);
        key.clear();
        at = 0;
    }
}

NTSTATUS object_namespace::insert(std::u16string_view path, entry made, std::u16string& key) {
    place there = walk(std::u16string(path), false);
    if (there.status == STATUS_OBJECT_NAME_NOT_FOUND && !there.key.empty()) {
        entries_.emplace(there.key, std::move(made));
        key = std::move(there.key);
        return STATUS_SUCCESS;
    }
    if (NT_SUCCESS(there.status) && !there.rest.empty()) return STATUS_OBJECT_PATH_NOT_FOUND;
    const bool is_there = NT_SUCCESS(there.status) || there.status == STATUS_OBJECT_TYPE_MISMATCH;
    return is_there ? STATUS_OBJECT_NAME_COLLISION : there.status;
}

NTSTATUS object_namespace::insert_device(std::u16string_view path, DEVICE_OBJECT& device,
                                         std::u16string& key) {
    const std::lock_guard guard(lock_);
    return insert(path, {kind::device, {}, &device}, key);
}

void object_namespace::remove_device(const std::u16string& key) {
    const std::lock_guard guard(lock_);
    entries_.erase(key);
}

NTSTATUS object_namespace::insert_link(std::u16string_view path, std::u16string_view target) {
    std::u16string key;
    const std::lock_guard guard(lock_);
    return insert(path, {kind::link, std::u16string(target)}, key);
}

NTSTATUS object_namespace::remove_link(std::u16string_view path) {
    object_reference removed; // ends without the lock
    const std::lock_guard guard(lock_);
    const place there = walk(std::u16string(path), false);
    if (!NT_SUCCESS(there.status)) return there.status;
    if (there.which->second.kind != kind::link) return STATUS_OBJECT_NAME_NOT_FOUND;
    removed = std::move(there.which->second.object);
    entries_.erase(there.which);
    return STATUS_SUCCESS;
}

NTSTATUS object_namespace::find_device(std::u16string_view path, found_device& found) {
    const std::lock_guard guard(lock_);
    place there = walk(std::u16string(path), true);
    if (!NT_SUCCESS(there.status)) return there.status;
    found.device = there.which->second.device;
    found.reference = object_reference(&found.device->Header);
    found.rest = std::move(there.rest);
    return STATUS_SUCCESS;
}

NTSTATUS object_namespace::insert_object(std::u16string_view path, named_object& object) {
    kind what = kind::other;
    if (object.ObjectType == &folder_type) what = kind::folder;
    if (object.ObjectType == &link_type) what = kind::link;
    object.path = path;
    const std::lock_guard guard(lock_);
    const NTSTATUS status =
        insert(path, {what, object.target, nullptr, object_reference(&object)}, object.key);
    if (!NT_SUCCESS(status)) return status;
    object.names = weak_from_this();
    object.handles = 1;
    return status;
}

object_namespace::entries::iterator object_namespace::place_of(std::u16string_view path,
                                                               bool of_link, NTSTATUS& status) {
    const place there = walk(std::u16string(path), !of_link);
    status = there.status;
    const bool is_there = NT_SUCCESS(status) || status == STATUS_OBJECT_TYPE_MISMATCH;
    if (is_there) status = STATUS_OBJECT_TYPE_MISMATCH; // unless the caller wants such an object
    return is_there && there.rest.empty() ? entries_.find(there.key) : entries_.end();
}

// A permanent folder or link has an object while it has handles.
void object_namespace::give_object(std::u16string_view path, const std::u16string& key, entry& at) {
    at.object = make_named_object(at.kind == kind::folder ? folder_type : link_type);
    if (at.object == nullptr) throw std::bad_alloc();
    auto& made = static_cast<named_object&>(*at.object);
    made.names = weak_from_this();
    made.key = key;
    made.path = path;
    made.target = at.target;
    made.permanent = true;
}

NTSTATUS object_namespace::find_object(std::u16string_view path, const OBJECT_TYPE& type,
                                       object_reference& found) {
    const std::lock_guard guard(lock_);
    NTSTATUS status = STATUS_SUCCESS;
    const auto which = place_of(path, &type == &link_type, status);
    if (which == entries_.end()) return status;
    entry& at = which->second;
    if (at.object == nullptr && at.kind != kind::device) give_object(path, which->first, at);
    if (at.object == nullptr || at.object->ObjectType != &type) return status;
    ++static_cast<named_object&>(*at.object).handles;
    found = at.object;
    return STATUS_SUCCESS;
}

// Under lock_. Returns the reference that the name had, for the caller to drop without the lock.
object_reference object_namespace::remove_unused(const named_object& object) {
    const auto which = entries_.find(object.key);
    if (object.handles > 0 || which == entries_.end() || which->second.object != &object)
        return nullptr;
    if (object.permanent && which->second.kind == kind::other) return nullptr;
    object_reference removed = std::move(which->second.object);
    if (!object.permanent) entries_.erase(which);
    return removed;
}

void object_namespace::handle_closed(named_object& object) {
    object_reference removed;
    const std::lock_guard guard(lock_);
    --object.handles;
    removed = remove_unused(object);
}

void object_namespace::make_temporary(named_object& object) {
    object_reference removed;
    const std::lock_guard guard(lock_);
    object.permanent = false;
    removed = remove_unused(object);
}

std::u16string object_namespace::unused_device_path() {
    char text[24];
    ULONG number = 0;
    {
        const std::lock_guard guard(lock_);
        number = ++unnamed_devices_;
    }
    const int length = std::snprintf(text, sizeof text, "\\Device\\%08x", number);
    return {text, text + length};
}

} // namespace irpverbs::irp
