// An agent with a queue pair of its own, for tests.
#pragma once

#include "mad_client.hpp"

#include <numeric>
#include <vector>

namespace irpverbs::testing {

inline constexpr ib_qkey_t own_qkey = 0x1234;
inline constexpr ULONG full_mtu = 4096;

inline IB_MAD_AGENT_ATTR own_qp(UCHAR kind, ib_qkey_t qkey = own_qkey,
                                ib_pkey_t pkey = IB_PKEY_DEFAULT_FULL, UCHAR port = 1) {
    IB_MAD_AGENT_ATTR attr{};
    attr.PortNumber = port;
    attr.QpKind = kind;
    attr.Keys = {pkey, qkey};
    return attr;
}

inline ib_qpn_t number_of(const mad_client& of) { return of.agent()->Attr.Qp; }

inline NTSTATUS send_raw(const mad_client& by, const IB_MAD_ADDRESS& to,
                         const std::vector<UCHAR>& what) {
    IB_MAD_SEND sent{};
    sent.To = to;
    sent.Data = what.data();
    sent.Length = static_cast<ULONG>(what.size());
    return verb_call([&](IRP* irp) { return CiSendMad(by.agent(), &sent, irp); }).status();
}

inline std::vector<UCHAR> receive_raw(const mad_client& at) {
    std::vector<UCHAR> bytes(full_mtu);
    IB_MAD_RECEIVE into{};
    into.Data = bytes.data();
    into.Size = full_mtu;
    verb_call get([&](IRP* irp) { return CiGetMad(at.agent(), &into, irp); });
    EXPECT_EQ(get.status(), STATUS_SUCCESS);
    EXPECT_EQ(get.information(), into.Length);
    bytes.resize(into.Length);
    return bytes;
}

inline std::vector<UCHAR> counted(std::size_t size) {
    std::vector<UCHAR> bytes(size);
    std::iota(bytes.begin(), bytes.end(), UCHAR{0});
    return bytes;
}

} // namespace irpverbs::testing
