// The UDP socket of an address or of a multicast group, on the port of RoCEv2.
#pragma once

#include "arrival.hpp"

#include <memory>
#include <sys/socket.h>

namespace irpverbs::hca_software::roce {

enum class reception {
    bound, // by the socket that sends, which has the port: no privilege is needed
    raw    // by a raw socket, while the kernel or another program has the port: CAP_NET_RAW
};

/// A socket that sends is not connected, so that the kernel sends IPv4 packets with an
/// identification of 0, which the invariant CRC covers.
class udp_socket {
public:
    explicit udp_socket(reception how);
    ~udp_socket();
    udp_socket(const udp_socket&) = delete;
    udp_socket& operator=(const udp_socket&) = delete;

    /// Binds the address; `scope` is the index of its interface. Returns an errno; 0: it is bound.
    int open(const ib_gid_t& local, unsigned scope);
    /// Joins the multicast group on the interface of this index, and binds it: no other packets are
    /// received. Other sockets of the system may be bound to it, too, and each gets a copy.
    int open_group(const ib_gid_t& group, unsigned scope);
    /// The descriptor that becomes readable.
    int descriptor() const { return receives_; }
    const ib_gid_t& local() const { return local_; }
    /// The port from which it sends.
    USHORT port() const { return port_; }

    /// Sends a payload to `way.to` with that traffic class. The hop limit is the system's, and to a
    /// group that of `way` unless it is 0. Returns an errno; 0: it is sent. Never blocks.
    int send(const global_route& way, const_bytes payload) const;

    /// Reads the packets that have arrived, at most most_arrivals; `to` has room for them. Returns
    /// their number. One thread at a time.
    std::size_t receive(arrival* to);

private:
    struct buffers;

    int make(const ib_gid_t& local, unsigned scope);
    int open_sender();
    int bind_to(int descriptor, USHORT port) const;
    bool read(const mmsghdr& from, const_bytes content, arrival& into) const;

    const reception how_;
    int receives_ = -1;
    int sends_ = -1; // the same, unless that one is raw
    USHORT port_ = udp_port;
    ib_gid_t local_{};
    unsigned scope_ = 0;
    std::unique_ptr<buffers> buffers_;
};

} // namespace irpverbs::hca_software::roce
