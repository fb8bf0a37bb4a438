#include "qp_table.hpp"

#include <new>

namespace irpverbs::hca_software {

queue_pair* qp_table::find(ib_qpn_t number) const {
    const ULONG index = number & slot_mask;
    if (index >= slots_.size() || number != number_of(index, slots_[index].generation))
        return nullptr;
    return slots_[index].qp;
}

// Slots that were freed are used again in their order.
ULONG qp_table::next_slot() {
    if (slots_.size() < max_qps && free_count_ < least_free) {
        slots_.emplace_back();
        return static_cast<ULONG>(slots_.size() - 1);
    }
    const ULONG index = first_free_;
    first_free_ = slots_[index].next_free;
    --free_count_;
    return index;
}

ib_qpn_t qp_table::insert(queue_pair& qp) try {
    const dispatch::detail::spin_guard guard(lock_);
    if (slots_.size() == max_qps && free_count_ == 0) return 0;
    const ULONG index = next_slot();
    slot& into = slots_[index];
    into.qp = &qp;
    into.generation = (into.generation + 1) & generation_mask;
    return number_of(index, into.generation);
} catch (const std::bad_alloc&) {
    return 0;
}

void qp_table::remove(ib_qpn_t number) {
    const dispatch::detail::spin_guard guard(lock_);
    const ULONG index = number & slot_mask;
    slots_[index].qp = nullptr;
    if (free_count_++ == 0)
        first_free_ = index;
    else
        slots_[last_free_].next_free = index;
    last_free_ = index;
}

} // namespace irpverbs::hca_software
