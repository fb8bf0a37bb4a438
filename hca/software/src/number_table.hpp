// Objects of an HCA by the numbers of 24 bits that packets name.
#pragma once

#include <ci/ib_types.h>
#include <dispatch/support/spin_lock.hpp>

#include <new>
#include <vector>

namespace irpverbs::hca_software {

inline constexpr ULONG most_numbers = (1u << 17) - 1; // the last number means multicast
inline constexpr ULONG first_number = 1u << 23;

/// A number is a slot and a generation: a packet to an object that was destroyed does not reach the
/// next one of the slot soon.
template <class Object>
class number_table {
public:
    /// The first slot and its generation are these 23 bits of `place`. Called before any insert.
    void begin_at(std::uint64_t place) {
        first_slot_ = static_cast<ULONG>(place & slot_mask) % most_numbers;
        first_generation_ = static_cast<ULONG>(place >> slot_bits) & generation_mask;
    }

    /// Returns the number of the object; 0: most_numbers exist, or no memory.
    ULONG insert(Object& added) try {
        const dispatch::detail::spin_guard guard(lock_);
        if (slots_.size() == most_numbers && free_count_ == 0) return 0;
        const ULONG index = next_slot();
        slot& into = slots_[index];
        into.object = &added;
        into.generation = (into.generation + 1) & generation_mask;
        return number_of(index);
    } catch (const std::bad_alloc&) {
        return 0;
    }

    void remove(ULONG number) {
        const dispatch::detail::spin_guard guard(lock_);
        const ULONG index = index_of(number);
        slots_[index].object = nullptr;
        if (free_count_++ == 0)
            first_free_ = index;
        else
            slots_[last_free_].next_free = index;
        last_free_ = index;
    }

    /// Runs `use` with the object, or null, under the table's lock: the object stays during the
    /// call.
    template <class Use>
    auto with(ULONG number, const Use& use) const {
        const dispatch::detail::spin_guard guard(lock_);
        return use(find(number));
    }

private:
    static constexpr unsigned slot_bits = 17;
    static constexpr ULONG slot_mask = (1u << slot_bits) - 1;
    static constexpr ULONG generation_mask = (1u << (23 - slot_bits)) - 1;
    static constexpr ULONG least_free = 64; // slots that wait before one is used again

    struct slot {
        Object* object = nullptr;
        ULONG generation = 0;
        ULONG next_free = 0;
    };

    ULONG number_of(ULONG index) const {
        ULONG place = first_slot_ + index;
        if (place >= most_numbers) place -= most_numbers;
        return first_number | slots_[index].generation << slot_bits | place;
    }
    ULONG index_of(ULONG number) const {
        const ULONG place = number & slot_mask;
        return place >= first_slot_ ? place - first_slot_ : place + most_numbers - first_slot_;
    }

    Object* find(ULONG number) const {
        const ULONG index = index_of(number);
        if (index >= slots_.size() || number != number_of(index)) return nullptr;
        return slots_[index].object;
    }

    // Slots that were freed are used again in their order.
    ULONG next_slot() {
        if (slots_.size() < most_numbers && free_count_ < least_free) {
            slots_.push_back({nullptr, first_generation_, 0});
            return static_cast<ULONG>(slots_.size() - 1);
        }
        const ULONG index = first_free_;
        first_free_ = slots_[index].next_free;
        --free_count_;
        return index;
    }

    ULONG first_slot_ = 0;
    ULONG first_generation_ = 0;
    mutable KSPIN_LOCK lock_ = 0;
    std::vector<slot> slots_; // guarded by lock_, as the members below
    ULONG first_free_ = 0;
    ULONG last_free_ = 0;
    ULONG free_count_ = 0;
};

} // namespace irpverbs::hca_software
