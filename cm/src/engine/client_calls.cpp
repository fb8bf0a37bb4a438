// The verbs of a connection.
#include "connection.hpp"

#include "client.hpp"
#include "paths.hpp"
#include "port.hpp"
#include "valid.hpp"

#include <algorithm>
#include <utility>

namespace irpverbs::cm::engine {

// A connection that has ended in the meantime is no error of the caller.
NTSTATUS connection::state_failure() const {
    return has_ended() ? STATUS_REQUEST_ABORTED : STATUS_INVALID_DEVICE_STATE;
}

bool connection::keep_data(const void* data, std::size_t size, std::size_t limit) {
    if (size > limit || (data == nullptr && size != 0)) return false;
    data_ = {};
    std::copy_n(static_cast<const std::uint8_t*>(data), size, data_.begin());
    return true;
}

bool connection::has_valid(const ib_cm_connect_t& wanted) const {
    const port_attributes& port = at->attributes();
    return names_qp(wanted) && wanted.retry_cnt <= max_3_bits &&
           wanted.rnr_retry_cnt <= max_3_bits && wanted.rnr_nak_timeout <= max_time_code &&
           wanted.max_cm_retries <= 15 && wanted.remote_resp_timeout <= max_time_code &&
           wanted.local_resp_timeout <= max_time_code &&
           (wanted.flags & ~ULONG{IB_CM_PEER_TO_PEER | IB_CM_ESTABLISH}) == 0 &&
           (wanted.p_primary_path == nullptr || port.takes(*wanted.p_primary_path)) &&
           (wanted.p_alt_path == nullptr || port.takes(*wanted.p_alt_path)) &&
           (wanted.p_primary_path != nullptr || at->finds_paths());
}

void connection::take_wanted(const ib_cm_connect_t& wanted) {
    terms.service_id = wanted.svc_id;
    terms.resp_res = wanted.resp_res;
    terms.init_depth = wanted.init_depth;
    terms.rnr_nak_timeout = wanted.rnr_nak_timeout;
    terms.retry_count = wanted.retry_cnt;
    terms.offered_rnr_retry_count = wanted.rnr_retry_cnt;
    terms.access = wanted.access_ctrl;
    terms.max_retries = wanted.max_cm_retries;
    terms.remote_response_timeout = wanted.remote_resp_timeout;
    terms.local_response_timeout = wanted.local_resp_timeout;
    if (wanted.p_primary_path != nullptr) terms.primary = *wanted.p_primary_path;
    at->attributes().adapt(terms.primary);
    if (wanted.p_alt_path != nullptr) terms.alternate.path = *wanted.p_alt_path;
    is_peer_to_peer = (wanted.flags & IB_CM_PEER_TO_PEER) != 0;
    establishes_ = (wanted.flags & IB_CM_ESTABLISH) != 0;
    dest_gid_ = wanted.dest_gid;
    take_qp(wanted);
}

// With IP addressing the addresses precede the client's data.
NTSTATUS connection::connect(IRP* irp, const ib_cm_connect_t& wanted, ib_cm_reply_t* reply,
                             effects& fx) {
    const std::size_t limit =
        wanted.p_ip == nullptr ? IB_CM_REQ_PDATA_SIZE : IB_CM_REQ_IP_PDATA_SIZE;
    if (!has_valid(wanted) || !keep_data(wanted.p_pdata, wanted.pdata_length, limit))
        return STATUS_INVALID_PARAMETER;
    if (wanted.p_ip != nullptr) {
        std::ranges::copy_backward(std::span(data_).first(limit),
                                   data_.begin() + ip_header_size + limit);
        store(*wanted.p_ip, std::span(data_).first<ip_header_size>());
    }
    if (wanted.p_alt_path != nullptr && (!at->migrates() || wanted.h_qp == nullptr))
        return STATUS_NOT_SUPPORTED;
    take_wanted(wanted);
    const bool has_path = wanted.p_primary_path != nullptr;
    if (has_path && !locate_path()) return STATUS_INVALID_PARAMETER;
    if (wanted.p_alt_path != nullptr && at->start_of(*wanted.p_alt_path) == nullptr)
        return STATUS_INVALID_PARAMETER;
    if (!waits_.park(irp, *at, verb::connect, this)) return STATUS_CANCELLED;
    reply_ = reply;
    if (reply_ != nullptr) *reply_ = {};
    at->add(*this);
    if (has_path)
        raise({event::path_found, fx});
    else
        path_.begin(dest_gid_, fx);
    return STATUS_PENDING;
}

NTSTATUS connection::complete_connect(IRP* irp, std::span<const std::uint8_t> data, effects& fx) {
    using enum state;
    const bool active = contains(rep_rcvd | mra_rep_sent, state_);
    const bool peer_passive =
        as == role::peer && contains(req_rcvd | mra_req_sent, state_) && is_open_;
    if ((!active && !peer_passive) || !waits_.empty() || qp.busy()) return state_failure();
    if (!waits_.park(irp, *at, verb::complete, this)) return STATUS_CANCELLED;
    keep_data(data.data(), data.size(), data_.size());
    raise({event::complete, fx});
    return STATUS_PENDING;
}

NTSTATUS connection::accept(IRP* irp, const ib_cm_accept_t& wanted, effects& fx) {
    if (as != role::passive || !contains(state::req_rcvd | state::mra_req_sent, state_) ||
        !waits_.empty() || qp.busy())
        return state_failure();
    if (!names_qp(wanted) || wanted.rnr_retry_cnt > max_3_bits ||
        wanted.rnr_nak_timeout > max_time_code || wanted.failover > IB_CM_FAILOVER_REJECTED ||
        !keep_data(wanted.p_pdata, wanted.pdata_length, IB_CM_REP_PDATA_SIZE) || !locate_path())
        return STATUS_INVALID_PARAMETER;
    if (!waits_.park(irp, *at, verb::accept, this)) return STATUS_CANCELLED;
    terms.resp_res = std::min(wanted.resp_res, request_->initiator_depth);
    terms.init_depth = std::min(wanted.init_depth, request_->responder_resources);
    terms.offered_rnr_retry_count = wanted.rnr_retry_cnt;
    terms.rnr_nak_timeout = wanted.rnr_nak_timeout;
    terms.access = wanted.access_ctrl;
    take_qp(wanted);
    failover_ = failover_of(wanted.failover);
    raise({event::accept, fx});
    return STATUS_PENDING;
}

NTSTATUS connection::reject(const ib_cm_reject_t& wanted, effects& fx) {
    if (wanted.info_length > IB_CM_REJ_INFO_SIZE || wanted.pdata_length > IB_CM_REJ_PDATA_SIZE ||
        (wanted.p_info == nullptr && wanted.info_length != 0) ||
        (wanted.p_pdata == nullptr && wanted.pdata_length != 0))
        return STATUS_INVALID_PARAMETER;
    cause why{event::reject, fx};
    why.rejection = &wanted;
    if (!waits_.empty() || qp.busy() || !raise(why)) return state_failure();
    return STATUS_SUCCESS;
}

// The peer may have ended the connection a moment ago.
NTSTATUS connection::disconnect(IRP* irp, std::span<const std::uint8_t> data, effects& fx) {
    if (is_established() && waits_.empty()) {
        if (!waits_.park(irp, *at, verb::disconnect, this)) return STATUS_CANCELLED;
        keep_data(data.data(), data.size(), IB_CM_DREQ_PDATA_SIZE);
        raise({event::disconnect, fx});
        return STATUS_PENDING;
    }
    const bool by_peer = was_connected_ && waits_.empty() &&
                         (state_ == state::dreq_rcvd || state_ >= state::timewait);
    return by_peer ? STATUS_SUCCESS : STATUS_INVALID_DEVICE_STATE;
}

NTSTATUS connection::get_event(IRP* irp, ib_cm_event_t* into, effects& fx) {
    if (is_closing_) return STATUS_FILE_CLOSED;
    irp->Tail.Overlay.DriverContext[3] = into;
    if (!event_waits_.park(irp, *at, verb::wait)) return STATUS_CANCELLED;
    deliver_events(fx);
    return STATUS_PENDING;
}

void connection::close(IRP* irp, effects& fx) {
    IoMarkIrpPending(irp);
    is_closing_ = true;
    closing_ = irp;
    while (IRP* const waiting = event_waits_.take())
        fx.complete(waiting, STATUS_CANCELLED);
    event_waits_.leave_to_cancellers();
    finish_path_verb(STATUS_CANCELLED, fx);
    raise({event::close, fx});
    finish_verb(STATUS_CANCELLED, 0, fx);
    if (!qp.busy()) finish_closing(fx);
}

} // namespace irpverbs::cm::engine
