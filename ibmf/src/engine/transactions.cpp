// A transaction from its start to its end.
#include <engine/port_context.hpp>

#include <engine/message_codec.hpp>
#include <engine/status.hpp>

#include <algorithm>
#include <cstring>

namespace irpverbs::ibmf {

namespace {

constexpr std::uint32_t default_response_us = 4'000'000;
constexpr std::uint32_t default_round_trip_us = 100'000;
constexpr unsigned default_doublings = 3;
constexpr unsigned max_doublings = 20;
constexpr ticks longest_paced_interval = 1000 * rmpp::millisecond;
constexpr ticks first_busy_wait = 100 * rmpp::millisecond;
constexpr unsigned max_busy_doublings = 5;
constexpr std::uint8_t max_redirects = 4;
constexpr std::uint8_t no_class = 0; // alternate queue pairs: always with keys and a route

// Subtracts up to a quarter at random, so that peers that were refused together do not retry
// together.
ticks jittered(ticks wait) {
    return wait - dispatch::detail::this_processor().owner->random() % (wait / 4 + 1);
}

// The intervals between attempts double up to this one.
ticks longest_interval(const transaction& of) {
    const ticks wait = of.response_timer();
    if (of.backs_off) return wait << default_doublings;
    return of.paced ? std::max(wait, longest_paced_interval) : wait;
}

// Returns the longest time from that attempt to the next one.
ticks interval_after(const transaction& of, unsigned attempt) {
    return std::min(of.response_timer() << std::min(attempt, max_doublings), longest_interval(of));
}

// Times of the client are maxima.
ticks response_wait(const transaction& of) {
    const ticks wait = interval_after(of, of.attempts);
    return of.attempts == 0 ? wait : jittered(wait);
}

// The driver does not report its progress, so this is the time of an incoming transfer of that
// size, and of the response.
ticks driver_rmpp_time(const transaction& of) {
    const ibmf_msg_bufs_t& parts = of.msg->public_part.im_msgbufs_send;
    rmpp::settings its;
    its.response_time = of.response_us * ticks_per_microsecond;
    its.round_trip = of.round_trip_us * ticks_per_microsecond;
    return rmpp::total_time_of(its, parts.im_bufs_cl_data_len) + of.response_timer();
}

// The maximum time of all attempts, times two and a half for the wait in the queue and for busy
// peers.
ticks total_time(const transaction& of) {
    if (of.driver_rmpp) return driver_rmpp_time(of);
    const ticks longest = longest_interval(of);
    ticks sum = 0;
    ticks left = ticks{of.retries_left} + 1;
    for (ticks wait = of.response_timer(); wait < longest && left != 0; wait *= 2, --left)
        sum += wait;
    return (sum + longest * left) / 2 * 5;
}

// Counts from the call, if the client sets a limit. Unsequenced sends have no limit.
ticks transfer_deadline_of(const ibmf_retrans_t& times, bool sequenced, ticks now) {
    const bool limited = sequenced && times.retrans_trans_to != 0;
    return limited ? now + times.retrans_trans_to * ticks_per_microsecond : never;
}

bool keeps_client_tid(const transaction& of) { return is_response_method(of.method); }

bool is_raw(const transport& wanted) { return wanted.qp != nullptr && wanted.qp->raw(); }

mad_header sent_header(const transport& wanted) {
    return is_raw(wanted) ? mad_header{} : header_of(wanted.msg->public_part.im_msgbufs_send);
}

} // namespace

int port_context::check(const transport& wanted, const mad_header& header) const {
    const client& who = *wanted.who;
    const message& msg = *wanted.msg;
    if (!who.ready) return IBMF_BAD_HANDLE;
    if (msg.busy) return IBMF_BUSY;
    const bool sequenced = (wanted.flags & IBMF_MSG_TRANS_FLAG_SEQ) != 0;
    if (sequenced && msg.sends_from_received()) return IBMF_REQ_INVALID;
    if (is_raw(wanted) && msg.public_part.im_msgbufs_send.im_bufs_cl_data_len > attributes.mtu())
        return IBMF_BAD_SIZE;
    const std::uint8_t mgmt_class = wanted.qp != nullptr ? no_class : header.mgmt_class;
    if (offline || !attributes.can_send(mgmt_class)) return IBMF_BAD_PORT_STATE;
    return IBMF_SUCCESS;
}

// Nothing: the keys are not those of the queue pair.
std::optional<IB_MAD_ADDRESS> port_context::address_of(const transport& wanted,
                                                       const mad_header& header) const {
    const ibmf_msg_t& msg = wanted.msg->public_part;
    if (wanted.qp == nullptr) return attributes.address_to(msg, header.mgmt_class);
    if (!wanted.qp->has_keys(msg.im_local_addr)) return std::nullopt;
    return attributes.address_to(msg, no_class);
}

// The TransactionID alone identifies a request; a response that is a transfer is identified by the
// TransactionID and the peer.
bool port_context::tid_in_use(const transport& wanted, const mad_header& header,
                              const IB_MAD_ADDRESS& to) const {
    const bool is_response = is_response_method(header.method);
    const auto same = [&](const transaction& each) {
        if (each.who != wanted.who || each.msg == nullptr || each.raw) return false;
        return is_response_method(each.method) == is_response &&
               (!is_response || same_peer(each.peer, to));
    };
    return by_tid_.find(header.transaction_id, same) != nullptr;
}

void port_context::fill(transaction& fresh, const transport& wanted, const mad_header& header) {
    const ibmf_retrans_t& times = wanted.retrans;
    const auto or_default = [](std::uint32_t given, std::uint32_t otherwise) {
        return given != 0 ? given : otherwise;
    };
    const bool transfers = (wanted.flags & IBMF_MSG_TRANS_FLAG_RMPP) != 0;
    const bool driver_rmpp =
        transfers && wanted.qp == nullptr && wanted.who->agent_of(header.mgmt_class)->driver_rmpp;
    const bool urgent = (wanted.msg->public_part.im_msg_flags & IBMF_MSG_FLAGS_URGENT) != 0;
    const bool paced = (wanted.msg->public_part.im_msg_flags & IBMF_MSG_FLAGS_PACED) != 0;
    // The members are assigned in sequence, so that the compiler makes one store of them.
    fresh.sequenced = (wanted.flags & IBMF_MSG_TRANS_FLAG_SEQ) != 0;
    fresh.in_flight = false;
    fresh.urgent = urgent;
    fresh.incoming = false;
    fresh.driver_rmpp = driver_rmpp;
    fresh.raw = is_raw(wanted);
    fresh.backs_off = (times.retrans_rtv | times.retrans_rttv) == 0;
    fresh.paced = paced;
    fresh.mgmt_class = header.mgmt_class;
    fresh.method = header.method;
    fresh.attempts = fresh.busy_responses = 0;
    fresh.retries_left = static_cast<std::uint8_t>(std::min(times.retrans_retries, 255u));
    fresh.redirects_left = max_redirects;
    fresh.who = wanted.who;
    fresh.qp = key_of(wanted.qp);
    fresh.msg = wanted.msg;
    fresh.tid = header.transaction_id;
    fresh.response_us = or_default(times.retrans_rtv, default_response_us);
    fresh.round_trip_us = or_default(times.retrans_rttv, default_round_trip_us);
}

int port_context::begin(IRP* irp, const transport& wanted) {
    guard locked(*this);
    client& who = *wanted.who;
    message& msg = *wanted.msg;
    if (msg.who.load(std::memory_order_acquire) != &who) return IBMF_INVALID_ARG;
    if (wanted.qp != nullptr && !wanted.qp->is_linked()) return IBMF_BAD_QP_HANDLE;
    const mad_header header = sent_header(wanted);
    if (const int refused = check(wanted, header); refused != IBMF_SUCCESS) return refused;
    const std::optional<IB_MAD_ADDRESS> to = address_of(wanted, header);
    if (!to) return IBMF_BAD_QP_HANDLE;
    const bool indexed = wanted.flags != 0;
    if (indexed && tid_in_use(wanted, header, *to)) {
        who.count(&ibmf_stats_t::st_tids_in_use);
        return IBMF_TID_IN_USE;
    }
    transaction* const fresh = acquire();
    if (fresh == nullptr) return IBMF_NO_RESOURCES;
    fill(*fresh, wanted, header);
    fresh->peer = *to;
    if ((wanted.flags & IBMF_MSG_TRANS_FLAG_RMPP) != 0 && !fresh->driver_rmpp)
        if (fresh->rmpp = transfer_of(*fresh); fresh->rmpp == nullptr) {
            release(*fresh);
            return IBMF_NO_RESOURCES;
        }
    if (!msg.sends_from_received()) msg.clear_received();
    msg.busy = true;
    msg.completion = wanted.completion;
    msg.call = wanted.call;
    msg.argument = wanted.argument;
    msg.transfer_end = {};
    msg.segments_resent = 0;
    msg.current_transaction = fresh;
    by_tid_.insert(*fresh);
    who.count(&ibmf_stats_t::st_transactions);
    who.count(&ibmf_stats_t::st_msgs_sent);
    const ticks now = locked.clock_upper_bound();
    fresh->transfer_deadline = transfer_deadline_of(wanted.retrans, fresh->sequenced, now);
    fresh->deadline = std::min(now + total_time(*fresh), fresh->transfer_deadline);
    fresh->state = transaction_state::sending;
    if (!pend(irp, *fresh)) {
        complete_transaction(locked, *fresh, irp, IBMF_TRANS_FAILURE, STATUS_CANCELLED);
    } else if (!fresh->sequenced || window.insert(*fresh, who.queues)) {
        start_transaction(locked, *fresh, now);
    } else {
        set_due(*fresh, fresh->deadline);
    }
    return IBMF_SUCCESS;
}

void port_context::start_transaction(guard& locked, transaction& which, ticks now) {
    if (which.rmpp != nullptr) {
        which.state = transaction_state::transferring;
        progress(locked, which, now);
    } else {
        resend(locked, which, now);
    }
}

// Null: no memory.
datagram* port_context::compose(const transaction& of) {
    datagram* const out = datagrams_.allocate(*this);
    if (out == nullptr || write(*out, of)) return out;
    datagrams_.free(*out);
    return nullptr;
}

// Returns false if there is no memory.
bool port_context::write(datagram& to, const transaction& from) {
    const ibmf_msg_bufs_t& parts = from.msg->public_part.im_msgbufs_send;
    if (from.raw)
        return to.carry(
            {static_cast<const std::uint8_t*>(parts.im_bufs_cl_data), parts.im_bufs_cl_data_len});
    const std::uint64_t id = keeps_client_tid(from) || !from.sequenced ? from.tid : from.slot.key;
    if (from.driver_rmpp) return ibmf::compose(to.whole, parts, id);
    ibmf::compose(to.bytes, parts, id);
    return true;
}

// Without memory for a datagram it counts as lost, except for a send without retries, which fails.
void port_context::resend(guard& locked, transaction& which, ticks now) {
    const ticks wait = which.sequenced ? response_wait(which) : 0;
    datagram* const out = compose(which);
    if (which.sequenced) {
        which.state = transaction_state::waiting;
        set_due(which, which.driver_rmpp ? which.deadline : std::min(now + wait, which.deadline));
    } else if (out == nullptr) {
        return end(locked, which, IBMF_TRANSPORT_FAILURE);
    } else if (!which.raw && !keeps_client_tid(which)) {
        which.who->unsequenced.insert(which.tid);
    }
    if (out == nullptr) return which.who->count(&ibmf_stats_t::st_no_memory);
    send(locked, *out, which, wait);
}

void port_context::start_queued(guard& locked) {
    const ticks now = locked.clock_upper_bound();
    while (transaction* next = window.next())
        start_transaction(locked, *next, now);
}

void port_context::limit(guard& locked, std::uint32_t in_flight) {
    window.set_limit(in_flight);
    start_queued(locked);
}

void port_context::end(guard& locked, transaction& which, int code) {
    IRP* const irp = claim(which);
    if (irp != nullptr) complete_transaction(locked, which, irp, code, status_of(code));
}

void port_context::complete_transaction(guard& locked, transaction& which, IRP* irp, int code,
                                        NTSTATUS status) {
    client& who = *which.who;
    message& msg = *std::exchange(which.msg, nullptr);
    msg.public_part.im_msg_status = code;
    msg.current_transaction = nullptr;
    if (msg.completion == completion_style::irp) msg.busy = false;
    if (which.rmpp != nullptr) {
        // A deadline or a cancel has cut the transfer off: the unread data stay in the message.
        if (msg.data_call != nullptr && msg.received_size == 0)
            msg.set_received(which.rmpp->received(), which.tid);
        msg.transfer_end = which.rmpp->result();
        msg.segments_resent = which.rmpp->resent();
        who.count(&ibmf_stats_t::st_rmpp_resent, msg.segments_resent);
    }
    if (code == IBMF_TRANS_TIMEOUT) who.count(&ibmf_stats_t::st_timeouts);
    if (code == IBMF_TRANS_TIMEOUT && which.driver_rmpp) who.count(&ibmf_stats_t::st_rmpp_errors);
    if (status == STATUS_CANCELLED) who.count(&ibmf_stats_t::st_cancelled);
    window.remove(which, who.queues);
    locked.complete(irp, status, static_cast<ULONG_PTR>(code));
    if (which.rmpp != nullptr && !which.rmpp->result().running())
        enter_time_wait(which);
    else
        free_transaction(which);
    if (window.queued() != 0) start_queued(locked);
}

void port_context::free_transaction(transaction& which) {
    client& who = *which.who;
    by_tid_.erase(which);
    --who.counts.st_transactions;
    --counts.st_transactions;
    if (which.state == transaction_state::time_wait) {
        RemoveEntryList(&which.queue_entry);
        --who.time_wait_count;
    } else if (which.incoming) {
        RemoveEntryList(&which.queue_entry);
        --who.incoming;
    }
    which.rmpp.reset();
    which.who = nullptr;
    which.qp = 0;
    release(which);
}

void port_context::expired(guard& locked, transaction& which, ticks now) {
    if (which.rmpp != nullptr && which.state != transaction_state::queued &&
        which.state != transaction_state::backing_off) {
        const bool late = which.irp != nullptr && now >= which.transfer_deadline;
        if (!late) {
            which.rmpp->expire(now);
            return progress(locked, which, now);
        }
        which.rmpp->cancel(now);
        transmit(locked, which, now);
        which.who->count(&ibmf_stats_t::st_rmpp_errors);
        return end(locked, which, IBMF_TRANS_TIMEOUT);
    }
    const bool again = which.state == transaction_state::backing_off || which.retries_left != 0;
    if (which.state == transaction_state::queued || !again || now >= which.deadline)
        return end(locked, which, IBMF_TRANS_TIMEOUT);
    if (which.state == transaction_state::waiting) {
        --which.retries_left;
        ++which.attempts;
    }
    which.who->count(&ibmf_stats_t::st_retries);
    start_transaction(locked, which, now);
}

void port_context::cancelled(guard& locked, transaction& which, IRP* irp) {
    if (which.rmpp != nullptr && which.state == transaction_state::transferring) {
        const ticks now = locked.clock_upper_bound();
        which.rmpp->cancel(now);
        transmit(locked, which, now);
    }
    client& who = *which.who;
    complete_transaction(locked, which, irp, IBMF_TRANS_FAILURE, STATUS_CANCELLED);
    who.wake_waiters();
}

bool port_context::cancel(guard& locked, const message& what) {
    transaction* const which = what.current_transaction;
    if (which == nullptr) return false;
    if (IRP* const irp = claim(*which)) cancelled(locked, *which, irp);
    return true;
}

void port_context::complete_with_response(guard& locked, transaction& which,
                                          const mad_view& response, mad_bytes data) {
    IRP* const irp = claim(which);
    if (irp == nullptr) return;
    message& msg = *which.msg;
    const std::size_t limit = msg.public_part.im_msg_sz_limit;
    const bool cut = limit != 0 && data.size() > limit;
    rmpp::message_buffer whole;
    msg.lend_block(whole);
    int code = cut ? IBMF_PARTIAL_TRANSFER : IBMF_SUCCESS;
    if (!whole.begin(response, 0) || !whole.append(cut ? data.first(limit) : data))
        code = IBMF_NO_MEMORY;
    msg.set_received(whole, which.tid);
    which.who->count(&ibmf_stats_t::st_msgs_received);
    complete_transaction(locked, which, irp, code, status_of(code));
}

// Restarts a transfer that the peer refused, under another id: the peer may remember the old id as
// complete. Returns false if the transaction has ended.
bool port_context::restart(guard& locked, transaction& which) {
    if (which.rmpp == nullptr && !which.driver_rmpp) return true;
    transaction_slots::advance_key(which);
    if (which.driver_rmpp) return true;
    if (auto again = transfer_of(which)) {
        which.rmpp = std::move(again);
        return true;
    }
    end(locked, which, IBMF_NO_MEMORY);
    return false;
}

// Repeats the request a little later, as often as the deadline permits.
void port_context::back_off(guard& locked, transaction& which) {
    which.who->count(&ibmf_stats_t::st_busy);
    if (!restart(locked, which)) return;
    const unsigned doublings = std::min<unsigned>(which.busy_responses, max_busy_doublings);
    if (which.busy_responses < max_busy_doublings) ++which.busy_responses;
    const ticks wait = std::min(first_busy_wait, which.response_timer()) << doublings;
    which.state = transaction_state::backing_off;
    set_due(which, std::min(locked.clock_upper_bound() + jittered(wait), which.deadline));
}

// Source: IBA 13.4.8.1 (ClassPortInfo).
bool port_context::redirect(guard& locked, transaction& which, const mad_view& response) {
    const std::optional<IB_MAD_ADDRESS> elsewhere = redirection_of(response, which.peer);
    if (!elsewhere || which.redirects_left == 0) return false;
    --which.redirects_left;
    which.who->count(&ibmf_stats_t::st_redirected);
    which.peer = *elsewhere;
    if (const std::optional<USHORT> key = attributes.index_of(redirected_pkey(response)))
        which.peer.PKeyIndex = *key;
    if (restart(locked, which)) start_transaction(locked, which, locked.clock_upper_bound());
    return true;
}

void port_context::end_all(guard& locked, const client& of, int code) {
    for_each([&](transaction& each) {
        if (each.who == &of && each.irp != nullptr) end(locked, each, code);
    });
}

template <class Owns>
void port_context::free_idle(const Owns& owns) {
    for_each([&](transaction& each) {
        if (owns(each) && each.irp == nullptr && each.msg == nullptr) free_transaction(each);
    });
}

void port_context::free_time_wait(const client& of) {
    free_idle([&](const transaction& each) { return each.who == &of; });
}

void port_context::free_time_wait(const alternate_qp& of) {
    free_idle([&](const transaction& each) { return each.qp == of.key; });
}

bool port_context::has_transactions(const alternate_qp& of) {
    bool any = false;
    for_each(
        [&](const transaction& each) { any = any || (each.qp == of.key && each.msg != nullptr); });
    return any;
}

bool port_context::has_transactions(const client& of) {
    bool any = false;
    for_each(
        [&](const transaction& each) { any = any || (each.who == &of && each.msg != nullptr); });
    return any;
}

} // namespace irpverbs::ibmf
