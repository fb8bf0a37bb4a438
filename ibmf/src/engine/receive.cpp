// Datagrams from the driver, and the selection of their receiver. A datagram is hostile until it is
// checked.
#include <engine/port_context.hpp>

#include <engine/message_codec.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace irpverbs::ibmf {

namespace {

constexpr std::uint64_t max_callbacks_queued = 1024; // per client

bool from_peer_of(const transaction& of, const IB_MAD_ADDRESS& from) {
    const bool directed = of.qp == 0 && of.mgmt_class == MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE;
    return directed || same_peer(of.peer, from);
}

// Source: IBA 15.4 (methods of the SA).
constexpr std::uint8_t sa_get_table = 0x12;
constexpr std::uint8_t sa_get_trace_table = 0x13;

std::uint8_t response_method_of(std::uint8_t method) {
    switch (method) {
    case MAD_METHOD_SET:
        return MAD_METHOD_GET_RESPONSE;
    case MAD_METHOD_TRAP:
        return MAD_METHOD_TRAP_REPRESS;
    case sa_get_trace_table:
        return sa_get_table | MAD_RESPONSE_BIT;
    default:
        return method | MAD_RESPONSE_BIT;
    }
}

// An ACK in the middle of a transfer, or a refusal, may have the request's method with the response
// bit.
bool has_response_method(const transaction& of, const mad_view& response) {
    const std::uint8_t method = response.header().method;
    if (method == response_method_of(of.method)) return true;
    const bool no_result = response.rmpp_active() || response.header().status != 0;
    return no_result && method == (of.method | MAD_RESPONSE_BIT);
}

// A peer that does not know a version, or reports an error, may respond with its own version.
bool is_response_to(const transaction& of, const mad_view& response) {
    if (!has_response_method(of, response)) return false;
    if (of.msg == nullptr) return true;
    const ibmf_msg_bufs_t& request = of.msg->public_part.im_msgbufs_send;
    const mad_header asked = header_of(request);
    const mad_header& header = response.header();
    if (response.oui() != oui_of(request).value_or(response.oui())) return false;
    return header.status != 0 || header.class_version == asked.class_version;
}

// True for an error. Only an error may respond to an RMPP request with a single datagram.
bool is_error(const mad_view& response) { return response.header().status != 0; }

// Returns the first 256 bytes of a message of any length, padded.
mad_bytes first_of(mad_bytes whole, std::array<std::uint8_t, mad_size>& padded) {
    if (whole.size() >= mad_size) return whole.first(mad_size);
    padded.fill(0);
    std::ranges::copy(whole, padded.begin());
    return padded;
}

} // namespace

void port_context::received(IB_MAD_AGENT*, void* slot, const IB_MAD_RECEIVED* what) {
    agent& through = *static_cast<agent*>(slot);
    port_context& self = *through.at;
    guard locked(self);
    self.receive(locked, through, *what);
}

// The client exists as long as its queue pairs.
void port_context::received_at_qp(IB_MAD_AGENT*, void* qp, const IB_MAD_RECEIVED* what) {
    alternate_qp& through = *static_cast<alternate_qp*>(qp);
    port_context& self = *through.owner.at;
    guard locked(self);
    ++self.counts.st_datagrams_received;
    if (through.raw()) return self.receive_raw(locked, through, *what);
    mad_view view;
    const mad_bytes bytes(static_cast<const std::uint8_t*>(what->Data), what->Length);
    if (!self.parse(bytes, bytes.size(), view)) return;
    const received_mad here{view, view.data(), what->From, &through.owner, &through, false};
    if (is_response_method(view.header().method)) return self.response_received(locked, here);
    ++through.owner.counts.st_datagrams_received;
    self.request_received(locked, here);
}

// Checks the first datagram of a message of `length` bytes.
bool port_context::parse(mad_bytes datagram, std::size_t length, mad_view& view) {
    if (mad_view::parse(datagram, view) == mad_fault::none && length >= view.layout().data_offset())
        return true;
    ++counts.st_malformed;
    return false;
}

