// An HCA that is a host of its own on the link of a TAP device, in a network namespace of this
// test. Its peer is an HCA on a UDP socket at the device's own end, so that all packets between the
// two pass the kernel's IP.
#include "connected_end.hpp"
#include "datagram_end.hpp"
#include "loopback_hca.hpp"

#include <support/both_machines.hpp>

#include <boost/endian/conversion.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/ip_icmp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <cstring>
#include <optional>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

ib_gid_t gid_of(const std::string& text) {
    in6_addr address{};
    const std::string mapped = text.find(':') == std::string::npos ? "::ffff:" + text : text;
    EXPECT_EQ(inet_pton(AF_INET6, mapped.c_str(), &address), 1);
    return {boost::endian::load_big_u64(&address.s6_addr[0]),
            boost::endian::load_big_u64(&address.s6_addr[8])};
}

/// The calling thread has a network namespace of its own until the end of the scope.
class network_namespace {
public:
    network_namespace() { entered_ = before_ >= 0 && unshare(CLONE_NEWNET) == 0; }
    ~network_namespace() {
        if (entered_) {
            EXPECT_EQ(setns(before_, CLONE_NEWNET), 0);
        }
        if (before_ >= 0) close(before_);
    }
    network_namespace(const network_namespace&) = delete;
    network_namespace& operator=(const network_namespace&) = delete;

    bool is_there() const { return entered_; }

private:
    int before_ = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    bool entered_ = false;
};

bool run(const std::string& command) {
    return std::system((command + " 2>/dev/null").c_str()) == 0;
}

/// The HCA of a URI until the end of the scope.
class attached {
public:
    explicit attached(std::string uri) : uri_(std::move(uri)) {
        std::string message;
        EXPECT_EQ(try_attach(uri_, message), STATUS_SUCCESS) << message;
        ib_guid_t guids[8];
        ULONG count = 8;
        EXPECT_EQ(HcaEnumerate(guids, &count), STATUS_SUCCESS);
        device_ = HcaFromGuid(guids[count - 1]);
    }
    ~attached() { EXPECT_EQ(HcaDetach(uri_.c_str()), STATUS_SUCCESS); }
    attached(const attached&) = delete;
    attached& operator=(const attached&) = delete;

    DEVICE_OBJECT* device() const { return device_; }

private:
    std::string uri_;
    DEVICE_OBJECT* device_ = nullptr;
};

