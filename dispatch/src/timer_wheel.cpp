#include "timer_service.hpp"

#include <algorithm>
#include <bit>

namespace irpverbs::dispatch::detail {

timer_wheel::timer_wheel() {
    for (LIST_ENTRY& head : heads_)
        InitializeListHead(&head);
}

void timer_wheel::link(KTIMER& timer, std::uint64_t tick) noexcept {
    tick = std::max(tick, elapsed_);
    timer.DueTime = tick;
    const unsigned highest =
        63u - static_cast<unsigned>(std::countl_zero((elapsed_ ^ tick) | (slots - 1)));
    const unsigned level = highest / bits;
    const auto slot = static_cast<unsigned>((tick >> (level * bits)) & (slots - 1));
    InsertTailList(&heads_[level * slots + slot], &timer.TimerListEntry);
    occupied_[level] |= std::uint64_t{1} << slot;
}

void timer_wheel::unlink(KTIMER& timer) noexcept {
    const LIST_ENTRY* next = timer.TimerListEntry.Flink;
    if (!RemoveEntryList(&timer.TimerListEntry)) return;
    const auto index = static_cast<std::size_t>(next - heads_.data());
    occupied_[index / slots] &= ~(std::uint64_t{1} << (index % slots));
}

unsigned timer_wheel::lowest_level() const noexcept {
    unsigned level = 0;
    while (level < levels && occupied_[level] == 0)
        ++level;
    return level;
}

std::uint64_t timer_wheel::next_tick() const noexcept {
    const unsigned level = lowest_level();
    if (level == levels) return no_tick;
    const auto slot = static_cast<std::uint64_t>(std::countr_zero(occupied_[level]));
    const unsigned above = (level + 1) * bits;
    const std::uint64_t start = above >= 64 ? 0 : (elapsed_ >> above) << above;
    return start + (slot << (level * bits));
}

void timer_wheel::cascade(unsigned level, unsigned slot) noexcept {
    LIST_ENTRY& head = heads_[level * slots + slot];
    occupied_[level] &= ~(std::uint64_t{1} << slot);
    LIST_ENTRY* entry = head.Flink;
    InitializeListHead(&head);
    while (entry != &head) {
        LIST_ENTRY* next = entry->Flink;
        KTIMER& timer = *CONTAINING_RECORD(entry, KTIMER, TimerListEntry);
        link(timer, timer.DueTime);
        entry = next;
    }
}

KTIMER* timer_wheel::pop(std::uint64_t now) noexcept {
    for (;;) {
        const std::uint64_t tick = next_tick();
        if (tick == no_tick || tick > now) {
            elapsed_ = std::max(elapsed_, now);
            return nullptr;
        }
        elapsed_ = std::max(elapsed_, tick);
        const unsigned level = lowest_level();
        const auto slot = static_cast<unsigned>(std::countr_zero(occupied_[level]));
        if (level == 0) {
            KTIMER& due = *CONTAINING_RECORD(heads_[slot].Flink, KTIMER, TimerListEntry);
            unlink(due);
            return &due;
        }
        cascade(level, slot);
    }
}

} // namespace irpverbs::dispatch::detail
