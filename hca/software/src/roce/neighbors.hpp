// The hardware addresses of the hosts on a link, and the packets that wait for one.
#pragma once

#include "hardware_address.hpp"
#include "packet.hpp"

#include <dispatch/ke.h>

#include <map>
#include <optional>
#include <vector>

namespace irpverbs::hca_software::roce {

/// IRQL of all: <= DISPATCH_LEVEL. Threads: any.
class neighbors {
public:
    /// All that is behind an Ethernet header, in two parts.
    using packet = std::vector<UCHAR>;

    struct resolution {
        std::optional<hardware_address> address; // none: the packet waits
        bool is_request_due = false;             // the link is to be asked for it
    };
    /// Resolves the address of a packet. If it is not known, a copy waits for it; the oldest of
    /// most_waiting gives way. A known address that nothing has confirmed for 30 s is requested
    /// again, and used until the response comes. Throws: std::bad_alloc.
    resolution resolve(const ib_gid_t& address, const_bytes headers, const_bytes payload);

    /// Returns the addresses that packets wait for and that are to be requested again, a second
    /// after the last time. An address that was requested 3 times is forgotten, with its packets.
    /// Throws: std::bad_alloc.
    std::vector<ib_gid_t> due_requests();
    bool is_any_unknown();

    /// A host has stated its address. `overrides`: it replaces a known one; `is_new`: it is stored
    /// also if nothing was sent to it. Returns the packets that have waited. Throws:
    /// std::bad_alloc.
    std::vector<packet> learn(const ib_gid_t& address, const hardware_address& hardware,
                              bool overrides, bool is_new);

    static constexpr ULONGLONG request_interval = 10'000'000; // units of KeQueryInterruptTime
    static constexpr std::size_t most = 1024;                 // beyond, the oldest is forgotten
    static constexpr std::size_t most_waiting = 16;

private:
    struct entry {
        std::optional<hardware_address> hardware;
        ULONGLONG confirmed = 0;            // times of the machine
        std::optional<ULONGLONG> requested; // none: since then it was confirmed
        unsigned requests = 0;
        std::vector<packet> waiting;
    };
    struct order {
        bool operator()(const ib_gid_t& one, const ib_gid_t& other) const {
            return std::pair(one.gid_prefix, one.gid_guid) <
                   std::pair(other.gid_prefix, other.gid_guid);
        }
    };

    static void count_request(entry& of, ULONGLONG now);
    entry& add(const ib_gid_t& address, ULONGLONG now);

    KSPIN_LOCK lock_ = 0;
    std::map<ib_gid_t, entry, order> entries_; // guarded by it
};

} // namespace irpverbs::hca_software::roce
