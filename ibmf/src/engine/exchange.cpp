// A transaction from its start to its end.
#include <engine/port.hpp>

#include <engine/bytes.hpp>
#include <engine/status.hpp>

#include <algorithm>
#include <cstring>

namespace irpverbs::ibmf {

namespace {

constexpr std::uint32_t default_response_us = 4'000'000;
constexpr std::uint32_t default_round_trip_us = 100'000;
constexpr unsigned most_doublings = 3;
constexpr ticks first_busy_wait = 100 * rmpp::millisecond;
constexpr unsigned most_busy_doublings = 5;
constexpr std::uint8_t most_redirects = 4;
constexpr std::uint8_t no_class = 0; // alternate queue pairs: always with keys and a route

// Subtracts up to a quarter at random, so that peers that were refused together do not retry
// together.
ticks jittered(ticks wait) {
    return wait - dispatch::detail::this_processor().owner->random() % (wait / 4 + 1);
}

// Times of the client are maxima.
ticks wait_for_answer(const transaction& of) {
    const ticks wait = of.response_timer();
    if (of.attempts == 0) return wait;
    return jittered(of.backs_off ? wait << std::min<unsigned>(of.attempts, most_doublings) : wait);
}

// The driver does not report its progress, so this is the time of an incoming transfer of that
// size, and of the response.
ticks time_for_whole(const transaction& of) {
    const ibmf_msg_bufs_t& parts = of.msg->shown.im_msgbufs_send;
    rmpp::settings its;
    its.response_time = of.response_us * ticks_per_microsecond;
    its.round_trip = of.round_trip_us * ticks_per_microsecond;
    return rmpp::total_time_of(its, parts.im_bufs_cl_data_len) + of.response_timer();
}

// The maximum time of all attempts, times two and a half for the wait in the queue and for busy
// peers.
ticks time_for_all(const transaction& of) {
    if (of.whole) return time_for_whole(of);
    ticks sum = of.response_timer() * (ticks{of.retries_left} + 1);
    if (of.backs_off) {
        sum = 0;
        for (unsigned attempt = 0; attempt <= of.retries_left; ++attempt)
            sum += of.response_timer() << std::min(attempt, most_doublings);
    }
    return sum / 2 * 5;
}

// Counts from the call, if the client sets a limit. Unsequenced sends have no limit.
ticks transfer_deadline_of(const ibmf_retrans_t& times, bool sequenced, ticks now) {
    const bool limited = sequenced && times.retrans_trans_to != 0;
    return limited ? now + times.retrans_trans_to * ticks_per_microsecond : never;
}

bool carries_own_id(const transaction& of) { return is_answer(of.method); }

bool is_raw(const transport& wanted) { return wanted.qp != nullptr && wanted.qp->raw(); }

mad_header sent_header(const transport& wanted) {
    return is_raw(wanted) ? mad_header{} : header_of(wanted.msg->shown.im_msgbufs_send);
}

} // namespace

int port::check(const transport& wanted, const mad_header& header) const {
    const client& who = *wanted.who;
    const message& msg = *wanted.msg;
    if (!who.ready) return IBMF_BAD_HANDLE;
    if (msg.busy) return IBMF_BUSY;
    const bool sequenced = (wanted.flags & IBMF_MSG_TRANS_FLAG_SEQ) != 0;
    if (sequenced && msg.sends_from_received()) return IBMF_REQ_INVALID;
    if (is_raw(wanted) && msg.shown.im_msgbufs_send.im_bufs_cl_data_len > attributes.mtu())
        return IBMF_BAD_SIZE;
    const std::uint8_t mgmt_class = wanted.qp != nullptr ? no_class : header.mgmt_class;
    if (offline || !attributes.can_send(mgmt_class)) return IBMF_BAD_PORT_STATE;
    return IBMF_SUCCESS;
}

// Nothing: the keys are not those of the queue pair.
std::optional<IB_MAD_ADDRESS> port::address_of(const transport& wanted,
                                               const mad_header& header) const {
    const ibmf_msg_t& msg = wanted.msg->shown;
    if (wanted.qp == nullptr) return attributes.to(msg, header.mgmt_class);
    if (!wanted.qp->has_keys(msg.im_local_addr)) return std::nullopt;
    return attributes.to(msg, no_class);
}

// The TransactionID alone identifies a request; a response that is a transfer is identified by the
// TransactionID and the peer.
bool port::tid_in_use(const transport& wanted, const mad_header& header,
                      const IB_MAD_ADDRESS& to) const {
    const bool answers = is_answer(header.method);
    const auto same = [&](const transaction& each) {
        if (each.who != wanted.who || each.msg == nullptr || each.raw) return false;
        return is_answer(each.method) == answers && (!answers || same_peer(each.peer, to));
    };
    return by_tid_.find(header.transaction_id, same) != nullptr;
}

void port::fill(transaction& fresh, const transport& wanted, const mad_header& header) {
    const ibmf_retrans_t& times = wanted.retrans;
    const auto or_default = [](std::uint32_t given, std::uint32_t otherwise) {
        return given != 0 ? given : otherwise;
    };
    const bool transfers = (wanted.flags & IBMF_MSG_TRANS_FLAG_RMPP) != 0;
    const bool whole =
        transfers && wanted.qp == nullptr && wanted.who->agent_of(header.mgmt_class)->whole;
    const bool urgent = (wanted.msg->shown.im_msg_flags & IBMF_MSG_FLAGS_URGENT) != 0;
    // The members are assigned in sequence, so that the compiler makes one store of them.
    fresh.sequenced = (wanted.flags & IBMF_MSG_TRANS_FLAG_SEQ) != 0;
    fresh.in_flight = false;
    fresh.urgent = urgent;
    fresh.incoming = false;
    fresh.whole = whole;
    fresh.raw = is_raw(wanted);
    fresh.backs_off = (times.retrans_rtv | times.retrans_rttv) == 0;
    fresh.mgmt_class = header.mgmt_class;
    fresh.method = header.method;
    fresh.attempts = fresh.times_busy = 0;
    fresh.retries_left = static_cast<std::uint8_t>(std::min(times.retrans_retries, 255u));
    fresh.redirects_left = most_redirects;
    fresh.who = wanted.who;
    fresh.qp = key_of(wanted.qp);
    fresh.msg = wanted.msg;
    fresh.tid = header.transaction_id;
    fresh.response_us = or_default(times.retrans_rtv, default_response_us);
    fresh.round_trip_us = or_default(times.retrans_rttv, default_round_trip_us);
}

int port::begin(IRP* irp, const transport& wanted) {
    guard under(*this);
    client& who = *wanted.who;
    message& msg = *wanted.msg;
    if (msg.who.load(std::memory_order_acquire) != &who) return IBMF_INVALID_ARG;
    if (wanted.qp != nullptr && !wanted.qp->listed) return IBMF_BAD_QP_HANDLE;
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
    if ((wanted.flags & IBMF_MSG_TRANS_FLAG_RMPP) != 0 && !fresh->whole)
        if (fresh->rmpp = transfer_of(*fresh); fresh->rmpp == nullptr) {
            release(*fresh);
            return IBMF_NO_RESOURCES;
        }
    if (!msg.sends_from_received()) msg.drop_received();
    msg.busy = true;
    msg.how = wanted.how;
    msg.call = wanted.call;
    msg.argument = wanted.argument;
    msg.transfer_end = {};
    msg.segments_resent = 0;
    msg.carried_by = fresh;
    by_tid_.insert(*fresh);
    who.count(&ibmf_stats_t::st_transactions);
    who.count(&ibmf_stats_t::st_msgs_sent);
    const ticks now = under.now_or_later();
    fresh->transfer_deadline = transfer_deadline_of(wanted.retrans, fresh->sequenced, now);
    fresh->deadline = std::min(now + time_for_all(*fresh), fresh->transfer_deadline);
    fresh->at = phase::sending;
    if (!park(irp, *fresh)) {
        settle(under, *fresh, irp, IBMF_TRANS_FAILURE, STATUS_CANCELLED);
    } else if (!fresh->sequenced || turns.enter(*fresh, who.lines)) {
        launch(under, *fresh, now);
    } else {
        set_due(*fresh, fresh->deadline);
    }
    return IBMF_SUCCESS;
}

void port::launch(guard& under, transaction& which, ticks now) {
    if (which.rmpp != nullptr) {
        which.at = phase::transferring;
        progress(under, which, now);
    } else {
        resend(under, which, now);
    }
}

// Null: no memory.
datagram* port::compose(const transaction& of) {
    datagram* const out = datagrams_.take(*this);
    if (out == nullptr || write(*out, of)) return out;
    datagrams_.give_back(*out);
    return nullptr;
}

// Returns false if there is no memory.
bool port::write(datagram& to, const transaction& from) {
    const ibmf_msg_bufs_t& parts = from.msg->shown.im_msgbufs_send;
    if (from.raw)
        return to.carry(
            {static_cast<const std::uint8_t*>(parts.im_bufs_cl_data), parts.im_bufs_cl_data_len});
    const std::uint64_t id = carries_own_id(from) || !from.sequenced ? from.tid : from.slot.key;
    if (from.whole) return ibmf::compose(to.whole, parts, id);
    ibmf::compose(to.bytes, parts, id);
    return true;
}

// Without memory for a datagram it counts as lost, except for a send without retries, which fails.
void port::resend(guard& under, transaction& which, ticks now) {
    const ticks wait = which.sequenced ? wait_for_answer(which) : 0;
    datagram* const out = compose(which);
    if (which.sequenced) {
        which.at = phase::waiting;
        set_due(which, which.whole ? which.deadline : std::min(now + wait, which.deadline));
    } else if (out == nullptr) {
        return end(under, which, IBMF_TRANSPORT_FAILURE);
    } else if (!which.raw && !carries_own_id(which)) {
        which.who->unsequenced.insert(which.tid);
    }
    if (out == nullptr) return which.who->count(&ibmf_stats_t::st_no_memory);
    send(under, *out, which, wait);
}

void port::launch_waiting(guard& under) {
    const ticks now = under.now_or_later();
    while (transaction* next = turns.next())
        launch(under, *next, now);
}

void port::limit(guard& under, std::uint32_t in_flight) {
    turns.set_limit(in_flight);
    launch_waiting(under);
}

void port::end(guard& under, transaction& which, int code) {
    IRP* const irp = claim(which);
    if (irp != nullptr) settle(under, which, irp, code, status_of(code));
}

void port::settle(guard& under, transaction& which, IRP* irp, int code, NTSTATUS status) {
    client& who = *which.who;
    message& msg = *std::exchange(which.msg, nullptr);
    msg.shown.im_msg_status = code;
    msg.carried_by = nullptr;
    if (msg.how == told_by::irp) msg.busy = false;
    if (which.rmpp != nullptr) {
        // A deadline or a cancel has cut the transfer off: the unread data stay in the message.
        if (msg.data_call != nullptr && msg.received == nullptr)
            msg.take(which.rmpp->received(), which.tid);
        msg.transfer_end = which.rmpp->result();
        msg.segments_resent = which.rmpp->resent();
        who.count(&ibmf_stats_t::st_rmpp_resent, msg.segments_resent);
    }
    if (code == IBMF_TRANS_TIMEOUT) who.count(&ibmf_stats_t::st_timeouts);
    if (code == IBMF_TRANS_TIMEOUT && which.whole) who.count(&ibmf_stats_t::st_rmpp_errors);
    if (status == STATUS_CANCELLED) who.count(&ibmf_stats_t::st_cancelled);
    turns.leave(which, who.lines);
    under.complete(irp, status, static_cast<ULONG_PTR>(code));
    if (which.rmpp != nullptr && !which.rmpp->result().running())
        linger(which);
    else
        forget(which);
    if (turns.queued() != 0) launch_waiting(under);
}

void port::forget(transaction& which) {
    client& who = *which.who;
    by_tid_.erase(which);
    --who.counts.st_transactions;
    --counts.st_transactions;
    if (which.at == phase::lingering) {
        RemoveEntryList(&which.in_line);
        --who.lingering_count;
    } else if (which.incoming) {
        RemoveEntryList(&which.in_line);
        --who.incoming;
    }
    which.rmpp.reset();
    which.who = nullptr;
    which.qp = 0;
    release(which);
}

void port::expired(guard& under, transaction& which, ticks now) {
    if (which.rmpp != nullptr && which.at != phase::queued && which.at != phase::backing_off) {
        const bool late = which.irp != nullptr && now >= which.transfer_deadline;
        if (!late) {
            which.rmpp->expire(now);
            return progress(under, which, now);
        }
        which.rmpp->cancel(now);
        transmit(under, which, now);
        which.who->count(&ibmf_stats_t::st_rmpp_errors);
        return end(under, which, IBMF_TRANS_TIMEOUT);
    }
    const bool again = which.at == phase::backing_off || which.retries_left != 0;
    if (which.at == phase::queued || !again || now >= which.deadline)
        return end(under, which, IBMF_TRANS_TIMEOUT);
    if (which.at == phase::waiting) {
        --which.retries_left;
        ++which.attempts;
    }
    which.who->count(&ibmf_stats_t::st_retries);
    launch(under, which, now);
}

void port::cancelled(guard& under, transaction& which, IRP* irp) {
    if (which.rmpp != nullptr && which.at == phase::transferring) {
        const ticks now = under.now_or_later();
        which.rmpp->cancel(now);
        transmit(under, which, now);
    }
    client& who = *which.who;
    settle(under, which, irp, IBMF_TRANS_FAILURE, STATUS_CANCELLED);
    who.changed();
}

bool port::cancel(guard& under, const message& what) {
    transaction* const which = what.carried_by;
    if (which == nullptr) return false;
    if (IRP* const irp = claim(*which)) cancelled(under, *which, irp);
    return true;
}

void port::finish(guard& under, transaction& which, const mad_view& answer, mad_bytes data) {
    IRP* const irp = claim(which);
    if (irp == nullptr) return;
    message& msg = *which.msg;
    const std::size_t limit = msg.shown.im_msg_sz_limit;
    const bool cut = limit != 0 && data.size() > limit;
    rmpp::message_buffer whole;
    int code = cut ? IBMF_PARTIAL_TRANSFER : IBMF_SUCCESS;
    if (!whole.begin(answer, 0) || !whole.append(cut ? data.first(limit) : data))
        code = IBMF_NO_MEMORY;
    msg.take(whole, which.tid);
    which.who->count(&ibmf_stats_t::st_msgs_received);
    settle(under, which, irp, code, status_of(code));
}

// Restarts a transfer that the peer refused, under another id: the peer may remember the old id as
// complete. Returns false if the transaction has ended.
bool port::start_over(guard& under, transaction& which) {
    if (which.rmpp == nullptr && !which.whole) return true;
    slot_table<transaction>::renew(which);
    if (which.whole) return true;
    if (auto again = transfer_of(which)) {
        which.rmpp = std::move(again);
        return true;
    }
    end(under, which, IBMF_NO_MEMORY);
    return false;
}

// Repeats the request a little later, as often as the deadline permits.
void port::back_off(guard& under, transaction& which) {
    which.who->count(&ibmf_stats_t::st_busy);
    if (!start_over(under, which)) return;
    const unsigned doublings = std::min<unsigned>(which.times_busy, most_busy_doublings);
    if (which.times_busy < most_busy_doublings) ++which.times_busy;
    const ticks wait = std::min(first_busy_wait, which.response_timer()) << doublings;
    which.at = phase::backing_off;
    set_due(which, std::min(under.now_or_later() + jittered(wait), which.deadline));
}

// Source: IBA 13.4.8.1 (ClassPortInfo).
bool port::redirect(guard& under, transaction& which, const mad_view& answer) {
    const std::optional<IB_MAD_ADDRESS> elsewhere = redirection_of(answer, which.peer);
    if (!elsewhere || which.redirects_left == 0) return false;
    --which.redirects_left;
    which.who->count(&ibmf_stats_t::st_redirected);
    which.peer = *elsewhere;
    if (const std::optional<USHORT> key = attributes.index_of(redirected_key(answer)))
        which.peer.PKeyIndex = *key;
    if (start_over(under, which)) launch(under, which, under.now_or_later());
    return true;
}

void port::end_all(guard& under, const client& of, int code) {
    for_each([&](transaction& each) {
        if (each.who == &of && each.irp != nullptr) end(under, each, code);
    });
}

template <class Owns>
void port::forget_idle(const Owns& owns) {
    for_each([&](transaction& each) {
        if (owns(each) && each.irp == nullptr && each.msg == nullptr) forget(each);
    });
}

void port::forget_lingering(const client& of) {
    forget_idle([&](const transaction& each) { return each.who == &of; });
}

void port::forget_lingering(const alternate_qp& of) {
    forget_idle([&](const transaction& each) { return each.qp == of.key; });
}

bool port::has_transactions(const alternate_qp& of) {
    bool any = false;
    for_each(
        [&](const transaction& each) { any = any || (each.qp == of.key && each.msg != nullptr); });
    return any;
}

bool port::has_transactions(const client& of) {
    bool any = false;
    for_each(
        [&](const transaction& each) { any = any || (each.who == &of && each.msg != nullptr); });
    return any;
}

} // namespace irpverbs::ibmf
