#include "qp_object.hpp"

#include "srq_object.hpp"
#include "xrcd_object.hpp"

#include <dispatch/support/spin_lock.hpp>

namespace irpverbs::ci {

namespace {

cq_object& cq_of(IB_CQ* cq) { return cq_object::of(cq); }

// No type has both a shared receive queue and an XRC domain.
used_objects used_of(const ib_qp_create_t& create) {
    object* const domain = xrcd_object::find(create.h_xrcd);
    return {{cq_object::find(create.h_sq_cq), cq_object::find(create.h_rq_cq),
             domain != nullptr ? domain : srq_object::find(create.h_srq)}};
}

} // namespace

used_objects qp_object::used_by(const create_parameters& wanted) {
    return used_of(*static_cast<const ib_qp_create_t*>(wanted.attributes));
}

used_objects qp_object::used() const { return used_of(shared.Create); }

void qp_object::set_up(const create_parameters& wanted, event_channel* channels) {
    const auto& create = *static_cast<const ib_qp_create_t*>(wanted.attributes);
    shared.Create = create;
    shared.Qp = {
        0, create.sq_depth, create.rq_depth, create.sq_sge, create.rq_sge, create.sq_max_inline};
    shared.State = IB_QPS_RESET;
    channels[async_channel].has_up_call = create.dispatch.AsyncEvent != nullptr;
    device().add(posts);
}

void qp_object::tear_down() {
    abandon_transfers();
    device().remove(posts);
}

void qp_object::abandon_transfers() {
    for (IB_CQ* each : {shared.Create.h_sq_cq, shared.Create.h_rq_cq})
        if (each != nullptr && cq_of(each).has_transfers()) cq_of(each).work.abandon(*this);
}

void qp_object::on_changed(const parameters&, NTSTATUS) {
    if (HcaQpState(&shared) == IB_QPS_RESET) abandon_transfers();
}

template <class Post, class Request>
NTSTATUS qp_object::start(cq_object& completions, IRP* irp, Post post, const Request& request) {
    NTSTATUS status = completions.begin_transfers();
    if (NT_SUCCESS(status)) status = flush.reserve();
    if (NT_SUCCESS(status)) status = completions.work.start(irp, post, shared.Posts.Queue, request);
    if (status != STATUS_PENDING) return complete(irp, status, 0);
    dereference();
    return status;
}

NTSTATUS qp_object::start_send(IRP* irp, const ib_send_wr_t& request) {
    if (shared.Create.h_sq_cq == nullptr) return complete(irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    ib_send_wr_t signaled = request;
    signaled.send_opt |= IB_SEND_OPT_SIGNALED;
    const auto post = __atomic_load_n(&shared.Posts.PostSend, __ATOMIC_RELAXED);
    return start(cq_of(shared.Create.h_sq_cq), irp, post, signaled);
}

// The completion queue does not become a transfer queue by a mistake.
NTSTATUS qp_object::start_receive(IRP* irp, const ib_recv_wr_t& request) {
    if (!has_receive_queue(shared.Create)) return complete(irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    const auto post = __atomic_load_n(&shared.Posts.PostRecv, __ATOMIC_RELAXED);
    return start(cq_of(shared.Create.h_rq_cq), irp, post, request);
}

void qp_object::call_up(unsigned, IB_ASYNC_EVENT event) {
    shared.Create.dispatch.AsyncEvent(shared.Create.qp_context, event);
}

} // namespace irpverbs::ci
