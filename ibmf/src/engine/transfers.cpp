// Transactions that are RMPP transfers, and transfers that peers begin.
#include <engine/port_context.hpp>

#include <engine/message_codec.hpp>
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
constexpr std::uint32_t max_incoming = 256;
constexpr std::uint32_t max_incoming_of_peer = 64;
constexpr std::uint32_t max_time_wait = 1024;

rmpp::settings settings_of(const transaction& of) {
    const message& msg = *of.msg;
    rmpp::settings chosen;
    chosen.response_time = of.response_us * ticks_per_microsecond;
    chosen.round_trip = of.round_trip_us * ticks_per_microsecond;
    chosen.retries = std::uint32_t{of.retries_left} + of.attempts;
    chosen.size_limit = msg.public_part.im_msg_sz_limit;
    if (chosen.size_limit == 0)
        chosen.size_limit = msg.data_call == nullptr ? IBMF_MAX_RESPONSE_LEN : unlimited;
    return chosen;
}

rmpp::settings unsolicited_settings() {
    rmpp::settings chosen;
    chosen.size_limit = IBMF_MAX_UNSOLICITED_LEN;
    return chosen;
}

int status_of(const rmpp::outcome& result) {
    switch (result.state) {
    case rmpp::transfer_state::complete:
        return IBMF_SUCCESS;
    case rmpp::transfer_state::truncated:
        return IBMF_PARTIAL_TRANSFER;
    case rmpp::transfer_state::timed_out:
        return IBMF_TRANS_TIMEOUT;
    case rmpp::transfer_state::refused:
        return IBMF_NO_MEMORY;
    default:
        return IBMF_TRANS_FAILURE;
    }
}

// True for the datagram that ends a request. Other datagrams expect no response of their own; with
// a response time they would conflict with the request at a driver that keeps one request per id.
bool ends_request(const datagram& out) {
    const rmpp_header header =
        load_rmpp_header(std::span(out.bytes).subspan<mad_header_size, rmpp_header::size>());
    return header.type == rmpp_type::data && header.last();
}

bool failed(const rmpp::outcome& result) {
    return result.state != rmpp::transfer_state::complete &&
           result.state != rmpp::transfer_state::truncated;
}

// Limits the transfers of one peer, so that other peers have room.
bool has_room_for(const IB_MAD_ADDRESS& peer, const client& who) {
    if (who.incoming >= max_incoming) return false;
    std::uint32_t of_peer = 0;
    for (const LIST_ENTRY* each = who.receiving.Flink; each != &who.receiving; each = each->Flink)
        if (same_peer(CONTAINING_RECORD(each, transaction, queue_entry)->peer, peer)) ++of_peer;
    return of_peer < max_incoming_of_peer;
}

} // namespace

std::unique_ptr<transfer> port_context::transfer_of(const transaction& fresh) {
    const ibmf_msg_t& msg = fresh.msg->public_part;
    const auto body = body_of(msg.im_msgbufs_send, layout_of(fresh.mgmt_class));
    if (!body) return nullptr;
    std::array<std::uint8_t, mad_header_size> header;
    std::memcpy(header.data(), msg.im_msgbufs_send.im_bufs_mad_hdr, header.size());
    set_transaction_id(header.data(),
                       is_response_method(fresh.method) ? fresh.tid : fresh.slot.key);
    const rmpp::message sent{header, body->class_header, body->data};
    const rmpp::settings chosen = settings_of(fresh);
    return std::unique_ptr<transfer>(
        fresh.sequenced ? new (std::nothrow) transfer(chosen, sent, transfer::double_sided{})
                        : new (std::nothrow) transfer(chosen, sent));
}

// Returns false if no datagram was left.
bool port_context::transmit(guard& locked, transaction& which, ticks now) {
    for (;;) {
        if (!which.rmpp->may_send()) {
            which.rmpp->pause_sending();
            return true;
        }
        datagram* const out = datagrams_.allocate(*this);
        if (out == nullptr) return false;
        if (!which.rmpp->transmit(out->bytes, now)) {
            datagrams_.free(*out);
            return true;
        }
        const bool asks = which.sequenced && which.irp != nullptr && ends_request(*out);
        send(locked, *out, which, asks ? which.response_timer() : 0);
        out->start.run = start_segment;
        which.rmpp->sent();
    }
}

