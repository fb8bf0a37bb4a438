// Alternate paths of an established connection. Source: IBA 12.8.
#include "connection.hpp"

#include "port.hpp"
#include "valid.hpp"

#include <dispatch/support/faults.hpp>

#include <algorithm>
#include <new>

namespace irpverbs::cm::engine {

// ---- the verbs

bool connection::migrates() const { return at->migrates() && !qp.is_client_changed(); }

NTSTATUS connection::load_path(IRP* irp, const sa_path_record_t& path,
                               std::span<const std::uint8_t> data, ib_cm_path_response_t* response,
                               effects& fx) {
    if (state_ != state::established || qp.busy() || !path_waits_.empty())
        return is_established() ? STATUS_DEVICE_BUSY : state_failure();
    if (!migrates()) return STATUS_NOT_SUPPORTED;
    alternate_path wanted{path, {}, ack_timeout(path.PacketLifeTime, at->ack_delay)};
    if (!at->attributes().takes(path) || !locate_alternate(wanted)) return STATUS_INVALID_PARAMETER;
    if (!reserve_exchange()) return STATUS_INSUFFICIENT_RESOURCES;
    irp->Tail.Overlay.DriverContext[3] = response;
    if (!path_waits_.park(irp, *at, verb::path, this)) return STATUS_CANCELLED;
    if (response != nullptr) *response = {};
    *exchange_ = {};
    exchange_->alternate = wanted;
    std::ranges::copy(data, exchange_->request.private_data.begin());
    raise({event::load_path, fx});
    return STATUS_PENDING;
}

NTSTATUS connection::respond_path(IRP* irp, const ib_cm_path_response_t* response, effects& fx) {
    if (!contains(state::lap_rcvd | state::mra_lap_sent, state_) || qp.busy())
        return state_failure();
    if (response != nullptr && response->info_length > rejection_info_size)
        return STATUS_INVALID_PARAMETER;
    irp->Tail.Overlay.DriverContext[3] = nullptr;
    if (!path_waits_.park(irp, *at, verb::path, this)) return STATUS_CANCELLED;
    const bool accepts = response == nullptr || response->status == IB_CM_AP_LOADED;
    cause why{accepts ? event::accept_path : event::refuse_path, fx};
    why.response = response;
    raise(why);
    return STATUS_PENDING;
}

// A canceller that owns the IRP completes it.
void connection::finish_path_verb(NTSTATUS status, effects& fx) {
    if (IRP* const irp = path_waits_.take()) fx.complete(irp, status);
}

bool connection::reserve_exchange() {
    if (exchange_ == nullptr && !dispatch::detail::fault_point("cm.path"))
        exchange_.reset(new (std::nothrow) path_exchange);
    return exchange_ != nullptr;
}

// ---- this end requests

void connection::send_lap(const cause& why) {
    lap_message& lap = exchange_->request;
    lap.local_id = local_id;
    lap.remote_id = peer.id;
    lap.remote_qpn = peer.qpn;
    lap.remote_response_timeout = terms.remote_response_timeout;
    lap.alternate = fields_of(exchange_->alternate.path, exchange_->alternate.ack_timeout);
    send_of_path(lap, why.fx);
    retries_left_ = terms.max_retries;
    wait_for(response_wait());
}

void connection::resend_path_message(const cause& why) {
    --retries_left_;
    repeat_path_message(why);
    wait_for(response_wait());
}

void connection::repeat_path_message(const cause& why) {
    ++at->counters.resent;
    why.fx.send(peer.address, exchange_->last);
}

void connection::path_timed_out(const cause& why) { finish_path_verb(STATUS_IO_TIMEOUT, why.fx); }

void connection::take_path_rejection(const cause& why) {
    at->clear_deadline(*this);
    IRP* const irp = path_waits_.take();
    if (irp == nullptr) return;
    const auto& apr = std::get<apr_message>(*why.message);
    auto* const into = static_cast<ib_cm_path_response_t*>(irp->Tail.Overlay.DriverContext[3]);
    if (into != nullptr) *into = response_in(apr);
    why.fx.complete(irp, STATUS_REQUEST_NOT_ACCEPTED);
}

void connection::load_own_path(const cause& why) {
    at->clear_deadline(*this);
    exchange_->response = std::get<apr_message>(*why.message);
    change_qp(qp_goal::load_path, why.fx);
}

void connection::finish_path(const cause& why) {
    IRP* const irp = path_waits_.take();
    if (irp == nullptr) return;
    auto* const into = static_cast<ib_cm_path_response_t*>(irp->Tail.Overlay.DriverContext[3]);
    if (into != nullptr) *into = response_in(exchange_->response);
    why.fx.complete(irp, why.status);
}

ib_cm_path_response_t connection::response_in(const apr_message& apr) {
    ib_cm_path_response_t made{};
    made.status = apr.status;
    made.info_length = apr.info_length;
    std::ranges::copy(apr.info, made.info);
    std::ranges::copy(apr.private_data, made.pdata);
    return made;
}

// ---- the peer requests

bool connection::knows(const lap_message& lap) const {
    return exchange_ != nullptr && exchange_->is_peers && exchange_->request == lap;
}

// When two LAPs cross, that of the active end is executed.
std::uint8_t connection::check(const lap_message& lap) const {
    if (!is_established()) return IB_CM_AP_INVALID_COMM_ID;
    if (lap.remote_qpn != qp.attributes().num) return IB_CM_AP_INVALID_QPN;
    if (!migrates()) return IB_CM_AP_UNSUPPORTED;
    if (as == role::active && contains(state::lap_sent | state::mra_lap_rcvd, state_))
        return IB_CM_AP_REJECTED;
    alternate_path wanted{path_of(lap.alternate), {}, 0};
    if (!is_unicast(wanted.path.DLID) || at->start_of(wanted.path) == nullptr)
        return IB_CM_AP_INVALID_LID;
    if (!locate_alternate(wanted)) return IB_CM_AP_INVALID_GID;
    if (!is_rate(wanted.path.Rate)) return IB_CM_AP_INVALID_PACKET_RATE;
    return IB_CM_AP_LOADED;
}

void connection::take_lap(const cause& why) {
    *exchange_ = {};
    exchange_->is_peers = true;
    exchange_->request = std::get<lap_message>(*why.message);
    const path_fields& fields = exchange_->request.alternate;
    exchange_->alternate = {path_of(fields), {}, fields.local_ack_timeout};
    locate_alternate(exchange_->alternate);
    wait_for(chosen_by_peer(time_of(exchange_->request.remote_response_timeout)) / 2);
    emit(IB_CM_EVENT_PATH_REQUESTED, why.fx);
}

void connection::yield_to_lap(const cause& why) {
    finish_path_verb(STATUS_REQUEST_NOT_ACCEPTED, why.fx);
    take_lap(why);
}

void connection::request_time_for_path(const cause& why) {
    mra_message mra;
    mra.local_id = local_id;
    mra.remote_id = peer.id;
    mra.acknowledged = message_kind::other;
    mra.service_timeout = service_timeout;
    send_of_path(mra, why.fx);
    wait_for(time_of(service_timeout) / 2);
}

void connection::load_peers_path(const cause& why) {
    at->clear_deadline(*this);
    take_response(why.response);
    change_qp(qp_goal::load_path, why.fx);
}

void connection::refuse_path(const cause& why) {
    at->clear_deadline(*this);
    take_response(why.response);
    send_apr(why);
}

void connection::take_response(const ib_cm_path_response_t* from) {
    apr_message& apr = exchange_->response;
    apr.local_id = local_id;
    apr.remote_id = peer.id;
    if (from == nullptr) return;
    apr.status = from->status;
    apr.info_length = from->info_length;
    std::ranges::copy(from->info, apr.info.begin());
    std::ranges::copy(from->pdata, apr.private_data.begin());
}

// IBMF chooses the transaction ids, so only its bytes show that a LAP is repeated: it is known
// while the peer may repeat it.
void connection::send_apr(const cause& why) {
    send_of_path(exchange_->response, why.fx);
    wait_for(chosen_by_peer(time_of(exchange_->request.remote_response_timeout) *
                            (terms.max_retries + 1u)));
    finish_path_verb(why.status, why.fx);
}

void connection::forget_path(const cause&) { *exchange_ = {}; }

void connection::fail_path(const cause& why) {
    exchange_->response.status = IB_CM_AP_REJECTED;
    send_apr(why);
}

} // namespace irpverbs::cm::engine
