// Datagrams from the driver, and the selection of their receiver. A datagram is hostile until it is
// checked.
#include <engine/port.hpp>

#include <engine/bytes.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace irpverbs::ibmf {

namespace {

constexpr std::uint64_t most_callbacks_due = 1024; // per client

bool from_peer_of(const transaction& of, const IB_MAD_ADDRESS& from) {
    const bool directed = of.qp == 0 && of.mgmt_class == MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE;
    return directed || same_peer(of.peer, from);
}

// Source: IBA 15.4 (methods of the SA).
constexpr std::uint8_t sa_get_table = 0x12;
constexpr std::uint8_t sa_get_trace_table = 0x13;

std::uint8_t answering(std::uint8_t method) {
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
bool answers_by_method(const transaction& of, const mad_view& answer) {
    const std::uint8_t method = answer.header().method;
    if (method == answering(of.method)) return true;
    const bool no_result = answer.rmpp_active() || answer.header().status != 0;
    return no_result && method == (of.method | MAD_RESPONSE_BIT);
}

// A peer that does not know a version, or reports an error, may respond with its own version.
bool answers(const transaction& of, const mad_view& answer) {
    if (!answers_by_method(of, answer)) return false;
    if (of.msg == nullptr) return true;
    const ibmf_msg_bufs_t& question = of.msg->shown.im_msgbufs_send;
    const mad_header asked = header_of(question);
    const mad_header& header = answer.header();
    if (answer.oui() != oui_of(question).value_or(answer.oui())) return false;
    return header.status != 0 || header.class_version == asked.class_version;
}

// True for an error. Only an error may answer an RMPP request with a single datagram.
bool refuses(const mad_view& answer) { return answer.header().status != 0; }

// Returns the first 256 bytes of a message of any length, padded.
mad_bytes first_of(mad_bytes whole, std::array<std::uint8_t, mad_size>& padded) {
    if (whole.size() >= mad_size) return whole.first(mad_size);
    padded.fill(0);
    std::ranges::copy(whole, padded.begin());
    return padded;
}

} // namespace

void port::received(IB_MAD_AGENT*, void* place, const IB_MAD_RECEIVED* what) {
    agent& through = *static_cast<agent*>(place);
    port& self = *through.at;
    guard under(self);
    self.receive(under, through, *what);
}

// The client exists as long as its queue pairs.
void port::received_at_qp(IB_MAD_AGENT*, void* qp, const IB_MAD_RECEIVED* what) {
    alternate_qp& through = *static_cast<alternate_qp*>(qp);
    port& self = *through.owner.at;
    guard under(self);
    ++self.counts.st_datagrams_received;
    if (through.raw()) return self.receive_raw(under, through, *what);
    mad_view view;
    const mad_bytes bytes(static_cast<const std::uint8_t*>(what->Data), what->Length);
    if (!self.parse(bytes, bytes.size(), view)) return;
    const arrival here{view, view.data(), what->From, &through.owner, &through, false};
    if (is_answer(view.header().method)) return self.answer_came(under, here);
    ++through.owner.counts.st_datagrams_received;
    self.request_came(under, here);
}

// Checks the first datagram of a message of `length` bytes.
bool port::parse(mad_bytes datagram, std::size_t length, mad_view& view) {
    if (mad_view::parse(datagram, view) == mad_fault::none && length >= view.layout().data_offset())
        return true;
    ++counts.st_malformed;
    return false;
}

void port::receive(guard& under, agent& through, const IB_MAD_RECEIVED& what) {
    ++counts.st_datagrams_received;
    mad_view view;
    const mad_bytes bytes(static_cast<const std::uint8_t*>(what.Data), what.Length);
    std::array<std::uint8_t, mad_size> padded;
    if (!parse(through.whole ? first_of(bytes, padded) : bytes, bytes.size(), view)) return;
    const mad_header& header = view.header();
    if (header.mgmt_class != through.mgmt_class) {
        ++counts.st_wrong_class;
        return;
    }
    const mad_bytes data = bytes.subspan(view.layout().data_offset());
    arrival here{view, data, what.From, through.owner, nullptr, through.whole};
    if (is_answer(header.method)) return answer_came(under, here);
    if (here.who == nullptr) here.who = find_client(receiver_of(view));
    if (here.who == nullptr || !here.who->ready) {
        ++counts.st_no_client;
        return;
    }
    ++here.who->counts.st_datagrams_received;
    request_came(under, here);
}

void port::answer_came(guard& under, const arrival& here) {
    const mad_header& header = here.view.header();
    const auto key = static_cast<std::uint32_t>(header.transaction_id);
    transaction* const which = find(key);
    const bool ours = (key & slot_table<transaction>::key_mark) != 0;
    if (which == nullptr && here.who != nullptr && here.who->ready &&
        (!ours || here.who->unsequenced.contains(key))) {
        // A response to an unsequenced send; segments of a transfer are excluded.
        ++here.who->counts.st_datagrams_received;
        const bool part = has_rmpp(*here.who, here.qp) && here.view.rmpp_active() && !here.whole;
        return part ? here.who->count(&ibmf_stats_t::st_stale) : hand_up(under, here);
    }
    if (which == nullptr || which->at == phase::queued || which->incoming ||
        is_answer(which->method) || (which->irp == nullptr && which->rmpp == nullptr)) {
        ++counts.st_stale;
        return;
    }
    client& who = *which->who;
    ++who.counts.st_datagrams_received;
    if (which->mgmt_class != header.mgmt_class) return who.count(&ibmf_stats_t::st_wrong_class);
    if (which->qp != key_of(here.qp) || !from_peer_of(*which, here.from))
        return who.count(&ibmf_stats_t::st_wrong_peer);
    if (!answers(*which, here.view)) return who.count(&ibmf_stats_t::st_wrong_answer);
    answered(under, *which, here);
}

void port::answered(guard& under, transaction& which, const arrival& here) {
    const mad_view& answer = here.view;
    // A response to the refused transfer, which will restart.
    if (which.at == phase::backing_off && which.rmpp != nullptr)
        return which.who->count(&ibmf_stats_t::st_stale);
    const ticks now = under.now_or_later();
    const bool transfer = has_rmpp(*which.who, which.who->qp_of(which)) && answer.rmpp_active();
    if (transfer && !here.whole) {
        if (which.rmpp == nullptr) {
            const bool begins =
                which.sequenced && answer.rmpp().type == rmpp_type::data && answer.rmpp().first();
            if (!begins) return which.who->count(&ibmf_stats_t::st_stale);
            begin_response(which);
            if (which.rmpp == nullptr) return;
        }
        which.rmpp->receive(answer, now);
        return progress(under, which, now);
    }
    if (!which.sequenced || which.irp == nullptr) return which.who->count(&ibmf_stats_t::st_stale);
    if (answer.rmpp_active() != transfer || (which.whole && !transfer && !refuses(answer)))
        return end(under, which, IBMF_UNEXP_TRANS_RECVD);
    if (which.rmpp != nullptr && (which.rmpp->begun() || !refuses(answer))) {
        which.rmpp->cancel(now);
        transmit(under, which, now);
        return end(under, which, IBMF_UNEXP_TRANS_RECVD);
    }
    const std::uint16_t status = answer.header().status;
    if ((status & MAD_STATUS_BUSY) != 0) return back_off(under, which);
    const bool elsewhere = (status & MAD_STATUS_REDIRECT_REQUIRED) != 0;
    if (elsewhere && redirect(under, which, answer)) return;
    finish(under, which, answer, here.data);
}

// Returns the transfer of this client and the sender that a datagram belongs to. If there is one in
// each direction, DATA belong to the receiving one.
transaction* port::transfer_with(const arrival& here) const {
    const mad_header& header = here.view.header();
    const bool data = here.view.rmpp().type == rmpp_type::data;
    const auto belongs = [&](const transaction& each, bool incoming) {
        return each.who == here.who && each.qp == key_of(here.qp) && each.rmpp != nullptr &&
               each.incoming == incoming && (incoming || is_answer(each.method)) &&
               each.mgmt_class == header.mgmt_class && same_peer(each.peer, here.from);
    };
    const auto find_way = [&](bool incoming) {
        return by_tid_.find(header.transaction_id,
                            [&](const transaction& each) { return belongs(each, incoming); });
    };
    transaction* const first = find_way(data);
    return first != nullptr ? first : find_way(!data);
}

void port::request_came(guard& under, const arrival& here) {
    client& who = *here.who;
    if (!has_rmpp(who, here.qp) || !here.view.rmpp_active() || here.whole)
        return hand_up(under, here);
    if (transaction* const known = transfer_with(here)) {
        const ticks now = under.now_or_later();
        known->rmpp->receive(here.view, now);
        return progress(under, *known, now);
    }
    const rmpp_header rmpp = here.view.rmpp();
    if (rmpp.type == rmpp_type::data && rmpp.first()) return begin_incoming(under, here);
    who.count(&ibmf_stats_t::st_stale);
}

void port::hand_up(guard& under, const arrival& single) {
    client& who = *single.who;
    if (listener_of(who, single.qp).unasked == nullptr)
        return who.count(&ibmf_stats_t::st_no_callback);
    rmpp::message_buffer whole;
    if (!whole.begin(single.view, 0) || !whole.append(single.data))
        return who.count(&ibmf_stats_t::st_no_memory);
    hand_up(under, who, single.qp, whole, single.from, {rmpp::ending::complete});
}

void port::hand_up(guard& under, client& who, alternate_qp* qp, rmpp::message_buffer& whole,
                   const IB_MAD_ADDRESS& from, const rmpp::outcome& how) {
    const mad_header header = load_mad_header(whole.header().first<mad_header_size>());
    message* const fresh = message_unasked(who, qp, from, header.mgmt_class);
    if (fresh == nullptr) return;
    fresh->take(whole, header.transaction_id);
    fresh->transfer_end = how;
    if (how.how == rmpp::ending::truncated) fresh->shown.im_msg_status = IBMF_PARTIAL_TRANSFER;
    who.deliver(under, *fresh);
}

void port::receive_raw(guard& under, alternate_qp& through, const IB_MAD_RECEIVED& what) {
    client& who = through.owner;
    ++who.counts.st_datagrams_received;
    rmpp::message_buffer::block block(static_cast<std::uint8_t*>(std::malloc(what.Length)));
    if (block == nullptr) return who.count(&ibmf_stats_t::st_no_memory);
    message* const fresh = message_unasked(who, &through, what.From, 0);
    if (fresh == nullptr) return;
    std::memcpy(block.get(), what.Data, what.Length);
    fresh->take_raw(std::move(block), what.Length);
    who.deliver(under, *fresh);
}

// Null: the message is not delivered, and a counter has the reason.
message* port::message_unasked(client& who, alternate_qp* qp, const IB_MAD_ADDRESS& from,
                               std::uint8_t mgmt_class) {
    listener& ear = listener_of(who, qp);
    const auto nobody = [&](auto counter) {
        who.count(counter);
        return nullptr;
    };
    if (ear.unasked == nullptr) return nobody(&ibmf_stats_t::st_no_callback);
    if (who.counts.st_callbacks_active >= most_callbacks_due)
        return nobody(&ibmf_stats_t::st_overflows);
    message* const fresh = messages.make(who);
    if (fresh == nullptr) return nobody(&ibmf_stats_t::st_no_memory);
    InsertTailList(&who.messages, &fresh->of_client);
    who.count(&ibmf_stats_t::st_msgs_alloced);
    who.count(&ibmf_stats_t::st_msgs_received);
    attributes.write_from(fresh->shown, from, qp != nullptr ? 0 : mgmt_class);
    if (qp != nullptr) {
        fresh->shown.im_local_addr.ia_p_key = qp->keys.PKey;
        fresh->shown.im_local_addr.ia_q_key = qp->keys.QKey;
    }
    fresh->how = told_by::unasked;
    fresh->call = ear.unasked;
    fresh->argument = ear.unasked_argument;
    fresh->heard_by = &ear;
    fresh->set_up = ear.set_ups;
    return fresh;
}

} // namespace irpverbs::ibmf