void port_context::receive(guard& locked, agent& through, const IB_MAD_RECEIVED& what) {
    ++counts.st_datagrams_received;
    mad_view view;
    const mad_bytes bytes(static_cast<const std::uint8_t*>(what.Data), what.Length);
    std::array<std::uint8_t, mad_size> padded;
    if (!parse(through.driver_rmpp ? first_of(bytes, padded) : bytes, bytes.size(), view)) return;
    const mad_header& header = view.header();
    if (header.mgmt_class != through.mgmt_class) {
        ++counts.st_wrong_class;
        return;
    }
    const mad_bytes data = bytes.subspan(view.layout().data_offset());
    received_mad here{view, data, what.From, through.owner, nullptr, through.driver_rmpp};
    if (is_response_method(header.method)) return response_received(locked, here);
    if (here.who == nullptr) here.who = find_client(receiver_of(view));
    if (here.who == nullptr || !here.who->ready) {
        ++counts.st_no_client;
        return;
    }
    ++here.who->counts.st_datagrams_received;
    request_received(locked, here);
}

void port_context::response_received(guard& locked, const received_mad& here) {
    const mad_header& header = here.view.header();
    const auto key = static_cast<std::uint32_t>(header.transaction_id);
    transaction* const which = find(key);
    const bool ours = (key & transaction_slots::key_mark) != 0;
    if (which == nullptr && here.who != nullptr && here.who->ready &&
        (!ours || here.who->unsequenced.contains(key))) {
        // A response to an unsequenced send; segments of a transfer are excluded.
        ++here.who->counts.st_datagrams_received;
        const bool part =
            has_rmpp(*here.who, here.qp) && here.view.rmpp_active() && !here.driver_rmpp;
        return part ? here.who->count(&ibmf_stats_t::st_stale) : deliver(locked, here);
    }
    if (which == nullptr || which->state == transaction_state::queued || which->incoming ||
        is_response_method(which->method) || (which->irp == nullptr && which->rmpp == nullptr)) {
        ++counts.st_stale;
        return;
    }
    client& who = *which->who;
    ++who.counts.st_datagrams_received;
    if (which->mgmt_class != header.mgmt_class) return who.count(&ibmf_stats_t::st_wrong_class);
    if (which->qp != key_of(here.qp) || !from_peer_of(*which, here.from))
        return who.count(&ibmf_stats_t::st_wrong_peer);
    if (!is_response_to(*which, here.view)) return who.count(&ibmf_stats_t::st_wrong_response);
    handle_response(locked, *which, here);
}

void port_context::handle_response(guard& locked, transaction& which, const received_mad& here) {
    const mad_view& response = here.view;
    // A response to the refused transfer, which will restart.
    if (which.state == transaction_state::backing_off && which.rmpp != nullptr)
        return which.who->count(&ibmf_stats_t::st_stale);
    const ticks now = locked.clock_upper_bound();
    const bool transfer = has_rmpp(*which.who, which.who->qp_of(which)) && response.rmpp_active();
    if (transfer && !here.driver_rmpp) {
        if (which.rmpp == nullptr) {
            const bool begins = which.sequenced && response.rmpp().type == rmpp_type::data &&
                                response.rmpp().first();
            if (!begins) return which.who->count(&ibmf_stats_t::st_stale);
            begin_response(which);
            if (which.rmpp == nullptr) return;
        }
        which.rmpp->receive(response, now);
        return progress(locked, which, now);
    }
    if (!which.sequenced || which.irp == nullptr) return which.who->count(&ibmf_stats_t::st_stale);
    if (response.rmpp_active() != transfer ||
        (which.driver_rmpp && !transfer && !is_error(response)))
        return end(locked, which, IBMF_UNEXP_TRANS_RECVD);
    if (which.rmpp != nullptr && (which.rmpp->begun() || !is_error(response))) {
        which.rmpp->cancel(now);
        transmit(locked, which, now);
        return end(locked, which, IBMF_UNEXP_TRANS_RECVD);
    }
    const std::uint16_t status = response.header().status;
    if ((status & MAD_STATUS_BUSY) != 0) return back_off(locked, which);
    const bool elsewhere = (status & MAD_STATUS_REDIRECT_REQUIRED) != 0;
    if (elsewhere && redirect(locked, which, response)) return;
    complete_with_response(locked, which, response, here.data);
}

// Returns the transfer of this client and the sender that a datagram belongs to. If there is one in
// each direction, DATA belong to the receiving one.
transaction* port_context::find_transfer(const received_mad& here) const {
    const mad_header& header = here.view.header();
    const bool data = here.view.rmpp().type == rmpp_type::data;
    const auto belongs = [&](const transaction& each, bool incoming) {
        return each.who == here.who && each.qp == key_of(here.qp) && each.rmpp != nullptr &&
               each.incoming == incoming && (incoming || is_response_method(each.method)) &&
               each.mgmt_class == header.mgmt_class && same_peer(each.peer, here.from);
    };
    const auto find_direction = [&](bool incoming) {
        return by_tid_.find(header.transaction_id,
                            [&](const transaction& each) { return belongs(each, incoming); });
    };
    transaction* const first = find_direction(data);
    return first != nullptr ? first : find_direction(!data);
}

