#include "hooks.hpp"

#include "report/symbols.hpp"
#include "verifier_rules.hpp"
#include "wait/waiting.hpp"

#include <dispatch/dpc.h>
#include <dispatch/pool.h>
#include <dispatch/thread.h>
#include <dispatch/timer.h>
#include <dispatch/work_item.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

namespace irpverbs::dispatch::detail {
namespace {

using address = std::uintptr_t;
using place = std::pair<address, live_object_kind>;

struct live_object {
    const machine* owner;
    address routine; // 0: none
    call_stack since;
};

struct object_table {
    raw_spin_lock lock;
    std::map<place, live_object> objects; // guarded by lock
};

object_table& table() {
    static auto* only = new object_table; // outlives every machine
    return *only;
}

address address_of(const void* object) { return reinterpret_cast<address>(object); }
const void* object_at(const place& where) { return reinterpret_cast<const void*>(where.first); }

// Asks the object itself, since the verifier may have missed the end of its life.
bool is_alive(live_object_kind kind, const void* object) {
    switch (kind) {
    case live_object_kind::timer:
        return __atomic_load_n(&static_cast<const KTIMER*>(object)->Queue, __ATOMIC_RELAXED) !=
               nullptr;
    case live_object_kind::dpc:
        return __atomic_load_n(&static_cast<const KDPC*>(object)->DpcData, __ATOMIC_RELAXED) !=
               nullptr;
    case live_object_kind::work_item:
        return __atomic_load_n(&static_cast<const WORK_QUEUE_ITEM*>(object)->List.Flink,
                               __ATOMIC_RELAXED) != nullptr;
    case live_object_kind::lookaside:
        return static_cast<const NPAGED_LOOKASIDE_LIST*>(object)->Allocate != nullptr;
    default: // their ends are calls that the verifier does not miss
        return true;
    }
}

struct wording {
    const char* use; // as a check of freed memory says it
    const char* state;
    const rule& freed;
    const rule* reinitialised; // null: not checked
};

const wording& words_for(live_object_kind kind) {
    static constexpr wording words[] = {
        {"a timer is set", "a timer that is set", verifier_rules::TimerFreed,
         &verifier_rules::TimerReinitialised},
        {"a DPC is queued", "a DPC that is queued", verifier_rules::DpcFreed,
         &verifier_rules::DpcReinitialised},
        {"a work item is queued", "a work item that is queued", verifier_rules::WorkItemFreed,
         &verifier_rules::WorkItemReinitialised},
        {"a lookaside list is initialised", "a lookaside list that was not deleted",
         verifier_rules::LookasideFreed, &verifier_rules::LookasideReinitialised},
        {"an ERESOURCE is initialised", "an ERESOURCE that was not deleted",
         verifier_rules::ResourceFreed, nullptr},
        {"a thread is started", "a system thread that has not ended",
         verifier_rules::ThreadOutlivesDriver, nullptr},
        {"an interrupt is connected", "an interrupt that is connected",
         verifier_rules::InterruptOutlivesDriver, nullptr},
        {"a device is registered with WMI", "a device that WMI still knows",
         verifier_rules::WmiRegistration, nullptr}};
    return words[static_cast<std::size_t>(kind)];
}

struct memory_block {
    const void* memory;
    std::size_t size;
};

void report_alive(const rule& which, const std::string& text, const void* object,
                  const live_object& known, memory_block around) {
    finding found = make_finding(which, text, address_of(object), address_of(around.memory),
                                 static_cast<ULONG_PTR>(around.size));
    found.add_stack("alive since", known.since);
    report(found);
}

using known_object = std::pair<place, live_object>;

/// Removes the objects of that condition from the table.
template <class Condition>
std::vector<known_object> remove_if(const Condition& condition) {
    std::vector<known_object> removed;
    object_table& all = table();
    const std::lock_guard guard(all.lock);
    std::erase_if(all.objects, [&](const auto& each) {
        if (!condition(each)) return false;
        removed.push_back(each);
        return true;
    });
    return removed;
}

bool lies_in(std::span<const std::span<const char>> image, address where) {
    return std::any_of(image.begin(), image.end(), [=](std::span<const char> part) {
        return where - address_of(part.data()) < part.size();
    });
}

// Symbols name what lies before an address, as that of a call.
std::string symbol_at(address where) {
    return describe_address(reinterpret_cast<void*>(where + 1));
}

void report_left(const known_object& left, bool in_image) {
    const auto& [where, known] = left;
    std::string text = "the driver is unloaded, and leaves ";
    text += words_for(where.second).state;
    if (in_image) text += ", its variable " + symbol_at(where.first);
    if (known.routine != 0) text += ", whose routine is " + symbol_at(known.routine);
    report_alive(words_for(where.second).freed, text, object_at(where), known, {});
}

} // namespace

void add_live_object(processor& self, live_object_kind kind, const void* object,
                     const void* routine) {
    if (!enabled(check::pool)) return;
    check_freed_use(object, words_for(kind).use);
    const call_stack since = capture_stack(1, 16);
    object_table& all = table();
    const std::lock_guard guard(all.lock);
    all.objects[{address_of(object), kind}] = {self.owner, address_of(routine), since};
}

void remove_live_object(live_object_kind kind, const void* object) {
    object_table& all = table();
    const std::lock_guard guard(all.lock);
    all.objects.erase({address_of(object), kind});
}

void check_reinitialised(processor&, live_object_kind kind, const void* object) {
    if (!enabled(check::pool)) return;
    object_table& all = table();
    live_object known{};
    {
        const std::lock_guard guard(all.lock);
        const auto found = all.objects.find({address_of(object), kind});
        if (found == all.objects.end()) return;
        known = found->second;
        all.objects.erase(found);
    }
    const wording& words = words_for(kind);
    if (!is_alive(kind, object) || words.reinitialised == nullptr) return;
    report_alive(*words.reinitialised, std::string(words.state) + " is initialised anew", object,
                 known, {object, 0});
}

void check_live_objects(processor&, const void* memory, std::size_t size) {
    std::vector<known_object> inside;
    object_table& all = table();
    {
        const std::lock_guard guard(all.lock);
        auto each = all.objects.lower_bound({address_of(memory), live_object_kind::timer});
        while (each != all.objects.end() && each->first.first < address_of(memory) + size) {
            inside.push_back(*each);
            each = all.objects.erase(each);
        }
    }
    for (const auto& [where, known] : inside) {
        if (!is_alive(where.second, object_at(where))) continue;
        const wording& words = words_for(where.second);
        report_alive(words.freed, std::string("memory is freed that holds ") + words.state,
                     object_at(where), known, {memory, size});
    }
}

void check_unloaded_image(std::span<const std::span<const char>> image) {
    if (!enabled(check::pool)) return;
    const auto left = remove_if([&](const known_object& each) {
        return lies_in(image, each.first.first) || lies_in(image, each.second.routine);
    });
    for (const known_object& each : left) {
        const bool in_image = lies_in(image, each.first.first);
        if (!in_image || is_alive(each.first.second, object_at(each.first)))
            report_left(each, in_image);
    }
    for (const std::span<const char> part : image)
        check_held_locks_in(part.data(), part.size());
}

void clear_live_objects(const void* memory, std::size_t size) {
    object_table& all = table();
    const std::lock_guard guard(all.lock);
    all.objects.erase(
        all.objects.lower_bound({address_of(memory), live_object_kind::timer}),
        all.objects.lower_bound({address_of(memory) + size, live_object_kind::timer}));
}

void clear_live_objects(const machine& gone) {
    remove_if([&](const known_object& each) { return each.second.owner == &gone; });
}

} // namespace irpverbs::dispatch::detail
