// A machine's timers: a hierarchical wheel of 64-slot levels, each level 64 times coarser than the
// one below. A timer is on the level of the highest bit group in which its tick differs from the
// wheel's, so the cost of arming and cancelling does not depend on the number of armed timers, and
// one step skips any idle time. There is one wheel for machine time and one for system time, which
// may be set. Their slots are in one array, so that a timer's slot identifies its wheel.
#pragma once

#include "machine/intact_list.hpp"

#include <dispatch/support/biased_spin.hpp>
#include <dispatch/timer.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace irpverbs::dispatch {
class machine;
namespace detail {

struct processor;

/// The clock that the ticks of a timer count.
enum class clock_kind : unsigned { machine_time, system_time };

class timer_wheel {
public:
    timer_wheel();

    /// Starts the wheel of system time. Called before the first timer is linked by system time.
    void begin_system_time(std::uint64_t now) noexcept;
    bool has_system_time() const noexcept { return has_system_time_; }

    /// Links a timer. An elapsed tick is replaced by the last elapsed one.
    void link(KTIMER& timer, std::uint64_t tick, clock_kind by = clock_kind::machine_time) noexcept;
    void unlink(KTIMER& timer) noexcept;

    /// The earliest tick at which a timer may be due; no_tick: no timer is armed.
    std::uint64_t next_tick(clock_kind by) const noexcept;
    /// Unlinks a timer that is due at `now`. Null: none is due, and the wheel has advanced to
    /// `now`.
    KTIMER* remove_due(std::uint64_t now, clock_kind by) noexcept;
    /// Adopts the clock after it was set: sorts the timers again if it was set back.
    void resync_system_time(std::uint64_t now) noexcept;

    /// Calls `visit` for the armed timers until it returns true, and returns whether it did.
    template <class Visit>
    bool visit_until(Visit visit) const;

    static constexpr std::uint64_t no_tick = ~std::uint64_t{0};

private:
    static constexpr unsigned bits = 6;
    static constexpr unsigned slots = 1u << bits;
    static constexpr unsigned levels = (64 + bits - 1) / bits;
    static constexpr unsigned clocks = 2;

    static constexpr unsigned index_of(clock_kind by) { return static_cast<unsigned>(by); }
    static constexpr unsigned first_level(clock_kind by) { return index_of(by) * levels; }

    std::span<LIST_ENTRY> heads_of(clock_kind by) noexcept {
        return std::span(heads_).subspan(first_level(by) * slots, levels * slots);
    }
    void begin(clock_kind by, std::uint64_t now) noexcept;
    unsigned lowest_level(clock_kind by) const noexcept;
    void cascade(unsigned level, unsigned slot, clock_kind by) noexcept;

    // The levels of machine time, then those of system time.
    std::array<LIST_ENTRY, clocks * levels * slots> heads_;
    std::array<std::uint64_t, clocks * levels> occupied_{};
    std::array<std::uint64_t, clocks> elapsed_{};
    bool has_system_time_ = false;
};

// With a million timers, each of these functions accesses cache lines that no cache holds: those of
// its own timer and of the timer's neighbours. A processor overlaps several such operations as long
// as each uses few of its store buffers, so the functions call nothing and make no unnecessary
// write.
[[gnu::always_inline]] inline void timer_wheel::link(KTIMER& timer, std::uint64_t tick,
                                                     clock_kind by) noexcept {
    const std::uint64_t elapsed = elapsed_[index_of(by)];
    tick = std::max(tick, elapsed);
    timer.DueTime = tick;
    const unsigned highest =
        63u - static_cast<unsigned>(std::countl_zero((elapsed ^ tick) | (slots - 1)));
    const unsigned group = highest / bits;
    const unsigned level = first_level(by) + group;
    const auto slot = static_cast<unsigned>((tick >> (group * bits)) & (slots - 1));
    InsertTailList(&heads_[level * slots + slot], &timer.TimerListEntry);
    const std::uint64_t bit = std::uint64_t{1} << slot;
    if ((occupied_[level] & bit) == 0) occupied_[level] |= bit;
}

[[gnu::always_inline]] inline void timer_wheel::unlink(KTIMER& timer) noexcept {
    const LIST_ENTRY* next = timer.TimerListEntry.Flink;
    __builtin_prefetch(next, 1); // stores to both neighbours would wait one after the other
    __builtin_prefetch(timer.TimerListEntry.Blink, 1);
    if (!RemoveEntryList(&timer.TimerListEntry)) return;
    const auto index = static_cast<std::size_t>(next - heads_.data());
    occupied_[index / slots] &= ~(std::uint64_t{1} << (index % slots));
}

template <class Visit>
bool timer_wheel::visit_until(Visit visit) const {
    const auto in_slot = [&](LIST_ENTRY& entry) {
        return visit(*CONTAINING_RECORD(&entry, KTIMER, TimerListEntry));
    };
    const std::size_t used = (has_system_time_ ? clocks : 1) * levels * slots;
    return std::any_of(heads_.begin(), heads_.begin() + static_cast<std::ptrdiff_t>(used),
                       [&](const LIST_ENTRY& head) { return visit_intact(head, in_slot); });
}

class timer_service {
public:
    /// Arms or re-arms a timer. Returns true when it was armed.
    bool set(processor& self, KTIMER& timer, LARGE_INTEGER due, ULONG period, KDPC* dpc);
    /// Arms or re-arms a timer at an absolute time; its periods, if any, are in machine time.
    /// Returns true when it was armed.
    bool set_absolute(machine& owner, KTIMER& timer, std::uint64_t due, ULONG period, KDPC* dpc);
    bool cancel(processor& self, KTIMER& timer);
    /// Checks a timer that is about to be cancelled, while anything is instrumented.
    void check_cancel(const KTIMER& timer);
    /// Signals the timers that are due, and returns the time of the next call. Only the processor
    /// that keeps time calls this.
    std::uint64_t expire(machine& owner);
    /// Returns after every timer that was found not set any more has queued its DPC.
    void await_expiry();
    bool has_one_shot();
    /// Marks all timers as not set, when the machine has ended.
    void unlink_all();

private:
    void begin(machine& owner);
    bool prepare(KTIMER& timer, ULONG period, KDPC* dpc);
    std::uint64_t rounded_up(std::uint64_t due) const;
    void signal(processor& self, KTIMER& timer);
    std::uint64_t next_period(const KTIMER& timer, std::uint64_t now) const;
    void expire_absolute(machine& owner, processor& self);
    void link(KTIMER& timer, std::uint64_t due);
    void unlink_armed(KTIMER& timer);
    void disarm(KTIMER& timer);

    biased_spin lock_;                   // DPCs are queued under it
    std::unique_ptr<timer_wheel> wheel_; // made when the first timer is set
    unsigned shift_ = 0;
    std::uint64_t next_wake_ = timer_wheel::no_tick; // time at which the time keeper wakes by
                                                     // itself
};

} // namespace detail
} // namespace irpverbs::dispatch
