// Every lock that was initialised or acquired while locks were watched: which life of its memory it
// is, what it is used with, who holds it. For the whole process, since memory is.
#pragma once

#include <dispatch/detail/held_locks.hpp>

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace irpverbs::dispatch::detail {

struct lock_holder {
    const processor* who;
    lock_kind kind;
    std::uint32_t epoch;
    call_stack since;
};

struct lock_identity {
    std::uint64_t id; // never given twice
    bool initialised; // by its function, not only zeroed
    bool stable;      // its memory is known to have held no other lock meanwhile
    bool mixed;       // used with another family of functions before
};

class lock_registry {
public:
    static lock_registry& get();

    /// A lock begins its life here; who still holds the one before.
    std::optional<lock_holder> begin(const void* lock);
    /// It is about to be acquired.
    lock_identity meet(const void* lock, lock_kind kind);
    void taken(const void* lock, const lock_holder& by);
    void dropped(const void* lock);
    std::optional<lock_holder> holder_of(const void* lock);
    /// The memory is no more; gives the locks in it that are held.
    std::vector<std::pair<const void*, lock_holder>> end(const void* memory, std::size_t size);

private:
    struct entry {
        std::uint64_t id = 0;
        bool initialised = false;
        bool stable = false;
        bool examined = false;         // whether it is stable
        std::optional<lock_kind> kind; // of the first use
        unsigned holders = 0;
        lock_holder last{};
    };
    static bool is_held(const entry& lock);

    raw_spin guard_;
    std::map<std::uintptr_t, entry> locks_; // guarded by guard_
    std::uint64_t ids_ = 0;
};

/// The lock is no more, held or not.
void forget_lock(const KSPIN_LOCK* lock);

} // namespace irpverbs::dispatch::detail
