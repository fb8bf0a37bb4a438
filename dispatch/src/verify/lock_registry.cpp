#include "lock_registry.hpp"

#include "hooks.hpp"
#include "locks/lock_word.hpp"
#include "pool_table.hpp"
#include "processor_checks.hpp"

#include <dispatch/machine.hpp>

#include <link.h>
#include <mutex>

namespace irpverbs::dispatch::detail {
namespace {

std::uintptr_t key(const void* lock) { return reinterpret_cast<std::uintptr_t>(lock); }

std::uint32_t this_epoch() { return check_epoch.load(std::memory_order_relaxed); }

bool is_reader_writer(lock_kind kind) {
    return kind == lock_kind::shared || kind == lock_kind::exclusive;
}

bool same_family(lock_kind one, lock_kind other) {
    const auto family = [](lock_kind kind) {
        return kind == lock_kind::shared ? lock_kind::exclusive : kind;
    };
    return family(one) == family(other);
}

int contains_address(dl_phdr_info* module, std::size_t, void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (ElfW(Half) i = 0; i < module->dlpi_phnum; ++i)
        if (module->dlpi_phdr[i].p_type == PT_LOAD &&
            at - (module->dlpi_addr + module->dlpi_phdr[i].p_vaddr) < module->dlpi_phdr[i].p_memsz)
            return 1;
    return 0;
}

// True when the verifier knows that the memory held no other lock before. A lock that was only
// zeroed has no recorded beginning; but static memory has one use only, the verifier sees each free
// of pool memory, and the end of a machine's own lock is announced.
bool has_stable_address(const void* lock) {
    return pool_table::get().around(lock) || lock == &this_processor().owner->cancel_spin_lock ||
           dl_iterate_phdr(contains_address, const_cast<void*>(lock)) != 0;
}

} // namespace

lock_registry& lock_registry::get() {
    static auto* only = new lock_registry; // outlives every machine
    return *only;
}

// A record of an earlier epoch does not count: the lock may have been released while no check was
// enabled.
bool lock_registry::is_held(const entry& lock) {
    return lock.holders != 0 && lock.last.epoch == this_epoch();
}

// A zeroed lock is legal, and the free of memory that is neither static nor of the pool is not
// announced. Therefore the lock's word decides: when it holds the mark, this is the lock that was
// initialised here; when it holds 0, this is another lock. While the lock is held, its holder has
// made this test.
bool lock_registry::shows_mark(entry& known, const void* lock, lock_kind kind) {
    const KSPIN_LOCK mark = lock_mark(known.id);
    if (!is_reader_writer(kind)) {
        const KSPIN_LOCK word =
            __atomic_load_n(static_cast<const KSPIN_LOCK*>(lock), __ATOMIC_RELAXED);
        return is_free_word(word) ? word == mark : known.last_epoch == this_epoch();
    }
    auto* half = static_cast<std::uint32_t*>(const_cast<void*>(lock));
    auto marked = static_cast<std::uint32_t>(mark);
    if (!__atomic_compare_exchange_n(half, &marked, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return false;
    known.from = origin::unseen; // the reader-writer functions would take the mark for readers
    return true;
}

bool lock_registry::is_same(entry& known, const void* lock, lock_kind kind) {
    switch (known.from) {
    case origin::unseen:
        return true;
    case origin::object:
        return !is_spin_lock(kind);
    case origin::marked:
        return is_spin_lock(kind) && shows_mark(known, lock, kind);
    }
    return true;
}

std::optional<lock_holder> lock_registry::add(const void* lock) {
    return add(lock, origin::object);
}

std::optional<lock_holder> lock_registry::add_marked(const KSPIN_LOCK* lock) {
    return add(lock, origin::marked);
}

KSPIN_LOCK lock_registry::mark_of(const KSPIN_LOCK* lock) {
    const std::lock_guard guard(guard_);
    const auto found = locks_.find(key(lock));
    return found != locks_.end() && found->second.from == origin::marked
               ? lock_mark(found->second.id)
               : 0;
}

std::optional<lock_holder> lock_registry::add(const void* lock, origin from) {
    const std::lock_guard guard(guard_);
    entry& here = locks_[key(lock)];
    std::optional<lock_holder> holder;
    if (is_held(here)) holder = here.last;
    here = {};
    here.id = ++ids_;
    here.from = from;
    here.initialised = here.stable = here.examined = true;
    return holder;
}

lock_identity lock_registry::identify(const void* lock, lock_kind kind) {
    bool examined = false;
    {
        const std::lock_guard guard(guard_);
        entry& here = locks_[key(lock)];
        if (here.id == 0) here.id = ++ids_;
        if (!is_same(here, lock, kind)) {
            const bool initialised = here.initialised;
            here = {};
            here.id = ++ids_;
            here.initialised = initialised; // it may be the same lock whose mark was lost while
                                            // no check was enabled
        }
        here.last_epoch = this_epoch();
        examined = here.examined;
    }
    const bool stable = !examined && has_stable_address(lock);
    const std::lock_guard guard(guard_);
    entry& here = locks_[key(lock)];
    here.stable = here.stable || stable;
    here.examined = true;
    const bool mixed = here.kind && !same_family(*here.kind, kind);
    if (!here.kind || mixed) here.kind = kind; // each mix of families is reported once
    return {here.id, here.initialised, here.stable, mixed && here.stable};
}

void lock_registry::acquired(const void* lock, const lock_holder& by) {
    const std::lock_guard guard(guard_);
    entry& here = locks_[key(lock)];
    if (!is_held(here)) here.holders = 0;
    ++here.holders;
    here.last = by;
}

void lock_registry::released(const void* lock) {
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

std::vector<std::pair<const void*, lock_holder>> lock_registry::remove(const void* memory,
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

void unregister_lock(const KSPIN_LOCK* lock) {
    lock_registry::get().remove(lock, sizeof *lock);
    name_lock(lock, nullptr);
}

} // namespace irpverbs::dispatch::detail
