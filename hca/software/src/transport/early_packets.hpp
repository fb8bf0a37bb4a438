// Packets that have overtaken others on the way: they are kept until those in front of them have
// come.
#pragma once

#include "packet.hpp"

#include <boost/intrusive/list.hpp>

#include <atomic>
#include <memory>

namespace irpverbs::hca_software::transport {

/// The room for the early packets of an HCA, whose peers decide how many there are.
class early_packet_room {
public:
    explicit early_packet_room(ULONG packets) : left_(packets) {}

private:
    friend class early_packets;

    bool take();
    void give() { left_.fetch_add(1, std::memory_order_relaxed); }

    std::atomic<ULONG> left_;
};

/// The early packets of one half of a queue pair, in the order of their numbers, one of each.
/// Guarded by the lock of that half.
class early_packets {
public:
    /// A packet with a copy of its payload.
    struct kept : boost::intrusive::list_base_hook<> {
        packet content;
        std::unique_ptr<UCHAR[]> bytes;
    };
    class giver {
    public:
        explicit giver(early_packet_room* to = nullptr) : to_(to) {}
        void operator()(kept* ended) const;

    private:
        early_packet_room* to_;
    };
    using kept_ptr = std::unique_ptr<kept, giver>;

    /// Null: none is kept.
    explicit early_packets(early_packet_room* room) : room_(room) {}
    ~early_packets() { clear(); }
    early_packets(const early_packets&) = delete;
    early_packets& operator=(const early_packets&) = delete;

    bool is_enabled() const { return room_ != nullptr; }
    bool is_empty() const { return list_.empty(); }
    /// Keeps a packet behind `next`. False: it is too far behind, or there is no room. Its
    /// execution is to be acknowledged, since the peer may be sending it again.
    bool keep(const packet& what, psn next);
    /// Removes the packet with the number `next`, and all before it. Null: it is not here.
    kept_ptr take(psn next);
    /// The one with the least number.
    const packet& first() const { return list_.front().content; }
    kept_ptr take_first();
    void clear();

private:
    kept_ptr copy_of(const packet& what);

    early_packet_room* const room_;
    boost::intrusive::list<kept> list_;
};

} // namespace irpverbs::hca_software::transport
