// All locks that were initialised or acquired while locks were checked: the life of their memory to
// which each belongs, its family of functions, its holder. There is one registry for the process,
// as memory belongs to the process.
#pragma once

#include <dispatch/support/held_locks.hpp>

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
    std::uint64_t id; // unique in the process
    bool initialised; // by its initialisation function, not only zeroed
    bool stable;      // the verifier knows that its memory held no other lock in between
    bool mixed;       // was used before with another family of functions
};

class lock_registry {
public:
    static lock_registry& get();

    /// Begins the life of a lock. Returns the holder of the former lock at that address, if it is
    /// held.
    std::optional<lock_holder> add(const void* lock);
    /// Begins the life of a spin lock, whose word holds mark_of(lock) from now on while it is free.
    /// Returns the holder of the former lock at that address, if it is held.
    std::optional<lock_holder> add_marked(const KSPIN_LOCK* lock);
    /// Returns the mark of the lock; 0: it has none.
    KSPIN_LOCK mark_of(const KSPIN_LOCK* lock);
    /// Identifies the lock that is about to be acquired.
    lock_identity identify(const void* lock, lock_kind kind);
    void acquired(const void* lock, const lock_holder& by);
    void released(const void* lock);
    std::optional<lock_holder> holder_of(const void* lock);
    /// Ends the life of the memory. Returns the held locks in it.
    std::vector<std::pair<const void*, lock_holder>> remove(const void* memory, std::size_t size);

private:
    enum class origin : std::uint8_t {
        unseen, // the lock was acquired, but its initialisation was not seen
        object, // an initialisation function of a mutex
        marked, // an initialisation function of a spin lock
    };
    struct entry {
        std::uint64_t id = 0;
        origin from = origin::unseen;
        bool initialised = false;
        bool stable = false;
        bool examined = false;         // the test for `stable` was made
        std::uint32_t last_epoch = 0;  // the epoch of the last acquisition
        std::optional<lock_kind> kind; // the kind at the first use
        unsigned holders = 0;
        lock_holder last{};
    };
    static bool is_held(const entry& lock);
    static bool is_same(entry& known, const void* lock, lock_kind kind);
    static bool shows_mark(entry& known, const void* lock, lock_kind kind);
    std::optional<lock_holder> add(const void* lock, origin from);

    raw_spin_lock guard_;
    std::map<std::uintptr_t, entry> locks_; // guarded by guard_
    std::uint64_t ids_ = 0;
};

} // namespace irpverbs::dispatch::detail
