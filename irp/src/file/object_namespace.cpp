#include "object_namespace.hpp"

#include <dispatch/support/locals.hpp>

#include <cstdio>
#include <mutex>

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
    for (const char16_t* folder : {u"\\DEVICE", u"\\DRIVER", u"\\FILESYSTEM", u"\\GLOBAL??"})
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
    const std::lock_guard guard(lock_);
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
    return insert(path, {kind::device, {}, &device}, key);
}

void object_namespace::remove_device(const std::u16string& key) {
    const std::lock_guard guard(lock_);
    entries_.erase(key);
}

NTSTATUS object_namespace::insert_link(std::u16string_view path, std::u16string_view target) {
    std::u16string key;
    return insert(path, {kind::link, std::u16string(target)}, key);
}

NTSTATUS object_namespace::remove_link(std::u16string_view path) {
    const std::lock_guard guard(lock_);
    const place there = walk(std::u16string(path), false);
    if (!NT_SUCCESS(there.status)) return there.status;
    if (there.which->second.kind != kind::link) return STATUS_OBJECT_NAME_NOT_FOUND;
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
