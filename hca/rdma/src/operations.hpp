// What the driver does for the verbs.
#pragma once

#include "attributes.hpp"

#include <ci/driver.h>

#include <array>

namespace irpverbs::hca_rdma {

class completion_queue;

/// Extension of a CA.
struct ca_part {
    // By port: the descriptor whose being open makes it an SM's, and 1 more; 0: none.
    std::array<int, UMAD_CA_MAX_PORTS> sm_files;
};

/// Extension of a completion queue.
struct cq_part {
    completion_queue* queue;
    unsigned lane; // of its commands
};

inline ca_part& part_of(HCA_CA* ca) { return *static_cast<ca_part*>(ca->Extension); }
inline cq_part& part_of(HCA_CQ* cq) { return *static_cast<cq_part*>(cq->Extension); }

/// The fixed part; the tables, too, when they are `wanted`.
NTSTATUS read_port(const HCA_CA* ca, UCHAR number, bool wanted, port_attributes& made);

NTSTATUS modify_ca(HCA_CA* ca, ULONG flags, const IB_MODIFY_CA* modify, PIRP irp);
NTSTATUS modify_port(HCA_CA* ca, UCHAR number, ULONG flags, const IB_MODIFY_PORT* modify, PIRP irp);
/// Gives back what the CA holds of its ports.
void release_ports(HCA_CA* ca);

NTSTATUS create_cq(HCA_CQ* cq, CI_UDATA* user_data, PIRP irp);
NTSTATUS destroy_cq(HCA_CQ* cq, CI_UDATA* user_data, PIRP irp);
NTSTATUS query_cq(HCA_CQ* cq, IB_CQ_ATTR* attr, SIZE_T size, PIRP irp);
NTSTATUS resize_cq(HCA_CQ* cq, ULONG num_cqes, CI_UDATA* user_data, PIRP irp);
NTSTATUS poll_cq(HCA_CQ* cq, ULONG count, IB_WC* entries, ULONG* taken);
NTSTATUS arm_cq(HCA_CQ* cq, ULONG flags, PIRP irp);

} // namespace irpverbs::hca_rdma
