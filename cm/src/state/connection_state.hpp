// States of a connection, and the events that change them.
#pragma once

#include <cstdint>

namespace irpverbs::cm::engine {

/// Source: IBA 12.9.7; MRA sent and received as in the state diagrams' notes.
enum class state : std::uint8_t {
    idle,         // CmConnect prepares the request: path, queue pair
    req_sent,     // active end: waits for REP
    mra_req_rcvd, // likewise; the peer needs more time
    rep_rcvd,     // active end: until CmCompleteConnect
    mra_rep_sent, // likewise; the peer was asked for more time
    req_rcvd,     // passive end: until CmAccept or CmReject
    mra_req_sent, // likewise; the peer was asked for more time
    rep_sent,     // passive end: waits for RTU
    mra_rep_rcvd, // likewise; the peer needs more time
    established,
    // likewise, while an alternate path is exchanged:
    lap_sent,     // this end waits for APR
    mra_lap_rcvd, // likewise; the peer needs more time
    apr_rcvd,     // the peer has loaded it; this end's queue pair loads it
    lap_rcvd,     // until CmRespondPath
    mra_lap_sent, // likewise; the peer was asked for more time
    apr_due,      // this end's queue pair loads it, then APR is sent
    dreq_sent,    // this end has ended the connection: stops the queue pair, sends DREQ, waits for
                  // DREP
    dreq_rcvd,    // the peer has: stops the queue pair, sends DREP
    timewait,     // packets may be on their way; duplicates get the last response again
    ended,
};
inline constexpr unsigned state_count = static_cast<unsigned>(state::ended) + 1;

enum class event : std::uint8_t {
    // Messages of the peer that belong to the connection:
    req,      // the connection's request again
    peer_req, // the request of a peer that this end requests, too
    mra,
    rej,
    rep,
    bad_rep, // with impossible values
    rtu,
    dreq,
    drep,
    lap,
    lap_again, // that is known
    apr,
    apr_refused,
    // The client:
    accept,
    complete,
    reject,
    disconnect,
    close,
    cancel, // of the verb that waits: CmConnect, CmCompleteConnect, CmAccept
    comm_est,
    load_path,
    accept_path,
    refuse_path,
    // Parts of the package:
    path_found,
    path_missing,
    qp_known,    // its type, number and state
    qp_receives, // it is in RTR
    peer_ready,  // likewise, at the passive end of a peer-to-peer connection
    qp_sends,    // in RTS
    qp_stopped,  // in ERROR, or it can't be changed
    path_loaded,
    path_failed,
    qp_failed, // a change that precedes the end of the connection failed
    stale,     // the peer's queue pair is in a new connection
    timeout,   // the time of the state is over
    exhausted, // likewise, after the last retry
};
inline constexpr unsigned event_count = static_cast<unsigned>(event::exhausted) + 1;

using state_set = std::uint32_t;
constexpr state_set operator|(state left, state right) {
    return 1u << static_cast<unsigned>(left) | 1u << static_cast<unsigned>(right);
}
constexpr state_set operator|(state_set left, state right) {
    return left | 1u << static_cast<unsigned>(right);
}
constexpr state_set only(state single) { return 1u << static_cast<unsigned>(single); }
constexpr bool contains(state_set set, state each) { return (set & only(each)) != 0; }

} // namespace irpverbs::cm::engine
