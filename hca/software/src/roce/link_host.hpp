// A host of its own on an Ethernet link: it has a hardware address and IP addresses, resolves those
// of its neighbors, and responds to address resolution and echo requests. All peers are on the
// link: it has no routes.
#pragma once

#include "arrival.hpp"
#include "icmp.hpp"
#include "neighbors.hpp"
#include "packet_descriptor.hpp"

namespace irpverbs::hca_software::roce {

struct arp_message;

/// IRQL of all: <= DISPATCH_LEVEL, and threads: any, unless stated. A frame for which there is no
/// memory, or which the link does not take, is lost.
class link_host {
public:
    /// `link` has the frames of others; those to the host itself are written to `loop`. Both are
    /// the caller's. IRQL of both: PASSIVE_LEVEL.
    link_host(const hardware_address& hardware, std::vector<ib_gid_t> addresses,
              const packet_descriptor& link, const packet_descriptor& loop);
    ~link_host();
    link_host(const link_host&) = delete;
    link_host& operator=(const link_host&) = delete;

    /// States the host's addresses to all others.
    void announce() const;

    /// Sends a payload of UDP to udp_port of `way.to`, from `way.from`, one of its addresses.
    /// Returns an errno; 0: it is sent, or waits for the hardware address.
    int send(const global_route& way, const_bytes payload);

    /// Reads a frame and responds to it. True: `into` is a UDP payload for udp_port, inside
    /// `frame`.
    bool receive(const_bytes frame, arrival& into);

    /// Packets of a group are received until `leave`; each call counts. Throws: std::bad_alloc.
    void join(const ib_gid_t& group);
    void leave(const ib_gid_t& group);

private:
    /// An Ethernet header to be written, and what follows it in front of the payload.
    using headers = std::array<UCHAR, ethernet_header_size + max_route_size>;

    bool has(const ib_gid_t& address) const;
    bool is_member(const ib_gid_t& group);
    bool receives(const ib_gid_t& address);

    int write(const packet_descriptor& to, const hardware_address& at, ethernet_type type,
              std::span<UCHAR> header, const_bytes payload) const;
    void send_icmp(const global_route& way, const hardware_address& at, const_bytes message) const;
    void send_arp(const arp_message& what, const hardware_address& at) const;
    void request(const ib_gid_t& address, const ib_gid_t& from) const;
    void schedule_requests();
    void repeat_requests();
    void advertise(const ib_gid_t& own, const ib_gid_t& to, const hardware_address& at) const;

    void learn(const ib_gid_t& address, const hardware_address& hardware, bool overrides,
               bool is_new);
    void receive_arp(const arp_message& what);
    void receive_neighbor(const neighbor_message& what, const ib_gid_t& from,
                          const hardware_address& at);
    bool receive_ip(const ip_packet& what, const hardware_address& from, arrival& into);
    bool read(const_bytes frame, arrival& into);

    const hardware_address hardware_;
    const std::vector<ib_gid_t> addresses_;
    const packet_descriptor& link_;
    const packet_descriptor& loop_;
    neighbors neighbors_;
    KSPIN_LOCK lock_ = 0;
    std::vector<ib_gid_t> groups_; // one for each call of `join`; guarded by lock_, as the next two
    bool timer_is_set_ = false;
    bool is_closed_ = false;
    KTIMER timer_;
    KDPC dpc_;
};

} // namespace irpverbs::hca_software::roce
