// A machine's timers: a hierarchical wheel of 64-slot levels, each level 64 times coarser. A timer
// sits on the level of the highest bit group in which its tick differs from the wheel's, so that
// arming and cancelling cost the same however many are armed, and idle time is skipped in one step.
// There is one such wheel for machine time and one for system time, which may be set; they lie side
// by side, so that a timer's slot tells which one it is on.
#pragma once

#include "intact_list.hpp"

#include <dispatch/detail/spin.hpp>
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

/// What the ticks of a timer count.
enum class clock_kind : unsigned { machine_time, system_time };

class timer_wheel {
public:
    timer_wheel();

    /// Before the first timer is linked by system time.
    void begin_system_time(std::uint64_t now) noexcept;
    bool has_system_time() const noexcept { return has_system_time_; }

    /// A tick that has elapsed counts as the one that elapsed last.
    void link(KTIMER& timer, std::uint64_t tick, clock_kind by = clock_kind::machine_time) noexcept;
    void unlink(KTIMER& timer) noexcept;

    /// The earliest tick at which something may be due; no_tick: nothing is armed.
    std::uint64_t next_tick(clock_kind by) const noexcept;
    /// Unlinks a timer that is due at `now`, or null: then what elapsed is `now`.
    KTIMER* pop(std::uint64_t now, clock_kind by) noexcept;
    /// The clock was set: sorts the timers anew if it was set back.
    void follow_system_time(std::uint64_t now) noexcept;

    /// Calls `visit` for the timers that are armed until it returns true, and returns whether it
    /// did.
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

// Among a million timers each of these touches lines that no cache holds: their own timer's, its
// neighbours'. A processor waits for several such operations at once as long as each takes few of
// its store buffers, so they call nothing and write nothing that they need not.
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
    /// Arms or re-arms; true when it was armed.
    bool set(machine& owner, KTIMER& timer, LARGE_INTEGER due, ULONG period, KDPC* dpc);
    /// The same for an absolute time; its periods, if any, are of machine time.
    bool set_absolute(machine& owner, KTIMER& timer, std::uint64_t due, ULONG period, KDPC* dpc);
    bool cancel(KTIMER& timer);
    /// Before the timer is cancelled, where somebody looks on.
    void look_on_cancel(const KTIMER& timer);
    /// For the processor that keeps time: signals what is due, gives back when to look again.
    std::uint64_t expire(machine& owner);
    /// Returns when every timer that was found not set any more has queued its DPC.
    void settle();
    bool once_armed();
    /// The machine is no more: no timer is set on it.
    void let_go_of_all();

private:
    void begin(machine& owner);
    bool prepare(KTIMER& timer, ULONG period, KDPC* dpc);
    std::uint64_t rounded_up(std::uint64_t due) const;
    void signal(processor& self, KTIMER& timer);
    void expire_absolute(machine& owner, processor& self);
    void link(KTIMER& timer, std::uint64_t due);
    void unlink_again(KTIMER& timer);
    void disarm(KTIMER& timer);

    machine_spin lock_;                  // DPCs are queued under it
    std::unique_ptr<timer_wheel> wheel_; // since the first timer was set
    unsigned shift_ = 0;
    std::uint64_t look_again_ = timer_wheel::no_tick; // when the time keeper wakes by itself
};

} // namespace detail
} // namespace irpverbs::dispatch
