// Queue pairs of an agent's own. For a driver without them, only the refusal is checked.
#include "datagrams.hpp"

#include <cstring>
#include <numeric>

namespace irpverbs::conformance {

namespace mad_qp_group {
namespace {

constexpr IB_MAD_KEYS its_keys{IB_PKEY_DEFAULT_FULL, 0x1234};

IB_MAD_AGENT_ATTR own_qp(UCHAR kind = IB_MAD_QP_OWN_MADS) {
    IB_MAD_AGENT_ATTR attr{};
    attr.PortNumber = 1;
    attr.QpKind = kind;
    attr.Keys = its_keys;
    return attr;
}

ib_qpn_t number_of(IB_MAD_AGENT* agent) { return agent->Attr.Qp; }

void send_to_own(IB_CA* by, IB_MAD_AGENT* from, ib_qpn_t qp, ULONG number,
                 ib_qkey_t qkey = its_keys.QKey) {
    datagram made(by, number);
    made.send().To.Qp = qp;
    made.send().To.QKey = qkey;
    must(send_mad(from, made.get()));
}

void own_qp_registration_succeeds_if_port_has_mad_qps(world& here) {
    const ca opened(here);
    const block all = whole_port(opened);
    const bool has_mad_qps = (all.as<IB_PORT_ATTR>().Flags & IB_PORT_MAD_QPS) != 0;
    const IB_MAD_AGENT_ATTR attr = own_qp();
    verb_call made(register_agent(opened, &attr));
    EXPECT_STATUS(made.status(), has_mad_qps ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED);
    if (made.status() != STATUS_SUCCESS) return;
    EXPECT_STATUS(status_of(deregister_agent(made.object<IB_MAD_AGENT>())), STATUS_SUCCESS);
}

void two_agents_have_unique_qp_numbers(world& here) {
    const ca opened(here);
    const ca other(here);
    const agent first(opened, own_qp());
    const agent second(opened, own_qp(IB_MAD_QP_OWN_RAW));
    const agent third(other, own_qp());
    for (IB_MAD_AGENT* each : {first.get(), second.get(), third.get()})
        EXPECT_GT(number_of(each), 1u);
    EXPECT_NE(number_of(first), number_of(second));
    EXPECT_NE(number_of(first), number_of(third));
    EXPECT_NE(number_of(second), number_of(third));
}

void invalid_attributes_return_invalid_parameter(world& here) {
    const ca opened(here);
    { const agent supported(opened, own_qp()); }
    IB_MAD_AGENT_ATTR kind = own_qp(IB_MAD_QP_OWN_RAW + 1);
    IB_MAD_AGENT_ATTR with_class = own_qp();
    with_class.ManagementClass = 0x0A;
    IB_MAD_AGENT_ATTR no_partition = own_qp();
    no_partition.Keys.PKey = 0x8000;
    for (const IB_MAD_AGENT_ATTR* each : {&kind, &with_class, &no_partition})
        EXPECT_STATUS(status_of(register_agent(opened, each)), STATUS_INVALID_PARAMETER);
    const agent shared(opened, agent_attr(false));
    EXPECT_STATUS(status_of(modify_agent(shared, &its_keys)), STATUS_INVALID_DEVICE_REQUEST);
    const agent own(opened, own_qp());
    EXPECT_STATUS(status_of(modify_agent(own, nullptr)), STATUS_INVALID_PARAMETER);
    EXPECT_STATUS(status_of(modify_agent(own, &no_partition.Keys)), STATUS_INVALID_PARAMETER);
    datagram to_qp0(opened, 1);
    to_qp0.send().To.Qp = 0;
    EXPECT_STATUS(status_of(send_mad(own, to_qp0.get())), STATUS_INVALID_PARAMETER);
}

// The agent receives datagrams of every class, responses too; the whole transaction ID is the
// sender's.
void any_datagram_reaches_its_agent(world& here) {
    const ca opened(here);
    const agent receiver(opened, own_qp());
    const agent sender(opened, own_qp());
    ULONG number = 0;
    for (const UCHAR mgmt_class : {UCHAR{1}, UCHAR{0x0A}, UCHAR{0x32}}) {
        datagram made(opened, ++number);
        made.send().To.Qp = number_of(receiver);
        made.send().To.QKey = its_keys.QKey;
        made.data()[1] = mgmt_class;
        made.data()[3] = 0x81;
        made.data()[8] = 0x77;
        must(send_mad(sender, made.get()));
        reception got(receiver);
        EXPECT_EQ(got.number(), number);
        EXPECT_EQ(got.data[1], mgmt_class);
        EXPECT_EQ(got.data[8], 0x77);
        EXPECT_EQ(got.into.From.Qp, number_of(sender));
    }
}

void raw_datagram_has_any_bytes(world& here) {
    const ca opened(here);
    const agent both(opened, own_qp(IB_MAD_QP_OWN_RAW));
    const block all = whole_port(opened);
    const std::size_t mtu = std::size_t{128} << all.as<IB_PORT_ATTR>().ActiveMtu;
    for (const std::size_t size : {std::size_t{1}, std::size_t{IB_MAD_SIZE}, mtu, mtu + 1}) {
        std::vector<UCHAR> bytes(size);
        std::iota(bytes.begin(), bytes.end(), UCHAR{3});
        datagram made(opened, 0);
        made.send().To.Qp = number_of(both);
        made.send().To.QKey = its_keys.QKey;
        made.send().Data = bytes.data();
        made.send().Length = static_cast<ULONG>(size);
        const NTSTATUS expected = size > mtu ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS;
        EXPECT_STATUS(status_of(send_mad(both, made.get())), expected);
        if (size > mtu) break;
        std::vector<UCHAR> room(mtu);
        IB_MAD_RECEIVE into{};
        into.Data = room.data();
        into.Size = static_cast<ULONG>(mtu);
        EXPECT_EQ(must(get_mad(both, &into)), size);
        room.resize(size);
        EXPECT_EQ(room, bytes);
    }
}

void wrong_pkey_or_qkey_is_dropped(world& here) {
    const ca opened(here);
    const agent receiver(opened, own_qp());
    const agent sender(opened, own_qp());
    const IB_MAD_KEYS fresh{IB_PKEY_DEFAULT_FULL, 0x4321};
    send_to_own(opened, sender, number_of(receiver), 1, fresh.QKey);
    send_to_own(opened, sender, number_of(receiver), 2);
    EXPECT_EQ(reception(receiver).number(), 2u);
    must(modify_agent(receiver, &fresh));
    send_to_own(opened, sender, number_of(receiver), 3);
    send_to_own(opened, sender, number_of(receiver), 4, fresh.QKey);
    EXPECT_EQ(reception(receiver).number(), 4u);
}

void datagram_after_deregistration_is_dropped(world& here) {
    const ca opened(here);
    const agent sender(opened, own_qp());
    agent gone(opened, own_qp());
    const ib_qpn_t number = number_of(gone);
    gone.deregister();
    send_to_own(opened, sender, number, 1);
    const agent next(opened, own_qp());
    send_to_own(opened, sender, number_of(next), 2);
    EXPECT_EQ(reception(next).number(), 2u);
}

void modify_races_with_cancel_result_wins(world& here) {
    const ca opened(here);
    const agent both(opened, own_qp());
    const IB_MAD_KEYS fresh{IB_PKEY_DEFAULT_FULL, 0x4321};
    verb_call modified;
    world::together(
        {[&] { modified.send(modify_agent(both, &fresh)); }, [&] { modified.cancel(); }});
    const bool done = modified.status() == STATUS_SUCCESS;
    EXPECT_STATUS(modified.status(), done ? STATUS_SUCCESS : STATUS_CANCELLED);
    send_to_own(opened, both, number_of(both), 1, fresh.QKey);
    send_to_own(opened, both, number_of(both), 2, its_keys.QKey);
    EXPECT_EQ(reception(both).number(), done ? 1u : 2u);
}

constexpr const char* in_and_out =
    "it sends with this P_Key, as the port's table has it, and receives the datagrams of that "
    "partition that carry this Q_Key.";

constexpr test_case cases[] = {
    {"MadQp.OwnQpRegistration_SucceedsIfPortHasMadQps", "a QP of its own without IB_PORT_MAD_QPS",
     nothing, kind::steps, own_qp_registration_succeeds_if_port_has_mad_qps},
    {"MadQp.TwoAgents_HaveUniqueQpNumbers", "above 1, unique on the HCA", nothing, kind::steps,
     two_agents_have_unique_qp_numbers},
    {"MadQp.InvalidAttributes_ReturnInvalidParameter",
     "With a QP of its own: also a class, or a P_Key that the port does not have.", nothing,
     kind::steps, invalid_attributes_return_invalid_parameter},
    {"MadQp.AnyDatagram_ReachesItsAgent",
     "An agent with a queue pair of its own receives every datagram of that queue pair, and sends "
     "TransactionIDs unchanged.",
     nothing, kind::steps, any_datagram_reaches_its_agent},
    {"MadQp.RawDatagram_HasAnyBytes", "for any bytes, up to the path's MTU", nothing, kind::steps,
     raw_datagram_has_any_bytes},
    {"MadQp.WrongPKeyOrQKey_IsDropped", in_and_out, nothing, kind::steps,
     wrong_pkey_or_qkey_is_dropped},
    {"MadQp.DatagramAfterDeregistration_IsDropped", "never after its deregistration has completed.",
     nothing, kind::steps, datagram_after_deregistration_is_dropped},
    {"MadQp.ModifyRacesWithCancel_ResultWins",
     "completes STATUS_CANCELLED when IoCancelIrp is called while it is pended and has not taken "
     "effect; a result that exists wins.",
     nothing, kind::race, modify_races_with_cancel_result_wins},
};

} // namespace
} // namespace mad_qp_group

const std::span<const test_case> mad_qp_cases = mad_qp_group::cases;

} // namespace irpverbs::conformance
