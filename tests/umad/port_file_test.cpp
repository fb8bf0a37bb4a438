// Open ports: agents, messages between two hosts of a fabric, and what a program may do wrong.
#include <address.hpp>
#include <attributes.hpp>
#include <port_file.hpp>

#include <support/both_machines.hpp>
#include <support/verbs.hpp>

#include <hca/software.h>

#include <cerrno>
#include <cstring>
#include <poll.h>

namespace {

using namespace irpverbs::testing;
using namespace irpverbs::umad;
namespace drop_in = irpverbs::drop_in;

constexpr std::uint8_t vendor_class = 0x32;
constexpr std::uint8_t get_method = 1;
constexpr std::uint8_t method_response = 0x80;
constexpr std::uint32_t oui = 0x123456;

umad_reg_attr vendor_agent(bool serves, std::uint8_t rmpp_version = 0) {
    umad_reg_attr wanted{};
    wanted.mgmt_class = vendor_class;
    wanted.mgmt_class_version = 1;
    wanted.oui = oui;
    wanted.rmpp_version = rmpp_version;
    if (serves) wanted.method_mask[0] = 1u << get_method;
    return wanted;
}

inbox::message request(std::uint32_t agent, std::uint16_t lid, std::uint32_t tid,
                       std::uint32_t timeout_ms, std::size_t size = mad_size) {
    ib_user_mad_t header{};
    header.agent_id = agent;
    header.timeout_ms = timeout_ms;
    header.addr.lid = htobe16(lid);
    header.addr.qpn = htobe32(1);
    header.addr.qkey = htobe32(IB_QP1_QKEY);
    inbox::message made(header_size + size);
    std::memcpy(made.data(), &header, header_size);
    std::uint8_t* const m = made.data() + header_size;
    m[0] = 1;
    m[1] = vendor_class;
    m[2] = 1;
    m[3] = get_method;
    put32(m + 12, tid);
    m[37] = 0x12;
    m[38] = 0x34;
    m[39] = 0x56;
    return made;
}

ib_user_mad_t header_of(const inbox::message& message) {
    ib_user_mad_t header{};
    std::memcpy(&header, message.data(), header_size);
    return header;
}

std::uint8_t* content_of(inbox::message& message) { return message.data() + header_size; }

class UmadPort : public BothMachines {
protected:
    attached hcas{"software:"};
    drop_in::device one{"irpverbs0", "host1", hcas.guid(0), hcas.fdo(0)};
    drop_in::device two{"irpverbs1", "host2", hcas.guid(1), hcas.fdo(1)};
    port_file client{one, 1};
    port_file server{two, 1};
    std::uint16_t server_lid = port_block(drop_in::open_hca(two).ca(), 1)->Lid;