void port_context::request_received(guard& locked, const received_mad& here) {
    client& who = *here.who;
    if (!has_rmpp(who, here.qp) || !here.view.rmpp_active() || here.driver_rmpp)
        return deliver(locked, here);
    if (transaction* const known = find_transfer(here)) {
        const ticks now = locked.clock_upper_bound();
        known->rmpp->receive(here.view, now);
        return progress(locked, *known, now);
    }
    const rmpp_header rmpp = here.view.rmpp();
    if (rmpp.type == rmpp_type::data && rmpp.first()) return begin_incoming(locked, here);
    who.count(&ibmf_stats_t::st_stale);
}

void port_context::deliver(guard& locked, const received_mad& single) {
    client& who = *single.who;
    if (receive_handler_of(who, single.qp).receive_callback == nullptr)
        return who.count(&ibmf_stats_t::st_no_callback);
    rmpp::message_buffer whole;
    if (!whole.begin(single.view, 0) || !whole.append(single.data))
        return who.count(&ibmf_stats_t::st_no_memory);
    deliver(locked, who, single.qp, whole, single.from, {rmpp::transfer_state::complete});
}

void port_context::deliver(guard& locked, client& who, alternate_qp* qp,
                           rmpp::message_buffer& whole, const IB_MAD_ADDRESS& from,
                           const rmpp::outcome& how) {
    const mad_header header = load_mad_header(whole.header().first<mad_header_size>());
    message* const fresh = make_unsolicited(who, qp, from, header.mgmt_class);
    if (fresh == nullptr) return;
    fresh->set_received(whole, header.transaction_id);
    fresh->transfer_end = how;
    if (how.state == rmpp::transfer_state::truncated)
        fresh->public_part.im_msg_status = IBMF_PARTIAL_TRANSFER;
    who.deliver(locked, *fresh);
}

void port_context::receive_raw(guard& locked, alternate_qp& through, const IB_MAD_RECEIVED& what) {
    client& who = through.owner;
    ++who.counts.st_datagrams_received;
    rmpp::message_buffer::block block(static_cast<std::uint8_t*>(std::malloc(what.Length)));
    if (block == nullptr) return who.count(&ibmf_stats_t::st_no_memory);
    message* const fresh = make_unsolicited(who, &through, what.From, 0);
    if (fresh == nullptr) return;
    std::memcpy(block.get(), what.Data, what.Length);
    fresh->set_received_raw(std::move(block), what.Length);
    who.deliver(locked, *fresh);
}

// Null: the message is not delivered, and a counter has the reason.
message* port_context::make_unsolicited(client& who, alternate_qp* qp, const IB_MAD_ADDRESS& from,
                                        std::uint8_t mgmt_class) {
    receive_handler& handler = receive_handler_of(who, qp);
    const auto drop = [&](auto counter) {
        who.count(counter);
        return nullptr;
    };
    if (handler.receive_callback == nullptr) return drop(&ibmf_stats_t::st_no_callback);
    if (who.counts.st_callbacks_active >= max_callbacks_queued)
        return drop(&ibmf_stats_t::st_overflows);
    message* const fresh = messages.allocate(who);
    if (fresh == nullptr) return drop(&ibmf_stats_t::st_no_memory);
    InsertTailList(&who.messages, &fresh->client_entry);
    who.count(&ibmf_stats_t::st_msgs_alloced);
    who.count(&ibmf_stats_t::st_msgs_received);
    attributes.fill_from(fresh->public_part, from, qp != nullptr ? 0 : mgmt_class);
    if (qp != nullptr) {
        fresh->public_part.im_local_addr.ia_p_key = qp->keys.PKey;
        fresh->public_part.im_local_addr.ia_q_key = qp->keys.QKey;
    }
    fresh->completion = completion_style::unsolicited;
    fresh->call = handler.receive_callback;
    fresh->argument = handler.receive_argument;
    fresh->handler = &handler;
    fresh->receive_generation = handler.receive_generation;
    return fresh;
}

} // namespace irpverbs::ibmf
