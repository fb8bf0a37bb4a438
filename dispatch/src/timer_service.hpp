// A machine's timers: a hierarchical wheel of 64-slot levels, each level 64 times coarser. A timer
// sits on the level of the highest bit group in which its tick differs from the wheel's, so that
// arming and cancelling cost the same however many are armed, and idle time is skipped in one step.
#pragma once

#include <dispatch/detail/spin.hpp>
#include <dispatch/timer.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>

namespace irpverbs::dispatch {
class machine;
namespace detail {

class timer_wheel {
public:
    timer_wheel();

    /// `tick` before elapsed() counts as elapsed().
    void link(KTIMER& timer, std::uint64_t tick) noexcept;
    void unlink(KTIMER& timer) noexcept;
    std::uint64_t elapsed() const noexcept { return elapsed_; }

    /// The earliest tick at which something may be due; no_tick: nothing is armed.
    std::uint64_t next_tick() const noexcept;
    /// Unlinks a timer that is due at `now`, or null: then elapsed() is `now`.
    KTIMER* pop(std::uint64_t now) noexcept;

    /// True when one that is armed matches.
    bool any(bool (*matches)(const KTIMER&)) const noexcept;

    static constexpr std::uint64_t no_tick = ~std::uint64_t{0};

private:
    static constexpr unsigned bits = 6;
    static constexpr unsigned slots = 1u << bits;
    static constexpr unsigned levels = (64 + bits - 1) / bits;

    unsigned lowest_level() const noexcept;
    void cascade(unsigned level, unsigned slot) noexcept;

    std::array<LIST_ENTRY, levels * slots> heads_;
    std::array<std::uint64_t, levels> occupied_{};
    std::uint64_t elapsed_ = 0;
};

// Among a million timers each of these touches lines that no cache holds: their own timer's, its
// neighbours'. A processor waits for several such operations at once as long as each takes few of
// its store buffers, so they call nothing and write nothing that they need not.
[[gnu::always_inline]] inline void timer_wheel::link(KTIMER& timer, std::uint64_t tick) noexcept {
    tick = std::max(tick, elapsed_);
    timer.DueTime = tick;
    const unsigned highest =
        63u - static_cast<unsigned>(std::countl_zero((elapsed_ ^ tick) | (slots - 1)));
    const unsigned level = highest / bits;
    const auto slot = static_cast<unsigned>((tick >> (level * bits)) & (slots - 1));
    InsertTailList(&heads_[level * slots + slot], &timer.TimerListEntry);
    const std::uint64_t bit = std::uint64_t{1} << slot;
    if ((occupied_[level] & bit) == 0) occupied_[level] |= bit;
}

[[gnu::always_inline]] inline void timer_wheel::unlink(KTIMER& timer) noexcept {
    const LIST_ENTRY* next = timer.TimerListEntry.Flink;
    if (!RemoveEntryList(&timer.TimerListEntry)) return;
    const auto index = static_cast<std::size_t>(next - heads_.data());
    occupied_[index / slots] &= ~(std::uint64_t{1} << (index % slots));
}

class timer_service {
public:
    /// Arms or re-arms; true when it was armed.
    bool set(machine& owner, KTIMER& timer, LARGE_INTEGER due, ULONG period, KDPC* dpc);
    bool cancel(KTIMER& timer);
    /// Before the timer is cancelled, where somebody looks on.
    void look_on_cancel(const KTIMER& timer);
    /// For the processor that keeps time: signals what is due, gives back when to look again.
    std::uint64_t expire(machine& owner);
    /// Returns when every timer that was found not set any more has queued its DPC.
    void settle();
    bool once_armed();

private:
    void begin(machine& owner);
    void link(KTIMER& timer, std::uint64_t due);
    void unlink_again(KTIMER& timer);
    void disarm(KTIMER& timer);

    raw_spin lock_;
    std::unique_ptr<timer_wheel> wheel_; // since the first timer was set
    unsigned shift_ = 0;
    std::uint64_t look_again_ = timer_wheel::no_tick; // when the time keeper wakes by itself
};

} // namespace detail
} // namespace irpverbs::dispatch
