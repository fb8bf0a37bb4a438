// A datagram as umad has it: the header of its own, then the bytes of the datagram.
#pragma once

#include <ci/mad.h>

#include <array>
#include <cstdint>
#include <infiniband/umad.h>
#include <span>
#include <vector>

namespace irpverbs::hca_rdma {

inline constexpr UCHAR rmpp_version = 1;

/// Of a class whose messages may have many segments. Source: IBA 13.6.
bool has_rmpp(UCHAR management_class);
bool is_subnet_management(UCHAR management_class);
/// Of the vendor classes that are told apart by their OUI.
bool has_oui(UCHAR management_class);

/// An answer is not waited for.
bool is_answer(std::span<const UCHAR> datagram);
UCHAR class_of(std::span<const UCHAR> datagram);
/// The agent's half of its transaction id.
std::uint32_t transaction_of(std::span<const UCHAR> datagram);

inline constexpr std::size_t umad_header_size = sizeof(ib_user_mad_t);
inline ib_user_mad_t& header_of(std::span<UCHAR> message) {
    return *reinterpret_cast<ib_user_mad_t*>(message.data());
}
inline std::span<UCHAR> datagram_of(std::span<UCHAR> message) {
    return message.subspan(umad_header_size);
}

/// `from` as umad_send takes it. The kernel has the segments of a message that is `whole` sent.
class outgoing {
public:
    outgoing(const IB_MAD_SEND& from, bool whole);
    std::span<UCHAR> message() { return message_; }

private:
    // Of one segment without asking for memory.
    alignas(ib_user_mad_t) std::array<UCHAR, umad_header_size + IB_MAD_SIZE> small_{};
    std::vector<UCHAR> large_;
    std::span<UCHAR> message_;
};

/// Where a datagram came from.
IB_MAD_ADDRESS sender_of(const ib_mad_addr_t& address);

} // namespace irpverbs::hca_rdma
