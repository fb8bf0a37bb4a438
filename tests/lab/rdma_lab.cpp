// The rdma driver on a host of a lab, with queries to OpenSM's SA. rdma_test.py runs each test of
// this program in a new lab.
#include <support/both_machines.hpp>
#include <support/verbs.hpp>

#include <ci/mad.h>
#include <hca/rdma.h>

#include <cstring>
#include <infiniband/umad_sa.h>
#include <iostream>
#include <map>
#include <set>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

constexpr UCHAR sa_class = UMAD_CLASS_SUBN_ADM;
constexpr ULONG time_limit = 20'000; // ms until a missing response fails the test

LARGE_INTEGER from_now(ULONG milliseconds) {
    LARGE_INTEGER due;
    due.QuadPart = -10'000 * static_cast<LONGLONG>(milliseconds);
    return due;
}

bool happens(KEVENT& event, ULONG milliseconds) {
    LARGE_INTEGER due = from_now(milliseconds);
    return KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, &due) == STATUS_SUCCESS;
}

/// A request to the SA.
struct sa_request {
    sa_request(USHORT attribute, ULONG transaction, UCHAR method = UMAD_METHOD_GET) {
        mad.mad_hdr.base_version = UMAD_BASE_VERSION;
        mad.mad_hdr.mgmt_class = sa_class;
        mad.mad_hdr.class_version = UMAD_SA_CLASS_VERSION;
        mad.mad_hdr.method = method;
        mad.mad_hdr.tid = htobe64(transaction);
        mad.mad_hdr.attr_id = htobe16(attribute);
    }
    void put_lid(std::size_t at, ib_lid_t lid, unsigned component) {
        const std::uint16_t value = htobe16(lid);
        std::memcpy(mad.data + at, &value, sizeof(value));
        mad.comp_mask |= htobe64(1ull << component);
    }
    umad_sa_packet mad{};
};

sa_request node_at(ib_lid_t lid, ULONG transaction) {
    sa_request made(UMAD_SA_ATTR_NODE_REC, transaction);
    made.put_lid(0, lid, 0);
    return made;
}

struct response {
    explicit response(ULONG room = IB_MAD_SIZE) : bytes(room) {
        receive.Data = bytes.data();
        receive.Size = room;
    }
    auto get(IB_MAD_AGENT* agent) {
        return [this, agent](IRP* irp) { return CiGetMad(agent, &receive, irp); };
    }
    const umad_sa_packet& mad() const {
        return *reinterpret_cast<const umad_sa_packet*>(bytes.data());
    }
    ULONG transaction() const { return static_cast<ULONG>(be64toh(mad().mad_hdr.tid)); }
    std::uint64_t number_at(std::size_t at) const {
        std::uint64_t value = 0;
        std::memcpy(&value, mad().data + at, sizeof(value));
        return be64toh(value);
    }
    std::vector<UCHAR> bytes;
    IB_MAD_RECEIVE receive{};
};

IB_MAD_AGENT_ATTR sa_client(IB_MAD_RMPP rmpp = IB_MAD_RMPP_BY_CLIENT) {
    IB_MAD_AGENT_ATTR attr{};
    attr.PortNumber = 1;
    attr.ManagementClass = sa_class;
    attr.ClassVersion = UMAD_SA_CLASS_VERSION;
    attr.Rmpp = static_cast<UCHAR>(rmpp);
    attr.ReceiveLimit = 1000;
    return attr;
}

class RdmaLab : public ::testing::Test {
protected:
    IB_MAD_AGENT* make_agent(const IB_MAD_AGENT_ATTR& attr, const IB_MAD_DISPATCH* calls = nullptr,
                             void* context = nullptr) {
        verb_call made(
            [&](IRP* irp) { return CiRegisterMadAgent(ca, &attr, context, calls, irp); });
        EXPECT_STREQ(name_of(made.status()), "STATUS_SUCCESS");
        return made.object<IB_MAD_AGENT>();
    }
    static void end_agent(IB_MAD_AGENT* agent) {
        EXPECT_EQ(verb_call([&](IRP* irp) { return CiDeregisterMadAgent(agent, irp); }).status(),
                  STATUS_SUCCESS);
    }
    NTSTATUS ask(IB_MAD_AGENT* agent, const sa_request& request, ULONG response_timeout) const {
        IB_MAD_SEND send{};
        send.To.Lid = sm_lid;
        send.To.Qp = 1;
        send.To.QKey = IB_QP1_QKEY;
        send.Data = &request.mad;
        send.Length = sizeof(request.mad);
        send.ResponseTimeout = response_timeout;
        return verb_call([&](IRP* irp) { return CiSendMad(agent, &send, irp); }).status();
    }

