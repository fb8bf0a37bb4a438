// Transactions that are RMPP transfers, and transfers that peers begin.
#include <engine/port.hpp>

#include <engine/bytes.hpp>
#include <engine/status.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace irpverbs::ibmf {

namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
constexpr ticks short_of_memory_wait = rmpp::millisecond;
// Per client:
constexpr std::uint32_t most_incoming = 256;
constexpr std::uint32_t most_incoming_of_peer = 64;
constexpr std::uint32_t most_lingering = 1024;

rmpp::settings settings_of(const transaction& of) {
    const message& msg = *of.msg;
    rmpp::settings chosen;
    chosen.response_time = of.response_us * ticks_per_microsecond;
    chosen.round_trip = of.round_trip_us * ticks_per_microsecond;
    chosen.retries = std::uint32_t{of.retries_left} + of.attempts;
    chosen.size_limit = msg.shown.im_msg_sz_limit;
    if (chosen.size_limit == 0)
        chosen.size_limit = msg.data_call == nullptr ? IBMF_MAX_ANSWER_LEN : unlimited;
    return chosen;
}

rmpp::settings settings_of_unasked() {
    rmpp::settings chosen;
    chosen.size_limit = IBMF_MAX_UNASKED_LEN;
    return chosen;
}

int status_of(const rmpp::outcome& result) {
    switch (result.how) {
    case rmpp::ending::complete:
        return IBMF_SUCCESS;
    case rmpp::ending::truncated:
        return IBMF_PARTIAL_TRANSFER;
    case rmpp::ending::timed_out:
        return IBMF_TRANS_TIMEOUT;
    case rmpp::ending::refused:
        return IBMF_NO_MEMORY;
    default:
        return IBMF_TRANS_FAILURE;
    }
}

// True for the datagram that ends a request. Other datagrams expect no response of their own; with
// a response time they would conflict with the request at a driver that keeps one request per id.
bool ends_question(const datagram& out) {
    const rmpp_header header =
        load_rmpp_header(std::span(out.bytes).subspan<mad_header_size, rmpp_header::size>());
    return header.type == rmpp_type::data && header.last();
}

bool failed(const rmpp::outcome& result) {
    return result.how != rmpp::ending::complete && result.how != rmpp::ending::truncated;
}

// Limits the transfers of one peer, so that other peers have room.
bool has_room_for(const IB_MAD_ADDRESS& peer, const client& who) {
    if (who.incoming >= most_incoming) return false;
    std::uint32_t of_peer = 0;
    for (const LIST_ENTRY* each = who.receiving.Flink; each != &who.receiving; each = each->Flink)
        if (same_peer(CONTAINING_RECORD(each, transaction, in_line)->peer, peer)) ++of_peer;
    return of_peer < most_incoming_of_peer;
}

} // namespace

std::unique_ptr<transfer> port::transfer_of(const transaction& fresh) {
    const ibmf_msg_t& msg = fresh.msg->shown;
    const auto body = body_of(msg.im_msgbufs_send, layout_of(fresh.mgmt_class));
    if (!body) return nullptr;
    std::array<std::uint8_t, mad_header_size> header;
    std::memcpy(header.data(), msg.im_msgbufs_send.im_bufs_mad_hdr, header.size());
    set_id(header.data(), is_answer(fresh.method) ? fresh.tid : fresh.slot.key);
    const rmpp::message sent{header, body->class_header, body->data};
    const rmpp::settings chosen = settings_of(fresh);
    return std::unique_ptr<transfer>(
        fresh.sequenced ? new (std::nothrow) transfer(chosen, sent, transfer::double_sided{})
                        : new (std::nothrow) transfer(chosen, sent));
}

// Returns false if no datagram was left.
bool port::transmit(guard& under, transaction& which, ticks now) {
    for (;;) {
        if (!which.rmpp->may_send()) {
            which.rmpp->hold_back();
            return true;
        }
        datagram* const out = datagrams_.take(*this);
        if (out == nullptr) return false;
        if (!which.rmpp->transmit(out->bytes, now)) {
            datagrams_.give_back(*out);
            return true;
        }
        const bool asks = which.sequenced && which.irp != nullptr && ends_question(*out);
        send(under, *out, which, asks ? which.response_timer() : 0);
        out->start.run = start_segment;
        which.rmpp->sent();
    }
}

void port::progress(guard& under, transaction& which, ticks now) {
    const bool all = transmit(under, which, now);
    transfer& moved = *which.rmpp;
    const bool over = !moved.result().running();
    if (!over) tell_of_data(under, which);
    if (over && which.at == phase::transferring) return end_transfer(under, which);
    if (over && all && moved.retired()) return forget(which);
    ticks due = moved.deadline();
    if (which.irp != nullptr) due = std::min(due, which.transfer_deadline);
    if (!all) due = std::min(due, now + short_of_memory_wait);
    set_due(which, due);
}

