// The protection by an M_Key: protection levels, the lease, and the trap. Source: IBA 14.2.4.
#include "unmanaged_subnet.hpp"

#include <algorithm>
#include <optional>

namespace {

using namespace irpverbs::testing;

constexpr std::uint64_t key = 0x1234;
constexpr std::uint64_t other_key = 0x4321;
constexpr LONGLONG one_second = 10'000'000;

class MKey : public unmanaged_subnet {
protected:
    void SetUp() override { configure(); }

    void protect(UCHAR level, USHORT lease = 0) {
        manager.modify(host3, sm_port_info, 1, [&](mad& info) {
            info.put<8>(smp_data, key).put<2>(smp_data + 26, lease);
            info[smp_data + 34] = static_cast<UCHAR>((info[smp_data + 34] & 0x3F) | level << 6);
        });
        manager.mkey = key;
    }
    static mad with_key(mad smp, std::uint64_t key_sent) {
        return smp.put<8>(smp_mkey, key_sent).with_transaction(1);
    }
    /// Returns host3's response; nothing when host3 answers the following request first.
    static std::optional<mad> response_to(mad_client& from, ib_lid_t to, const mad& smp,
                                          mad after_it) {
        EXPECT_EQ(from.send(to_subnet(to), smp), STATUS_SUCCESS);
        EXPECT_EQ(from.send(to_subnet(to), after_it.with_transaction(2)), STATUS_SUCCESS);
        const mad first = from.receive().data;
        if (first.own_transaction() == 2) return std::nullopt;
        EXPECT_EQ(from.receive().data.own_transaction(), 2u);
        return first;
    }
    // SMInfo needs no key.
    std::optional<mad> directed(UCHAR method, USHORT attribute, std::uint64_t key_sent) {
        return response_to(manager.agent(), IB_LID_PERMISSIVE,
                           with_key(directed_smp(method, attribute, 0, host3), key_sent),
                           directed_smp(get_method, sm_info, 0, host3));
    }
    std::optional<mad> by_lid(UCHAR method, USHORT attribute, std::uint64_t key_sent) {
        return response_to(lid_routed, 3, with_key(mad(subnet_class, method, attribute), key_sent),
                           mad(subnet_class, get_method, sm_info));
    }
    USHORT violations() { return port_block(three, 1)->MKeyViolations; }
    static void pass(LONGLONG time) {
        LARGE_INTEGER from_now;
        from_now.QuadPart = -time;
        KeDelayExecutionThread(KernelMode, FALSE, &from_now);
    }

    mad_client lid_routed{one, agent_of(subnet_class)};
};

TEST_P(MKey, WrongKey_RefusesSetAndFromLevel2Get) {
    USHORT expected = 0;
    for (const UCHAR level : {UCHAR{0}, UCHAR{1}, UCHAR{2}, UCHAR{3}}) {
        protect(level);
        for (const bool directly : {true, false}) {
            SCOPED_TRACE(testing::Message() << int{level} << (directly ? " directed" : " by LID"));
            const auto ask = [&](UCHAR method, USHORT attribute, std::uint64_t key_sent) {
                return directly ? directed(method, attribute, key_sent)
                                : by_lid(method, attribute, key_sent);
            };
            EXPECT_FALSE(ask(set_method, sm_led_info, other_key));
            EXPECT_EQ(violations(), ++expected);
            const auto info = ask(get_method, sm_port_info, other_key);
            EXPECT_EQ(info.has_value(), level < 2);
            if (info) {
                EXPECT_EQ(info->get<8>(smp_data), level == 0 ? key : 0);
            }
            if (level >= 2) ++expected;
            EXPECT_EQ(violations(), expected);
            EXPECT_TRUE(ask(set_method, sm_led_info, key));
            EXPECT_EQ(ask(get_method, sm_port_info, key).value_or(mad()).get<8>(smp_data), key);
            EXPECT_EQ(violations(), expected);
        }
    }
}

TEST_P(MKey, SmInfoWithWrongKey_IsAccepted) {
    protect(3);
    EXPECT_TRUE(by_lid(get_method, sm_info, other_key));
    EXPECT_TRUE(directed(set_method, sm_info, other_key));
    EXPECT_EQ(violations(), 0);
    mad_client other(three, agent_of(subnet_class, {set_method}));
    EXPECT_EQ(lid_routed.send(to_subnet(3),
                              with_key(mad(subnet_class, set_method, sm_info, 1), other_key)),
              STATUS_SUCCESS);
    EXPECT_EQ(other.receive().data.get<4>(20), 1u);
}

// A trap reports each request that the M_Key refuses.
TEST_P(MKey, Violation_TrapReportsRefusedRequest) {
    protect(2);
    mad_client traps(one, agent_of(subnet_class, {trap_method}));
    EXPECT_FALSE(by_lid(set_method, sm_pkey_table, other_key));
    const mad notice = traps.receive().data;
    const std::size_t details = smp_data + 10;
    EXPECT_EQ(notice.get<2>(smp_data + 4), 256u);
    EXPECT_EQ(notice.get<2>(details + 2), 3u); // the LID whose key it is
    EXPECT_EQ(notice.get<2>(details + 4), 1u); // the LID of the requester
    EXPECT_EQ(notice[details + 6], set_method);
    EXPECT_EQ(notice.get<2>(details + 8), sm_pkey_table);
    EXPECT_EQ(notice.get<8>(details + 14), other_key);
    EXPECT_EQ(notice[details + 23], 0);
}

// The trap of a switch that is reached by routes of very many hops between two switches.
TEST_P(MKey, ViolationByDirectedRoute_TrapHasReturnPath) {
    mad_client traps(one, agent_of(subnet_class, {trap_method}));
    manager.modify(switch2, sm_port_info, 0, [&](mad& info) { info.put<8>(smp_data, key); });
    constexpr std::size_t room = 30;
    for (const std::size_t hops : {std::size_t{2}, room, room + 2, std::size_t{62}}) {
        std::vector<UCHAR> way(hops, 7);
        way[0] = 1;
        mad wrong = directed_smp(set_method, sm_linear_table, 5, way);
        wrong.put<8>(smp_mkey, other_key);
        EXPECT_EQ(manager.agent().send(to_subnet(), wrong), STATUS_SUCCESS);
        mad notice = traps.receive().data;
        const std::size_t details = smp_data + 10;
        EXPECT_EQ(notice.get<2>(smp_data + 4), 256u);
        EXPECT_EQ(notice.get<2>(details + 2), 12u);
        EXPECT_EQ(notice.get<2>(details + 4), IB_LID_PERMISSIVE); // DrSLID
        EXPECT_EQ(notice[details + 6], set_method);
        EXPECT_EQ(notice.get<2>(details + 8), sm_linear_table);
        EXPECT_EQ(notice.get<4>(details + 10), 5u);
        EXPECT_EQ(notice.get<8>(details + 14), other_key);
        const std::size_t kept = std::min(hops, room);
        EXPECT_EQ(notice[details + 23], (hops > room ? 0xC0 : 0x80) | kept);
        std::vector<UCHAR> expected(kept, 7);
        if (kept == hops) expected[0] = 1; // otherwise the route's start is left out
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), &notice[details + 24])) << hops;
        notice[3] = 7;
        notice.put<8>(smp_mkey, key);
        EXPECT_EQ(traps.send(to_subnet(12), notice), STATUS_SUCCESS);
        manager.mkey = key;
        manager.get(switch2, sm_node_info); // the repress has arrived before this is answered
    }
}

