// The path on which the work requests of a connection pass straight through the fabric.
#pragma once

#include "node.hpp"

#include "transport/straight_through.hpp"

#include <boost/intrusive/list.hpp>

#include <array>
#include <optional>

namespace irpverbs::hca_software {

struct queue_pair;

/// The links that packets pass from one end port to another.
class straight_route {
public:
    static constexpr std::size_t most_links = 8; // a longer route is left to packets

    /// False: there are too many.
    bool add(port& out) {
        if (count_ == most_links) return false;
        out_[count_++] = &out;
        return true;
    }
    /// Counts packets at both ports of each link.
    void count(ULONGLONG packets, ULONGLONG words) const;

    port* end = nullptr;       // the port of arrival
    bool is_sampled = false;   // a port of it is being sampled: its packets are counted one by one
    ULONGLONG route_words = 0; // of each packet's local and global route header and ICRC

private:
    std::array<port*, most_links> out_{};
    std::size_t count_ = 0;
};

/// Members without a note are guarded by the requester's lock of the queue pair.
class straight_path : public boost::intrusive::list_base_hook<> {
public:
    queue_pair* to = nullptr;   // null: packets are needed
    ULONGLONG examined = 0;     // fabric::examination() at that time; 0: it has to be
    ULONG revision_of_peer = 0; // queue_pair::revision, when it was examined
    straight_route forth;       // guarded by the fabric's lock, as the next
    straight_route back;

    std::optional<transport::straight_terms> terms; // of both ends; they have values if `to` has
    transport::straight_totals totals;              // for the counters of the ports

    /// Counts what has passed since the last call. The caller holds the fabric's lock.
    void count();

private:
    transport::straight_traffic counted_; // guarded by the fabric's lock
};

/// The paths of a fabric's connections.
using straight_paths =
    boost::intrusive::list<straight_path, boost::intrusive::constant_time_size<false>>;

} // namespace irpverbs::hca_software
