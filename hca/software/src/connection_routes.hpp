// Communication management for the agents of one adapter. Each process has a connection manager of
// its own, and the managers of a port share its messages.
#pragma once

#include "datagram.hpp"

#include <ci/driver.h>

#include <deque>
#include <map>

namespace irpverbs::hca_software {

/// A message belongs to the agent that has sent the communication ID that it names. A request goes
/// to one agent after another, until one does not reject its service as unknown. All functions run
/// under the fabric's lock. Without memory a route is not learned, and its messages go to the
/// port's first agent.
class connection_routes {
public:
    /// The agents of a port that receive such messages, in the order of their registration.
    using managers = std::span<HCA_MAD_AGENT* const>;

    explicit connection_routes(packet_pool& packets) : packets_(packets) {}
    connection_routes(const connection_routes&) = delete;
    connection_routes& operator=(const connection_routes&) = delete;

    /// Returns the receiver of a message, one of `all`, which is not empty.
    HCA_MAD_AGENT* receiver(const packet& what, managers all);
    /// Learns from a message that `by` receives.
    void note_received(const packet& what, HCA_MAD_AGENT& by, bool is_only_manager);

    /// A message that an agent sends.
    struct sent_message {
        HCA_MAD_AGENT& by;
        const IB_MAD_ADDRESS& to;
        const UCHAR* mad;
    };
    struct decision {
        bool is_sent = true;
        packet* again = nullptr; // for deliver()
    };
    /// Learns from a message. The rejection of a request that has another manager is not sent: that
    /// manager receives the request, or has received it.
    decision note_sent(const sent_message& what, managers all);

    /// Forgets an agent, which `all` still contains. Each of its connections is given to
    /// send(IB_MAD_ADDRESS, mad_bytes) as the request that disconnects it, and each of its
    /// unanswered requests, for another manager, to deliver(packet*).
    template <class Send, class Deliver>
    void remove(const HCA_MAD_AGENT& agent, managers all, const Send& send,
                const Deliver& deliver) {
        std::erase_if(connections_, [&](const auto& each) {
            if (each.second.owner != &agent) return false;
            if (each.second.established) send(each.second.to, disconnect_request(each));
            return true;
        });
        std::erase_if(offers_, [&](offer& each) {
            if (each.asked != &agent) return false;
            packet* const again = ask_next(each, all);
            if (again == nullptr && each.request != nullptr) packets_.free(each.request);
            if (again != nullptr) deliver(again);
            return again == nullptr;
        });
    }

private:
    struct connection {
        HCA_MAD_AGENT* owner = nullptr;
        IB_MAD_ADDRESS to{};
        ULONG peer_id = 0;
        ib_qpn_t peer_qp = 0;
        bool established = false;
        bool disconnecting = false; // its agent has sent a DREQ
    };
    using connections = std::map<ULONG, connection>; // by the own communication ID

    /// A port with a manager: its LID, or on Ethernet its address.
    struct peer_port {
        ib_lid_t lid = 0;
        ib_gid_t gid{};

        bool operator==(const peer_port&) const = default;
    };

    /// A request that no agent has accepted or rejected.
    struct offer {
        peer_port from;
        USHORT attribute;
        ULONG id; // of its sender
        ib_qpn_t peer_qp;
        HCA_MAD_AGENT* asked;
        packet* request; // a copy; null: there was one manager
    };
    using offers = std::vector<offer>;
    // Peers need not reply: the oldest is forgotten.
    static constexpr std::size_t most_offers = 256;
    static constexpr std::size_t most_unsettled = 16'384;

    static mad_bytes disconnect_request(const connections::value_type& which);
    static peer_port sender_of(const packet& what);
    static peer_port receiver_of(const sent_message& what);
    offers::iterator find_offer(const peer_port& from, USHORT attribute, ULONG id);
    void erase(offers::iterator which);
    HCA_MAD_AGENT* owner_of(ULONG id) const;
    void learn(const sent_message& from);
    void add_unsettled(ULONG id);
    void note_disconnecting(ULONG id, const HCA_MAD_AGENT& by);
    void forget(ULONG id, const HCA_MAD_AGENT& by);
    decision close_offer(const sent_message& with, USHORT request, ULONG id,
                         bool is_unknown_service, managers all);
    packet* ask_next(offer& which, managers all);

    packet_pool& packets_;
    connections connections_;
    std::deque<ULONG> unsettled_; // IDs of connections that no reply need follow, the oldest first
    offers offers_;               // the oldest first; none without a registered agent
};

/// Changes a message to a port without a manager into its response: the rejection of a request, or
/// the end of a connection that does not exist. Returns false for messages without a response.
bool refuse_without_manager(mad_bytes& message);

} // namespace irpverbs::hca_software
