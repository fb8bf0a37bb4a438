#include "timer_service.hpp"

namespace irpverbs::dispatch::detail {

timer_wheel::timer_wheel() { begin(clock_kind::machine_time, 0); }

void timer_wheel::begin(clock_kind by, std::uint64_t now) noexcept {
    for (LIST_ENTRY& head : heads_of(by))
        InitializeListHead(&head);
    std::fill_n(occupied_.begin() + first_level(by), levels, 0);
    elapsed_[index_of(by)] = now;
}

void timer_wheel::begin_system_time(std::uint64_t now) noexcept {
    begin(clock_kind::system_time, now);
    has_system_time_ = true;
}

// Counted from the clock's own lowest level; `levels`: no timer is armed.
unsigned timer_wheel::lowest_level(clock_kind by) const noexcept {
    unsigned level = 0;
    while (level < levels && occupied_[first_level(by) + level] == 0)
        ++level;
    return level;
}

std::uint64_t timer_wheel::next_tick(clock_kind by) const noexcept {
    const unsigned level = lowest_level(by);
    if (level == levels) return no_tick;
    const auto slot =
        static_cast<std::uint64_t>(std::countr_zero(occupied_[first_level(by) + level]));
    const unsigned above = (level + 1) * bits;
    const std::uint64_t start = above >= 64 ? 0 : (elapsed_[index_of(by)] >> above) << above;
    return start + (slot << (level * bits));
}

void timer_wheel::resync_system_time(std::uint64_t now) noexcept {
    constexpr clock_kind by = clock_kind::system_time;
    if (now >= elapsed_[index_of(by)]) return;
    LIST_ENTRY armed;
    InitializeListHead(&armed);
    for (LIST_ENTRY& head : heads_of(by))
        while (!IsListEmpty(&head))
            InsertTailList(&armed, RemoveHeadList(&head));
    begin(by, now);
    while (!IsListEmpty(&armed)) {
        KTIMER& timer = *CONTAINING_RECORD(RemoveHeadList(&armed), KTIMER, TimerListEntry);
        link(timer, timer.DueTime, by);
    }
}

void timer_wheel::cascade(unsigned level, unsigned slot, clock_kind by) noexcept {
    LIST_ENTRY& head = heads_[(first_level(by) + level) * slots + slot];
    occupied_[first_level(by) + level] &= ~(std::uint64_t{1} << slot);
    LIST_ENTRY* entry = head.Flink;
    InitializeListHead(&head);
    while (entry != &head) {
        LIST_ENTRY* next = entry->Flink;
        KTIMER& timer = *CONTAINING_RECORD(entry, KTIMER, TimerListEntry);
        link(timer, timer.DueTime, by);
        entry = next;
    }
}

KTIMER* timer_wheel::remove_due(std::uint64_t now, clock_kind by) noexcept {
    std::uint64_t& elapsed = elapsed_[index_of(by)];
    for (;;) {
        const std::uint64_t tick = next_tick(by);
        if (tick == no_tick || tick > now) {
            elapsed = std::max(elapsed, now);
            return nullptr;
        }
        elapsed = std::max(elapsed, tick);
        const unsigned level = lowest_level(by);
        const auto slot =
            static_cast<unsigned>(std::countr_zero(occupied_[first_level(by) + level]));
        if (level == 0) {
            KTIMER& due = *CONTAINING_RECORD(heads_[first_level(by) * slots + slot].Flink, KTIMER,
                                             TimerListEntry);
            unlink(due);
            return &due;
        }
        cascade(level, slot, by);
    }
}

} // namespace irpverbs::dispatch::detail
