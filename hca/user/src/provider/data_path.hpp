// The data path of a provider: its functions in the place of those that cross.
#pragma once

#include <ci/driver.h>
#include <ci/ib_uvp.h>

namespace irpverbs::hca_user::provided {

/// As CiPostSend, CiPostRecv, CiPostSrqRecv. `queue` is the HCA_QP* or the HCA_SRQ*.
NTSTATUS post_send(void* queue, ib_send_wr_t* list, ib_send_wr_t** failed);
NTSTATUS post_receive(void* queue, ib_recv_wr_t* list, ib_recv_wr_t** failed);
NTSTATUS post_shared_receive(void* queue, ib_recv_wr_t* list, ib_recv_wr_t** failed);

/// True if the provider polls completion queues.
inline bool polls(const uvp_interface_t* functions) {
    return functions != nullptr &&
           (functions->poll_cq != nullptr || functions->poll_cq_array != nullptr);
}
NTSTATUS poll_cq(const uvp_interface_t& functions, HCA_CQ* cq, ULONG count, IB_WC* entries,
                 ULONG* taken);
NTSTATUS arm_cq(const uvp_interface_t& functions, HCA_CQ* cq, ULONG flags);
NTSTATUS bind_mw(const uvp_interface_t& functions, HCA_MW* window, HCA_QP* qp,
                 const ib_bind_wr_t* what, ULONG* rkey);

} // namespace irpverbs::hca_user::provided
