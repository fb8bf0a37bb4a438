// A biased lock: the processor that has acquired it many times in a row acquires it without a
// locked instruction, so that the processor may overlap what it does under the lock with what comes
// before and after. Any other acquisition revokes the bias first, which costs a process_barrier().
#pragma once

#include <dispatch/support/processor.hpp>
#include <dispatch/support/spin.hpp>

#include <atomic>
#include <cstdint>

namespace irpverbs::dispatch::detail {

class biased_spin {
public:
    /// Lets processors of `owner` be favoured. Called once, under the lock.
    NT_API void allow_bias(machine& owner);

    /// Acquires the lock for a holder that calls no other code and acquires no other biased lock.
    /// The result belongs to release().
    bool acquire(processor& self) noexcept {
        if (enter(self)) [[likely]]
            return true;
        word_.lock();
        if (favoured_.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
            revoke();
        return false;
    }
    void release(processor& self, bool biased) noexcept {
        if (biased) return leave(self);
        if (last_ != &self || ++acquisitions_ >= threshold_) [[unlikely]]
            count_anew(self);
        word_.unlock();
    }

    /// Calls `section` as such a holder, and returns its result.
    template <class Section>
    auto hold(const Section& section) {
        processor& self = this_processor();
        const bool biased = acquire(self);
        const auto made = section();
        release(self, biased);
        return made;
    }

    /// Acquires the lock for the favoured processor. False: it is another one. `leave` releases.
    bool enter(processor& self) noexcept {
        self.in_biased_lock.store(true, std::memory_order_relaxed);
        // Only the compiler must keep the order of these two; revoke() has the barrier.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (favoured_.load(std::memory_order_relaxed) == &self) [[likely]]
            return true;
        leave(self);
        return false;
    }
    static void leave(processor& self) noexcept {
        self.in_biased_lock.store(false, std::memory_order_release);
    }

    /// For holders that may call other code: a simulated run may switch to another actor.
    NT_API void lock() noexcept;
    NT_API bool try_lock() noexcept;
    void unlock() noexcept { word_.unlock(); }

private:
    NT_API void count_anew(processor& self) noexcept;
    NT_API void revoke() noexcept;

    std::atomic<processor*> favoured_{nullptr}; // written under word_
    machine_spin_lock word_;
    bool real_ = false;                // the processors run at the same time
    std::uint32_t acquisitions_ = 0;   // by last_, in a row
    std::uint32_t threshold_ = 0;      // acquisitions that make last_ favoured
    const processor* last_ = nullptr;  // null: none in a row
    const machine* machine_ = nullptr; // null: no processor may be favoured
};

} // namespace irpverbs::dispatch::detail
