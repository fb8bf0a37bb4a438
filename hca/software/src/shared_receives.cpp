#include "shared_receives.hpp"

#include "adapter.hpp"
#include "queue_pair.hpp"

#include <memory>
#include <new>

namespace irpverbs::hca_software {

namespace {

adapter& adapter_of(const HCA_SRQ* srq) { return adapter::of(srq->Pd->Ca->Device); }

// PFN_HCA_POST_RECV.
NTSTATUS post(void* queue, ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    return static_cast<transport::shared_receive_queue*>(queue)->post(list, failed);
}

} // namespace

NTSTATUS create_srq(HCA_SRQ* srq, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    const ib_srq_create_t& wanted = srq->Create;
    if (wanted.max_wr > max_qp_wrs || wanted.max_sge > max_sges) return STATUS_INVALID_PARAMETER;
    if (!adapter_of(srq).srqs().add()) return STATUS_INSUFFICIENT_RESOURCES;
    auto& made = *new (srq->Extension) shared_receives(adapter_of(srq).keys(), srq->Pd);
    if (!made.queue.allocate(wanted.max_wr, wanted.max_sge)) {
        std::destroy_at(&made);
        adapter_of(srq).srqs().remove();
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    srq->Post.Queue = &made.queue;
    HcaSetSrqPost(srq, post);
    return STATUS_SUCCESS;
}

NTSTATUS destroy_srq(HCA_SRQ* srq, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    std::destroy_at(&shared_receives::of(srq));
    adapter_of(srq).srqs().remove();
    return STATUS_SUCCESS;
}

NTSTATUS modify_srq(HCA_SRQ* srq, const ib_srq_mod_t* modify, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    if ((modify->opts & IB_MOD_SRQ_MAX_WR) != 0 && modify->max_wr > max_qp_wrs)
        return STATUS_INVALID_PARAMETER;
    bool reached_limit = false;
    const NTSTATUS status = shared_receives::of(srq).queue.modify(*modify, reached_limit);
    if (!NT_SUCCESS(status)) return status;
    if ((modify->opts & IB_MOD_SRQ_MAX_WR) != 0) srq->Srq.MaxWr = modify->max_wr;
    if (reached_limit) HcaReportSrqEvent(srq, IB_AE_SRQ_LIMIT_REACHED);
    return status;
}

NTSTATUS query_srq(HCA_SRQ* srq, ib_srq_attr_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    const transport::shared_receive_queue& queue = shared_receives::of(srq).queue;
    const ib_srq_attr_t made{sizeof(made), queue.depth(), &srq->Pd->Pd, srq->Create.max_sge,
                             queue.limit()};
    return HcaCopyAttributes(&made, sizeof(made), attr, size, irp);
}

} // namespace irpverbs::hca_software
