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
    /// The same for a spin lock, whose word holds mark_of(lock) from now on while it is free.
    std::optional<lock_holder> begin_marked(const KSPIN_LOCK* lock);
    /// 0: it has none.
    KSPIN_LOCK mark_of(const KSPIN_LOCK* lock);
    /// It is about to be acquired.
    lock_identity meet(const void* lock, lock_kind kind);
    void taken(const void* lock, const lock_holder& by);
    void dropped(const void* lock);
    std::optional<lock_holder> holder_of(const void* lock);
    /// The memory is no more; gives the locks in it that are held.
    std::vector<std::pair<const void*, lock_holder>> end(const void* memory, std::size_t size);

private:
    enum class origin : std::uint8_t {
        unseen, // it was only met
        object, // its function initialised a mutex
        marked, // its function initialised a spin lock
    };
    struct entry {
        std::uint64_t id = 0;
        origin from = origin::unseen;
        bool initialised = false;
        bool stable = false;
        bool examined = false;         // whether it is stable
        std::uint32_t met = 0;         // in that epoch
        std::optional<lock_kind> kind; // of the first use
        unsigned holders = 0;
        lock_holder last{};
    };
    static bool is_held(const entry& lock);
    static bool is_same(entry& known, const void* lock, lock_kind kind);
    static bool shows_mark(entry& known, const void* lock, lock_kind kind);
    std::optional<lock_holder> begin(const void* lock, origin from);

    raw_spin guard_;
    std::map<std::uintptr_t, entry> locks_; // guarded by guard_
    std::uint64_t ids_ = 0;
};

/// The lock is no more, held or not.
void forget_lock(const KSPIN_LOCK* lock);

} // namespace irpverbs::dispatch::detail