// No directed route leads there, so the hop count was checked nowhere on the way.
TEST_P(MKey, DirectedSmpByMulticast_IsDropped) {
    mad table;
    table.put<2>(smp_data + 2 * 2, 1u << 1 | 1u << 7); // MLID 0xC002
    EXPECT_EQ(manager.set(switch1, sm_multicast_table, 0, table).status(), 0);
    EXPECT_EQ(manager.set(switch2, sm_multicast_table, 0, table).status(), 0);
    protect(2);
    mad wrong = directed_smp(set_method, sm_led_info, 0, {});
    wrong[7] = 255; // hops
    wrong.put<8>(smp_mkey, other_key);
    EXPECT_EQ(manager.agent().send(to_subnet(0xC002), wrong), STATUS_SUCCESS);
    manager.get(host3, sm_node_info); // it arrives after the multicast
    EXPECT_EQ(violations(), 0);
}

IRPVERBS_ON_BOTH_MACHINES(MKey);

class MKeyLease : public MKey {};

TEST_P(MKeyLease, Violation_StartsLeaseThatEndsReadProtection) {
    protect(2, 10);
    pass(20 * one_second); // without a violation no lease period starts
    EXPECT_FALSE(directed(get_method, sm_port_info, other_key));
    pass(9 * one_second);
    EXPECT_FALSE(directed(get_method, sm_port_info, other_key)); // starts no lease period
    pass(2 * one_second);
    const auto info = directed(get_method, sm_port_info, other_key);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->get<8>(smp_data), key);
    EXPECT_EQ((*info)[smp_data + 34] >> 6, 0);
    EXPECT_FALSE(directed(set_method, sm_led_info, other_key));
}

TEST_P(MKeyLease, RequestWithCorrectKey_RenewsLease) {
    protect(2, 10);
    EXPECT_FALSE(directed(get_method, sm_port_info, other_key));
    pass(9 * one_second);
    EXPECT_TRUE(directed(get_method, sm_node_info, key));
    pass(2 * one_second);
    EXPECT_FALSE(directed(get_method, sm_port_info, other_key)); // starts a new lease period
    pass(9 * one_second);
    EXPECT_FALSE(directed(get_method, sm_port_info, other_key));
    pass(2 * one_second);
    EXPECT_TRUE(directed(get_method, sm_port_info, other_key));
}

TEST_P(MKeyLease, ZeroLeasePeriod_NeverExpires) {
    protect(2);
    EXPECT_FALSE(directed(get_method, sm_port_info, other_key));
    pass(600 * one_second);
    EXPECT_FALSE(directed(get_method, sm_port_info, other_key));
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(MKeyLease);

} // namespace