class RoceTap : public BothMachines {
protected:
    void SetUp() override {
        if (!space.is_there()) GTEST_SKIP() << "no network namespace: it needs CAP_SYS_ADMIN";
        if (!run("ip tuntap add dev irptap0 mode tap"))
            GTEST_SKIP() << "no TAP device: no /dev/net/tun, or no ip";
        if (!run("ip addr add 10.91.0.1/24 dev irptap0 && ip link set dev irptap0 mtu 4300 up"))
            GTEST_SKIP() << "the TAP device can't be configured";
        has_ipv6 = run("ip addr add fd91::1/64 dev irptap0 nodad");
    }
    NTSTATUS status_of(const std::string& behind, std::string& message) const {
        return try_attach("roce:" + behind, message);
    }
    static ib_av_attr_t way(const std::string& to, USHORT own_index) {
        ib_av_attr_t made{};
        made.port_num = 1;
        made.grh_valid = TRUE;
        made.grh.dest_gid = gid_of(to);
        made.grh.sgid_index = own_index;
        return made;
    }
    /// Data pass between both ends, in both directions.
    static void expect_data(connected_end& one, connected_end& two) {
        one.fill();
        for (const auto& [from, to] : {std::pair(&one, &two), std::pair(&two, &one)}) {
            EXPECT_EQ(to->post_receive(7, 30'000), STATUS_SUCCESS);
            EXPECT_EQ(from->post(from->send(5, 30'000)), STATUS_SUCCESS);
            const IB_WC received = to->next();
            EXPECT_EQ(received.Status, ULONG{IB_WC_SUCCESS});
            EXPECT_EQ(received.ByteCount, 30'000u);
            EXPECT_EQ(from->next().Status, ULONG{IB_WC_SUCCESS});
            EXPECT_TRUE(to->has_bytes_of(*from, 30'000));
        }
    }

    const network_namespace space;
    bool has_ipv6 = false;
};

constexpr const char* ours = "irptap0?tap=10.91.0.2,fd91::2";

TEST_P(RoceTap, Port_HasALinkLocalAddressAndTheOnesOfTheUri) {
    const attached hca(std::string("roce:") + ours);
    const open_hca ca(hca.device());
    const auto port = port_block(ca, 1);
    EXPECT_EQ(port->LinkLayer, IB_LINK_LAYER_ETHERNET);
    EXPECT_EQ(port->State, IB_PORT_ACTIVE);
    EXPECT_EQ(port->ActiveMtu, IB_MTU_4096);
    ASSERT_EQ(port->GidCount, 3);
    EXPECT_EQ(IbPortGid(&*port, 0)->gid_prefix, 0xFE80ull << 48);
    EXPECT_EQ(*IbPortGid(&*port, 1), gid_of("10.91.0.2"));
    EXPECT_EQ(*IbPortGid(&*port, 2), gid_of("fd91::2"));
}

TEST_P(RoceTap, Connection_PassesTheKernelsIp) {
    const attached hca(std::string("roce:") + ours);
    for (const bool is_version_4 : {true, false}) {
        if (!is_version_4 && !has_ipv6) continue;
        const attached peer(is_version_4 ? "roce:10.91.0.1" : "roce:fd91::1");
        connected_end one(hca.device());
        connected_end two(peer.device());
        one.connect(is_version_4 ? way("10.91.0.1", 1) : way("fd91::1", 2), two.qp->Num,
                    IB_MTU_4096);
        two.connect(is_version_4 ? way("10.91.0.2", 0) : way("fd91::2", 0), one.qp->Num,
                    IB_MTU_4096);
        expect_data(one, two);
    }
}

TEST_P(RoceTap, QueuePairsOfTheHca_ReachEachOther) {
    const attached hca(std::string("roce:") + ours);
    connected_end one(hca.device());
    connected_end two(hca.device());
    one.connect(way("10.91.0.2", 1), two.qp->Num);
    two.connect(way("10.91.0.2", 1), one.qp->Num);
    expect_data(one, two);
}

TEST_P(RoceTap, Datagram_IsTheFirstPacketAndArrives) {
    const attached hca(std::string("roce:") + ours);
    const attached peer("roce:10.91.0.1");
    datagram_end from(hca.device());
    datagram_end to(peer.device());
    from.start();
    to.start();
    EXPECT_EQ(to.post_receive(7), STATUS_SUCCESS);
    EXPECT_EQ(from.post(from.send(5, 1000, from.vector(way("10.91.0.1", 1)), to.qp->Num)),
              STATUS_SUCCESS);
    EXPECT_EQ(to.next().ByteCount, 1040u);
    EXPECT_TRUE(to.has_bytes_of(from, 1000));
    EXPECT_EQ(boost::endian::load_big_u32(&to.route()[32]), 0x0A5B0002u);
}

TEST_P(RoceTap, DatagramToAGroup_ReachesTheMembersOfTheHca) {
    const attached hca(std::string("roce:") + ours);
    const ib_gid_t group = gid_of("239.7.7.7");
    datagram_end from(hca.device());
    datagram_end to(hca.device());
    from.start();
    to.start();
    verb_call attach([&](IRP* irp) {
        return CiAttachMcast(to.qp, &group, IB_LID_MULTICAST_FIRST, nullptr, irp);
    });
    EXPECT_EQ(attach.status(), STATUS_SUCCESS);
    EXPECT_EQ(to.post_receive(7), STATUS_SUCCESS);
    ib_av_attr_t there = way("239.7.7.7", 1);
    there.grh.hop_limit = 1;
    EXPECT_EQ(from.post(from.send(5, 100, from.vector(there), 0xFFFFFF)), STATUS_SUCCESS);
    EXPECT_EQ(to.next().ByteCount, 140u);
    EXPECT_EQ(verb_call([&](IRP* irp) {
                  return CiDetachMcast(attach.object<IB_MCAST>(), nullptr, irp);
              }).status(),
              STATUS_SUCCESS);
}

TEST_P(RoceTap, EchoRequest_GetsItsReply) {
    const int raw = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
    if (raw < 0) GTEST_SKIP() << "no CAP_NET_RAW";
    const attached hca(std::string("roce:") + ours);
    const UCHAR request[] = {8, 0, 0xF7, 0xFC, 0, 1, 0, 2};
    sockaddr_in to{};
    to.sin_family = AF_INET;
    inet_pton(AF_INET, "10.91.0.2", &to.sin_addr);
    EXPECT_EQ(
        sendto(raw, request, sizeof(request), 0, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 8);
    UCHAR reply[100];
    ASSERT_EQ(recv(raw, reply, sizeof(reply), 0), 28);
    EXPECT_EQ(reply[20], 0);
    EXPECT_EQ(std::memcmp(reply + 24, request + 4, 4), 0);
    close(raw);
}

TEST_P(RoceTap, AddressesOfAnHca_AreThoseOfNoOther) {
    std::string message;
    EXPECT_EQ(status_of("irptap0?tap=10.91.0.1", message), STATUS_SHARING_VIOLATION);
    EXPECT_EQ(message,
              "10.91.0.1: it is an address of this computer; the HCA is a host of its own");
    EXPECT_EQ(status_of("irptap0?tap=10.91.0.2,10.91.0.2", message), STATUS_OBJECT_NAME_INVALID);
    EXPECT_EQ(message, "10.91.0.2: it is there twice");
    for (const char* each : {"0.0.0.0", "255.255.255.255", "239.1.1.1", "::", "ff02::1"}) {
        EXPECT_EQ(status_of(std::string("irptap0?tap=") + each, message),
                  STATUS_OBJECT_NAME_INVALID);
        EXPECT_EQ(message, std::string(each) + ": it is no address of a host");
    }
    std::string many = "irptap0?tap=10.91.1.1";
    for (int i = 2; i <= 32; ++i)
        many += ",10.91.1." + std::to_string(i);
    EXPECT_EQ(status_of(many, message), STATUS_OBJECT_NAME_INVALID);
    EXPECT_EQ(message, "10.91.1.32: it is one too many; an HCA has at most 31 addresses and its "
                       "link-local one");
    EXPECT_EQ(status_of("irptap0?tap=10.91.0", message), STATUS_OBJECT_NAME_INVALID);
    EXPECT_EQ(message, "'10.91.0': expected an IP address");
}

TEST_P(RoceTap, DeviceOfAnother_IsASharingViolation) {
    const int holder = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
    ifreq wanted{};
    std::strcpy(wanted.ifr_name, "irptap0");
    wanted.ifr_flags = IFF_TAP | IFF_NO_PI;
    ASSERT_EQ(ioctl(holder, TUNSETIFF, &wanted), 0);
    std::string message;
    EXPECT_EQ(status_of(ours, message), STATUS_SHARING_VIOLATION);
    EXPECT_EQ(message, "irptap0: another program has this TAP device");
    close(holder);
}

TEST_P(RoceTap, OtherInterfaces_AreExplained) {
    std::string message;
    EXPECT_EQ(status_of("irptap9?tap", message), STATUS_NO_SUCH_DEVICE);
    EXPECT_EQ(message, "irptap9: no interface has this name; ip tuntap add dev NAME mode tap");
    EXPECT_EQ(status_of("a-name-of-16-let?tap", message), STATUS_OBJECT_NAME_INVALID);
    EXPECT_EQ(message, "a-name-of-16-let: the name of an interface has at most 15 characters");
    EXPECT_EQ(status_of("lo?tap", message), STATUS_NO_SUCH_DEVICE);
    EXPECT_EQ(message, "lo: it is no TAP device");
    ASSERT_TRUE(run("ip link set dev irptap0 down"));
    EXPECT_EQ(status_of(ours, message), STATUS_DEVICE_NOT_READY);
    EXPECT_EQ(message, "irptap0: it is down; ip link set dev irptap0 up");
}

// Only this thread gives up its rights, and only for this call.
TEST_P(RoceTap, DeviceOfAnotherUser_IsAccessDenied) {
    if (geteuid() != 0) GTEST_SKIP() << "not root";
    ASSERT_TRUE(run("ip tuntap add dev irptap1 mode tap user 0 && ip link set dev irptap1 up"));
    constexpr int keep = -1;
    ASSERT_EQ(syscall(SYS_setresuid, keep, 65534, keep), 0);
    std::string message;
    const NTSTATUS status = status_of("irptap1?tap", message);
    ASSERT_EQ(syscall(SYS_setresuid, keep, 0, keep), 0);
    EXPECT_EQ(status, STATUS_ACCESS_DENIED);
    EXPECT_EQ(message, "irptap1: the TAP device belongs to another user: its owner opens it (ip "
                       "tuntap add dev irptap1 mode tap user NAME), or CAP_NET_ADMIN");
}

// While it is down, a write has EIO; the descriptor does not fail for good.
TEST_P(RoceTap, DeviceThatWasDown_PassesPacketsAgain) {
    const attached hca(std::string("roce:") + ours);
    const attached peer("roce:10.91.0.1");
    connected_end one(hca.device());
    connected_end two(peer.device());
    one.connect(way("10.91.0.1", 1), two.qp->Num, IB_MTU_4096);
    two.connect(way("10.91.0.2", 0), one.qp->Num, IB_MTU_4096);
    expect_data(one, two);
    ASSERT_TRUE(run("ip link set dev irptap0 down"));
    one.fill();
    EXPECT_EQ(two.post_receive(7, 5000), STATUS_SUCCESS);
    EXPECT_EQ(one.post(one.send(5, 5000)), STATUS_SUCCESS);
    ASSERT_TRUE(run("ip link set dev irptap0 up"));
    EXPECT_EQ(two.next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(one.next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(two.has_bytes_of(one, 5000));
}

TEST_P(RoceTap, DeviceThatIsRemoved_LosesPackets) {
    const attached hca(std::string("roce:") + ours);
    datagram_end from(hca.device());
    from.start();
    ASSERT_TRUE(run("ip link delete irptap0"));
    EXPECT_EQ(from.post(from.send(5, 100, from.vector(way("10.91.0.1", 1)), 99)), STATUS_SUCCESS);
    EXPECT_EQ(from.next().Status, ULONG{IB_WC_SUCCESS});
}

IRPVERBS_ON_THE_REAL_MACHINE(RoceTap);

TEST(RoceTapSimulated, SimulatedMachine_HasNoDescriptors) {
    const network_namespace space;
    if (!space.is_there() || !run("ip tuntap add dev irptap0 mode tap && ip link set irptap0 up"))
        GTEST_SKIP() << "no TAP device in a network namespace";
    dispatch::random_choices choices(1);
    dispatch::sim_machine machine(choices, {});
    const dispatch::machine::scope inside(machine);
    std::string message;
    EXPECT_EQ(try_attach(std::string("roce:") + ours, message), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(message, "a simulated machine has no sockets");
}

} // namespace
