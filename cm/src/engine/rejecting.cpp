// Rejections, of either end.
#include "connection.hpp"

#include "port.hpp"

#include <boost/endian/conversion.hpp>

#include <algorithm>

namespace irpverbs::cm::engine {

rej_message connection::rejection(std::uint16_t reason) const {
    using enum state;
    rej_message rej;
    rej.local_id = local_id;
    rej.remote_id = peer.id;
    rej.rejected = message_kind::other;
    if (contains(req_rcvd | mra_req_sent, state_)) rej.rejected = message_kind::req;
    if (contains(rep_rcvd | mra_rep_sent, state_)) rej.rejected = message_kind::rep;
    rej.reason = reason;
    if (reason == IB_CM_REJ_TIMEOUT) { // the peer may not know this end's id
        boost::endian::store_big_u64(rej.info.data(), at->ca_guid);
        rej.info_length = sizeof(ib_guid_t);
    }
    return rej;
}

void connection::fail_with_rejection(std::uint16_t reason, NTSTATUS status, effects& fx) {
    send(rejection(reason), fx);
    enter_timewait(fx);
    finish_verb(status, 0, fx);
}

void connection::give_up(const cause& why) {
    fail_with_rejection(IB_CM_REJ_TIMEOUT,
                        why.what == event::cancel ? STATUS_CANCELLED : STATUS_IO_TIMEOUT, why.fx);
}

void connection::reject_for_qp(const cause& why) {
    fail_with_rejection(IB_CM_REJ_NO_RESOURCES, why.status, why.fx);
}

void connection::reject_abandoned(const cause& why) {
    fail_with_rejection(IB_CM_REJ_CONSUMER_DEFINED,
                        NT_SUCCESS(why.status) ? STATUS_CANCELLED : why.status, why.fx);
}

void connection::reject_by_client(const cause& why) {
    const ib_cm_reject_t& wanted = *why.rejection;
    rej_message rej =
        rejection(wanted.reason != 0 ? wanted.reason : std::uint16_t{IB_CM_REJ_CONSUMER_DEFINED});
    rej.info_length = wanted.info_length;
    std::ranges::copy_n(static_cast<const std::uint8_t*>(wanted.p_info), wanted.info_length,
                        rej.info.begin());
    std::ranges::copy_n(static_cast<const std::uint8_t*>(wanted.p_pdata), wanted.pdata_length,
                        rej.private_data.begin());
    send(rej, why.fx);
    enter_timewait(why.fx);
}

// A request that no client has yet ends at once.
void connection::take_rejection(const cause& why) {
    fill_reply(std::get<rej_message>(*why.message));
    finish_path_verb(STATUS_REQUEST_ABORTED, why.fx);
    if (waits_in != nullptr) waits_in->withdraw(*this);
    enter_timewait(why.fx);
    finish_verb(STATUS_REQUEST_NOT_ACCEPTED, 0, why.fx);
    emit(IB_CM_EVENT_DISCONNECTED, why.fx);
}

void connection::fill_reply(const rej_message& from) {
    if (reply_ == nullptr) return;
    *reply_ = {};
    reply_->rej_reason = from.reason;
    reply_->info_length = from.info_length;
    std::ranges::copy(from.info, reply_->info);
    reply_->pdata_length = static_cast<UCHAR>(from.private_data.size());
    std::ranges::copy(from.private_data, reply_->pdata);
}

} // namespace irpverbs::cm::engine
