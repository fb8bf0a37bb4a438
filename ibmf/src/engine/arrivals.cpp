// What comes from the driver, and whose it is. A datagram is hostile until it is known.
#include <engine/port.hpp>

#include <engine/bytes.hpp>

#include <algorithm>
#include <new>

namespace irpverbs::ibmf {

namespace {

constexpr std::uint64_t most_callbacks_due = 1024; // of one client

bool from_peer_of(const transaction& of, const IB_MAD_ADDRESS& from) {
    return of.mgmt_class == MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE || same_peer(of.peer, from);
}

// An answer that is no transfer, to a request that is one: only an error may be that short.
bool refuses(const mad_view& answer) { return answer.header().status != 0; }

// Of a message of any length as many bytes as a datagram has.
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

void port::receive(guard& under, agent& through, const IB_MAD_RECEIVED& what) {
    ++counts.st_datagrams_received;
    mad_view view;
    const mad_bytes bytes(static_cast<const std::uint8_t*>(what.Data), what.Length);
    std::array<std::uint8_t, mad_size> padded;
    const mad_bytes datagram = through.whole ? first_of(bytes, padded) : bytes;
    if (mad_view::parse(datagram, view) != mad_fault::none ||
        bytes.size() < view.layout().data_offset()) {
        ++counts.st_malformed;
        return;
    }
    const mad_header& header = view.header();
    if (header.mgmt_class != through.mgmt_class) {
        ++counts.st_wrong_class;
        return;
    }
    const mad_bytes data = bytes.subspan(view.layout().data_offset());
    arrival here{view, data, what.From, through.owner, through.whole};
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
    if (which == nullptr && !ours && here.who != nullptr && here.who->ready) {
        // To something sent without waiting for it.
        ++here.who->counts.st_datagrams_received;
        return hand_up(under, here);
    }
    if (which == nullptr || which->at == phase::queued || which->incoming ||
        is_answer(which->method) || (which->irp == nullptr && which->rmpp == nullptr)) {
        ++counts.st_stale;
        return;
    }
    client& who = *which->who;
    ++who.counts.st_datagrams_received;
    if (which->mgmt_class != header.mgmt_class) return who.count(&ibmf_stats_t::st_wrong_class);
    if (!from_peer_of(*which, here.from)) return who.count(&ibmf_stats_t::st_wrong_peer);
    answered(under, *which, here);
}

void port::answered(guard& under, transaction& which, const arrival& here) {
    const mad_view& answer = here.view;
    // To what was refused, and will be sent from its beginning.
    if (which.at == phase::backing_off && which.rmpp != nullptr)
        return which.who->count(&ibmf_stats_t::st_stale);
    const ticks now = now_or_later();
    const bool transfer = which.who->has_rmpp() && answer.rmpp_active();
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

// Of the peers that this client talks to, the transfer that a datagram belongs to. When there is
// one in either direction, data are for the one that receives.
transaction* port::transfer_with(const arrival& here) const {
    const mad_header& header = here.view.header();
    const bool data = here.view.rmpp().type == rmpp_type::data;
    const auto belongs = [&](const transaction& each, bool incoming) {
        return each.who == here.who && each.rmpp != nullptr && each.incoming == incoming &&
               (incoming || is_answer(each.method)) && each.mgmt_class == header.mgmt_class &&
               same_peer(each.peer, here.from);
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
    if (!who.has_rmpp() || !here.view.rmpp_active() || here.whole) return hand_up(under, here);
    if (transaction* const known = transfer_with(here)) {
        const ticks now = now_or_later();
        known->rmpp->receive(here.view, now);
        return progress(under, *known, now);
    }
    const rmpp_header rmpp = here.view.rmpp();
    if (rmpp.type == rmpp_type::data && rmpp.first())
        return begin_incoming(under, who, here.view, here.from);
    who.count(&ibmf_stats_t::st_stale);
}

void port::hand_up(guard& under, const arrival& single) {
    client& who = *single.who;
    if (who.unasked == nullptr) return who.count(&ibmf_stats_t::st_no_callback);
    rmpp::message_buffer whole;
    if (!whole.begin(single.view, 0) || !whole.append(single.data))
        return who.count(&ibmf_stats_t::st_no_memory);
    hand_up(under, who, whole, single.from);
}

void port::hand_up(guard& under, client& who, rmpp::message_buffer& whole,
                   const IB_MAD_ADDRESS& from) {
    if (who.unasked == nullptr) return who.count(&ibmf_stats_t::st_no_callback);
    if (who.counts.st_callbacks_active >= most_callbacks_due)
        return who.count(&ibmf_stats_t::st_overflows);
    message* const fresh = messages.make(who);
    if (fresh == nullptr) return who.count(&ibmf_stats_t::st_no_memory);
    InsertTailList(&who.messages, &fresh->of_client);
    who.count(&ibmf_stats_t::st_msgs_alloced);
    who.count(&ibmf_stats_t::st_msgs_received);
    const mad_header header = load_mad_header(whole.header().first<mad_header_size>());
    attributes.write_from(fresh->shown, from, header.mgmt_class);
    fresh->take(whole, header.transaction_id);
    fresh->how = told_by::unasked;
    fresh->call = who.unasked;
    fresh->argument = who.unasked_argument;
    fresh->set_up = who.set_ups;
    who.deliver(under, *fresh);
}

} // namespace irpverbs::ibmf
