// Shared receive queues of the software HCA.
#pragma once

#include "registered_memory.hpp"

#include "transport/shared_receive_queue.hpp"

namespace irpverbs::hca_software {

inline constexpr ULONG max_srqs = 1u << 16;

/// HCA_SRQ.Extension.
struct shared_receives {
    shared_receives(key_table& keys, const HCA_PD* pd) : memory(keys, pd, no_queue_pair) {}

    static shared_receives& of(const HCA_SRQ* srq) {
        return *static_cast<shared_receives*>(srq->Extension);
    }

    registered_memory memory;
    transport::shared_receive_queue queue{memory};
};

NTSTATUS create_srq(HCA_SRQ* srq, CI_UDATA* user, PIRP irp);
NTSTATUS destroy_srq(HCA_SRQ* srq, CI_UDATA* user, PIRP irp);
NTSTATUS modify_srq(HCA_SRQ* srq, const ib_srq_mod_t* modify, CI_UDATA* user, PIRP irp);
NTSTATUS query_srq(HCA_SRQ* srq, ib_srq_attr_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp);

} // namespace irpverbs::hca_software
