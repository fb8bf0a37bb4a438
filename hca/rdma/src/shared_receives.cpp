#include "shared_receives.hpp"

#include "adapter.hpp"
#include "failure.hpp"
#include "memory_verbs.hpp"

#include <new>
#include <utility>

namespace irpverbs::hca_rdma {

namespace {

static_assert(IB_MOD_SRQ_MAX_WR == IBV_SRQ_MAX_WR && IB_MOD_SRQ_LIMIT == IBV_SRQ_LIMIT);

srq_extension& extension_of(HCA_SRQ* srq) { return *static_cast<srq_extension*>(srq->Extension); }

} // namespace

shared_receives::shared_receives(verbs_context& context, HCA_SRQ& owner)
    : context_(context), owner_(owner), target_{nullptr, context, 0} {
    ExInitializeRundownProtection(&notifications_);
}

shared_receives::~shared_receives() {
    if (target_.queue != nullptr) context_.verbs().destroy_srq(target_.queue);
}

shared_receives& shared_receives::of(IB_SRQ* srq) {
    return *extension_of(CONTAINING_RECORD(srq, HCA_SRQ, Srq)).queue;
}

NTSTATUS shared_receives::make(verbs_context& context, HCA_SRQ& owner,
                               std::unique_ptr<shared_receives>& made) {
    std::unique_ptr<shared_receives> queue(new shared_receives(context, owner));
    if (const int error = queue->create(); error != 0) return context.failure(error);
    owner.Post.Queue = &queue->target_;
    HcaSetSrqPost(&owner, post_shared_receive);
    made = std::move(queue);
    return STATUS_SUCCESS;
}

// soft-RoCE reports the size of the queue by a query only.
int shared_receives::create() {
    ibv_srq_init_attr attr{};
    attr.srq_context = this;
    attr.attr = {owner_.Create.max_wr, owner_.Create.max_sge, 0};
    ibv_srq* made = context_.verbs().create_srq(hca_rdma::extension_of(owner_.Pd).domain, &attr);
    if (const int error = failure_of(made); error != 0) return error;
    target_.queue = made;
    target_.receive_segments = attr.attr.max_sge;
    owner_.Srq = {attr.attr.max_wr, attr.attr.max_sge, 0, 0};
    if (ibv_srq_attr seen{}; read(seen) == 0) owner_.Srq.MaxWr = seen.max_wr;
    return 0;
}

void shared_receives::destroy(std::unique_ptr<shared_receives> queue) {
    verbs_context& context = queue->context_;
    if (failure_of(context.verbs().destroy_srq(queue->target_.queue)) == 0) {
        queue->target_.queue = nullptr;
        return;
    }
    ExWaitForRundownProtectionRelease(&queue->notifications_);
    context.keep(std::move(queue));
}

int shared_receives::read(ibv_srq_attr& seen) const {
    return failure_of(context_.verbs().query_srq(target_.queue, &seen));
}

// libibverbs reports the granted size by a query only.
NTSTATUS shared_receives::modify(const ib_srq_mod_t& change) {
    ibv_srq_attr attr{change.max_wr, 0, change.srq_limit};
    const int mask = static_cast<int>(change.opts);
    const int error = failure_of(context_.verbs().modify_srq(target_.queue, &attr, mask));
    if (error != 0) return context_.failure(error);
    if ((change.opts & IB_MOD_SRQ_MAX_WR) == 0) return STATUS_SUCCESS;
    owner_.Srq.MaxWr = read(attr) == 0 ? attr.max_wr : change.max_wr;
    return STATUS_SUCCESS;
}

NTSTATUS shared_receives::query(ib_srq_attr_t& seen) const {
    ibv_srq_attr attr{};
    if (const int error = read(attr); error != 0) return context_.failure(error);
    seen = {sizeof(seen),   attr.max_wr, &owner_.Pd->Pd, attr.max_sge,
            attr.srq_limit, nullptr,     nullptr,        0};
    return STATUS_SUCCESS;
}

void shared_receives::report(IB_ASYNC_EVENT event) {
    if (!ExAcquireRundownProtection(&notifications_)) return;
    HcaReportSrqEvent(&owner_, event);
    ExReleaseRundownProtection(&notifications_);
}

NTSTATUS create_srq(HCA_SRQ* srq, CI_UDATA* user, PIRP irp) try {
    HcaCopyUserData(user, nullptr, 0);
    std::unique_ptr<shared_receives> made;
    const NTSTATUS status =
        shared_receives::make(adapter::of(srq->Pd->Ca->Device).context(), *srq, made);
    if (!NT_SUCCESS(status)) return status;
    if (irp->Cancel != FALSE) { // during the call of the kernel
        shared_receives::destroy(std::move(made));
        return STATUS_CANCELLED;
    }
    extension_of(srq).queue = made.release();
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS destroy_srq(HCA_SRQ* srq, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    shared_receives::destroy(std::unique_ptr<shared_receives>(extension_of(srq).queue));
    return STATUS_SUCCESS;
}

NTSTATUS modify_srq(HCA_SRQ* srq, const ib_srq_mod_t* modify, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    return extension_of(srq).queue->modify(*modify);
}

NTSTATUS query_srq(HCA_SRQ* srq, ib_srq_attr_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    ib_srq_attr_t seen{};
    const NTSTATUS status = extension_of(srq).queue->query(seen);
    return NT_SUCCESS(status) ? HcaCopyAttributes(&seen, sizeof(seen), attr, size, irp) : status;
}

} // namespace irpverbs::hca_rdma
