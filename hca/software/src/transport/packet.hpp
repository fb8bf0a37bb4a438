// A packet of the transport: its headers as numbers, its payload by reference.
#pragma once

#include "opcode.hpp"
#include "psn.hpp"

#include <ci/qp.h>

#include <array>
#include <cstddef>
#include <span>

namespace irpverbs::hca_software::transport {

inline constexpr std::size_t max_pieces = 32; // as many as a work request has data segments
inline constexpr ULONG max_mtu = 4096;        // bytes

using const_bytes = std::span<const UCHAR>;

/// Pieces of a payload: each data segment may lie in two pages.
inline constexpr std::size_t max_payload_pieces = 2 * max_pieces;

/// The bytes of a payload, in pieces. Their memory belongs to the sender, during a call only.
class payload {
public:
    payload() {}
    explicit payload(const_bytes whole) { append(whole); }

    void append(const_bytes piece) {
        if (piece.empty()) return;
        pieces_[count_++] = piece;
        size_ += static_cast<ULONG>(piece.size());
    }
    ULONG size() const { return size_; }
    std::span<const const_bytes> pieces() const { return {pieces_.data(), count_}; }

private:
    union {
        std::array<const_bytes, max_payload_pieces> pieces_; // the first count_ are initialised
    };
    std::size_t count_ = 0;
    ULONG size_ = 0;
};

// Source: IBA 9.3 (extension headers).
struct rdma_header {
    ULONGLONG address = 0;
    ULONG rkey = 0;
    ULONG length = 0;
};

struct atomic_header {
    ULONGLONG address = 0;
    ULONG rkey = 0;
    ULONGLONG swap_or_add = 0;
    ULONGLONG compare = 0;
};

struct acknowledge_header {
    UCHAR syndrome = 0;
    ULONG msn = 0; // 24 bits
};

struct datagram_header {
    ib_qkey_t qkey = 0;
    ib_qpn_t from_qp = 0;
};

/// The way on which a datagram arrived.
struct arrival {
    ib_lid_t from = 0;
    UCHAR service_level = 0;
    UCHAR path_bits = 0; // of this end's LID
    USHORT pkey_index = 0;
    bool global = false; // `route` is valid
    std::array<UCHAR, 40> route{};
};

/// The extension headers that the row of the opcode names are valid.
struct packet {
    UCHAR opcode = 0;
    bool solicited = false;
    bool migrated = true;
    bool ack_request = false;
    bool forward_congestion = false;  // FECN
    bool backward_congestion = false; // BECN
    ib_pkey_t pkey = IB_PKEY_DEFAULT_FULL;
    ib_qpn_t to_qp = 0;
    psn number;
    datagram_header datagram;
    ULONG to_srq = 0; // the number of the shared receive queue, of XRC
    rdma_header rdma;
    atomic_header atomic;
    acknowledge_header acknowledge;
    ULONGLONG atomic_result = 0;
    ib_net32_t immediate = 0;
    ULONG invalidated_rkey = 0;
    payload content;
    const ib_av_attr_t* to = nullptr; // of a datagram that is sent: the way to its peer
    const arrival* arrived = nullptr; // of a datagram that is received; null: unknown

    const opcode_row& row() const { return row_of(opcode); }
};

} // namespace irpverbs::hca_software::transport
