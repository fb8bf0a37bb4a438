#include "connection_routes.hpp"

#include <algorithm>
#include <utility>

namespace irpverbs::hca_software {

namespace {

// Source: IBA 12.6 (attributes of communication management).
enum attribute : USHORT {
    req = 0x10,
    mra = 0x11,
    rej = 0x12,
    rep = 0x13,
    dreq = 0x15,
    drep = 0x16,
    sidr_req = 0x17,
    sidr_rep = 0x18,
};

constexpr USHORT invalid_service_id = 8; // reason of a REJ
constexpr UCHAR sidr_not_supported = 1;  // status of a SIDR_REP

/// The fields of a message, in place. Source: IBA 12.6.5 to 12.6.11, 12.11.1.
struct message {
    const UCHAR* bytes;

    USHORT attribute() const { return load16(bytes + 16); }
    ULONG local_id() const { return load32(bytes + 24); } // also the request ID of SIDR
    ULONG remote_id() const { return load32(bytes + 28); }
    UCHAR sidr_status() const { return bytes[28]; }
    USHORT reason() const { return load16(bytes + 34); }
    ib_qpn_t qp_of_req() const { return static_cast<ib_qpn_t>(load<3>(bytes + 56)); }
    // An XRC target stands in the field of an EE context. Source: IBA A14.3.2.
    ib_qpn_t qp_of_rep() const {
        const std::uint64_t number = load<3>(bytes + 36);
        return static_cast<ib_qpn_t>(number != 0 ? number : load<3>(bytes + 40));
    }

