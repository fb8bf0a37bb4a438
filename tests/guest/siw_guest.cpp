// The rdma driver on the kernel's siw, which is iWARP without LIDs, P_Keys and management. Runs in
// the guest, with --devices siw.
#include "verbs_guest.hpp"

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

class SiwGuest : public VerbsGuest {};

TEST_F(SiwGuest, QueryPort_ReturnsNoLidAndNoPKeys) {
    const device hca("siw0");
    const open_hca ca(hca.fdo());
    const port_block port(ca, 1);
    EXPECT_EQ(port->State, IB_PORT_ACTIVE);
    EXPECT_EQ(port->LinkLayer, 2);
    EXPECT_EQ(port->Lid, 0);
    EXPECT_EQ(port->PKeyCount, 0);
    EXPECT_EQ(port->GidCount, 1);
    IB_CA_ATTR attr{};
    const auto query = [&](IRP* irp) { return CiQueryCa(ca, sizeof(attr), &attr, irp); };
    EXPECT_STREQ(name_of(verb_call(query).status()), "STATUS_BUFFER_OVERFLOW");
    EXPECT_EQ(attr.Transport, ULONG{IB_TRANSPORT_IWARP});
    EXPECT_EQ(attr.MaxSgesOfRead, 1u); // siw reads into the first of several and reports success
}

TEST_F(SiwGuest, Send_ToALid_Fails) {
    const device hca("siw0");
    const open_hca ca(hca.fdo());
    const IB_MAD_AGENT_ATTR attr = agent_of(0x04);
    const auto registering = [&](IRP* irp) {
        return CiRegisterMadAgent(ca, &attr, nullptr, nullptr, irp);
    };
    EXPECT_STREQ(name_of(verb_call(registering).status()), "STATUS_NOT_SUPPORTED");
}

TEST_F(SiwGuest, ResizeCq_ReturnsNotSupported) {
    const device hca("siw0");
    const open_hca ca(hca.fdo());
    const destroyed_at_the_end cq{create_cq(ca, 16)};
    EXPECT_GE(cq.cq->NumCqes, 16u);
    const auto resizing = [&](IRP* irp) { return CiResizeCq(cq, 32, nullptr, irp); };
    EXPECT_STREQ(name_of(verb_call(resizing).status()), "STATUS_NOT_SUPPORTED");
    EXPECT_STREQ(name_of(verb_call(arming(cq)).status()), "STATUS_SUCCESS");
    EXPECT_TRUE(poll(cq).empty());
}

TEST_F(SiwGuest, LinkEvent_DownAndUp_EachIsReportedOnce) {
    const device hca("siw0");
    const open_hca ca(hca.fdo());
    for (int turn = 0; turn < 2; ++turn) {
        shell("ip link set rx0 down");
        EXPECT_EQ(next_event(ca), static_cast<ULONG_PTR>(IB_AE_PORT_ERROR));
        shell("ip link set rx0 up");
        EXPECT_EQ(next_event(ca), static_cast<ULONG_PTR>(IB_AE_PORT_ACTIVE));
    }
}

TEST_F(SiwGuest, MacAddressChanged_LidChangeIsReported) {
    const device hca("siw0");
    const open_hca ca(hca.fdo());
    for (const char* address : {"02:00:00:00:77:07", "02:00:00:00:77:01"}) {
        shell(std::string("ip link set rx0 address ") + address);
        EXPECT_EQ(next_event(ca), static_cast<ULONG_PTR>(IB_AE_LID_CHANGE));
    }
}

TEST_F(SiwGuest, DeviceRemoval_WithPendingVerbs_CompletesThem) {
    std::unique_ptr<system_thread> remover;
    {
        const device hca("siw1");
        IB_CA* ca = open_ca(hca.fdo());
        verb_call fatal(waiting_for_end(ca));
        verb_call port(waiting_for_port(ca));
        remover = std::make_unique<system_thread>([] { shell("rdma link delete siw1"); });
        create_until_the_end(ca);
        EXPECT_STREQ(name_of(fatal.status()), "STATUS_SUCCESS");
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
        EXPECT_STREQ(name_of(port.status()), "STATUS_CANCELLED");
    }
    remover->join();
}

} // namespace
