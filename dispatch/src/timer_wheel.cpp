#include "timer_service.hpp"

namespace irpverbs::dispatch::detail {

timer_wheel::timer_wheel() {
    for (LIST_ENTRY& head : heads_)
        InitializeListHead(&head);
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

bool timer_wheel::any(bool (*matches)(const KTIMER&)) const noexcept {
    for (const LIST_ENTRY& head : heads_)
        for (const LIST_ENTRY* each = head.Flink; each != &head; each = each->Flink)
            if (matches(*CONTAINING_RECORD(each, KTIMER, TimerListEntry))) return true;
    return false;
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
