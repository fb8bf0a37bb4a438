#include "lock_registry.hpp"

#include "pool_table.hpp"
#include "processor_checks.hpp"

#include <dispatch/machine.hpp>

#include <link.h>
#include <mutex>

namespace irpverbs::dispatch::detail {
namespace {

std::uintptr_t key(const void* lock) { return reinterpret_cast<std::uintptr_t>(lock); }

bool same_family(lock_kind one, lock_kind other) {
    const auto family = [](lock_kind kind) {
        return kind == lock_kind::shared ? lock_kind::exclusive : kind;
    };
    return family(one) == family(other);
}

int holds_address(dl_phdr_info* module, std::size_t, void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (ElfW(Half) i = 0; i < module->dlpi_phnum; ++i)
        if (module->dlpi_phdr[i].p_type == PT_LOAD &&
            at - (module->dlpi_addr + module->dlpi_phdr[i].p_vaddr) < module->dlpi_phdr[i].p_memsz)
            return 1;
    return 0;
}

// A lock that was only zeroed tells nothing of its life; but static memory has one use only, of
// pool memory each free is seen, and a machine's own lock is told to be over.
bool keeps_its_place(const void* lock) {
    return pool_table::get().around(lock) || lock == &this_processor().owner->system_lock ||
           dl_iterate_phdr(holds_address, const_cast<void*>(lock)) != 0;
}

} // namespace

lock_registry& lock_registry::get() {
    static auto* only = new lock_registry; // outlives every machine
    return *only;
}

// What was noted under an earlier watch may be over: nobody looked on in between.
bool lock_registry::is_held(const entry& lock) {
    return lock.holders != 0 && lock.last.epoch == watch_epoch.load(std::memory_order_relaxed);
}

std::optional<lock_holder> lock_registry::begin(const void* lock) {
    const std::lock_guard guard(guard_);
    entry& here = locks_[key(lock)];
    std::optional<lock_holder> holder;
    if (is_held(here)) holder = here.last;
    here = {};
    here.id = ++ids_;
    here.initialised = here.stable = here.examined = true;
    return holder;
}

lock_identity lock_registry::meet(const void* lock, lock_kind kind) {
    bool examined = false;
    {
        const std::lock_guard guard(guard_);
        const auto found = locks_.find(key(lock));
        examined = found != locks_.end() && found->second.examined;
    }
    const bool stable = !examined && keeps_its_place(lock);
    const std::lock_guard guard(guard_);
    entry& here = locks_[key(lock)];
    if (here.id == 0) here.id = ++ids_;
    here.stable = here.stable || stable;
    here.examined = true;
    const bool mixed = here.kind && !same_family(*here.kind, kind);
    if (!here.kind || mixed) here.kind = kind; // told once
    return {here.id, here.initialised, here.stable, mixed && here.stable};
}

void lock_registry::taken(const void* lock, const lock_holder& by) {
    const std::lock_guard guard(guard_);
    entry& here = locks_[key(lock)];
    if (!is_held(here)) here.holders = 0;
    ++here.holders;
    here.last = by;
}

void lock_registry::dropped(const void* lock) {
    const std::lock_guard guard(guard_);
    const auto found = locks_.find(key(lock));
    if (found != locks_.end() && found->second.holders != 0) --found->second.holders;
}

std::optional<lock_holder> lock_registry::holder_of(const void* lock) {
    const std::lock_guard guard(guard_);
    const auto found = locks_.find(key(lock));
    if (found == locks_.end() || !is_held(found->second)) return std::nullopt;
    return found->second.last;
}

std::vector<std::pair<const void*, lock_holder>> lock_registry::end(const void* memory,
                                                                    std::size_t size) {
    std::vector<std::pair<const void*, lock_holder>> held;
    const std::lock_guard guard(guard_);
    auto each = locks_.lower_bound(key(memory));
    while (each != locks_.end() && each->first < key(memory) + size) {
        if (is_held(each->second))
            held.emplace_back(reinterpret_cast<const void*>(each->first), each->second.last);
        each = locks_.erase(each);
    }
    return held;
}

void forget_lock(const KSPIN_LOCK* lock) {
    lock_registry::get().end(lock, sizeof *lock);
    name_lock(lock, nullptr);
}

} // namespace irpverbs::dispatch::detail
