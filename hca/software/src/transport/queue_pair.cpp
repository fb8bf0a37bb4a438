#include "queue_pair.hpp"

namespace irpverbs::hca_software::transport {

namespace {

bool is_response(operation what) {
    return what == operation::read_response || what == operation::acknowledge ||
           what == operation::atomic_acknowledge;
}

bool is_flushing(ib_qp_state_t state) { return state == IB_QPS_ERROR || state == IB_QPS_SQERR; }

bool has_send_queue(ib_qp_state_t state) {
    return state != IB_QPS_RESET && state != IB_QPS_INIT && state != IB_QPS_RTR;
}

} // namespace

void queue_pair::enter(ib_qp_state_t to, bool report_drained) {
    const ib_qp_state_t from = shared_.state;
    shared_.state = to == IB_QPS_SQD ? ib_qp_state_t{IB_QPS_SQD_DRAINING} : to;
    switch (to) {
    case IB_QPS_RESET:
        requester_.reset();
        responder_.reset();
        break;
    case IB_QPS_RTR:
        responder_.start();
        break;
    case IB_QPS_RTS:
        if (from == IB_QPS_RTR) requester_.start();
        break;
    case IB_QPS_SQD:
        report_drained_ = report_drained;
        break;
    case IB_QPS_ERROR:
        responder_.drop_responses();
        break;
    default:
        break;
    }
    run();
}

void queue_pair::enter_migration(ib_apm_state_t to) {
    if (to == IB_APM_MIGRATED && is_armed(shared_))
        requester_.migrate();
    else
        set_migration(shared_, to);
}

// Source: IBA 10.8.2.1 (operations of each service).
NTSTATUS queue_pair::check_send(const ib_send_wr_t& what) const {
    if (shared_.is_target()) return STATUS_INVALID_DEVICE_REQUEST;
    switch (what.wr_type) {
    case WR_SEND:
        if ((what.send_opt & IB_SEND_OPT_INVALIDATE) != 0 && !shared_.is_reliable())
            return STATUS_INVALID_DEVICE_REQUEST;
        return STATUS_SUCCESS;
    case WR_NOP:
        return STATUS_SUCCESS;
    case WR_RDMA_WRITE:
    case WR_LOCAL_INV:
    case WR_BIND_MW:
    case WR_FAST_REG_MR:
        return shared_.is_datagram() ? STATUS_INVALID_DEVICE_REQUEST : STATUS_SUCCESS;
    case WR_RDMA_READ:
    case WR_COMPARE_SWAP:
    case WR_FETCH_ADD:
        return shared_.is_reliable() ? STATUS_SUCCESS : STATUS_INVALID_DEVICE_REQUEST;
    case WR_ATOMIC_WRITE:
        if (!shared_.is_reliable()) return STATUS_INVALID_DEVICE_REQUEST;
        return what.num_ds == 0 ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
    default:
        return STATUS_NOT_SUPPORTED;
    }
}

NTSTATUS queue_pair::post_send(ib_send_wr_t* list, ib_send_wr_t** failed) {
    NTSTATUS status = has_send_queue(shared_.state) ? STATUS_SUCCESS : STATUS_INVALID_DEVICE_STATE;
    while (list != nullptr && NT_SUCCESS(status)) {
        status = check_send(*list);
        if (NT_SUCCESS(status)) status = requester_.post(*list);
        if (NT_SUCCESS(status)) list = list->p_next;
    }
    if (!NT_SUCCESS(status)) *failed = list;
    run();
    return status;
}

NTSTATUS queue_pair::post_bind(const ib_send_wr_t& what, const window_binding& binding) {
    NTSTATUS status =
        has_send_queue(shared_.state) ? check_send(what) : STATUS_INVALID_DEVICE_STATE;
    if (NT_SUCCESS(status)) status = requester_.post(what, binding);
    run();
    return status;
}

NTSTATUS queue_pair::post_receive_in_any_state(ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    if (shared_.state == IB_QPS_RESET) {
        *failed = list;
        return STATUS_INVALID_DEVICE_STATE;
    }
    const NTSTATUS status = responder_.post(list, failed);
    if (shared_.state == IB_QPS_ERROR) responder_.flush();
    return status;
}

void queue_pair::receive(const packet& what) {
    if (follow_peer(shared_, what)) requester_.continue_on_new_path();
    if (is_response(what.row().what))
        requester_.receive(what);
    else
        responder_.receive(what);
    settle();
}

// Responses have priority over requests. A NAK is sent also in an error.
void queue_pair::run() {
    if (shared_.state != IB_QPS_RESET) responder_.run();
    requester_.run();
    settle();
}

void queue_pair::timer_expired() {
    requester_.timer_expired();
    run();
}

// Flushes the queues after an error, and ends draining.
void queue_pair::settle() {
    if (shared_.failed) {
        shared_.failed = false;
        shared_.owner.state_changed(shared_.state);
    }
    if (is_flushing(shared_.state)) requester_.flush();
    if (shared_.state == IB_QPS_ERROR) responder_.flush();
    if (shared_.state == IB_QPS_SQD_DRAINING && requester_.is_drained()) {
        shared_.state = IB_QPS_SQD_DRAINED;
        shared_.owner.state_changed(shared_.state);
        if (report_drained_) shared_.owner.report(IB_AE_SQ_DRAINED);
    }
}

// In other states of path migration packets change the state.
bool queue_pair::is_joined_to(const queue_pair& peer) const {
    const endpoint& one = shared_;
    const endpoint& other = peer.shared_;
    return !one.is_datagram() && one.attr.sq_depth != 0 && one.attr.qp_type == other.attr.qp_type &&
           one.attr.apm_state == other.attr.apm_state && one.attr.apm_state != IB_APM_REARM &&
           one.mtu() == other.mtu() && one.attr.dest_num == other.attr.num &&
           other.attr.dest_num == one.attr.num;
}

} // namespace irpverbs::hca_software::transport
