#include "hooks.hpp"

#include "verifier_rules.hpp"

#include <dispatch/dpc.h>
#include <dispatch/pool.h>
#include <dispatch/timer.h>
#include <dispatch/work_item.h>

#include <map>
#include <mutex>

namespace irpverbs::dispatch::detail {
namespace {

using address = std::uintptr_t;

struct live_object {
    const machine* owner;
    call_stack since;
};

struct object_table {
    raw_spin_lock lock;
    std::map<std::pair<address, live_object_kind>, live_object> objects; // guarded by lock
};

object_table& table() {
    static auto* only = new object_table; // outlives every machine
    return *only;
}

address address_of(const void* object) { return reinterpret_cast<address>(object); }

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
    }
    return false;
}

struct wording {
    const char* state;
    const rule& freed;
    const rule& reinitialised;
};

const wording& words_for(live_object_kind kind) {
    static constexpr wording words[] = {
        {"a timer that is set", verifier_rules::TimerFreed, verifier_rules::TimerReinitialised},
        {"a DPC that is queued", verifier_rules::DpcFreed, verifier_rules::DpcReinitialised},
        {"a work item that is queued", verifier_rules::WorkItemFreed,
         verifier_rules::WorkItemReinitialised},
        {"a lookaside list that was not deleted", verifier_rules::LookasideFreed,
         verifier_rules::LookasideReinitialised}};
    return words[static_cast<std::size_t>(kind)];
}

void report_alive(const rule& which, const std::string& text, const void* object,
                  const live_object& known, const void* memory, std::size_t size) {
    finding found = make_finding(which, text, address_of(object), address_of(memory),
                                 static_cast<ULONG_PTR>(size));
    found.add_stack("alive since", known.since);
    report(found);
}

} // namespace

void add_live_object(processor& self, live_object_kind kind, const void* object) {
    if (!enabled(check::pool)) return;
    static constexpr const char* uses[] = {"a timer is set", "a DPC is queued",
                                           "a work item is queued",
                                           "a lookaside list is initialised"};
    check_freed_use(object, uses[static_cast<std::size_t>(kind)]);
    const call_stack since = capture_stack(1, 16);
    object_table& all = table();
    const std::lock_guard guard(all.lock);
    all.objects[{address_of(object), kind}] = {self.owner, since};
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
    if (!is_alive(kind, object)) return;
    const wording& words = words_for(kind);
    report_alive(words.reinitialised, std::string(words.state) + " is initialised anew", object,
                 known, object, 0);
}

void check_live_objects(processor&, const void* memory, std::size_t size) {
    std::vector<std::pair<std::pair<address, live_object_kind>, live_object>> inside;
    object_table& all = table();
    {
        const std::lock_guard guard(all.lock);
        auto each = all.objects.lower_bound({address_of(memory), live_object_kind::timer});
        while (each != all.objects.end() && each->first.first < address_of(memory) + size) {
            inside.push_back(*each);
            each = all.objects.erase(each);
        }
    }
    for (const auto& [place, known] : inside) {
        const void* object = reinterpret_cast<const void*>(place.first);
        if (!is_alive(place.second, object)) continue;
        const wording& words = words_for(place.second);
        report_alive(words.freed, std::string("memory is freed that holds ") + words.state, object,
                     known, memory, size);
    }
}

void clear_live_objects(const void* memory, std::size_t size) {
    object_table& all = table();
    const std::lock_guard guard(all.lock);
    all.objects.erase(
        all.objects.lower_bound({address_of(memory), live_object_kind::timer}),
        all.objects.lower_bound({address_of(memory) + size, live_object_kind::timer}));
}

void clear_live_objects(const machine& gone) {
    object_table& all = table();
    const std::lock_guard guard(all.lock);
    std::erase_if(all.objects, [&](const auto& each) { return each.second.owner == &gone; });
}

} // namespace irpverbs::dispatch::detail
