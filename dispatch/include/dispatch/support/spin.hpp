// The library's own short locks.
#pragma once

#include <dispatch/ntdef.h>

#include <atomic>
#include <sched.h>

namespace irpverbs::dispatch::detail {

inline void cpu_relax() noexcept { __builtin_ia32_pause(); }

/// One turn of a spin loop on a real processor. Later turns yield the processor, since the holder
/// may have been preempted.
inline void spin_turn(unsigned turn) noexcept {
    if (turn < 64)
        cpu_relax();
    else
        sched_yield();
}

/// A lock whose holder calls no other code and passes no scheduling point, so a simulated run never
/// finds it held.
class raw_spin_lock {
public:
    void lock() noexcept {
        if (locked_.exchange(true, std::memory_order_acquire)) [[unlikely]]
            wait_and_lock();
    }
    bool try_lock() noexcept { return !locked_.exchange(true, std::memory_order_acquire); }
    void unlock() noexcept { locked_.store(false, std::memory_order_release); }

private:
    [[gnu::cold, gnu::noinline]] void wait_and_lock() noexcept {
        for (unsigned turn = 0; locked_.exchange(true, std::memory_order_acquire); ++turn)
            while (locked_.load(std::memory_order_relaxed))
                spin_turn(turn++);
    }

    std::atomic<bool> locked_{false};
};

/// A short lock of an object that belongs to a machine. A thread that finds it held waits through
/// the machine, so that a simulated run may switch to another actor while the lock is held. A free
/// lock costs the same instructions as a raw_spin_lock. The caller must hold no raw_spin_lock when
/// it acquires the lock.
class machine_spin_lock {
public:
    void lock() noexcept {
        if (!try_lock()) [[unlikely]]
            wait_and_lock();
    }
    bool try_lock() noexcept { return !locked_.exchange(true, std::memory_order_acquire); }
    void unlock() noexcept { locked_.store(false, std::memory_order_release); }

private:
    [[gnu::cold, gnu::noinline]] NT_API void wait_and_lock() noexcept;

    std::atomic<bool> locked_{false};
};

} // namespace irpverbs::dispatch::detail
