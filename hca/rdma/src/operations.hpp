// The driver's operations for the verbs.
#pragma once

#include "attributes.hpp"

#include <ci/driver.h>

#include <array>

namespace irpverbs::hca_rdma {

class completion_queue;

/// The extension of a CA.
struct ca_extension {
    // Per port: the open descriptor of the issm file plus 1; 0: none.
    std::array<int, UMAD_CA_MAX_PORTS> issm_files;
};

/// The base of the extensions of objects below a CA, except agents and attachments.
struct object_extension {
    unsigned command_queue; // number of the queue of its commands
};

struct cq_extension : object_extension {
    completion_queue* queue;
};

inline ca_extension& extension_of(HCA_CA* ca) { return *static_cast<ca_extension*>(ca->Extension); }
inline cq_extension& extension_of(HCA_CQ* cq) { return *static_cast<cq_extension*>(cq->Extension); }

/// Reads the fixed part, and the tables if `wanted`.
NTSTATUS read_port(const HCA_CA* ca, UCHAR number, bool wanted, port_attributes& made);

NTSTATUS modify_ca(HCA_CA* ca, ULONG flags, const IB_MODIFY_CA* modify, PIRP irp);
NTSTATUS modify_port(HCA_CA* ca, UCHAR number, ULONG flags, const IB_MODIFY_PORT* modify, PIRP irp);
/// Releases the capabilities that the CA holds on its ports.
void release_ports(HCA_CA* ca);

NTSTATUS create_cq(HCA_CQ* cq, CI_UDATA* user_data, PIRP irp);
NTSTATUS destroy_cq(HCA_CQ* cq, CI_UDATA* user_data, PIRP irp);
NTSTATUS query_cq(HCA_CQ* cq, IB_CQ_ATTR* attr, SIZE_T size, PIRP irp);
NTSTATUS resize_cq(HCA_CQ* cq, ULONG num_cqes, CI_UDATA* user_data, PIRP irp);
NTSTATUS poll_cq(HCA_CQ* cq, ULONG count, IB_WC* entries, ULONG* taken);
NTSTATUS arm_cq(HCA_CQ* cq, ULONG flags, PIRP irp);

} // namespace irpverbs::hca_rdma