    dispatch::asio_machine machine{{.processors = 2}};
    dispatch::machine::scope inside{machine};
    attached hcas{"rdma:"};
    IB_CA* ca = open_ca(hcas.fdo());
    const ib_lid_t lid = port_block(ca, 1)->Lid;
    const ib_lid_t sm_lid = port_block(ca, 1)->SmLid;

    ~RdmaLab() override { EXPECT_EQ(close_ca(ca), STATUS_SUCCESS); }
};

TEST_F(RdmaLab, QueryPort_ReturnsHostAttributes) {
    const port_block port(ca, 1);
    EXPECT_EQ(hcas.count(), 1u);
    EXPECT_EQ(port->State, IB_PORT_ACTIVE);
    EXPECT_EQ(port->PhysicalState, IB_PORT_PHYS_LINK_UP);
    EXPECT_EQ(port->LinkLayer, IB_LINK_LAYER_INFINIBAND);
    EXPECT_NE(port->Lid, 0);
    EXPECT_NE(port->SmLid, 0);
    EXPECT_EQ(port->ActiveWidth, IB_LINK_WIDTH_4X);
    EXPECT_EQ(port->ActiveSpeed, IB_LINK_SPEED_SDR);
    ASSERT_GE(port->PKeyCount, 1);
    EXPECT_EQ(IbPortPKey(&*port, 0), IB_PKEY_DEFAULT_FULL);
    ASSERT_GE(port->GidCount, 1);
    EXPECT_EQ(IbPortGid(&*port, 0)->gid_prefix, IB_DEFAULT_GID_PREFIX);
    EXPECT_EQ(IbPortGid(&*port, 0)->gid_guid, port->PortGuid);
}

TEST_F(RdmaLab, GetMadIrp_ReceivesSaResponse) {
    IB_MAD_AGENT* agent = make_agent(sa_client());
    response node;
    {
        verb_call waiting(node.get(agent));
        EXPECT_EQ(ask(agent, node_at(lid, 0x1234), 2000), STATUS_SUCCESS);
        EXPECT_EQ(waiting.status(), STATUS_SUCCESS);
        EXPECT_EQ(waiting.information(), IB_MAD_SIZE);
    }
    EXPECT_EQ(node.transaction(), 0x1234u);
    EXPECT_EQ(node.mad().mad_hdr.method, UMAD_METHOD_GET_RESP);
    EXPECT_EQ(node.mad().mad_hdr.status, 0);
    EXPECT_EQ(node.receive.From.Lid, sm_lid);
    EXPECT_EQ(node.receive.From.Qp, 1u);
    EXPECT_EQ(node.receive.From.QKey, IB_QP1_QKEY);
    EXPECT_EQ(node.number_at(16), hcas.guid());
    EXPECT_EQ(node.number_at(24), port_block(ca, 1)->PortGuid);

    sa_request path(UMAD_SA_ATTR_PATH_REC, 0x1235);
    path.put_lid(40, sm_lid, 4);
    path.put_lid(42, lid, 5);
    EXPECT_EQ(ask(agent, path, 2000), STATUS_SUCCESS);
    response found;
    EXPECT_EQ(verb_call(found.get(agent)).status(), STATUS_SUCCESS);
    EXPECT_EQ(found.mad().mad_hdr.status, 0);
    EXPECT_EQ(found.number_at(40) >> 32, static_cast<std::uint64_t>(sm_lid) << 16 | lid);
    end_agent(agent);
}

