// The receiver of a datagram, and the address of its sender.
#include "datagrams.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace irpverbs::conformance {

namespace mad_route_group {
namespace {

constexpr UCHAR class_with_oui = 0x32;
constexpr std::size_t class_offset = 1, version_offset = 2, method_offset = 3, oui_offset = 37;

using oui = std::array<UCHAR, 3>;
constexpr oui first_oui{0x00, 0x02, 0xC9}, second_oui{0x00, 0x02, 0xCA}, nobodys_oui{1, 2, 3};

IB_MAD_AGENT_ATTR of_oui(const oui& which, bool receives = true) {
    IB_MAD_AGENT_ATTR attr = agent_attr(receives);
    attr.ManagementClass = class_with_oui;
    std::ranges::copy(which, attr.Oui);
    return attr;
}

void send_to_oui(IB_CA* by, IB_MAD_AGENT* from, const oui& which, ULONG number) {
    datagram made(by, number);
    made.data()[class_offset] = class_with_oui;
    std::ranges::copy(which, &made.data()[oui_offset]);
    must(send_mad(from, made.get()));
}

void vendor_class_routed_by_oui(world& here) {
    const ca opened(here);
    const agent sender(opened, of_oui(first_oui, false));
    const agent first(opened, of_oui(first_oui));
    const agent second(opened, of_oui(second_oui));
    send_to_oui(opened, sender, first_oui, 1);
    send_to_oui(opened, sender, second_oui, 2);
    EXPECT_EQ(reception(second).number(), 2u);
    EXPECT_EQ(reception(first).number(), 1u);
}

IB_MAD_AGENT_ATTR of_version(UCHAR version, bool receives = true) {
    IB_MAD_AGENT_ATTR attr = agent_attr(receives);
    attr.ClassVersion = version;
    return attr;
}

void send_in_version(IB_CA* by, IB_MAD_AGENT* from, UCHAR version, ULONG number) {
    datagram made(by, number);
    made.data()[version_offset] = version;
    must(send_mad(from, made.get()));
}

void same_class_routed_by_version(world& here) {
    const ca opened(here);
    const agent sender(opened, of_version(2, false));
    const agent first(opened, of_version(1));
    const agent second(opened, of_version(2));
    send_in_version(opened, sender, 1, 1);
    send_in_version(opened, sender, 2, 2);
    EXPECT_EQ(reception(second).number(), 2u);
    EXPECT_EQ(reception(first).number(), 1u);
}

void same_class_routed_by_method(world& here) {
    const ca opened(here);
    constexpr UCHAR second_method = 0x4A;
    IB_MAD_AGENT_ATTR other = agent_attr(false);
    other.MethodMask[second_method / 32] = 1u << second_method % 32;
    const agent first(opened);
    const agent second(opened, other);
    const agent sender(opened, agent_attr(false));
    send(opened, sender, 1);
    datagram made(opened, 2);
    made.data()[method_offset] = second_method;
    must(send_mad(sender, made.get()));
    EXPECT_EQ(reception(second).number(), 2u);
    EXPECT_EQ(reception(first).number(), 1u);
}

// A driver may report that there is no receiver.
void no_receiver_datagram_is_dropped(world& here) {
    const ca opened(here);
    const agent receiver(opened, of_oui(first_oui));
    const agent sender(opened, of_oui(first_oui, false));
    datagram strange(opened, 1);
    strange.data()[class_offset] = class_with_oui;
    std::ranges::copy(nobodys_oui, &strange.data()[oui_offset]);
    status_of(send_mad(sender, strange.get()));
    send_to_oui(opened, sender, first_oui, 2);
    EXPECT_EQ(reception(receiver).number(), 2u);
}

// The second datagram is sent to the source address of the first.
void expect_a_return_route(IB_CA* by, IB_MAD_AGENT* at, const IB_MAD_ADDRESS& there) {
    datagram first(by, 1);
    first.send().To = there;
    must(send_mad(at, first.get()));
    reception came(at);
    EXPECT_EQ(came.number(), 1u);
    EXPECT_EQ(came.into.From.Qp, 1u);
    const UCHAR grh = there.Flags & IB_MAD_GRH;
    EXPECT_EQ(came.into.From.Flags & IB_MAD_GRH, grh);
    EXPECT_TRUE(grh == 0 || std::memcmp(&came.into.From.Gid, &there.Gid, sizeof(ib_gid_t)) == 0);
    datagram second(by, 2);
    second.send().To = came.into.From;
    must(send_mad(at, second.get()));
    EXPECT_EQ(reception(at).number(), 2u);
}

void source_address_is_destination_of_response(world& here) {
    const ca opened(here);
    const agent both(opened);
    IB_MAD_ADDRESS there = datagram(opened, 0).send().To;
    expect_a_return_route(opened, both, there);
    const block all = whole_port(opened);
    there.Flags |= IB_MAD_GRH;
    there.Gid = *IbPortGid(&all.as<IB_PORT_ATTR>(), 0);
    there.HopLimit = 1;
    expect_a_return_route(opened, both, there);
}

// A datagram that has arrived stays first until a call has room for it. From `compared` on its
// bytes are as they were sent.
void expect_it_stays_the_next(IB_MAD_AGENT* at, const std::vector<UCHAR>& expected,
                              std::ptrdiff_t compared = 0) {
    for (int look = 0; look < 2; ++look) {
        reception small(at);
        EXPECT_STATUS(small.call.status(), STATUS_BUFFER_OVERFLOW);
        EXPECT_EQ(small.into.Length, expected.size());
    }
    std::vector<UCHAR> room(expected.size());
    IB_MAD_RECEIVE into{};
    into.Data = room.data();
    into.Size = static_cast<ULONG>(room.size());
    EXPECT_EQ(must(get_mad(at, &into)), expected.size());
    EXPECT_EQ(into.Length, expected.size());
    EXPECT_TRUE(std::equal(expected.begin() + compared, expected.end(), room.begin() + compared));
}

void what_is_too_long_of_a_raw_qp(IB_CA* opened) {
    IB_MAD_AGENT_ATTR attr{};
    attr.PortNumber = 1;
    attr.QpKind = IB_MAD_QP_OWN_RAW;
    attr.Keys = {IB_PKEY_DEFAULT_FULL, 0x1234};
    const agent both(opened, attr);
    std::vector<UCHAR> bytes(2 * IB_MAD_SIZE);
    std::iota(bytes.begin(), bytes.end(), UCHAR{3});
    datagram made(opened, 0);
    made.send().To.Qp = both.get()->Attr.Qp;
    made.send().To.QKey = attr.Keys.QKey;
    made.send().Data = bytes.data();
    made.send().Length = static_cast<ULONG>(bytes.size());
    must(send_mad(both, made.get()));
    expect_it_stays_the_next(both, bytes);
}

// The driver may change the headers.
void what_is_too_long_of_a_transfer(IB_CA* opened) {
    IB_MAD_AGENT_ATTR attr = of_oui(first_oui);
    attr.Rmpp = IB_MAD_RMPP_BY_DRIVER;
    const agent receiver(opened, attr);
    IB_MAD_AGENT_ATTR asks = of_oui(first_oui, false);
    asks.Rmpp = IB_MAD_RMPP_BY_DRIVER;
    const agent sender(opened, asks);
    constexpr std::size_t headers = 40, active = 26;
    datagram first(opened, 0);
    std::vector<UCHAR> bytes(headers + 5000);
    std::iota(bytes.begin(), bytes.end(), UCHAR{3});
    std::copy_n(first.data().begin(), headers, bytes.begin());
    bytes[class_offset] = class_with_oui;
    bytes[24] = 1; // RMPP version
    bytes[25] = 1; // DATA
    bytes[active] = 1;
    std::ranges::copy(first_oui, &bytes[oui_offset]);
    first.send().Data = bytes.data();
    first.send().Length = static_cast<ULONG>(bytes.size());
    must(send_mad(sender, first.get()));
    expect_it_stays_the_next(receiver, bytes, headers);
}

// Checks raw queue pairs if the driver has them, otherwise transfers by the driver's RMPP.
void message_too_long_stays_first_in_queue(world& here) {
    const ca opened(here);
    const block all = whole_port(opened);
    const bool own_qps = (all.as<IB_PORT_ATTR>().Flags & IB_PORT_MAD_QPS) != 0;
    (own_qps ? what_is_too_long_of_a_raw_qp : what_is_too_long_of_a_transfer)(opened);
}

constexpr const char* rest =
    "Any other datagram goes to the agent that receives its class, version and method (and OUI).";
constexpr const char* stays =
    "STATUS_BUFFER_OVERFLOW: a message (RMPP by the driver, or raw) is longer than Size; "
    "pReceive->Length is its length, and it stays first in the queue.";

constexpr test_case cases[] = {
    {"MadRoute.VendorClass_RoutedByOui", rest, nothing, kind::steps, vendor_class_routed_by_oui},
    {"MadRoute.SameClass_RoutedByVersion", rest, nothing, kind::steps,
     same_class_routed_by_version},
    {"MadRoute.SameClass_RoutedByMethod", rest, nothing, kind::steps, same_class_routed_by_method},
    {"MadRoute.NoReceiver_DatagramIsDropped",
     "A datagram that no agent receives is dropped; a driver may refuse it with a status instead.",
     nothing, kind::steps, no_receiver_datagram_is_dropped},
    {"MadRoute.SourceAddress_IsDestinationOfResponse",
     "The source of a received datagram is the destination of the response.", nothing, kind::steps,
     source_address_is_destination_of_response},
    {"GetMad.MessageTooLong_StaysFirstInQueue", stays, nothing, kind::steps,
     message_too_long_stays_first_in_queue},
};

} // namespace
} // namespace mad_route_group

const std::span<const test_case> mad_route_cases = mad_route_group::cases;

} // namespace irpverbs::conformance