    static std::uint32_t add(port_file& file, const umad_reg_attr& wanted) {
        registration parsed;
        EXPECT_EQ(parse_registration(wanted, parsed), 0);
        std::uint32_t id = 99;
        EXPECT_EQ(file.add_agent(parsed, id), 0);
        return id;
    }
    static int error_of_adding(port_file& file, const umad_reg_attr& wanted) {
        registration parsed;
        std::uint32_t id = 0;
        if (const int error = parse_registration(wanted, parsed); error != 0) return error;
        return file.add_agent(parsed, id);
    }
    /// Waits for a message; the simulator has no descriptors, only a clock.
    static inbox::message next(port_file& file, std::size_t size = 4'096) {
        inbox::message taken;
        KEVENT never;
        KeInitializeEvent(&never, NotificationEvent, FALSE);
        LARGE_INTEGER a_millisecond;
        a_millisecond.QuadPart = -10'000;
        while (file.read(size, taken) == EAGAIN)
            KeWaitForSingleObject(&never, Executive, KernelMode, FALSE, &a_millisecond);
        return taken;
    }
    /// Serves one request with a response of `size` bytes.
    inbox::message respond(std::size_t size) {
        inbox::message asked = next(server);
        asked.resize(header_size + size);
        content_of(asked)[3] |= method_response;
        if (size > mad_size) {
            content_of(asked)[24] = 1;
            content_of(asked)[25] = rmpp::data;
            content_of(asked)[26] = rmpp::active;
        }
        ib_user_mad_t header = header_of(asked);
        header.timeout_ms = 0;
        header.retries = 3;
        header.addr.qkey = htobe32(IB_QP1_QKEY);
        std::memcpy(asked.data(), &header, header_size);
        EXPECT_EQ(server.write(asked), 0);
        return asked;
    }
};

TEST_P(UmadPort, RequestAndResponse_HaveTheirAgentsAndPeers) {
    const std::uint32_t asks = add(client, vendor_agent(false));
    const std::uint32_t serves = add(server, vendor_agent(true));
    EXPECT_EQ(asks, 0u);
    ASSERT_EQ(client.write(request(asks, server_lid, 7, 1'000)), 0);
    const inbox::message asked = respond(mad_size);
    EXPECT_EQ(header_of(asked).agent_id, serves);
    inbox::message got = next(client);
    EXPECT_EQ(header_of(got).agent_id, asks);
    EXPECT_EQ(header_of(got).status, 0u);
    EXPECT_EQ(header_of(got).length, header_size + mad_size);
    EXPECT_EQ(be16toh(header_of(got).addr.lid), server_lid);
    EXPECT_EQ(be32toh(header_of(got).addr.qpn), 1u);
    EXPECT_EQ(low_tid(content_of(got)), 7u);
}

TEST_P(UmadPort, LongMessage_IsReadAfterItsSizeWasFound) {
    const std::uint32_t asks = add(client, vendor_agent(false, 1));
    add(server, vendor_agent(true, 1));
    ASSERT_EQ(client.write(request(asks, server_lid, 7, 10'000)), 0);
    constexpr std::size_t size = 10'000;
    respond(size);
    inbox::message probe = next(client, header_size + mad_size);
    EXPECT_EQ(header_of(probe).length, header_size + size);
    EXPECT_EQ(client.read(header_size + mad_size, probe), ENOSPC);
    EXPECT_EQ(client.read(header_size + mad_size - 1, probe), EINVAL);
    inbox::message whole;
    EXPECT_EQ(client.read(header_size + size, whole), 0);
    EXPECT_EQ(whole.size(), header_size + size);
    EXPECT_EQ(client.read(header_size + size, whole), EAGAIN);
}

TEST_P(UmadPort, RequestWithoutReceiver_ComesBackWithItsTimeOut) {
    const std::uint32_t asks = add(client, vendor_agent(false));
    ASSERT_EQ(client.write(request(asks, 0xBFF0, 7, 50)), 0);
    inbox::message got = next(client);
    EXPECT_EQ(header_of(got).status, std::uint32_t{ETIMEDOUT});
    EXPECT_EQ(got.size(), header_size + mad_header);
    EXPECT_EQ(low_tid(content_of(got)), 7u);
}

TEST_P(UmadPort, TwoFilesOfOnePort_HaveAgentsAndMessagesOfTheirOwn) {
    port_file other(one, 1);
    const std::uint32_t first = add(client, vendor_agent(false));
    EXPECT_EQ(add(other, vendor_agent(false)), first);
    add(server, vendor_agent(true));
    ASSERT_EQ(other.write(request(first, server_lid, 7, 1'000)), 0);
    respond(mad_size);
    next(other);
    inbox::message none;
    EXPECT_EQ(client.read(4'096, none), EAGAIN);
}

TEST_P(UmadPort, MethodOfAnotherAgent_IsRefusedUntilThatIsRemoved) {
    const std::uint32_t serves = add(server, vendor_agent(true));
    port_file other(two, 1);
    EXPECT_EQ(error_of_adding(other, vendor_agent(true)), EINVAL);
    EXPECT_EQ(server.remove_agent(serves), 0);
    EXPECT_EQ(server.remove_agent(serves), EINVAL);
    EXPECT_EQ(error_of_adding(other, vendor_agent(true)), 0);
}

TEST_P(UmadPort, ThirtyThirdAgent_IsRefused) {
    for (std::uint32_t id = 0; id < UMAD_CA_MAX_AGENTS; ++id)
        EXPECT_EQ(add(client, vendor_agent(false)), id);
    EXPECT_EQ(error_of_adding(client, vendor_agent(false)), ENOMEM);
    EXPECT_EQ(client.remove_agent(5), 0);
    EXPECT_EQ(add(client, vendor_agent(false)), 5u);
}

TEST_P(UmadPort, RemovalDuringARequest_LeavesNothing) {
    const std::uint32_t asks = add(client, vendor_agent(false));
    ASSERT_EQ(client.write(request(asks, 0xBFF0, 7, 20)), 0);
    EXPECT_EQ(client.remove_agent(asks), 0);
    const std::uint32_t again = add(client, vendor_agent(false));
    ASSERT_EQ(client.write(request(again, 0xBFF0, 8, 40)), 0);
    inbox::message got = next(client);
    EXPECT_EQ(low_tid(content_of(got)), 8u);
}

TEST_P(UmadPort, WrongWrites_AreRefused) {
    const std::uint32_t asks = add(client, vendor_agent(false));
    EXPECT_EQ(client.write(request(asks + 1, server_lid, 7, 100)), EINVAL);
    EXPECT_EQ(client.write(request(1'000, server_lid, 7, 100)), EINVAL);
    EXPECT_EQ(client.write(request(asks, server_lid, 7, 100, mad_size + 1)), EINVAL);
    inbox::message brief = request(asks, server_lid, 7, 100);
    brief.resize(header_size + mad_header);
    EXPECT_EQ(client.write(brief), EINVAL);
    EXPECT_EQ(client.write({}), EINVAL);
}

TEST_P(UmadPort, SendThatThePortRefuses_LeavesNoRequest) {
    const std::uint32_t asks = add(client, vendor_agent(false));
    inbox::message wrong = request(asks, server_lid, 7, 20);
    ib_user_mad_t header = header_of(wrong);
    header.addr.pkey_index = 1'000;
    std::memcpy(wrong.data(), &header, header_size);
    EXPECT_EQ(client.write(wrong), EINVAL);
    EXPECT_EQ(client.write(request(asks, 0xBFF0, 7, 20)), 0);
}

IRPVERBS_ON_BOTH_MACHINES(UmadPort);

class UmadDescriptor : public BothMachines {};

TEST_P(UmadDescriptor, MessageThatWaits_MakesItReadable) {
    attached hcas{"software:"};
    const drop_in::device one{"irpverbs0", "host1", hcas.guid(0), hcas.fdo(0)};
    port_file file(one, 1);
    pollfd event{file.descriptor(), POLLIN, 0};
    EXPECT_EQ(poll(&event, 1, 0), 0);
    EXPECT_GE(file.descriptor(), 3);
    registration parsed;
    std::uint32_t id = 0;
    ASSERT_EQ(parse_registration(vendor_agent(false), parsed), 0);
    ASSERT_EQ(file.add_agent(parsed, id), 0);
    ASSERT_EQ(file.write(request(id, 0xBFF0, 7, 1)), 0);
    EXPECT_EQ(poll(&event, 1, -1), 1);
    inbox::message taken;
    EXPECT_EQ(file.read(4'096, taken), 0);
    EXPECT_EQ(poll(&event, 1, 0), 0);
}

IRPVERBS_ON_THE_REAL_MACHINE(UmadDescriptor);

TEST(UmadRegistration, WrongParameters_AreRefused) {
    registration parsed;
    EXPECT_EQ(parse_registration(vendor_agent(true, 1), parsed), 0);
    EXPECT_TRUE(parsed.segments);
    EXPECT_EQ(parsed.attr.Oui[0], 0x12);
    EXPECT_EQ(parsed.attr.Oui[2], 0x56);
    const auto refused = [&](auto change) {
        umad_reg_attr wanted = vendor_agent(true, 1);
        change(wanted);
        return parse_registration(wanted, parsed) == EINVAL;
    };
    EXPECT_TRUE(refused([](umad_reg_attr& w) { w.mgmt_class = 0; }));
    EXPECT_TRUE(refused([](umad_reg_attr& w) { w.mgmt_class_version = 8; }));
    EXPECT_TRUE(refused([](umad_reg_attr& w) { w.rmpp_version = 2; }));
    EXPECT_TRUE(refused([](umad_reg_attr& w) { w.mgmt_class = 1; })); // a class without RMPP
    EXPECT_TRUE(refused([](umad_reg_attr& w) { w.oui = 0; }));
    EXPECT_TRUE(refused([](umad_reg_attr& w) { w.oui = 0x1000000; }));
    EXPECT_TRUE(refused([](umad_reg_attr& w) { w.flags = 2; }));
    EXPECT_FALSE(refused([](umad_reg_attr& w) { w.flags = UMAD_USER_RMPP; }));
    EXPECT_FALSE(parsed.segments);
}

TEST(UmadRegistration, Methods_AreAllOfTheMask) {
    umad_reg_attr wanted = vendor_agent(false);
    wanted.method_mask[0] = std::uint64_t{1} << 33 | 2;
    wanted.method_mask[1] = std::uint64_t{1} << 63 | 1;
    registration parsed;
    ASSERT_EQ(parse_registration(wanted, parsed), 0);
    EXPECT_EQ(parsed.attr.MethodMask[0], 2u);
    EXPECT_EQ(parsed.attr.MethodMask[1], 2u);
    EXPECT_EQ(parsed.attr.MethodMask[2], 1u);
    EXPECT_EQ(parsed.attr.MethodMask[3], 0x80000000u);
}

TEST(UmadAddress, BothForms_HoldTheSame) {
    ib_mad_addr_t wire{};
    wire.qpn = htobe32(0x123456);
    wire.qkey = htobe32(IB_QP1_QKEY);
    wire.lid = htobe16(0x0102);
    wire.sl = 3;
    wire.path_bits = 1;
    wire.pkey_index = 5;
    wire.grh_present = 1;
    wire.gid_index = 2;
    wire.hop_limit = 64;
    wire.traffic_class = 7;
    wire.flow_label = htobe32(0x54321);
    wire.gid[0] = 0xFE;
    wire.gid[15] = 9;
    const IB_MAD_ADDRESS host = address_of(wire);
    EXPECT_EQ(host.Lid, 0x0102);
    EXPECT_EQ(host.Qp, 0x123456u);
    EXPECT_EQ(host.Gid.gid_prefix, 0xFE00000000000000u);
    const ib_mad_addr_t again = address_of(host);
    EXPECT_EQ(std::memcmp(&again, &wire, sizeof wire), 0);
}

TEST(UmadAttributes, Rates_AreThoseOfSysfs) {
    EXPECT_EQ(rate_of(IB_LINK_WIDTH_1X, IB_LINK_SPEED_SDR), 2u);
    EXPECT_EQ(rate_of(IB_LINK_WIDTH_4X, IB_LINK_SPEED_QDR), 40u);
    EXPECT_EQ(rate_of(IB_LINK_WIDTH_4X, IB_LINK_SPEED_FDR10), 40u);
    EXPECT_EQ(rate_of(IB_LINK_WIDTH_4X, IB_LINK_SPEED_FDR), 56u);
    EXPECT_EQ(rate_of(IB_LINK_WIDTH_12X, IB_LINK_SPEED_EDR), 300u);
    EXPECT_EQ(rate_of(IB_LINK_WIDTH_2X, IB_LINK_SPEED_NDR), 200u);
}

} // namespace
