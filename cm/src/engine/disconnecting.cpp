// The end of an established connection.
#include "connection.hpp"

#include "port.hpp"

namespace irpverbs::cm::engine {

// A verb other than CmDisconnect that waits has failed.
void connection::begin_disconnect(const cause& why) {
    finish_path_verb(STATUS_REQUEST_ABORTED, why.fx);
    change_qp(qp_goal::stop, why.fx);
    if (why.what != event::disconnect) {
        data_ = {};
        finish_verb(STATUS_REQUEST_ABORTED, 0, why.fx);
    }
    if (why.what == event::stale) emit(IB_CM_EVENT_DISCONNECTED, why.fx);
}

void connection::send_dreq(const cause& why) {
    dreq_message dreq;
    dreq.local_id = local_id;
    dreq.remote_id = peer.id;
    dreq.remote_qpn = peer.qpn;
    take_data(dreq.private_data);
    send(dreq, why.fx);
    retries_left_ = terms.max_retries;
    wait_for(response_wait());
}

void connection::begin_stop(const cause& why) {
    finish_path_verb(STATUS_REQUEST_ABORTED, why.fx);
    event_data_ = std::get<dreq_message>(*why.message).private_data;
    at->clear_deadline(*this);
    was_connected_ = true;
    change_qp(qp_goal::stop, why.fx);
    finish_verb(STATUS_REQUEST_ABORTED, 0, why.fx);
}

void connection::send_drep(const cause& why) {
    confirm_again(why);
    enter_timewait(why.fx);
    emit(IB_CM_EVENT_DISCONNECTED, why.fx);
}

void connection::confirm(const cause& why) {
    confirm_again(why);
    disconnected(why);
}

void connection::confirm_again(const cause& why) {
    drep_message drep;
    drep.local_id = local_id;
    drep.remote_id = peer.id;
    send(drep, why.fx);
}

void connection::disconnected(const cause& why) {
    enter_timewait(why.fx);
    finish_verb(STATUS_SUCCESS, 1, why.fx);
}

void connection::unconfirmed(const cause& why) {
    enter_timewait(why.fx);
    finish_verb(STATUS_SUCCESS, 0, why.fx);
}

} // namespace irpverbs::cm::engine
