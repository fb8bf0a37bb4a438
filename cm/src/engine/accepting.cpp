// The passive end, until the connection is established.
#include "connection.hpp"

#include "port.hpp"

namespace irpverbs::cm::engine {

void connection::start_receiving(const cause& why) {
    at->clear_deadline(*this);
    change_qp(qp_goal::attributes, why.fx);
}

// The connection does without an alternate path that can't be loaded.
std::uint8_t connection::failover_of(std::uint8_t wanted) {
    terms.fails_over = false;
    if (!migrates()) return IB_CM_FAILOVER_NOT_SUPPORTED;
    if (wanted != IB_CM_FAILOVER_ACCEPTED) return wanted;
    if (!terms.alternate.exists()) return IB_CM_FAILOVER_ACCEPTED;
    terms.fails_over = locate_alternate(terms.alternate);
    return terms.fails_over ? IB_CM_FAILOVER_ACCEPTED : IB_CM_FAILOVER_REJECTED;
}

void connection::send_rep(const cause& why) {
    const ib_qp_attr_t& attr = qp.attributes();
    rep_message rep;
    rep.local_id = local_id;
    rep.remote_id = peer.id;
    const bool is_target = terms.type == IB_QPT_XRC_TGT;
    (is_target ? rep.eecn : rep.qpn) = attr.num;
    rep.starting_psn = terms.rq_psn;
    rep.responder_resources = terms.resp_res;
    rep.initiator_depth = terms.init_depth;
    rep.target_ack_delay = at->ack_delay;
    rep.failover_accepted = failover_;
    rep.end_to_end_flow_control = terms.type == IB_QPT_RELIABLE_CONN;
    rep.rnr_retry_count = terms.offered_rnr_retry_count;
    rep.srq = is_target || qp.has_srq();
    rep.ca_guid = at->ca_guid;
    take_data(rep.private_data);
    send(rep, why.fx);
    retries_left_ = terms.max_retries;
    wait_for(response_wait());
}

void connection::fail_accept(const cause& why) {
    finish_verb(why.status, 0, why.fx);
    wait_for(half_of_peers_wait());
}

void connection::finish_establishment(const cause& why) {
    if (waits_.holds(verb::connect))
        give_object(why.fx);
    else
        finish_verb(STATUS_SUCCESS, 0, why.fx);
}

} // namespace irpverbs::cm::engine
