// A datagram in the format of umad: umad's header, then the bytes of the datagram.
#pragma once

#include <ci/mad.h>

#include <array>
#include <cstdint>
#include <infiniband/umad.h>
#include <span>
#include <vector>

namespace irpverbs::hca_rdma {

inline constexpr UCHAR rmpp_version = 1;

/// True for a class whose messages may have several segments. Source: IBA 13.6.
bool has_rmpp(UCHAR management_class);
bool is_subnet_management(UCHAR management_class);

/// True for a response, or a TrapRepress, which get no response.
bool is_response(std::span<const UCHAR> datagram);
UCHAR class_of(std::span<const UCHAR> datagram);
/// The agent's half of the TransactionID.
std::uint32_t transaction_of(std::span<const UCHAR> datagram);

inline constexpr std::size_t umad_header_size = sizeof(ib_user_mad_t);
inline ib_user_mad_t& header_of(std::span<UCHAR> message) {
    return *reinterpret_cast<ib_user_mad_t*>(message.data());
}
inline std::span<UCHAR> datagram_of(std::span<UCHAR> message) {
    return message.subspan(umad_header_size);
}

/// Converts `from` to the format of umad_send. The kernel sends the segments of a message that is
/// `kernel_rmpp`.
class outgoing {
public:
    outgoing(const IB_MAD_SEND& from, bool kernel_rmpp);
    std::span<UCHAR> message() { return message_; }

private:
    // Holds one segment without an allocation.
    alignas(ib_user_mad_t) std::array<UCHAR, umad_header_size + IB_MAD_SIZE> small_{};
    std::vector<UCHAR> large_;
    std::span<UCHAR> message_;
};

/// The sender of a datagram.
IB_MAD_ADDRESS sender_of(const ib_mad_addr_t& address);

} // namespace irpverbs::hca_rdma