TEST_F(RdmaLab, UpCallAgent_ReceivesSaResponse) {
    struct {
        KEVENT event;
        umad_class_port_info info;
        KIRQL level;
    } up_call{};
    KeInitializeEvent(&up_call.event, NotificationEvent, FALSE);
    const IB_MAD_DISPATCH calls{[](IB_MAD_AGENT*, void* context, const IB_MAD_RECEIVED* received) {
        auto& seen = *static_cast<decltype(up_call)*>(context);
        seen.level = KeGetCurrentIrql();
        std::memcpy(&seen.info, static_cast<const umad_sa_packet*>(received->Data)->data,
                    sizeof(seen.info));
        KeSetEvent(&seen.event, IO_NO_INCREMENT, FALSE);
    }};
    IB_MAD_AGENT* agent = make_agent(sa_client(), &calls, &up_call);
    EXPECT_EQ(ask(agent, sa_request(UMAD_ATTR_CLASS_PORT_INFO, 7), 2000), STATUS_SUCCESS);
    EXPECT_TRUE(happens(up_call.event, time_limit));
    EXPECT_EQ(up_call.level, DISPATCH_LEVEL);
    EXPECT_EQ(up_call.info.base_ver, 1);
    EXPECT_EQ(up_call.info.class_ver, UMAD_SA_CLASS_VERSION);
    end_agent(agent);
}

// Two agents with the same transaction ids have 64 requests outstanding.
TEST_F(RdmaLab, SharedTransactionIds_EachResponseReachesItsAgent) {
    constexpr ULONG each = 32;
    struct asker {
        IB_MAD_AGENT* agent;
        ULONG first;
        ib_lid_t about;
        std::set<ULONG> transactions;
    };
    asker askers[] = {{make_agent(sa_client()), 100, lid, {}},
                      {make_agent(sa_client()), 116, sm_lid, {}}};
    for (ULONG i = 0; i < each; ++i)
        for (asker& who : askers)
            EXPECT_EQ(ask(who.agent, node_at(who.about, who.first + i), 5000), STATUS_SUCCESS);
    for (asker& who : askers) {
        for (ULONG i = 0; i < each; ++i) {
            response got;
            EXPECT_EQ(verb_call(got.get(who.agent)).status(), STATUS_SUCCESS);
            EXPECT_EQ(got.number_at(0) >> 48, who.about);
            who.transactions.insert(got.transaction());
        }
        EXPECT_EQ(who.transactions.size(), each);
        EXPECT_EQ(*who.transactions.begin(), who.first);
        EXPECT_EQ(*who.transactions.rbegin(), who.first + each - 1);
        end_agent(who.agent);
    }
}

// Repeats a request under the same id, possibly before the kernel's time-out; the kernel sends the
// first repetition after that.
TEST_F(RdmaLab, LostRequestRepeated_ResponseIsReceived) {
    IB_MAD_AGENT* agent = make_agent(sa_client());
    constexpr int most_tries = 100;
    int tries = 0;
    for (ULONG transaction = 1; transaction <= 20; ++transaction) {
        response got;
        verb_call waiting(got.get(agent));
        do {
            EXPECT_EQ(ask(agent, node_at(lid, transaction), 30), STATUS_SUCCESS);
            LARGE_INTEGER due = from_now(25);
            KeDelayExecutionThread(KernelMode, FALSE, &due);
        } while (!waiting.done() && ++tries < most_tries);
        if (tries == most_tries) waiting.cancel();
        EXPECT_STREQ(name_of(waiting.status()), "STATUS_SUCCESS");
        EXPECT_EQ(got.mad().mad_hdr.status, 0);
    }
    EXPECT_GT(tries, 0) << "nothing was lost";
    end_agent(agent);
}

// The kernel returns the request after its time-out, but the receive IRP pends until it is
// cancelled.
TEST_F(RdmaLab, SaSilent_ReceivePendsUntilCancelled) {
    IB_MAD_AGENT* agent = make_agent(sa_client());
    response none;
    verb_call waiting(none.get(agent));
    EXPECT_EQ(ask(agent, node_at(lid, 1), 50), STATUS_SUCCESS);
    LARGE_INTEGER due = from_now(300);
    KeDelayExecutionThread(KernelMode, FALSE, &due);
    EXPECT_FALSE(waiting.done());
    EXPECT_TRUE(waiting.cancel());
    EXPECT_EQ(waiting.status(), STATUS_CANCELLED);
    end_agent(agent);
}

