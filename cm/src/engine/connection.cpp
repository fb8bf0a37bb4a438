// Transitions, and the ends of verbs.
#include "connection.hpp"

#include "client.hpp"
#include "port.hpp"
#include "transport_type.hpp"

#include <dispatch/support/faults.hpp>

#include <bit>
#include <new>
#include <utility>

namespace irpverbs::cm::engine {

connection_ref connection::make(cm_port& at, role its_role) noexcept {
    if (dispatch::detail::fault_point("cm.connection")) return nullptr;
    connection_ref made(new (std::nothrow) connection(at, its_role));
    return made != nullptr && made->qp.reserve() ? made : nullptr;
}

connection::connection(cm_port& its_port, role its_role)
    : at(&its_port), local_id(its_port.new_id()), as(its_role),
      state_(its_role == role::active ? state::idle : state::req_rcvd),
      transaction_id_(its_port.new_transaction_id()), path_(its_port, *this, path_ended) {}

// An action finds the state before the transition.
bool connection::raise(const cause& why) {
    const transition* const row = find_transition(state_, why.what);
    if (row == nullptr) return false;
    act(row->then, why);
    if (row->to) state_ = *row->to;
    return true;
}

void connection::act(action what, const cause& why) {
    using function = void (connection::*)(const cause&);
    static constexpr function functions[] = {
        nullptr, // action::nothing
        &connection::query_qp,
        &connection::send_req,
        &connection::end_unsent,
        &connection::take_reply,
        &connection::refuse_reply,
        &connection::take_peer_request,
        &connection::extend_wait,
        &connection::resend,
        &connection::repeat,
        &connection::repeat_rejection,
        &connection::give_up,
        &connection::take_rejection,
        &connection::reply_is_ready,
        &connection::request_time,
        &connection::start_receiving,
        &connection::start_sending,
        &connection::reject_for_qp,
        &connection::send_rtu,
        &connection::send_rep,
        &connection::fail_accept,
        &connection::finish_establishment,
        &connection::reject_by_client,
        &connection::reject_abandoned,
        &connection::begin_disconnect,
        &connection::send_dreq,
        &connection::begin_stop,
        &connection::send_drep,
        &connection::confirm,
        &connection::confirm_again,
        &connection::disconnected,
        &connection::unconfirmed,
        &connection::end,
        &connection::send_lap,
        &connection::resend_path_message,
        &connection::path_timed_out,
        &connection::take_path_rejection,
        &connection::load_own_path,
        &connection::finish_path,
        &connection::take_lap,
        &connection::yield_to_lap,
        &connection::request_time_for_path,
        &connection::load_peers_path,
        &connection::refuse_path,
        &connection::send_apr,
        &connection::fail_path,
        &connection::repeat_path_message,
        &connection::forget_path,
    };
    static_assert(std::size(functions) == action_count);
    if (const function step = functions[static_cast<unsigned>(what)]) (this->*step)(why);
}

void connection::change_qp(qp_goal goal, effects& fx) {
    if (qp.request(goal)) fx.change_qp(*this);
}

void connection::verb_ended(NTSTATUS status, effects& fx) {
    const std::optional<qp_outcome> outcome = qp.advance(status);
    if (!outcome) return fx.change_qp(*this);
    qp_changed(*outcome, fx);
    if (qp.busy()) return;
    if (IRP* const irp = std::exchange(finishing_, nullptr)) {
        release_owner();
        fx.complete(irp, irp->IoStatus.Status, irp->IoStatus.Information);
    }
    finish_closing(fx);
}

void connection::qp_changed(const qp_outcome& outcome, effects& fx) {
    if (outcome.goal == qp_goal::attributes && NT_SUCCESS(outcome.status)) {
        const ib_qp_attr_t& attr = qp.attributes();
        const bool fits = as == role::active ? may_request(attr.qp_type, is_peer_to_peer)
                                             : attr.qp_type == terms.type;
        if (fits && (attr.state == IB_QPS_RESET || attr.state == IB_QPS_INIT)) {
            if (state_ == state::idle) {
                raise({event::qp_known, fx});
            } else if (contains(state::req_rcvd | state::mra_req_sent, state_)) {
                change_qp(qp_goal::receive, fx);
            }
            return;
        }
        raise({event::qp_failed, fx, STATUS_INVALID_PARAMETER});
        return;
    }
    raise({event_of(outcome), fx, outcome.status});
}

// The passive end of a peer-to-peer connection has no request that could wait for another queue
// pair: the connection fails.
event connection::event_of(const qp_outcome& outcome) const {
    const bool succeeded = NT_SUCCESS(outcome.status);
    if (outcome.goal == qp_goal::stop) return event::qp_stopped;
    if (outcome.goal == qp_goal::load_path)
        return succeeded ? event::path_loaded : event::path_failed;
    if (as == role::peer && outcome.goal == qp_goal::receive)
        return !succeeded ? event::cancel : establishes_ ? event::complete : event::peer_ready;
    if (!succeeded) return event::qp_failed;
    return outcome.goal == qp_goal::receive ? event::qp_receives : event::qp_sends;
}

// The count of the client's objects includes a verb that makes a connection.
void connection::release_owner() {
    if (owner != nullptr && !is_open_) --std::exchange(owner, nullptr)->children;
}

void connection::finish_verb(NTSTATUS status, ULONG_PTR information, effects& fx) {
    if (IRP* const irp = waits_.take()) finish(irp, status, information, fx);
}

void connection::finish(IRP* irp, NTSTATUS status, ULONG_PTR information, effects& fx) {
    reply_ = nullptr;
    if (qp.busy()) {
        irp->IoStatus.Status = status;
        irp->IoStatus.Information = information;
        finishing_ = irp;
        return;
    }
    release_owner();
    fx.complete(irp, status, information);
}

void connection::finish_closing(effects& fx) {
    IRP* const irp = std::exchange(closing_, nullptr);
    if (irp == nullptr) return;
    is_open_ = false;
    release_owner();
    fx.complete(irp, STATUS_SUCCESS);
    fx.release(*this);
}

void connection::cancelled(IRP* irp, verb which, effects& fx) {
    if (which == verb::path) return fx.complete(irp, STATUS_CANCELLED);
    if (which != verb::disconnect) raise({event::cancel, fx, STATUS_CANCELLED});
    finish(irp, STATUS_CANCELLED, 0, fx);
}

void connection::emit(ib_cm_event_type_t type, effects& fx) {
    if (!is_open_ || is_closing_) return;
    pending_events_ |= 1u << type;
    deliver_events(fx);
}

void connection::deliver_events(effects& fx) {
    while (pending_events_ != 0) {
        IRP* const irp = event_waits_.take();
        if (irp == nullptr) return;
        *static_cast<ib_cm_event_t*>(irp->Tail.Overlay.DriverContext[3]) = next_event();
        fx.complete(irp, STATUS_SUCCESS);
    }
}

ib_cm_event_t connection::next_event() {
    ib_cm_event_t next{};
    next.type = static_cast<ULONG>(std::countr_zero(pending_events_));
    pending_events_ &= pending_events_ - 1;
    if (next.type == IB_CM_EVENT_DISCONNECTED) {
        next.pdata_length = static_cast<UCHAR>(event_data_.size());
        std::ranges::copy(event_data_, next.pdata);
    } else if (next.type == IB_CM_EVENT_PATH_REQUESTED) {
        const auto& data = exchange_->request.private_data;
        next.alt_path = exchange_->alternate.path;
        next.pdata_length = static_cast<UCHAR>(data.size());
        std::ranges::copy(data, next.pdata);
    }
    return next;
}

void connection::reject_unserved(unserved why, effects& fx) {
    send(rejection(why == unserved::closed ? IB_CM_REJ_INVALID_SERVICE_ID : IB_CM_REJ_NO_RESOURCES),
         fx);
    state_ = state::timewait;
    enter_timewait(fx);
}

void connection::drop(effects& fx) { end({event::timeout, fx}); }

// Until packets of the connection, or the peer's duplicates of its last message, have expired.
void connection::enter_timewait(effects& fx) {
    if (qp.connected() || qp.busy()) change_qp(qp_goal::stop, fx);
    if (was_connected_) return wait_for(chosen_by_peer(time_of(terms.ack_timeout)));
    at->remove_remote_qp(*this);
    at->remember(*this, has_rejected() ? peers_retries_wait() : response_wait(), fx);
}

void connection::end(const cause& why) {
    state_ = state::ended;
    emit(IB_CM_EVENT_TIMEWAIT_EXIT, why.fx);
    at->remove(*this, why.fx);
}

} // namespace irpverbs::cm::engine
