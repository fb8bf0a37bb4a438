#include <dispatch/support/leftovers.hpp>

#include "hooks.hpp"

#include "verifier_rules.hpp"

#include <dispatch/support/object.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace irpverbs::dispatch::detail {
namespace {

struct open_handle {
    const OBJECT_HEADER* object;
    call_stack opened_at;
};

struct counted_object {
    const machine* owner;
    const char* type;
    call_stack made_at;
    call_stack referenced_at; // last, by ObReferenceObject
};

using handle_key = std::pair<const machine*, HANDLE>;

struct leftover_table {
    std::atomic<bool> used{false}; // what was recorded may end after the verifier was turned off
    raw_spin_lock lock;
    std::map<handle_key, open_handle> handles; // guarded by lock, as the one below
    std::map<const OBJECT_HEADER*, counted_object> objects;
};

leftover_table& left_behind() {
    static auto* only = new leftover_table; // outlives every machine
    return *only;
}

struct leftovers {
    std::vector<finding> handles;
    std::vector<finding> objects;
};

finding handle_finding(HANDLE handle, const open_handle& known, const char* type) {
    finding found = make_finding(verifier_rules::HandleLeak,
                                 std::string("a handle of a") + (type[0] == 'e' ? "n " : " ") +
                                     type + " is never closed",
                                 as_parameter(handle), as_parameter(known.object));
    found.add_stack("opened at", known.opened_at);
    return found;
}

finding object_finding(const OBJECT_HEADER* object, const counted_object& known) {
    finding found =
        make_finding(verifier_rules::ObjectLeak,
                     std::string("a reference to a") + (known.type[0] == 'e' ? "n " : " ") +
                         known.type + " is never released",
                     as_parameter(object));
    if (known.referenced_at.count != 0) found.add_stack("referenced last at", known.referenced_at);
    found.add_stack("made at", known.made_at);
    return found;
}

// Under the lock. An object with an open handle is reported by that.
leftovers find_leftovers(const leftover_table& all, const machine& owner, std::string_view type) {
    leftovers left;
    std::vector<const OBJECT_HEADER*> with_handle;
    for (const auto& [key, known] : all.handles) {
        if (key.first != &owner) continue;
        const auto object = all.objects.find(known.object);
        const char* const named = object == all.objects.end() ? "object" : object->second.type;
        if (type.empty() || type == named)
            left.handles.push_back(handle_finding(key.second, known, named));
        with_handle.push_back(known.object);
    }
    for (const auto& [object, known] : all.objects)
        if (known.owner == &owner && (type.empty() || type == known.type) &&
            std::find(with_handle.begin(), with_handle.end(), object) == with_handle.end())
            left.objects.push_back(object_finding(object, known));
    return left;
}

} // namespace

void handle_opened(processor& self, HANDLE handle, const OBJECT_HEADER* object) {
    if (!enabled(check::pool)) return;
    const call_stack where = capture_stack(1, 16);
    const std::lock_guard guard(left_behind().lock);
    left_behind().used.store(true, std::memory_order_relaxed);
    left_behind().handles[{self.owner, handle}] = {object, where};
}

void handle_closed(processor& self, HANDLE handle) {
    if (!left_behind().used.load(std::memory_order_relaxed)) return;
    const std::lock_guard guard(left_behind().lock);
    left_behind().handles.erase({self.owner, handle});
}

void object_made(processor& self, const OBJECT_HEADER& object) {
    if (!enabled(check::pool)) return;
    const call_stack where = capture_stack(1, 16);
    const std::lock_guard guard(left_behind().lock);
    left_behind().used.store(true, std::memory_order_relaxed);
    left_behind().objects[&object] = {self.owner, object.ObjectType->name, where, {}};
}

void object_referenced(const OBJECT_HEADER& object) {
    if (!enabled(check::pool)) return;
    const call_stack where = capture_stack(1, 16);
    const std::lock_guard guard(left_behind().lock);
    const auto known = left_behind().objects.find(&object);
    if (known != left_behind().objects.end()) known->second.referenced_at = where;
}

void object_ended(const OBJECT_HEADER& object) {
    if (!left_behind().used.load(std::memory_order_relaxed)) return;
    const std::lock_guard guard(left_behind().lock);
    left_behind().objects.erase(&object);
}

void check_leftovers(std::string_view type) {
    if (!enabled(check::pool)) return;
    leftovers left;
    {
        const std::lock_guard guard(left_behind().lock);
        left = find_leftovers(left_behind(), *this_processor().owner, type);
    }
    for (const std::vector<finding>* each : {&left.handles, &left.objects})
        for (const finding& one : *each)
            report(one);
}

void clear_leftovers(const machine& gone) {
    const std::lock_guard guard(left_behind().lock);
    std::erase_if(left_behind().handles,
                  [&](const auto& each) { return each.first.first == &gone; });
    std::erase_if(left_behind().objects,
                  [&](const auto& each) { return each.second.owner == &gone; });
}

} // namespace irpverbs::dispatch::detail