    bool is_request() const { return attribute() == req || attribute() == sidr_req; }
    /// The communication ID of the receiver.
    ULONG id_of_receiver() const { return attribute() == sidr_rep ? local_id() : remote_id(); }
};

} // namespace

mad_bytes connection_routes::disconnect_request(const connections::value_type& which) {
    mad_bytes made{};
    made[0] = base_version;
    made[1] = class_connections;
    made[2] = connections_version;
    made[3] = method_send;
    store<2>(&made[16], dreq);
    store<4>(&made[24], which.first);
    store<4>(&made[28], which.second.peer_id);
    store<3>(&made[32], which.second.peer_qp);
    return made;
}

connection_routes::peer_port connection_routes::sender_of(const packet& what) {
    return what.from != 0 ? peer_port{what.from, {}} : peer_port{0, what.route.from};
}

connection_routes::peer_port connection_routes::receiver_of(const sent_message& what) {
    return what.to.Lid != 0 ? peer_port{what.to.Lid, {}} : peer_port{0, what.to.Gid};
}

connection_routes::offers::iterator connection_routes::find_offer(const peer_port& from,
                                                                  USHORT attribute, ULONG id) {
    return std::ranges::find_if(offers_, [&](const offer& each) {
        return each.from == from && each.attribute == attribute && each.id == id;
    });
}

void connection_routes::erase(offers::iterator which) {
    if (which->request != nullptr) packets_.free(which->request);
    offers_.erase(which);
}

HCA_MAD_AGENT* connection_routes::owner_of(ULONG id) const {
    const auto found = connections_.find(id);
    return found == connections_.end() ? nullptr : found->second.owner;
}

HCA_MAD_AGENT* connection_routes::receiver(const packet& what, managers all) {
    const message arrived{what.mad.data()};
    HCA_MAD_AGENT* found = nullptr;
    if (!arrived.is_request()) found = owner_of(arrived.id_of_receiver());
    if (found == nullptr) {
        // A peer that has received no reply rejects a request by its own ID alone.
        const USHORT request = arrived.is_request() ? arrived.attribute() : USHORT{req};
        const auto offered = find_offer(sender_of(what), request, arrived.local_id());
        if (offered != offers_.end()) found = offered->asked;
    }
    return std::ranges::find(all, found) != all.end() ? found : all.front();
}

void connection_routes::note_received(const packet& what, HCA_MAD_AGENT& by,
                                      bool is_only_manager) try {
    const message arrived{what.mad.data()};
    if (arrived.is_request()) {
        const auto known = find_offer(sender_of(what), arrived.attribute(), arrived.local_id());
        if (known != offers_.end()) return;
        if (offers_.size() == most_offers) erase(offers_.begin());
        offers_.push_back({sender_of(what), arrived.attribute(), arrived.local_id(),
                           arrived.qp_of_req(), &by, nullptr});
        if (!is_only_manager) offers_.back().request = packets_.copy(what);
        return;
    }
    if (arrived.attribute() == rej) {
        const auto withdrawn = find_offer(sender_of(what), req, arrived.local_id());
        if (withdrawn != offers_.end()) erase(withdrawn);
    }
    const auto found = connections_.find(arrived.id_of_receiver());
    if (found == connections_.end()) return;
    connection& of = found->second;
    if (arrived.attribute() == rep) {
        of.peer_id = arrived.local_id();
        of.peer_qp = arrived.qp_of_rep();
        of.established = true;
    } else if (arrived.attribute() == sidr_rep || arrived.attribute() == rej ||
               arrived.attribute() == drep) {
        connections_.erase(found);
    } else if (arrived.attribute() == dreq) {
        of.established = false;
    }
} catch (const std::bad_alloc&) {
}

// An ID that another agent used belongs to the one that has sent it last.
void connection_routes::learn(const sent_message& from) {
    const message sent{from.mad};
    const auto [place, is_new] = connections_.try_emplace(sent.local_id());
    if (is_new) add_unsettled(sent.local_id());
    connection& made = place->second;
    made.owner = &from.by;
    made.to = from.to;
    if (sent.is_request()) return;
    made.peer_id = sent.remote_id();
    const auto offered = find_offer(receiver_of(from), req, made.peer_id);
    if (offered != offers_.end()) made.peer_qp = offered->peer_qp;
    made.established = sent.attribute() == rep;
}

void connection_routes::add_unsettled(ULONG id) {
    if (unsettled_.size() == most_unsettled) {
        const auto oldest = connections_.find(unsettled_.front());
        if (oldest != connections_.end() &&
            (!oldest->second.established || oldest->second.disconnecting))
            connections_.erase(oldest);
        unsettled_.pop_front();
    }
    unsettled_.push_back(id);
}

void connection_routes::note_disconnecting(ULONG id, const HCA_MAD_AGENT& by) {
    const auto found = connections_.find(id);
    if (found == connections_.end() || found->second.owner != &by) return;
    if (!std::exchange(found->second.disconnecting, true)) add_unsettled(id);
}

void connection_routes::forget(ULONG id, const HCA_MAD_AGENT& by) {
    if (owner_of(id) == &by) connections_.erase(id);
}

connection_routes::decision connection_routes::note_sent(const sent_message& what,
                                                         managers all) try {
    const message sent{what.mad};
    switch (sent.attribute()) {
    case req:
    case sidr_req:
        learn(what);
        return {};
    case mra:
        if (owner_of(sent.local_id()) == nullptr) learn(what);
        return close_offer(what, req, sent.remote_id(), false, all);
    case rep:
        learn(what);
        return close_offer(what, req, sent.remote_id(), false, all);
    case rej:
        forget(sent.local_id(), what.by);
        return close_offer(what, req, sent.remote_id(), sent.reason() == invalid_service_id, all);
    case sidr_rep:
        return close_offer(what, sidr_req, sent.local_id(),
                           sent.sidr_status() == sidr_not_supported, all);
    case drep:
        forget(sent.local_id(), what.by);
        return {};
    case dreq:
        note_disconnecting(sent.local_id(), what.by);
        return {};
    default:
        return {};
    }
} catch (const std::bad_alloc&) {
    return {};
}

// A manager that received a request twice rejects it twice.
connection_routes::decision connection_routes::close_offer(const sent_message& with, USHORT request,
                                                           ULONG id, bool is_unknown_service,
                                                           managers all) {
    const auto offered = find_offer(receiver_of(with), request, id);
    if (offered == offers_.end()) return {};
    if (offered->asked != &with.by) return {.is_sent = !is_unknown_service};
    packet* const again = is_unknown_service ? ask_next(*offered, all) : nullptr;
    if (again != nullptr) return {false, again};
    erase(offered);
    return {};
}

packet* connection_routes::ask_next(offer& which, managers all) {
    const auto asked = std::ranges::find(all, which.asked);
    if (which.request == nullptr || asked == all.end() || asked + 1 == all.end()) return nullptr;
    packet* const again = packets_.copy(*which.request);
    if (again != nullptr) which.asked = *(asked + 1);
    return again;
}

bool refuse_without_manager(mad_bytes& what) {
    const message received{what.data()};
    const USHORT kind = received.attribute();
    const ULONG id = received.local_id(), own_id = received.remote_id();
    if (kind != req && kind != sidr_req && kind != dreq) return false;
    std::fill(what.begin() + 24, what.end(), UCHAR{0});
    if (kind == req) {
        store<2>(&what[16], rej);
        store<4>(&what[28], id);
        store<2>(&what[34], invalid_service_id);
    } else if (kind == sidr_req) {
        store<2>(&what[16], sidr_rep);
        store<4>(&what[24], id);
        what[28] = sidr_not_supported;
    } else {
        store<2>(&what[16], drep);
        store<4>(&what[24], own_id);
        store<4>(&what[28], id);
    }
    return true;
}

} // namespace irpverbs::hca_software
