// A datagram on the fabric, and the pool of datagrams.
#pragma once

#include "mad.hpp"

#include <memory>
#include <vector>

namespace irpverbs::hca_software {

struct port;

struct global_route {
    ib_gid_t from{};
    ib_gid_t to{};
    ULONG flow_label = 0;
    UCHAR hop_limit = 0;
    UCHAR traffic_class = 0;
};

/// Content of any length; copies of a datagram share it.
using shared_payload = std::shared_ptr<const std::vector<UCHAR>>;

struct datagram {
    ib_lid_t from = 0;
    ib_lid_t to = 0;
    UCHAR service_level = 0;
    ib_pkey_t pkey = 0;
    ib_qpn_t from_qp = 0;
    ib_qpn_t to_qp = 0;
    ib_qkey_t qkey = 0;
    bool global = false; // `route` is valid
    global_route route;
    USHORT from_udp_port = 0;  // from Ethernet, as the next
    USHORT identification = 0; // of IPv4
    mad_bytes mad;
    shared_payload payload; // content of another length than that of a MAD
    /// Bytes of `payload` that are transport headers and padding; 0: it is no packet of a queue
    /// pair of verbs, whose `payload` begins with its base transport header.
    USHORT transport_headers = 0;

    std::size_t length() const {
        return payload != nullptr ? payload->size() - transport_headers : mad.size();
    }
    bool is_multicast() const { return to >= IB_LID_MULTICAST_FIRST && to != IB_LID_PERMISSIVE; }
    /// True for subnet management, which passes links that are not yet active, needs no partition
    /// and has its own VL. Source: IBA 13.5.1, 7.2.7.
    bool is_smp() const { return to_qp == 0; }
};

struct packet : datagram {
    port* at = nullptr;     // the port at which it arrives
    packet* next = nullptr; // link of a list
    ULONG for_agent = 0;    // its number; 0: the content names the receiver
};

/// The pool of packets. Guarded by the fabric's lock.
class packet_pool {
public:
    packet_pool() { slabs_.reserve(most / slab); }
    packet_pool(const packet_pool&) = delete;
    packet_pool& operator=(const packet_pool&) = delete;

    /// Null: too many packets are in use.
    packet* allocate();
    packet* copy(const packet& of);
    void free(packet* back);

private:
    static constexpr std::size_t most = 1u << 16;
    static constexpr std::size_t slab = 64;

    std::vector<std::unique_ptr<packet[]>> slabs_;
    packet* free_ = nullptr;
};

/// A FIFO, linked by packet::next.
class packet_queue {
public:
    bool empty() const { return first_ == nullptr; }
    void push(packet* last) {
        last->next = nullptr;
        if (first_ == nullptr)
            first_ = last;
        else
            last_->next = last;
        last_ = last;
    }
    packet* pop() {
        packet* taken = first_;
        if (taken != nullptr) first_ = taken->next;
        return taken;
    }

private:
    packet* first_ = nullptr;
    packet* last_ = nullptr;
};

} // namespace irpverbs::hca_software
