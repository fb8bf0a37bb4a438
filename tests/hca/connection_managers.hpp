// Connection managers on one port of a software HCA, as several processes have them, and a peer.
#pragma once

#include "mad_client.hpp"

#include <support/both_machines.hpp>

namespace irpverbs::testing::connection_managers {

inline constexpr UCHAR connections_class = 7;
inline constexpr UCHAR send = 3;
enum : USHORT {
    REQ = 0x10,
    MRA = 0x11,
    REJ = 0x12,
    REP = 0x13,
    RTU = 0x14,
    DREQ = 0x15,
    DREP = 0x16
};
enum : USHORT { SIDR_REQ = 0x17, SIDR_REP = 0x18 };
inline constexpr USHORT unknown_service = 8;
inline constexpr USHORT no_resources = 3;
inline constexpr USHORT timeout = 4;
inline constexpr UCHAR sidr_not_supported = 1;

inline IB_MAD_AGENT_ATTR manager(UCHAR port = 1) {
    IB_MAD_AGENT_ATTR attr = agent_of(connections_class, {send}, port);
    attr.ClassVersion = 2;
    return attr;
}

inline mad message(USHORT attribute, ULONG local, ULONG remote) {
    mad made(connections_class, send, attribute);
    made.at(2) = 2;
    return made.put<4>(24, local).put<4>(28, remote);
}
inline mad request(ULONG id) { return message(REQ, id, 0).put<3>(56, 0x123456); }
inline mad reply(ULONG local, ULONG remote) {
    return message(REP, local, remote).put<3>(36, 0xABCDEF);
}
inline mad resolution(ULONG id, UCHAR status) {
    return message(SIDR_REP, id, 0).put<1>(28, status);
}
inline mad rejection(ULONG remote, USHORT reason) {
    return message(REJ, 0, remote).put<2>(34, reason);
}

using seen = std::pair<USHORT, ULONG>; // attribute and communication ID

class ConnectionManagers : public BothMachines {
protected:
    /// The attribute and the ID of the receiver.
    static seen next(mad_client& of) {
        const mad got = of.receive().data;
        return {static_cast<USHORT>(got.get<2>(16)), static_cast<ULONG>(got.get<4>(28))};
    }
    static seen next_sender(mad_client& of) {
        const mad got = of.receive().data;
        return {static_cast<USHORT>(got.get<2>(16)), static_cast<ULONG>(got.get<4>(24))};
    }
    IB_MAD_ADDRESS to_one() { return to_lid(one.lid()); }
    IB_MAD_ADDRESS to_two() { return to_lid(two.lid()); }

    void expect_request(mad_client& at, ULONG id) { EXPECT_EQ(next_sender(at), seen(REQ, id)); }
    /// The peer requests a connection, which `by`, the first manager, accepts.
    void accept(mad_client& by, ULONG own, ULONG peers) {
        peer.send(to_one(), request(peers));
        expect_request(by, peers);
        by.send(to_two(), reply(own, peers));
        EXPECT_EQ(next(peer), seen(REP, peers));
    }
    /// A manager requests a connection, which the peer accepts.
    void connect(mad_client& by, ULONG own, ULONG peers) {
        by.send(to_two(), request(own));
        expect_request(peer, own);
        peer.send(to_one(), reply(peers, own));
        EXPECT_EQ(next(by), seen(REP, own));
    }
    void expect_disconnect(ULONG own, ULONG peers, ib_qpn_t qp) {
        const mad got = peer.receive().data;
        EXPECT_EQ(got.get<2>(16), DREQ);
        EXPECT_EQ(got.get<4>(24), own);
        EXPECT_EQ(got.get<4>(28), peers);
        EXPECT_EQ(got.get<3>(32), qp);
    }
    /// Nothing is on its way to the peer: messages arrive in the order of their sending.
    void expect_nothing_from(mad_client& any) {
        any.send(to_two(), request(last));
        expect_request(peer, last);
    }
    /// Nothing is on its way to the first manager.
    void expect_nothing_for(mad_client& first) {
        peer.send(to_one(), request(last));
        expect_request(first, last);
    }
    static constexpr ULONG last = 100'000;
    static constexpr ib_lid_t unused_lid = 0x4000;

    attached hcas;
    open_hca one{hcas.fdo(0)};
    open_hca two{hcas.fdo(1)};
    mad_client peer{two, manager()};
};

} // namespace irpverbs::testing::connection_managers
