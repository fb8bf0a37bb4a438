// HCAs of "roce:" on addresses of the loopback interface. Real sockets exist on the real machine
// only.
#include "connected_end.hpp"
#include "connection_managers.hpp"
#include "datagram_end.hpp"
#include "loopback_hca.hpp"

#include <support/both_machines.hpp>
#include <support/dissection.hpp>

#include <ci/capture.hpp>
#include <hca/software.h>

#include <boost/endian/conversion.hpp>

#include <filesystem>
#include <fstream>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

class Roce : public BothMachines {
protected:
    DEVICE_OBJECT* first() const { return HcaFromGuid(first_address.guid()); }
    DEVICE_OBJECT* second() const { return HcaFromGuid(second_address.guid()); }
    void connect(ib_qp_type_t type = IB_QPT_RELIABLE_CONN) {
        one.emplace(first(), type);
        two.emplace(second(), type);
        one->connect(*two);
        two->connect(*one);
    }

    const loopback_address first_address{1};
    const loopback_address second_address{2};
    roce_hca a{first_address};
    roce_hca b{second_address};
    std::optional<connected_end> one;
    std::optional<connected_end> two;
};

ib_av_attr_t way_to(const datagram_end& peer) {
    ib_av_attr_t way{};
    way.port_num = 1;
    way.grh_valid = TRUE;
    way.grh.dest_gid = peer.gid();
    way.grh.traffic_class = 0x20;
    return way;
}

TEST_P(Roce, Port_IsOneOfEthernet) {
    const open_hca ca(first());
    const auto port = port_block(ca, 1);
    EXPECT_EQ(port->LinkLayer, IB_LINK_LAYER_ETHERNET);
    EXPECT_EQ(port->State, IB_PORT_ACTIVE);
    EXPECT_EQ(port->Lid, 0);
    EXPECT_EQ(port->SmLid, 0);
    EXPECT_EQ(port->ActiveMtu, IB_MTU_4096);
    EXPECT_EQ(port->GidCount, 1);
    EXPECT_EQ(*IbPortGid(&*port, 0), first_address.gid());
    EXPECT_EQ(port->PKeyCount, 1);
    EXPECT_EQ(port->CapabilityMask, ULONG{IB_PORT_CAP_CM_SUP});
}

TEST_P(Roce, Send_ArrivesInTheReceive) {
    for (const ib_qp_type_t type : {IB_QPT_RELIABLE_CONN, IB_QPT_UNRELIABLE_CONN}) {
        connect(type);
        one->fill();
        EXPECT_EQ(two->post_receive(7, 5001), STATUS_SUCCESS);
        EXPECT_EQ(one->post(one->send(5, 5001)), STATUS_SUCCESS);
        const IB_WC received = two->next();
        EXPECT_EQ(received.Status, ULONG{IB_WC_SUCCESS});
        EXPECT_EQ(received.ByteCount, 5001u);
        EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
        EXPECT_TRUE(two->has_bytes_of(*one, 5001));
        one.reset();
        two.reset();
    }
}

TEST_P(Roce, WriteAndRead_MoveTheBytes) {
    connect();
    one->fill();
    EXPECT_EQ(one->post(one->remote(WR_RDMA_WRITE, 1, *two, connected_end::size)), STATUS_SUCCESS);
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(two->has_bytes_of(*one, connected_end::size));
    two->number() = 42;
    EXPECT_EQ(one->post(one->remote(WR_RDMA_READ, 2, *two, connected_end::size)), STATUS_SUCCESS);
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(one->number(), 42u);
    EXPECT_TRUE(one->has_bytes_of(*two, connected_end::size));
}

TEST_P(Roce, FetchAdd_ReturnsTheFormerNumber) {
    connect();
    two->number() = 40;
    ib_send_wr_t add = one->remote(WR_FETCH_ADD, 1, *two, 8);
    add.remote_ops.atomic1 = 2;
    EXPECT_EQ(one->post(add), STATUS_SUCCESS);
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(one->number(), 40u);
    EXPECT_EQ(two->number(), 42u);
}

TEST_P(Roce, PacketsOfAnotherAddress_DoNotReachTheConnection) {
    const loopback_address third(3);
    const roce_hca c(third);
    connect();
    connected_end stranger(HcaFromGuid(third.guid()));
    stranger.connect(*two);
    EXPECT_EQ(stranger.post(stranger.remote(WR_RDMA_WRITE, 1, *two, 8)), STATUS_SUCCESS);
    EXPECT_EQ(two->post_receive(7, 100), STATUS_SUCCESS);
    EXPECT_EQ(one->post(one->send(5, 100)), STATUS_SUCCESS);
    EXPECT_EQ(two->next().WrId, 7u);
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(stranger.has_no_completion());
}