void port::tell_of_data(guard& under, transaction& which) {
    message* const to = which.msg;
    if (to == nullptr || to->data_call == nullptr || to->how != told_by::callback) return;
    if (which.rmpp->received().has_unread_data()) which.who->deliver_data(under, *to);
    which.rmpp->balance(under.now_or_later());
}

std::size_t port::read(guard& under, const message& from, std::span<std::uint8_t> to) {
    transaction* const which = from.carried_by;
    if (which == nullptr || which->rmpp == nullptr) return 0;
    const ticks now = under.now_or_later();
    const std::size_t count = which->rmpp->received().read(to);
    which->rmpp->balance(now);
    if (which->at == phase::transferring) progress(under, *which, now);
    return count;
}

void port::resume(guard& under, const message& what) {
    transaction* const which = what.carried_by;
    if (which != nullptr && which->rmpp != nullptr && which->at == phase::transferring)
        tell_of_data(under, *which);
}

void port::end_transfer(guard& under, transaction& which) {
    client& who = *which.who;
    const rmpp::outcome result = which.rmpp->result();
    if (failed(result)) who.count(&ibmf_stats_t::st_rmpp_errors);
    if (which.incoming) {
        if (!failed(result))
            hand_up(under, who, who.qp_of(which), which.rmpp->received(), which.peer, result);
        return linger(which);
    }
    IRP* const irp = claim(which);
    if (irp == nullptr) return; // its canceller ends it
    int code = status_of(result);
    if (which.sequenced) {
        // A failed transfer keeps the received part of the response in the message.
        if (!failed(result)) who.count(&ibmf_stats_t::st_msgs_received);
        which.msg->take(which.rmpp->received(), which.tid);
    }
    settle(under, which, irp, code, ibmf::status_of(code));
}

// Keeps an ended transfer for a while, to acknowledge duplicates. Above the limit the oldest one is
// removed.
void port::linger(transaction& which) {
    if (which.rmpp->retired()) return forget(which);
    client& who = *which.who;
    if (which.incoming) {
        RemoveEntryList(&which.in_line);
        --who.incoming;
    }
    which.at = phase::lingering;
    InsertTailList(&who.lingering, &which.in_line);
    if (++who.lingering_count > most_lingering)
        forget(*CONTAINING_RECORD(who.lingering.Flink, transaction, in_line));
    set_due(which, which.rmpp->deadline());
}

// Begins to receive a response of many segments to a single datagram. The transfer has its own
// timers.
void port::begin_response(transaction& which) {
    which.rmpp.reset(new (std::nothrow) transfer(settings_of(which)));
    if (which.rmpp == nullptr) return which.who->count(&ibmf_stats_t::st_no_memory);
    which.at = phase::transferring;
}

void port::begin_incoming(guard& under, const arrival& here) {
    client& who = *here.who;
    const mad_view& first = here.view;
    if (listener_of(who, here.qp).unasked == nullptr)
        return who.count(&ibmf_stats_t::st_no_callback);
    if (offline || !has_room_for(here.from, who)) return who.count(&ibmf_stats_t::st_overflows);
    transaction* const fresh = acquire();
    if (fresh == nullptr) return who.count(&ibmf_stats_t::st_no_memory);
    fresh->rmpp.reset(new (std::nothrow) transfer(settings_of_unasked()));
    if (fresh->rmpp == nullptr) {
        release(*fresh);
        return who.count(&ibmf_stats_t::st_no_memory);
    }
    fresh->at = phase::transferring;
    fresh->sequenced = fresh->in_flight = fresh->urgent = fresh->whole = false;
    fresh->incoming = true;
    fresh->mgmt_class = first.header().mgmt_class;
    fresh->method = first.header().method;
    fresh->who = &who;
    fresh->qp = key_of(here.qp);
    fresh->raw = false;
    fresh->msg = nullptr;
    fresh->irp = nullptr;
    fresh->tid = first.header().transaction_id;
    fresh->peer = here.from;
    fresh->transfer_deadline = never;
    InsertTailList(&who.receiving, &fresh->in_line);
    ++who.incoming;
    who.count(&ibmf_stats_t::st_transactions);
    by_tid_.insert(*fresh);
    const ticks now = under.now_or_later();
    fresh->rmpp->receive(first, now);
    progress(under, *fresh, now);
}

} // namespace irpverbs::ibmf
