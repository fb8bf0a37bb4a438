// The rdma driver on the kernel's siw, which is iWARP without LIDs, P_Keys and management. Runs in
// the guest, with --devices siw.
#include "verbs_guest.hpp"

#include <ci/data_path.h>
#include <ci/qp_changes.hpp>

#include <array>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

class SiwGuest : public VerbsGuest {};

TEST_F(SiwGuest, QueryPort_ReturnsNoLidAndNoPKeys) {
    const device hca("siw0");
    const open_hca ca(hca.fdo());
    const port_block port(ca, 1);
    EXPECT_EQ(port->State, IB_PORT_ACTIVE);
    EXPECT_EQ(port->LinkLayer, IB_LINK_LAYER_ETHERNET);
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

// siw's own connection management connects, but posts are checked in the error state, too.
TEST_F(SiwGuest, Post_OfAtomicsAndImmediateData_ReturnsNotSupported) {
    const device hca("siw0");
    const open_hca ca(hca.fdo());
    IB_PD* domain = allocate_pd(ca);
    const destroyed_at_the_end cq{create_cq(ca, 16)};
    std::array<UCHAR, 64> memory{};
    IB_MR* region = register_mr(domain, memory.data(), memory.size(), IB_AC_LOCAL_WRITE);
    constexpr ib_qp_type_t rc = IB_QPT_RELIABLE_CONN;
    ib_qp_create_t wanted = small_qp(cq);
    wanted.sq_sge = 2;
    IB_QP* pair = create_qp(domain, wanted);
    EXPECT_EQ(modify_qp(pair, ci::to_init(rc, {})), STATUS_SUCCESS);
    EXPECT_EQ(modify_qp(pair, ci::to_state(IB_QPS_ERROR)), STATUS_SUCCESS);
    const auto first = static_cast<ULONGLONG>(reinterpret_cast<std::uintptr_t>(memory.data()));
    std::array<ib_local_ds_t, 2> segments{{{first, 8, region->LKey}, {first + 8, 8, region->LKey}}};
    ib_send_wr_t what{};
    what.ds_array = segments.data();
    what.num_ds = 1;
    for (const ib_wr_type_t type : {WR_FETCH_ADD, WR_COMPARE_SWAP}) {
        what.wr_type = type;
        EXPECT_STREQ(name_of(CiPostSend(pair, &what, nullptr)), "STATUS_NOT_SUPPORTED");
    }
    what.wr_type = WR_SEND;
    what.send_opt = IB_SEND_OPT_IMMEDIATE;
    EXPECT_STREQ(name_of(CiPostSend(pair, &what, nullptr)), "STATUS_NOT_SUPPORTED");
    what.wr_type = WR_RDMA_READ; // siw reads into the first segment only, and reports success
    what.send_opt = 0;
    what.num_ds = 2;
    EXPECT_STREQ(name_of(CiPostSend(pair, &what, nullptr)), "STATUS_INVALID_PARAMETER");
    EXPECT_EQ(destroy_qp(pair), STATUS_SUCCESS);
    EXPECT_EQ(deregister_mr(region), STATUS_SUCCESS);
    EXPECT_EQ(deallocate_pd(domain), STATUS_SUCCESS);
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