// Over IPv4 there is its header, behind 20 bytes of 0. Source: IBA A17.4.5.
TEST_P(Roce, Datagram_ArrivesBehindItsIpHeader) {
    datagram_end from(first());
    datagram_end to(second());
    from.start();
    to.start();
    EXPECT_EQ(to.post_receive(7), STATUS_SUCCESS);
    EXPECT_EQ(from.post(from.send(5, 1000, from.vector(way_to(to)), to.qp->Num)), STATUS_SUCCESS);
    const IB_WC received = to.next();
    EXPECT_EQ(received.Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(received.ByteCount, 1040u);
    EXPECT_EQ(received.SourceQp, from.qp->Num);
    EXPECT_NE(received.Flags & IB_WC_GRH_PRESENT, 0u);
    EXPECT_TRUE(to.has_bytes_of(from, 1000));
    EXPECT_EQ(to.route()[20], 0x45);
    EXPECT_EQ(to.route()[21], 0x20); // type of service
    const ULONG source = static_cast<ULONG>(first_address.gid().gid_guid);
    EXPECT_EQ(boost::endian::load_big_u32(&to.route()[32]), source);
}

// Source: RFC 3168 5.
TEST_P(Roce, PacketThatIsMarkedAsCongested_IsCounted) {
    datagram_end from(first());
    datagram_end to(second());
    from.start();
    to.start();
    ib_av_attr_t way = way_to(to);
    for (way.grh.traffic_class = 0x20; way.grh.traffic_class < 0x24; ++way.grh.traffic_class) {
        EXPECT_EQ(to.post_receive(7), STATUS_SUCCESS);
        EXPECT_EQ(from.post(from.send(5, 1000, from.vector(way), to.qp->Num)), STATUS_SUCCESS);
        EXPECT_EQ(to.next().Status, ULONG{IB_WC_SUCCESS});
        EXPECT_EQ(to.route()[21], way.grh.traffic_class);
        HCA_SOFTWARE_COUNTERS counters{};
        EXPECT_EQ(HcaSoftwareCounters(second_address.guid(), 1, &counters), STATUS_SUCCESS);
        EXPECT_EQ(counters.EcnMarks, way.grh.traffic_class == 0x23 ? 1u : 0u);
    }
}

// A group of IPv4 that no other process has.
ib_gid_t group_of(const loopback_address& address) {
    return {0, (address.gid().gid_guid & ~0xFF000000ull) | 0xEF000000};
}

ib_av_attr_t way_to(const ib_gid_t& group) {
    ib_av_attr_t way{};
    way.port_num = 1;
    way.grh_valid = TRUE;
    way.grh.dest_gid = group;
    way.grh.hop_limit = 1;
    return way;
}

/// The attachment of a queue pair to a group until the end of the scope.
class member {
public:
    member(const datagram_end& end, const ib_gid_t& group) {
        verb_call call([&](IRP* irp) {
            return CiAttachMcast(end.qp, &group, IB_LID_MULTICAST_FIRST, nullptr, irp);
        });
        EXPECT_EQ(call.status(), STATUS_SUCCESS);
        mcast_ = call.object<IB_MCAST>();
    }
    ~member() {
        EXPECT_EQ(verb_call([&](IRP* irp) { return CiDetachMcast(mcast_, nullptr, irp); }).status(),
                  STATUS_SUCCESS);
    }
    member(const member&) = delete;
    member& operator=(const member&) = delete;

private:
    IB_MCAST* mcast_;
};

TEST_P(Roce, DatagramToAGroup_ReachesTheMembersOfEachHca) {
    const ib_gid_t group = group_of(first_address);
    datagram_end sender(first());
    datagram_end neighbour(first());
    datagram_end other(second());
    datagram_end stranger(second());
    const member of_first(neighbour, group);
    const member of_second(other, group);
    for (datagram_end* each : {&sender, &neighbour, &other, &stranger}) {
        each->start();
        EXPECT_EQ(each->post_receive(7), STATUS_SUCCESS);
    }
    EXPECT_EQ(sender.post(sender.send(5, 1000, sender.vector(way_to(group)), 0xFFFFFF)),
              STATUS_SUCCESS);
    for (const datagram_end* each : {&neighbour, &other}) {
        EXPECT_EQ(each->next().ByteCount, 1040u);
        EXPECT_TRUE(each->has_bytes_of(sender, 1000));
        EXPECT_EQ(each->route()[28], 1); // time to live
        EXPECT_EQ(boost::endian::load_big_u32(&each->route()[36]),
                  static_cast<ULONG>(group.gid_guid));
    }
    EXPECT_EQ(sender.next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(stranger.has_no_completion());
}

// The second datagram goes to a group with a member, so it shows that the first one has passed.
TEST_P(Roce, LastMemberOfAGroup_TakesItsSocketAlong) {
    const ib_gid_t left = group_of(first_address);
    const ib_gid_t kept = group_of(second_address);
    datagram_end from(first());
    datagram_end to(second());
    from.start();
    to.start();
    const member stays(to, kept);
    {
        const member twice(to, left);
        const member leaves(to, left);
    }
    EXPECT_EQ(to.post_receive(7), STATUS_SUCCESS);
    EXPECT_EQ(to.post_receive(8), STATUS_SUCCESS);
    for (const ib_gid_t& each : {left, kept})
        EXPECT_EQ(from.post(from.send(5, 100, from.vector(way_to(each)), 0xFFFFFF)),
                  STATUS_SUCCESS);
    EXPECT_EQ(to.next().WrId, 7u);
    EXPECT_EQ(boost::endian::load_big_u32(&to.route()[36]), static_cast<ULONG>(kept.gid_guid));
    EXPECT_TRUE(to.has_no_completion());
}

TEST_P(Roce, GroupOfAFamilyWithoutAddress_IsNotSupported) {
    const datagram_end end(first());
    const ib_gid_t group{0xFF15000000000000, 1};
    EXPECT_EQ(verb_call([&](IRP* irp) {
                  return CiAttachMcast(end.qp, &group, IB_LID_MULTICAST_FIRST, nullptr, irp);
              }).status(),
              STATUS_NOT_SUPPORTED);
}

TEST_P(Roce, NumbersOfQueuePairs_DifferFromThoseOfTheLastAttachment) {
    std::vector<ib_qpn_t> numbers;
    for (int i = 0; i < 2; ++i) {
        const loopback_address third(3);
        const roce_hca c(third);
        numbers.push_back(connected_end(HcaFromGuid(third.guid())).qp->Num);
    }
    EXPECT_NE(numbers[0], numbers[1]);
}

TEST_P(Roce, WaysWithoutGids_AreRefused) {
    connected_end end(first());
    EXPECT_EQ(modify_qp(end.qp, ci::to_init(IB_QPT_RELIABLE_CONN, {.access = IB_AC_REMOTE})),
              STATUS_SUCCESS);
    ci::rtr_attributes path;
    path.av.port_num = 1;
    path.av.dlid = 1;
    EXPECT_EQ(modify_qp(end.qp, ci::to_rtr(IB_QPT_RELIABLE_CONN, path)), STATUS_INVALID_PARAMETER);

    datagram_end from(first());
    from.start();
    IB_AV* way = from.vector(from.way_to(1));
    EXPECT_EQ(from.post(from.send(5, 100, way, 0x800000)), STATUS_SUCCESS);
    EXPECT_EQ(from.next().Status, ULONG{IB_WC_LOCAL_QP_OPERATION_ERROR});
}

IB_MAD_ADDRESS to_gid(const ib_gid_t& gid) {
    IB_MAD_ADDRESS to = to_lid(0);
    to.Flags = IB_MAD_GRH;
    to.Gid = gid;
    return to;
}

TEST_P(Roce, ManagementDatagrams_ReachQp1OfThePeer) {
    const open_hca ca(first());
    mad_client client(ca, agent_of(performance_class));
    const received_mad got = client.ask(to_gid(second_address.gid()), mad(performance_class, 1, 1));
    EXPECT_EQ(got.data.method(), 0x81);
    EXPECT_EQ(got.data.status(), 0);
    EXPECT_EQ(got.from.Gid, second_address.gid());
    EXPECT_EQ(client.send(to_lid(1), mad(performance_class, 1, 1)), STATUS_INVALID_PARAMETER);
}

// As on a fabric, where LIDs distinguish the peers: the managers of one port share its messages.
TEST_P(Roce, RequestsOfTwoAddresses_WithOneId_AreTwoOffers) {
    using namespace connection_managers;
    const loopback_address third(3);
    const roce_hca c(third);
    const open_hca here(HcaFromGuid(first_address.guid()));
    const open_hca there(HcaFromGuid(second_address.guid()));
    const open_hca elsewhere(HcaFromGuid(third.guid()));
    mad_client peer(there, manager()), other(elsewhere, manager());
    mad_client one_manager(here, manager()), next_manager(here, manager());
    for (mad_client* const each : {&peer, &other}) {
        each->send(to_gid(first_address.gid()), request(5));
        EXPECT_EQ(one_manager.receive().data.get<4>(24), 5u);
    }
    one_manager.send(to_gid(third.gid()), rejection(5, unknown_service));
    EXPECT_EQ(next_manager.receive().from.Gid, third.gid());
    next_manager.send(to_gid(third.gid()), rejection(5, unknown_service));
    EXPECT_EQ(other.receive().data.get<2>(34), unknown_service);
}

TEST_P(Roce, PortWithoutManager_RefusesRequests) {
    using namespace connection_managers;
    const open_hca here(first()), there(second());
    mad_client peer(there, manager());
    peer.send(to_gid(first_address.gid()), request(5));
    const received_mad got = peer.receive();
    EXPECT_EQ(got.from.Gid, first_address.gid());
    EXPECT_EQ(got.data.get<2>(34), unknown_service);
}

// There is no QP0.
TEST_P(Roce, AgentsOfSubnetManagement_AreNotSupported) {
    const open_hca ca(first());
    for (const UCHAR each : {UCHAR{0x01}, UCHAR{0x81}}) {
        const IB_MAD_AGENT_ATTR attr = agent_of(each);
        EXPECT_EQ(verb_call([&](IRP* irp) {
                      return CiRegisterMadAgent(ca, &attr, nullptr, nullptr, irp);
                  }).status(),
                  STATUS_NOT_SUPPORTED);
    }
}

TEST_P(Roce, Capture_IsDissectedAsRoce) {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("roce" + std::to_string(getpid()) + ".pcap"))
            .string();
    std::ofstream file(path, std::ios::binary);
    {
        ci::capture packets([&](std::span<const std::byte> part) {
            file.write(reinterpret_cast<const char*>(part.data()),
                       static_cast<std::streamsize>(part.size()));
        });
        const open_hca ca(first());
        union {
            IB_CA_ATTR attributes;
            UCHAR room[4096];
        } block;
        EXPECT_EQ(verb_call([&](IRP* irp) {
                      return CiQueryCa(ca, sizeof(block), &block.attributes, irp);
                  }).status(),
                  STATUS_SUCCESS);
        EXPECT_EQ(packets.add(first(), block.attributes), STATUS_SUCCESS);
        connect();
        EXPECT_EQ(one->post(one->remote(WR_RDMA_WRITE, 1, *two, 3000)), STATUS_SUCCESS);
        EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
    }
    file.close();
    expect_no_errors(path, 4);
    const std::vector<std::string> lines =
        dissect(path, "-T fields -e ip.src -e udp.dstport -e infiniband.bth.opcode");
    ASSERT_EQ(lines.size(), 4u);
    EXPECT_EQ(lines[0], first_address.text() + "\t4791\t6");
    EXPECT_EQ(lines[3], second_address.text() + "\t4791\t17");
    std::filesystem::remove(path);
}

TEST_P(Roce, Failures_AreExplained) {
    std::string message;
    EXPECT_EQ(try_attach("roce:", message), STATUS_NO_SUCH_DEVICE);
    EXPECT_EQ(message, "expected an interface or an address, as in roce:eth0");
    EXPECT_EQ(try_attach("roce:no-such-interface", message), STATUS_NO_SUCH_DEVICE);
    EXPECT_EQ(message, "no-such-interface: no interface has this name or this address");
    EXPECT_EQ(try_attach("roce:0127.0.11.1", message), STATUS_NO_SUCH_DEVICE);
}

// Each machine has its own registry; the socket is the system's.
TEST_P(Roce, AddressInUse_IsASharingViolation) {
    dispatch::asio_machine other({.processors = 1});
    const dispatch::machine::scope inside(other);
    std::string message;
    EXPECT_EQ(try_attach(first_address.uri(), message), STATUS_SHARING_VIOLATION);
    EXPECT_EQ(message, first_address.text() +
                           ", UDP port 4791: in use, by another program or by the kernel's "
                           "soft-RoCE (module rdma_rxe); ?raw behind the name shares it");
}

TEST_P(Roce, UnknownOption_IsExplained) {
    std::string message;
    EXPECT_EQ(try_attach(loopback_address(3).uri() + "?cooked", message),
              STATUS_OBJECT_NAME_INVALID);
    EXPECT_EQ(message, "?cooked: expected ?raw, ?tap, ?tap=ADDRESS,... or ?checked");
}

TEST(RoceSimulated, SimulatedMachine_HasNoSockets) {
    dispatch::random_choices choices(1);
    dispatch::sim_machine machine(choices, {});
    const dispatch::machine::scope inside(machine);
    std::string message;
    EXPECT_EQ(try_attach(loopback_address(1).uri(), message), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(message, "a simulated machine has no sockets");
}

IRPVERBS_ON_THE_REAL_MACHINE(Roce);

} // namespace
