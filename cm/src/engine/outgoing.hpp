// Datagrams of communication management: addresses, and messages that are to be sent.
#pragma once

#include <ibmf/ibmf.h>

#include <cm/messages.hpp>

#include <saa/sa_recs.h>

#include <array>

namespace irpverbs::cm::engine {

/// A peer's port: its LID, or on Ethernet its address.
struct peer_port {
    ib_lid_t lid = 0;
    ib_gid_t gid{};

    bool operator==(const peer_port&) const = default;
};

/// The way to the manager of a peer's port.
struct datagram_address {
    ibmf_addr_info_t local{};
    ibmf_global_addr_info_t global{};
    bool has_global = false;

    /// The source of a received datagram.
    static datagram_address source_of(const ibmf_msg_t& received) {
        return {received.im_local_addr, received.im_global_addr,
                (received.im_msg_flags & IBMF_MSG_FLAGS_GLOBAL_ADDRESS) != 0};
    }
    /// The port that has sent a received datagram.
    peer_port sender() const {
        const bool has_lid = local.ia_remote_lid != 0 || !has_global;
        return has_lid ? peer_port{local.ia_remote_lid, {}} : peer_port{0, global.ig_sender_gid};
    }
    /// The other end of a path.
    static datagram_address along(const sa_path_record_t& path);
};

using datagram = std::array<std::uint8_t, ibmf::mad_size>;

struct outgoing {
    datagram_address to;
    datagram bytes;
};

} // namespace irpverbs::cm::engine
