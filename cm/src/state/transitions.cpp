// Source: IBA 12.9.7 (states), 12.9.8 (time-outs, retries), 12.9.9 (duplicates, stale connections).
#include "transitions.hpp"

namespace irpverbs::cm::engine {

namespace {

using enum state;

constexpr state_set requesting = req_sent | mra_req_rcvd;
constexpr state_set replied = rep_rcvd | mra_rep_sent;
constexpr state_set requested = req_rcvd | mra_req_sent;
constexpr state_set replying = rep_sent | mra_rep_rcvd;
constexpr state_set requesting_path = lap_sent | mra_lap_rcvd;
constexpr state_set path_requested = lap_rcvd | mra_lap_sent;
constexpr state_set connected =
    requesting_path | path_requested | only(established) | only(apr_rcvd) | only(apr_due);
constexpr std::optional<state> same;

constexpr transition rows[] = {
    // ---- active end, before the request is sent
    {only(idle), event::path_found, action::query_qp, same},
    {only(idle), event::qp_known, action::send_req, req_sent},
    {only(idle), event::path_missing, action::end_unsent, ended},
    {only(idle), event::qp_failed, action::end_unsent, ended},
    {only(idle), event::cancel, action::end_unsent, ended},

    // ---- active end, until the reply
    {requesting, event::rep, action::take_reply, rep_rcvd},
    {requesting, event::bad_rep, action::refuse_reply, timewait},
    {requesting, event::peer_req, action::take_peer_request, req_rcvd},
    {requesting, event::mra, action::extend_wait, mra_req_rcvd},
    {requesting, event::rej, action::take_rejection, timewait},
    {requesting, event::timeout, action::resend, req_sent},
    {requesting, event::exhausted, action::give_up, timewait},
    {requesting, event::cancel, action::give_up, timewait},

    // ---- active end, until the client completes the connection
    {replied, event::qp_receives, action::reply_is_ready, same},
    {replied, event::complete, action::start_sending, same},
    {replied, event::qp_sends, action::send_rtu, established},
    {replied, event::qp_failed, action::reject_for_qp, timewait},
    {replied, event::timeout, action::request_time, mra_rep_sent},
    {only(mra_rep_sent), event::rep, action::repeat, same},
    {only(rep_rcvd), event::rep, action::nothing, same},
    {replied, event::rej, action::take_rejection, timewait},
    {replied, event::reject, action::reject, timewait},
    {replied, event::cancel, action::reject_abandoned, timewait},
    {replied, event::close, action::reject_abandoned, timewait},

    // ---- passive end, until the client accepts the request
    {requested, event::accept, action::start_receiving, same},
    {requested, event::complete, action::send_rep, rep_sent}, // peer to peer
    {requested, event::qp_receives, action::send_rep, rep_sent},
    {requested, event::peer_ready, action::reply_is_ready, same},
    {requested, event::qp_failed, action::fail_accept, same},
    {requested, event::timeout, action::request_time, mra_req_sent},
    {only(mra_req_sent), event::req, action::repeat, same},
    {only(req_rcvd), event::req, action::nothing, same},
    {requested, event::rej, action::take_rejection, timewait},
    {requested, event::reject, action::reject, timewait},
    {requested, event::cancel, action::reject_abandoned, timewait},
    {requested, event::close, action::reject_abandoned, timewait},

    // ---- passive end, until the peer has established the connection
    {replying, event::rtu, action::start_sending, established},
    {replying, event::comm_est, action::start_sending, established},
    {replying, event::mra, action::extend_wait, mra_rep_rcvd},
    {replying, event::req, action::repeat, same},
    {replying, event::timeout, action::resend, rep_sent},
    {replying, event::exhausted, action::give_up, timewait},
    {replying, event::rej, action::take_rejection, timewait},
    {replying, event::dreq, action::begin_stop, dreq_rcvd}, // its RTU was lost
    {replying, event::cancel, action::reject_abandoned, timewait},
    {replying, event::close, action::reject_abandoned, timewait},

    // ---- established
    {connected, event::qp_sends, action::finish_establishment, same},
    {connected, event::qp_failed, action::begin_disconnect, dreq_sent},
    {connected, event::rep, action::repeat, same}, // the RTU was lost
    {connected, event::rej, action::take_rejection, timewait},
    {connected, event::dreq, action::begin_stop, dreq_rcvd},
    {connected, event::disconnect, action::begin_disconnect, dreq_sent},
    {connected, event::close, action::begin_disconnect, dreq_sent},
    {connected, event::cancel, action::begin_disconnect, dreq_sent},
    {connected, event::stale, action::begin_disconnect, dreq_sent},

    // ---- an alternate path that this end loads
    {only(established), event::load_path, action::send_lap, lap_sent},
    {requesting_path, event::mra, action::extend_wait, mra_lap_rcvd},
    {requesting_path, event::timeout, action::resend_path_message, lap_sent},
    {requesting_path, event::exhausted, action::path_timed_out, established},
    {requesting_path, event::apr, action::load_own_path, apr_rcvd},
    {requesting_path, event::apr_refused, action::take_path_rejection, established},
    {requesting_path, event::lap, action::yield_to_lap, lap_rcvd},
    {only(apr_rcvd), event::path_loaded, action::finish_path, established},
    {only(apr_rcvd), event::path_failed, action::finish_path, established},

    // ---- an alternate path that the peer loads
    {only(established), event::lap, action::take_lap, lap_rcvd},
    {path_requested, event::lap, action::take_lap, lap_rcvd}, // in place of an earlier one
    {established | mra_lap_sent, event::lap_again, action::repeat_path_message, same},
    {lap_rcvd | apr_due, event::lap_again, action::nothing, same},
    {path_requested, event::timeout, action::request_time_for_path, mra_lap_sent},
    {path_requested, event::accept_path, action::load_peers_path, apr_due},
    {path_requested, event::refuse_path, action::refuse_path, established},
    {only(apr_due), event::path_loaded, action::send_apr, established},
    {only(established), event::timeout, action::forget_path, same},
    {only(apr_due), event::path_failed, action::fail_path, established},

    // ---- the end of a connection
    {only(dreq_sent), event::qp_stopped, action::send_dreq, same},
    {only(dreq_sent), event::drep, action::disconnected, timewait},
    {only(dreq_sent), event::dreq, action::confirm, timewait}, // both ends at once
    {only(dreq_sent), event::timeout, action::resend, same},
    {only(dreq_sent), event::exhausted, action::unconfirmed, timewait},
    {only(dreq_rcvd), event::qp_stopped, action::send_drep, timewait},
    {only(timewait), event::req, action::repeat_rejection, same},
    {only(timewait), event::rep, action::repeat_rejection, same},
    {only(timewait), event::dreq, action::confirm_again, same},
    {only(timewait), event::timeout, action::end, ended},
};

/// The row of each state and event.
struct row_index {
    std::uint8_t rows[state_count][event_count]{}; // 0: none; else the number of the row, from 1

    constexpr row_index() {
        std::uint8_t number = 0;
        for (const transition& each : engine::rows) {
            ++number;
            for (unsigned from = 0; from < state_count; ++from)
                if ((each.from >> from & 1) != 0)
                    rows[from][static_cast<unsigned>(each.on)] = number;
        }
    }
};

constexpr row_index index;

} // namespace

std::span<const transition> transitions() noexcept { return rows; }

const transition* find_transition(state from, event on) noexcept {
    const unsigned number = index.rows[static_cast<unsigned>(from)][static_cast<unsigned>(on)];
    return number == 0 ? nullptr : &rows[number - 1];
}

} // namespace irpverbs::cm::engine
