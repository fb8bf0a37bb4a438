// The queue pairs of an HCA by their numbers.
#pragma once

#include <ci/ib_types.h>
#include <dispatch/support/spin_lock.hpp>

#include <vector>

namespace irpverbs::hca_software {

struct queue_pair;

inline constexpr ULONG max_qps = (1u << 17) - 1; // the last number means multicast

/// The numbers of MAD agents' queue pairs are below these.
inline constexpr ib_qpn_t first_qp_number = 1u << 23;

/// A number is a slot and a generation: a packet to a queue pair that was destroyed does not reach
/// the next one of the slot soon.
class qp_table {
public:
    /// Returns the number of the queue pair; 0: max_qps exist, or no memory.
    ib_qpn_t insert(queue_pair& qp);
    void remove(ib_qpn_t number);

    /// Runs `use` with the queue pair, or null, under the table's lock: the queue pair stays during
    /// the call.
    template <class Use>
    auto with(ib_qpn_t number, const Use& use) const {
        const dispatch::detail::spin_guard guard(lock_);
        return use(find(number));
    }

private:
    static constexpr unsigned slot_bits = 17;
    static constexpr ULONG slot_mask = (1u << slot_bits) - 1;
    static constexpr ULONG generation_mask = (1u << (23 - slot_bits)) - 1;
    static constexpr ULONG least_free = 64; // slots that wait before one is used again

    struct slot {
        queue_pair* qp = nullptr;
        ULONG generation = 0;
        ULONG next_free = 0;
    };

    static ib_qpn_t number_of(ULONG index, ULONG generation) {
        return first_qp_number | generation << slot_bits | index;
    }
    queue_pair* find(ib_qpn_t number) const;
    ULONG next_slot();

    mutable KSPIN_LOCK lock_ = 0;
    std::vector<slot> slots_; // guarded by lock_, as the members below
    ULONG first_free_ = 0;
    ULONG last_free_ = 0;
    ULONG free_count_ = 0;
};

} // namespace irpverbs::hca_software