void port_context::progress(guard& locked, transaction& which, ticks now) {
    const bool all = transmit(locked, which, now);
    transfer& moved = *which.rmpp;
    const bool over = !moved.result().running();
    if (!over) notify_data(locked, which);
    if (over && which.state == transaction_state::transferring) return end_transfer(locked, which);
    if (over && all && moved.retired()) return free_transaction(which);
    ticks due = moved.deadline();
    if (which.irp != nullptr) due = std::min(due, which.transfer_deadline);
    if (!all) due = std::min(due, now + short_of_memory_wait);
    set_due(which, due);
}

void port_context::notify_data(guard& locked, transaction& which) {
    message* const to = which.msg;
    if (to == nullptr || to->data_call == nullptr || to->completion != completion_style::callback)
        return;
    if (which.rmpp->received().has_unread_data()) which.who->deliver_data(locked, *to);
    which.rmpp->update_window(locked.clock_upper_bound());
}

std::size_t port_context::read(guard& locked, const message& from, std::span<std::uint8_t> to) {
    transaction* const which = from.current_transaction;
    if (which == nullptr || which->rmpp == nullptr) return 0;
    const ticks now = locked.clock_upper_bound();
    const std::size_t count = which->rmpp->received().read(to);
    which->rmpp->update_window(now);
    if (which->state == transaction_state::transferring) progress(locked, *which, now);
    return count;
}

void port_context::resume(guard& locked, const message& what) {
    transaction* const which = what.current_transaction;
    if (which != nullptr && which->rmpp != nullptr &&
        which->state == transaction_state::transferring)
        notify_data(locked, *which);
}

void port_context::end_transfer(guard& locked, transaction& which) {
    client& who = *which.who;
    const rmpp::outcome result = which.rmpp->result();
    if (failed(result)) who.count(&ibmf_stats_t::st_rmpp_errors);
    if (which.incoming) {
        if (!failed(result))
            deliver(locked, who, who.qp_of(which), which.rmpp->received(), which.peer, result);
        return enter_time_wait(which);
    }
    IRP* const irp = claim(which);
    if (irp == nullptr) return; // its canceller ends it
    int code = status_of(result);
    if (which.sequenced) {
        // A failed transfer keeps the received part of the response in the message.
        if (!failed(result)) who.count(&ibmf_stats_t::st_msgs_received);
        which.msg->set_received(which.rmpp->received(), which.tid);
    }
    complete_transaction(locked, which, irp, code, ibmf::status_of(code));
}

// Keeps an ended transfer for a while, to acknowledge duplicates. Above the limit the oldest one is
// removed.
void port_context::enter_time_wait(transaction& which) {
    if (which.rmpp->retired()) return free_transaction(which);
    client& who = *which.who;
    if (which.incoming) {
        RemoveEntryList(&which.queue_entry);
        --who.incoming;
    }
    which.state = transaction_state::time_wait;
    InsertTailList(&who.time_wait, &which.queue_entry);
    if (++who.time_wait_count > max_time_wait)
        free_transaction(*CONTAINING_RECORD(who.time_wait.Flink, transaction, queue_entry));
    set_due(which, which.rmpp->deadline());
}

// Begins to receive a response of many segments to a single datagram. The transfer has its own
// timers.
void port_context::begin_response(transaction& which) {
    which.rmpp.reset(new (std::nothrow) transfer(settings_of(which)));
    if (which.rmpp == nullptr) return which.who->count(&ibmf_stats_t::st_no_memory);
    which.state = transaction_state::transferring;
}

void port_context::begin_incoming(guard& locked, const received_mad& here) {
    client& who = *here.who;
    const mad_view& first = here.view;
    if (receive_handler_of(who, here.qp).receive_callback == nullptr)
        return who.count(&ibmf_stats_t::st_no_callback);
    if (offline || !has_room_for(here.from, who)) return who.count(&ibmf_stats_t::st_overflows);
    transaction* const fresh = acquire();
    if (fresh == nullptr) return who.count(&ibmf_stats_t::st_no_memory);
    fresh->rmpp.reset(new (std::nothrow) transfer(unsolicited_settings()));
    if (fresh->rmpp == nullptr) {
        release(*fresh);
        return who.count(&ibmf_stats_t::st_no_memory);
    }
    fresh->state = transaction_state::transferring;
    fresh->sequenced = fresh->in_flight = fresh->urgent = fresh->driver_rmpp = false;
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
    InsertTailList(&who.receiving, &fresh->queue_entry);
    ++who.incoming;
    who.count(&ibmf_stats_t::st_transactions);
    by_tid_.insert(*fresh);
    const ticks now = locked.clock_upper_bound();
    fresh->rmpp->receive(first, now);
    progress(locked, *fresh, now);
}

} // namespace irpverbs::ibmf
