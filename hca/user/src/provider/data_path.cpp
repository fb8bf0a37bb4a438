#include "data_path.hpp"

#include "../connection.hpp"
#include "library.hpp"

#include <algorithm>
#include <array>

namespace irpverbs::hca_user::provided {

namespace {

constexpr ULONG entries_at_once = 16;

void* handle_of(ci::crossing::object_type type, void* object) {
    return user_object::of(type, object).of_provider;
}

const uvp_interface_t& functions_of(ci::crossing::object_type type, void* object) {
    return *connection_of(type, object).provider();
}

// Polls with lists of entries. Source: seed 004, uvp_poll_cq.
ib_api_status_t poll_lists(uvp_poll_cq poll, void* cq, ULONG count, IB_WC* entries, ULONG& taken) {
    std::array<ib_wc_t, entries_at_once> lists{};
    const ULONG room = std::min(count, entries_at_once);
    for (ULONG i = 0; i + 1 < room; ++i)
        lists[i].p_next = &lists[i + 1];
    ib_wc_t* unused = lists.data();
    ib_wc_t* done = nullptr;
    const ib_api_status_t status = poll(cq, &unused, &done);
    for (; done != nullptr && taken < room; done = done->p_next)
        entries[taken++] = done->wc;
    return status == IB_NOT_FOUND ? IB_SUCCESS : status;
}

} // namespace

NTSTATUS post_send(void* queue, ib_send_wr_t* list, ib_send_wr_t** failed) {
    const uvp_interface_t& functions = functions_of(HCA_MN_CREATE_QP, queue);
    return status_of(functions.post_send(handle_of(HCA_MN_CREATE_QP, queue), list, failed));
}

NTSTATUS post_receive(void* queue, ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    const uvp_interface_t& functions = functions_of(HCA_MN_CREATE_QP, queue);
    return status_of(functions.post_recv(handle_of(HCA_MN_CREATE_QP, queue), list, failed));
}

NTSTATUS post_shared_receive(void* queue, ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    const uvp_interface_t& functions = functions_of(HCA_MN_CREATE_SRQ, queue);
    return status_of(functions.post_srq_recv(handle_of(HCA_MN_CREATE_SRQ, queue), list, failed));
}

NTSTATUS poll_cq(const uvp_interface_t& functions, HCA_CQ* cq, ULONG count, IB_WC* entries,
                 ULONG* taken) {
    void* const handle = handle_of(HCA_MN_CREATE_CQ, cq);
    *taken = 0;
    if (count == 0) return STATUS_SUCCESS;
    if (functions.poll_cq_array == nullptr)
        return status_of(poll_lists(functions.poll_cq, handle, count, entries, *taken));
    const int polled = functions.poll_cq_array(handle, static_cast<int>(count), entries);
    if (polled < 0 || static_cast<ULONG>(polled) > count) return STATUS_UNSUCCESSFUL;
    *taken = static_cast<ULONG>(polled);
    return STATUS_SUCCESS;
}

NTSTATUS arm_cq(const uvp_interface_t& functions, HCA_CQ* cq, ULONG flags) {
    const boolean_t solicited = flags == IB_CQ_ARM_SOLICITED;
    return status_of(functions.enable_cq_notify(handle_of(HCA_MN_CREATE_CQ, cq), solicited));
}

NTSTATUS bind_mw(const uvp_interface_t& functions, HCA_MW* window, HCA_QP* qp,
                 const ib_bind_wr_t* what, ULONG* rkey) {
    ib_bind_wr_t bound = *what;
    return status_of(functions.bind_mw(
        static_cast<uvp_mw_handle_t>(handle_of(HCA_MN_ALLOCATE_MW, window)),
        static_cast<uvp_qp_handle_t>(handle_of(HCA_MN_CREATE_QP, qp)), &bound, rkey));
}

} // namespace irpverbs::hca_user::provided
