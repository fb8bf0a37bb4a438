// The active end, until the connection is established.
#include "connection.hpp"

#include "paths.hpp"
#include "port.hpp"
#include "transport_type.hpp"

#include <dispatch/machine.hpp>

#include <algorithm>
#include <utility>

namespace irpverbs::cm::engine {

std::uint32_t connection::random_psn() {
    return static_cast<std::uint32_t>(dispatch::machine::current().random() & 0xFF'FFFF);
}

void connection::query_qp(const cause& why) { change_qp(qp_goal::attributes, why.fx); }

void connection::send_req(const cause& why) {
    const ib_qp_attr_t& attr = qp.attributes();
    terms.type = attr.qp_type;
    terms.rq_psn = random_psn();
    terms.ack_timeout = ack_timeout(terms.primary.PacketLifeTime, at->ack_delay);
    peer.address = datagram_address::along(terms.primary);
    req_message req;
    req.local_id = local_id;
    req.service_id = terms.service_id;
    req.ca_guid = at->ca_guid;
    req.qpn = attr.num;
    req.responder_resources = terms.resp_res;
    req.initiator_depth = terms.init_depth;
    req.remote_response_timeout = terms.remote_response_timeout;
    set_transport(req, terms.type);
    req.starting_psn = terms.rq_psn;
    req.local_response_timeout = terms.local_response_timeout;
    req.retry_count = terms.retry_count;
    req.p_key = terms.primary.P_Key;
    req.mtu = terms.primary.Mtu;
    req.rnr_retry_count = terms.offered_rnr_retry_count;
    req.max_cm_retries = terms.max_retries;
    req.srq = qp.has_srq();
    req.primary = fields_of(terms.primary, terms.ack_timeout);
    if (terms.alternate.exists()) {
        terms.alternate.ack_timeout =
            ack_timeout(terms.alternate.path.PacketLifeTime, at->ack_delay);
        req.alternate = fields_of(terms.alternate.path, terms.alternate.ack_timeout);
    }
    take_data(req.private_data);
    send(req, why.fx);
    retries_left_ = terms.max_retries;
    wait_for(response_wait());
}

void connection::end_unsent(const cause& why) {
    path_.cancel(why.fx);
    finish_verb(why.status, 0, why.fx);
    at->remove(*this, why.fx);
}

void connection::path_ended(port_object& object, NTSTATUS status, const sa_path_record_t* found,
                            effects& fx) {
    connection& self = static_cast<connection&>(object);
    if (found != nullptr) {
        self.terms.primary = *found;
        if (self.locate_path()) {
            self.raise({event::path_found, fx});
            return;
        }
        status = STATUS_HOST_UNREACHABLE;
    }
    self.raise({event::path_missing, fx, status});
}

// Each end requests no more than the other one offers.
void connection::take_reply(const cause& why) {
    const auto& rep = std::get<rep_message>(*why.message);
    peer.id = rep.local_id;
    peer.qpn = queue_pair_in(rep, terms.type);
    peer.ca_guid = rep.ca_guid;
    peer.srq = rep.srq;
    at->add_remote_qp(*this);
    terms.init_depth = std::min(terms.init_depth, rep.responder_resources);
    terms.resp_res = std::min(terms.resp_res, rep.initiator_depth);
    terms.rnr_retry_count = rep.rnr_retry_count;
    terms.sq_psn = rep.starting_psn;
    terms.ack_timeout = ack_timeout(terms.primary.PacketLifeTime, rep.target_ack_delay);
    terms.fails_over = terms.alternate.exists() &&
                       rep.failover_accepted == IB_CM_FAILOVER_ACCEPTED &&
                       locate_alternate(terms.alternate);
    fill_reply(rep);
    change_qp(qp_goal::receive, why.fx);
    wait_for(half_of_peers_wait());
}

void connection::refuse_reply(const cause& why) {
    const auto& rep = std::get<rep_message>(*why.message);
    peer.id = rep.local_id;
    rej_message rej = rejection(IB_CM_REJ_UNSUPPORTED);
    rej.rejected = message_kind::rep;
    send(rej, why.fx);
    enter_timewait(why.fx);
    finish_verb(STATUS_INVALID_NETWORK_RESPONSE, 0, why.fx);
}

// The end with the smaller GUID and queue pair becomes the passive one, and keeps its own
// parameters for the reply.
void connection::take_peer_request(const cause& why) {
    const connection_terms own = terms;
    const auto& req = std::get<req_message>(*why.message);
    if (!take_request(req, *why.source))
        return fail_with_rejection(IB_CM_REJ_NO_RESOURCES, STATUS_INSUFFICIENT_RESOURCES, why.fx);
    as = role::peer;
    terms.resp_res = std::min(own.resp_res, req.initiator_depth);
    terms.init_depth = std::min(own.init_depth, req.responder_resources);
    terms.rq_psn = own.rq_psn;
    terms.rnr_nak_timeout = own.rnr_nak_timeout;
    terms.access = own.access;
    terms.offered_rnr_retry_count = own.offered_rnr_retry_count;
    if (!locate_path()) terms.primary = own.primary;
    failover_ = failover_of(IB_CM_FAILOVER_ACCEPTED);
    if (reply_ != nullptr) {
        *reply_ = {};
        reply_->qpn = req.qpn;
        reply_->resp_res = terms.resp_res;
        reply_->init_depth = terms.init_depth;
        reply_->srq = req.srq;
        reply_->pdata_length = static_cast<UCHAR>(req.private_data.size());
        std::ranges::copy(req.private_data, reply_->pdata);
    }
    change_qp(qp_goal::receive, why.fx);
}

void connection::reply_is_ready(const cause& why) {
    if (establishes_) return start_sending(why);
    give_object(why.fx);
}

// CmConnect succeeds. A canceller that owns the IRP also ends the connection.
void connection::give_object(effects& fx) {
    IRP* const irp = waits_.take();
    if (irp == nullptr) return;
    reply_ = nullptr;
    is_open_ = true;
    intrusive_ptr_add_ref(this);
    fx.complete(irp, STATUS_SUCCESS, reinterpret_cast<ULONG_PTR>(object()));
}

void connection::start_sending(const cause& why) {
    was_connected_ = true;
    at->clear_deadline(*this);
    change_qp(qp_goal::send, why.fx);
}

void connection::send_rtu(const cause& why) {
    rtu_message rtu;
    rtu.local_id = local_id;
    rtu.remote_id = peer.id;
    rtu.private_data = std::exchange(data_, {});
    send(rtu, why.fx);
    finish_establishment(why);
}

void connection::fill_reply(const rep_message& from) {
    if (reply_ == nullptr) return;
    *reply_ = {};
    reply_->qpn = queue_pair_in(from, terms.type);
    reply_->resp_res = terms.resp_res;
    reply_->init_depth = terms.init_depth;
    reply_->failover = from.failover_accepted;
    reply_->srq = from.srq;
    reply_->pdata_length = static_cast<UCHAR>(from.private_data.size());
    std::ranges::copy(from.private_data, reply_->pdata);
}

} // namespace irpverbs::cm::engine
