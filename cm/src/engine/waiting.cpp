// Waits for the peer, retries, duplicates, and more time for a slow client.
#include "connection.hpp"

#include "port.hpp"

#include <algorithm>

namespace irpverbs::cm::engine {

void connection::wait_for(ticks time) { at->set_deadline(*this, std::max(time, ticks{1})); }

ticks connection::response_wait() const {
    const ticks time = response_time(terms.primary.PacketLifeTime, terms.remote_response_timeout);
    return as == role::active ? time : chosen_by_peer(time);
}

ticks connection::peers_retries_wait() const {
    return chosen_by_peer((terms.max_retries + 1u) * response_wait());
}

ticks connection::half_of_peers_wait() const {
    return chosen_by_peer(time_of(terms.local_response_timeout)) / 2;
}

bool connection::has_retries() const {
    using enum state;
    return contains(req_sent | mra_req_rcvd | rep_sent | mra_rep_rcvd | dreq_sent | lap_sent |
                        mra_lap_rcvd,
                    state_);
}

void connection::on_time(effects& fx) {
    const bool last = has_retries() && retries_left_ == 0;
    raise({last ? event::exhausted : event::timeout, fx});
}

bool connection::has_rejected() const {
    const std::optional<any_message> last = decode(last_);
    return last && std::holds_alternative<rej_message>(*last);
}

void connection::extend_wait(const cause& why) {
    const auto& mra = std::get<mra_message>(*why.message);
    peer.id = mra.local_id;
    wait_for(chosen_by_peer(response_time(terms.primary.PacketLifeTime, mra.service_timeout)));
}

void connection::resend(const cause& why) {
    --retries_left_;
    ++at->counters.resent;
    why.fx.send(peer.address, last_);
    wait_for(response_wait());
}

void connection::repeat(const cause& why) {
    ++at->counters.resent;
    why.fx.send(peer.address, last_);
}

void connection::repeat_rejection(const cause& why) {
    if (has_rejected()) return repeat(why);
    rej_message rej = rejection(IB_CM_REJ_STALE_CONN);
    why.fx.send(peer.address, rej, transaction_id_);
}

// The client may take any time: the request is repeated at half of the time that it asked for.
void connection::request_time(const cause& why) {
    mra_message mra;
    mra.local_id = local_id;
    mra.remote_id = peer.id;
    mra.acknowledged = contains(state::req_rcvd | state::mra_req_sent, state_) ? message_kind::req
                                                                               : message_kind::rep;
    mra.service_timeout = service_timeout;
    send(mra, why.fx);
    wait_for(time_of(service_timeout) / 2);
}

} // namespace irpverbs::cm::engine