// Receives a message longer than any buffer so far in one piece, by the kernel's RMPP.
TEST_F(RdmaLab, GetTableWithDriverRmpp_ReceivedWhole) {
    IB_MAD_AGENT* agent = make_agent(sa_client(IB_MAD_RMPP_BY_DRIVER));
    const sa_request all(UMAD_SA_ATTR_NODE_REC, 9, UMAD_SA_METHOD_GET_TABLE);
    EXPECT_EQ(ask(agent, all, 5000), STATUS_SUCCESS);
    response table(100'000);
    EXPECT_EQ(verb_call(table.get(agent)).status(), STATUS_SUCCESS);
    const std::size_t record = be16toh(table.mad().attr_offset) * std::size_t{8};
    const std::size_t data = table.receive.Length - offsetof(umad_sa_packet, data);
    EXPECT_EQ(table.transaction(), 9u);
    ASSERT_NE(record, 0u);
    EXPECT_EQ(data % record, 0u);
    std::cout << "nodes " << data / record << std::endl; // for rdma_test.py
    end_agent(agent);
}

// The client does RMPP: segments are passed up unchanged, and the second one arrives only after the
// first is acknowledged.
TEST_F(RdmaLab, GetTableWithClientRmpp_SegmentsReceivedSingly) {
    IB_MAD_AGENT* agent = make_agent(sa_client());
    const sa_request all(UMAD_SA_ATTR_NODE_REC, 9, UMAD_SA_METHOD_GET_TABLE);
    EXPECT_EQ(ask(agent, all, 5000), STATUS_SUCCESS);
    for (ULONG segment = 1; segment <= 2; ++segment) {
        response got;
        EXPECT_EQ(verb_call(got.get(agent)).status(), STATUS_SUCCESS);
        EXPECT_EQ(got.receive.Length, IB_MAD_SIZE);
        EXPECT_EQ(got.transaction(), 9u);
        EXPECT_EQ(be32toh(got.mad().rmpp_hdr.seg_num), segment);
        sa_request acknowledged = all;
        acknowledged.mad.rmpp_hdr = got.mad().rmpp_hdr;
        acknowledged.mad.rmpp_hdr.rmpp_type = 2;
        acknowledged.mad.rmpp_hdr.rmpp_rtime_flags = UMAD_RMPP_FLAG_ACTIVE;
        acknowledged.mad.rmpp_hdr.paylen_newwin = htobe32(segment + 1);
        EXPECT_EQ(ask(agent, acknowledged, 0), STATUS_SUCCESS);
    }
    end_agent(agent);
}

TEST_F(RdmaLab, MethodAlreadyRegistered_ReturnsSharingViolation) {
    IB_MAD_AGENT_ATTR attr = sa_client();
    attr.MethodMask[0] = 1u << UMAD_METHOD_REPORT;
    IB_MAD_AGENT* first = make_agent(attr);
    const auto second = [&] {
        return verb_call(
                   [&](IRP* irp) { return CiRegisterMadAgent(ca, &attr, nullptr, nullptr, irp); })
            .status();
    };
    EXPECT_STREQ(name_of(second()), "STATUS_SHARING_VIOLATION");
    end_agent(first);
    end_agent(make_agent(attr));
}

// rdma_test.py pulls the cable of this host and puts it back when this test prints so.
TEST_F(RdmaLab, CablePulledAndReplugged_EventsAreReported) {
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    EXPECT_EQ(HcaRdmaSetPollInterval(hcas.guid(), 20), STATUS_SUCCESS);
    ca = open_ca(hcas.fdo());
    for (const auto& [order, event] :
         {std::pair{"pull", IB_AE_PORT_ERROR}, {"put", IB_AE_PORT_ACTIVE}}) {
        std::cout << order << std::endl;
        ULONG_PTR seen = IB_AE_NONE;
        while (seen != static_cast<ULONG_PTR>(event)) {
            verb_call waiting([&](IRP* irp) { return CiGetCaPortEvent(ca, 1, irp); });
            ASSERT_EQ(waiting.status(), STATUS_SUCCESS);
            seen = waiting.information();
        }
    }
    EXPECT_EQ(port_block(ca, 1)->State, IB_PORT_ACTIVE);
}

} // namespace
