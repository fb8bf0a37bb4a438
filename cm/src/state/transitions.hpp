// The transitions of a connection, as data.
#pragma once

#include "connection_state.hpp"

#include <optional>
#include <span>

namespace irpverbs::cm::engine {

/// The steps that accompany transitions; connection has a function for each.
enum class action : std::uint8_t {
    nothing,
    query_qp,
    send_req,
    end_unsent,        // CmConnect fails, and nothing was sent
    take_reply,        // reads REP; the queue pair is to receive
    refuse_reply,      // REJ for a REP with impossible values
    take_peer_request, // becomes the passive end of a peer-to-peer connection
    extend_wait,       // waits for the time that an MRA names
    resend,            // the last message again, and waits again
    repeat,            // the last response again, for a duplicate
    repeat_rejection,  // the last REJ again; REJ if the connection existed
    give_up,           // REJ: no response of the peer in time
    take_rejection,    // reads REJ; the connection has failed or ended
    reply_is_ready,    // CmConnect succeeds
    request_time,      // MRA: the client needs more time
    start_receiving,   // changes the queue pair to RTR
    start_sending,     // changes the queue pair to RTS
    reject_for_qp,     // REJ: the queue pair could not be changed
    send_rtu,
    send_rep,
    fail_accept, // CmAccept fails, and the request still waits
    finish_establishment,
    reject,           // REJ, with the client's parameters
    reject_abandoned, // REJ: the client has cancelled or closed
    begin_disconnect, // stops the queue pair
    send_dreq,
    begin_stop, // likewise, since the peer has ended the connection
    send_drep,
    confirm, // DREP, for the peer's DREQ instead of its DREP
    confirm_again,
    disconnected, // DREP arrived
    unconfirmed,  // no DREP in time
    end,          // forgets the connection
    send_lap,
    resend_path_message, // LAP again, and waits again
    path_timed_out,      // no APR in time
    take_path_rejection,
    load_own_path, // the peer has loaded it
    finish_path,
    take_lap,
    yield_to_lap,          // likewise; the LAP of this end has failed
    request_time_for_path, // MRA: the client needs more time
    load_peers_path,
    refuse_path, // APR, with the client's status
    send_apr,
    fail_path,           // the queue pair could not load it
    repeat_path_message, // the last response again, for a duplicate
    forget_path,         // the peer no longer repeats its LAP
};
inline constexpr unsigned action_count = static_cast<unsigned>(action::forget_path) + 1;

struct transition {
    state_set from;
    event on;
    action then;
    std::optional<state> to; // no value: the state remains
};

/// All rows; at most one of them matches a state and an event.
std::span<const transition> transitions() noexcept;

/// Null: the event is ignored in that state.
const transition* find_transition(state from, event on) noexcept;

} // namespace irpverbs::cm::engine
