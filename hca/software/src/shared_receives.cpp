#include "shared_receives.hpp"

#include "adapter.hpp"
#include "queue_pair.hpp"

#include <memory>
#include <new>

namespace irpverbs::hca_software {

namespace {

adapter& adapter_of(const HCA_SRQ* srq) { return adapter::of(srq->Pd->Ca->Device); }
adapter& adapter_of(const HCA_XRCD* xrcd) { return adapter::of(xrcd->Ca->Device); }

// PFN_HCA_POST_RECV.
NTSTATUS post(void* queue, ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    return static_cast<transport::shared_receive_queue*>(queue)->post(list, failed);
}

// STATUS_SUCCESS, or nothing was made.
NTSTATUS make(HCA_SRQ* srq) {
    adapter& self = adapter_of(srq);
    auto& made = *new (srq->Extension) shared_receives(srq, self.keys());
    bool good = made.queue.allocate(srq->Create.max_wr, srq->Create.max_sge);
    if (good && srq->Create.h_xrcd != nullptr) {
        srq->Srq.Num = self.xrc_srqs().insert(made);
        good = srq->Srq.Num != 0;
    }
    if (good) return STATUS_SUCCESS;
    std::destroy_at(&made);
    return STATUS_INSUFFICIENT_RESOURCES;
}

} // namespace

bool shared_receives::complete(const IB_WC& entry) {
    const cq_reports added = ring_of(reinterpret_cast<HCA_CQ*>(shared->Create.h_cq)).add(entry);
    reports.add(added, false);
    return (added & cq_report::lost) == 0;
}

void shared_receives::report_limit() { reports.add(0, true); }

NTSTATUS create_srq(HCA_SRQ* srq, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    const ib_srq_create_t& wanted = srq->Create;
    if (wanted.max_wr > max_qp_wrs || wanted.max_sge > max_sges) return STATUS_INVALID_PARAMETER;
    if (!adapter_of(srq).srqs().add()) return STATUS_INSUFFICIENT_RESOURCES;
    if (const NTSTATUS status = make(srq); !NT_SUCCESS(status)) {
        adapter_of(srq).srqs().remove();
        return status;
    }
    srq->Post.Queue = &shared_receives::of(srq).queue;
    HcaSetSrqPost(srq, post);
    return STATUS_SUCCESS;
}

// Queue pairs of XRC targets find it by its number, under their locks.
NTSTATUS destroy_srq(HCA_SRQ* srq, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    adapter& self = adapter_of(srq);
    NTSTATUS status = STATUS_SUCCESS;
    if (srq->Srq.Num != 0) {
        self.xrc_srqs().remove(srq->Srq.Num);
        self.accesses().wait();
        status = shared_receives::of(srq).reports.end(irp);
    }
    if (status == STATUS_SUCCESS) end_srq(srq);
    return status;
}

void end_srq(const HCA_SRQ* srq) {
    std::destroy_at(&shared_receives::of(srq));
    adapter_of(srq).srqs().remove();
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
    const ib_srq_attr_t made{sizeof(made),        queue.depth(), &srq->Pd->Pd,
                             srq->Create.max_sge, queue.limit(), srq->Create.h_xrcd,
                             srq->Create.h_cq,    srq->Srq.Num};
    return HcaCopyAttributes(&made, sizeof(made), attr, size, irp);
}

NTSTATUS allocate_xrcd(HCA_XRCD* xrcd, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    return adapter_of(xrcd).xrc_domains().add() ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS deallocate_xrcd(HCA_XRCD* xrcd, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    adapter_of(xrcd).xrc_domains().remove();
    return STATUS_SUCCESS;
}

} // namespace irpverbs::hca_software
