// Messages of peers: to which connection or listener they belong.
#include "port.hpp"

#include "client.hpp"
#include "transport_type.hpp"
#include "valid.hpp"

#include <boost/endian/conversion.hpp>

#include <algorithm>

namespace irpverbs::cm::engine {

namespace {

/// Additional information of a rejection.
struct rejection_cause {
    std::uint16_t reason = 0; // 0: the request is possible
    std::uint8_t info_length = 0;
    bytes<rejection_info_size> info{};
};

rejection_cause with_gid(std::uint16_t reason, const ib_gid_t& gid) {
    rejection_cause made{reason, sizeof(gid)};
    boost::endian::store_big_u64(made.info.data(), gid.gid_prefix);
    boost::endian::store_big_u64(made.info.data() + 8, gid.gid_guid);
    return made;
}

rejection_cause with_lid(std::uint16_t reason, ib_lid_t lid) {
    rejection_cause made{reason, sizeof(lid)};
    boost::endian::store_big_u16(made.info.data(), lid);
    return made;
}

rejection_cause with_value(std::uint16_t reason, std::uint8_t value) {
    return {reason, 1, {value}};
}

constexpr std::uint8_t lowest_rate = 2; // 2.5 Gb/s, which each port has

bool is_sender(const path_fields& of, const port_attributes& port) {
    return port.is_ethernet ? port.path_to(of.local_gid).has_value() : is_unicast(of.local_lid);
}

/// Source: IBA 12.6.7.2. On Ethernet LIDs are not read, and alternate paths are not loaded.
rejection_cause check(const req_message& req, const cm_port& at) {
    const port_attributes& port = at.attributes();
    if (req.local_id == 0) return {IB_CM_REJ_INVALID_COMM_ID};
    if (!is_client_qp(req.qpn) || req.ca_guid == 0 || !port.pkey_index(req.p_key) ||
        !is_sender(req.primary, port))
        return {IB_CM_REJ_UNSUPPORTED};
    if (!passive_type(req)) return {IB_CM_REJ_INVALID_TRANSPORT_TYPE};
    if (req.mtu < IB_MTU_256 || req.mtu > port.mtu)
        return with_value(IB_CM_REJ_INVALID_MTU, port.mtu);
    if (!port.is_ethernet && !port.has_lid(req.primary.remote_lid))
        return with_lid(IB_CM_REJ_INVALID_LID, port.lid);
    if (!port.gid_index(req.primary.remote_gid))
        return with_gid(IB_CM_REJ_INVALID_GID, port.gids.empty() ? ib_gid_t{} : port.gids.front());
    if (!is_rate(req.primary.packet_rate))
        return with_value(IB_CM_REJ_INVALID_PACKET_RATE, lowest_rate);
    if (!req.has_alternate() || port.is_ethernet) return {};
    if (!is_unicast(req.alternate.remote_lid)) return with_lid(IB_CM_REJ_INVALID_ALT_LID, port.lid);
    if (!is_rate(req.alternate.packet_rate))
        return with_value(IB_CM_REJ_INVALID_ALT_PACKET_RATE, lowest_rate);
    return {};
}

std::span<const std::uint8_t> whole(const ibmf_msg_t& received) {
    const ibmf_msg_bufs_t& parts = received.im_msgbufs_recv;
    return {reinterpret_cast<const std::uint8_t*>(parts.im_bufs_mad_hdr),
            ibmf::mad_header_size + parts.im_bufs_cl_hdr_len + parts.im_bufs_cl_data_len};
}

} // namespace

void cm_port::received(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
    cm_port& self = *static_cast<cm_port*>(context);
    const std::optional<any_message> message = decode(whole(*msg));
    const datagram_address source = datagram_address::source_of(*msg);
    ibmf_free_msg(handle, &msg);
    guard locked(self);
    if (self.closing_) return;
    ++self.counters.received;
    if (message)
        self.receive(*message, source, locked.fx);
    else
        ++self.counters.malformed;
}

void cm_port::receive(const any_message& message, const datagram_address& source, effects& fx) {
    if (const auto* const req = std::get_if<req_message>(&message))
        return receive_request(*req, message, source, fx);
    if (const auto* const req = std::get_if<sidr_req_message>(&message))
        return receive_resolution(*req, source, fx);
    if (const auto* const rep = std::get_if<sidr_rep_message>(&message))
        return receive_response(*rep, fx);
    if (std::holds_alternative<lap_message>(message))
        return receive_path_request(message, source, fx);
    if (std::holds_alternative<apr_message>(message)) return receive_path_response(message, fx);
    connection* const to =
        std::visit([this](const auto& each) { return addressee(each); }, message);
    if (to == nullptr) return respond_to_stranger(message, source, fx);
    if (is_early_rejection(message, *to)) return;
    cause why{event_of(message, *to), fx};
    why.message = &message;
    why.source = &source;
    if (!to->raise(why)) ++counters.unexpected;
}

// The peer's id is known from its first message on.
template <class Message>
connection* cm_port::addressee(const Message& message) {
    if constexpr (requires { message.remote_id; }) {
        const auto found = connections_.find(message.remote_id);
        if (found == connections_.end()) return nullptr;
        return found->peer.id == 0 || found->peer.id == message.local_id ? &*found : nullptr;
    } else {
        return nullptr;
    }
}

// A peer that gives up may not know this end's id, and one without connection has no id.
connection* cm_port::addressee(const rej_message& message) {
    if (message.remote_id == 0 && message.reason == IB_CM_REJ_TIMEOUT &&
        message.info_length >= sizeof(ib_guid_t)) {
        const ib_guid_t guid = boost::endian::load_big_u64(message.info.data());
        const auto found = by_remote_id_.find({guid, message.local_id});
        return found != by_remote_id_.end() ? &*found : nullptr;
    }
    const auto found = connections_.find(message.remote_id);
    if (found == connections_.end()) return nullptr;
    const bool same =
        message.local_id == 0 || found->peer.id == 0 || found->peer.id == message.local_id;
    return same ? &*found : nullptr;
}

// The peer has not called CmConnect yet: the request is repeated.
bool cm_port::is_early_rejection(const any_message& message, const connection& to) {
    const auto* const rej = std::get_if<rej_message>(&message);
    return to.is_peer_to_peer && rej != nullptr && rej->reason == IB_CM_REJ_INVALID_SERVICE_ID;
}

event cm_port::event_of(const any_message& message, const connection& to) {
    if (const auto* const rep = std::get_if<rep_message>(&message)) {
        const ib_qpn_t qpn = queue_pair_in(*rep, to.terms.type);
        return is_client_qp(qpn) && rep->ca_guid != 0 ? event::rep : event::bad_rep;
    }
    if (std::holds_alternative<mra_message>(message)) return event::mra;
    if (std::holds_alternative<rej_message>(message)) return event::rej;
    if (std::holds_alternative<rtu_message>(message)) return event::rtu;
    if (std::holds_alternative<dreq_message>(message)) return event::dreq;
    return event::drep;
}

// An unknown connection has ended: its peer is to end, too.
void cm_port::respond_to_stranger(const any_message& message, const datagram_address& to,
                                  effects& fx) {
    ++counters.unexpected;
    if (const auto* const dreq = std::get_if<dreq_message>(&message)) {
        drep_message drep;
        drep.local_id = dreq->remote_id;
        drep.remote_id = dreq->local_id;
        fx.send(to, drep, new_transaction_id());
    } else if (const auto* const rep = std::get_if<rep_message>(&message)) {
        rej_message rej;
        rej.remote_id = rep->local_id;
        rej.rejected = message_kind::rep;
        rej.reason = IB_CM_REJ_INVALID_COMM_ID;
        fx.send(to, rej, new_transaction_id());
    }
}

// Source: IBA 12.8.2.
void cm_port::receive_path_request(const any_message& message, const datagram_address& source,
                                   effects& fx) {
    const auto& lap = std::get<lap_message>(message);
    connection* const to = addressee(lap);
    const bool again = to != nullptr && to->knows(lap);
    apr_message apr;
    apr.status = again           ? std::uint8_t{IB_CM_AP_LOADED}
                 : to != nullptr ? to->check(lap)
                                 : std::uint8_t{IB_CM_AP_INVALID_COMM_ID};
    if (apr.status != IB_CM_AP_LOADED) {
        apr.local_id = lap.remote_id;
        apr.remote_id = lap.local_id;
        return fx.send(source, apr, new_transaction_id());
    }
    if (!to->reserve_exchange()) return; // the LAP is lost, and comes again
    cause why{again ? event::lap_again : event::lap, fx};
    why.message = &message;
    if (!to->raise(why)) ++counters.unexpected;
}

void cm_port::receive_path_response(const any_message& message, effects& fx) {
    const auto& apr = std::get<apr_message>(message);
    connection* const to = addressee(apr);
    cause why{apr.status == IB_CM_AP_LOADED ? event::apr : event::apr_refused, fx};
    why.message = &message;
    if (to == nullptr || !to->raise(why)) ++counters.unexpected;
}

void cm_port::receive_request(const req_message& req, const any_message& message,
                              const datagram_address& source, effects& fx) {
    if (receive_duplicate(req, message, source, fx)) return;
    const auto stale = by_remote_qp_.find({req.ca_guid, req.qpn});
    if (stale != by_remote_qp_.end()) {
        reject(req, IB_CM_REJ_STALE_CONN, source, fx);
        stale->raise({event::stale, fx});
        return;
    }
    if (const rejection_cause why = check(req, *this); why.reason != 0) {
        ++counters.rejected;
        rej_message rej;
        rej.remote_id = req.local_id;
        rej.reason = why.reason;
        rej.info_length = why.info_length;
        rej.info = why.info;
        fx.send(source, rej, new_transaction_id());
        return;
    }
    if (connection* const peer = find_peer_of(req)) {
        const std::pair own(ca_guid, peer->qp.attributes().num);
        if (own > std::pair(req.ca_guid, req.qpn)) return; // it responds to this end's request
        cause why{event::peer_req, fx};
        why.message = &message;
        why.source = &source;
        if (!peer->raise(why)) ++counters.unexpected;
        return;
    }
    offer(req, source, fx);
}

// An id that the peer uses again belongs to a new request once the old one has ended.
bool cm_port::receive_duplicate(const req_message& req, const any_message& message,
                                const datagram_address& source, effects& fx) {
    const auto known = by_remote_id_.find({req.ca_guid, req.local_id});
    if (known == by_remote_id_.end()) return false;
    if (!known->is_request(req)) {
        if (known->now() == state::timewait) {
            by_remote_id_.erase(known);
            return false;
        }
        reject(req, IB_CM_REJ_DUPLICATE_LOCAL_COMM_ID, source, fx);
        return true;
    }
    ++counters.duplicates;
    cause why{event::req, fx};
    why.message = &message;
    why.source = &source;
    known->raise(why);
    return true;
}

// The end with the larger GUID, or queue pair, stays the active one.
connection* cm_port::find_peer_of(const req_message& req) {
    if (peer_connects == 0) return nullptr;
    for (connection& each : connections_) {
        const bool requests = each.now() == state::req_sent || each.now() == state::mra_req_rcvd;
        if (!each.is_peer_to_peer || !requests || each.terms.service_id != req.service_id ||
            each.terms.primary.DGID != req.primary.local_gid)
            continue;
        return &each;
    }
    return nullptr;
}

listener* cm_port::find_listener(ib_svc_id_t service, service_kind kind,
                                 std::span<const std::uint8_t> private_data) {
    const auto [first, last] = listeners_.equal_range(service);
    const auto found = std::find_if(first, last, [&](const listener& each) {
        return each.kind == kind && each.matches(private_data);
    });
    return found != last ? &*found : nullptr;
}

void cm_port::offer(const req_message& req, const datagram_address& source, effects& fx) {
    listener* const to = find_listener(req.service_id, service_kind::connections, req.private_data);
    if (to == nullptr) return reject(req, IB_CM_REJ_INVALID_SERVICE_ID, source, fx);
    const bool has_room = to->make_room_for(source.sender(), fx);
    const connection_ref fresh = has_room ? connection::make(*this, role::passive) : nullptr;
    if (fresh == nullptr || !fresh->take_request(req, source))
        return reject(req, IB_CM_REJ_NO_RESOURCES, source, fx);
    add(*fresh);
    to->offer(*fresh, fx);
}

void cm_port::reject(const req_message& req, std::uint16_t reason, const datagram_address& to,
                     effects& fx) {
    ++counters.rejected;
    rej_message rej;
    rej.remote_id = req.local_id;
    rej.reason = reason;
    fx.send(to, rej, new_transaction_id());
}

} // namespace irpverbs::cm::engine
