// The UDP socket of an address or of a multicast group, on the port of RoCEv2.
#pragma once

#include "packet.hpp"

#include <memory>

namespace irpverbs::hca_software::roce {

/// An ordinary socket: it needs no privilege. It is not connected, so that the kernel sends IPv4
/// packets with an identification of 0, which the invariant CRC covers.
class udp_socket {
public:
    udp_socket();
    ~udp_socket();
    udp_socket(const udp_socket&) = delete;
    udp_socket& operator=(const udp_socket&) = delete;

    /// Binds the address; `scope` is the index of its interface. Returns an errno; 0: it is bound.
    int open(const ib_gid_t& local, unsigned scope);
    /// Joins the multicast group on the interface of this index, and binds it: no other packets are
    /// received. Other sockets of the system may be bound to it, too, and each gets a copy.
    int open_group(const ib_gid_t& group, unsigned scope);
    int descriptor() const { return descriptor_; }
    const ib_gid_t& local() const { return local_; }

    /// Sends a payload to `way.to` with that traffic class. The hop limit is the system's, and to a
    /// group that of `way` unless it is 0. Returns an errno; 0: it is sent. Never blocks.
    int send(const global_route& way, const_bytes payload) const;

    struct arrival {
        ip_route route;
        const_bytes payload; // valid until the next call
    };
    static constexpr std::size_t most_arrivals = 32; // of a call

    /// Reads the packets that have arrived, at most most_arrivals; `to` has room for them. Returns
    /// their number. One thread at a time.
    std::size_t receive(arrival* to);

private:
    struct buffers;

    int make(const ib_gid_t& local, unsigned scope);
    int set_options() const;
    int bind_local() const;

    int descriptor_ = -1;
    ib_gid_t local_{};
    unsigned scope_ = 0;
    std::unique_ptr<buffers> buffers_;
};

} // namespace irpverbs::hca_software::roce
