// What goes wrong on links, when it is asked for, and that nothing else does.
#include "mad_client.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <algorithm>
#include <numeric>

namespace {

using namespace irpverbs::testing;

constexpr UCHAR send = 3;
constexpr ULONG always = 1;

class Faults : public BothMachines {
protected:
    void set(const HCA_SOFTWARE_FAULTS* wanted) {
        EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(1), 1, wanted), STATUS_SUCCESS);
    }
    void send_numbered(USHORT number) {
        EXPECT_EQ(sender.send(to_lid(two.lid()), {vendor_class, send, number}), STATUS_SUCCESS);
    }
    std::uint64_t next_number() { return receiver.receive().data.get<2>(16); }

    attached hcas;
    open_hca one{hcas.fdo(0)};
    open_hca two{hcas.fdo(1)};
    mad_client sender{one, agent_of(vendor_class)};
    mad_client receiver{two, agent_of(vendor_class, {send})};
    HCA_SOFTWARE_FAULTS faults{};
};

TEST_P(Faults, ALossIsSilentAndEndsWithTheFault) {
    faults.LossOnceIn = always;
    set(&faults);
    send_numbered(1);
    set(nullptr);
    send_numbered(2);
    EXPECT_EQ(next_number(), 2u);
}

TEST_P(Faults, ADuplicateArrivesTwice) {
    faults.DuplicationOnceIn = always;
    set(&faults);
    send_numbered(1);
    EXPECT_EQ(next_number(), 1u);
    EXPECT_EQ(next_number(), 1u);
}

TEST_P(Faults, ADelayTakesMachineTimeAndKeepsTheOrder) {
    faults.Delay = 3000;
    faults.Jitter = 4000;
    set(&faults);
    const ULONGLONG start = KeQueryInterruptTime();
    for (USHORT i = 1; i <= 10; ++i)
        send_numbered(i);
    EXPECT_EQ(next_number(), 1u);
    EXPECT_GE(KeQueryInterruptTime() - start, 20'000u); // a real timer may be 1 ms early
    for (USHORT i = 2; i <= 10; ++i)
        EXPECT_EQ(next_number(), i);
}

TEST_P(Faults, APartitionEndsByItself) {
    faults.PartitionOnceIn = always;
    faults.PartitionTime = 1000;
    set(&faults);
    send_numbered(1);
    EXPECT_EQ(port_block(two, 1)->State, IB_PORT_ACTIVE);
    set(nullptr);
    send_numbered(2);
    EXPECT_EQ(next_number(), 2u);
}

TEST_P(Faults, AFlapBreaksTheLinkAndMendsIt) {
    verb_call error([&](IRP* irp) { return CiGetCaPortEvent(two, 1, irp); });
    verb_call active([&](IRP* irp) { return CiGetCaPortEvent(two, 1, irp); });
    faults.FlapOnceIn = always;
    faults.FlapTime = 2000;
    set(&faults);
    send_numbered(1);
    EXPECT_EQ(error.information(), static_cast<ULONG_PTR>(IB_AE_PORT_ERROR));
    EXPECT_EQ(active.information(), static_cast<ULONG_PTR>(IB_AE_PORT_ACTIVE));
    set(nullptr);
    send_numbered(2);
    EXPECT_EQ(next_number(), 2u);
}

// A cable between switches is named by a switch's end.
TEST_P(Faults, SwitchesHaveThemToo) {
    constexpr ib_guid_t switch1 = 0x0200000000000000 + (5 << 8);
    faults.LossOnceIn = always;
    EXPECT_EQ(HcaSoftwareSetFaults(switch1, 2, &faults), STATUS_SUCCESS); // host2's cable
    send_numbered(1);
    EXPECT_EQ(HcaSoftwareSetFaults(switch1, 2, nullptr), STATUS_SUCCESS);
    send_numbered(2);
    EXPECT_EQ(next_number(), 2u);
    EXPECT_EQ(HcaSoftwareSetFaults(switch1, 4, &faults), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(HcaSoftwareSetFaults(switch1, 9, &faults), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(HcaSoftwareSetFaults(1, 1, &faults), STATUS_OBJECT_NAME_NOT_FOUND);
}

IRPVERBS_ON_BOTH_MACHINES(Faults);

struct arrivals {
    std::vector<USHORT> numbers;
    static void note(IB_MAD_AGENT*, void* context, const IB_MAD_RECEIVED* received) {
        const auto* bytes = static_cast<const UCHAR*>(received->Data);
        static_cast<arrivals*>(context)->numbers.push_back(bytes[17]);
    }
};

// Runs of five datagrams over a link with faults; what came of each run is `look`ed at.
template <class Look>
void run_with(const HCA_SOFTWARE_FAULTS& faults, const Look& look) {
    irpverbs::dispatch::explore_options options;
    options.random_runs = 200;
    options.pct_runs = 50;
    expect_explored(options, [&](irpverbs::dispatch::sim_machine& sim) {
        attached hcas;
        const open_hca ca(hcas.fdo(0));
        HcaSoftwareSetFaults(hcas.guid(0), 1, &faults);
        arrivals got;
        const IB_MAD_DISPATCH calls{arrivals::note};
        const IB_MAD_AGENT_ATTR attr = agent_of(vendor_class, {send}, 2);
        verb_call make([&](IRP* irp) { return CiRegisterMadAgent(ca, &attr, &got, &calls, irp); });
        auto* agent = make.object<IB_MAD_AGENT>();
        mad_client sender(ca, agent_of(vendor_class));
        const ib_lid_t lid = ca.lid(2);
        sim.spawn("send", [&] {
            for (USHORT i = 1; i <= 5; ++i)
                sender.send(to_lid(lid), {vendor_class, send, i});
        });
        sim.run();
        EXPECT_EQ(verb_call([&](IRP* irp) { return CiDeregisterMadAgent(agent, irp); }).status(),
                  STATUS_SUCCESS);
        look(got.numbers);
    });
}

bool ordered(const std::vector<USHORT>& numbers) { return std::ranges::is_sorted(numbers); }

TEST(FaultChoices, DrawnLossesLeaveTheOthersInOrder) {
    HCA_SOFTWARE_FAULTS faults{};
    faults.LossOnceIn = 3;
    faults.Jitter = 50;
    std::size_t fewest = 5;
    std::size_t most = 0;
    run_with(faults, [&](const std::vector<USHORT>& numbers) {
        EXPECT_TRUE(ordered(numbers));
        fewest = std::min(fewest, numbers.size());
        most = std::max(most, numbers.size());
    });
    EXPECT_LT(fewest, 3u);
    EXPECT_EQ(most, 5u);
}

TEST(FaultChoices, DrawnReorderingLosesNone) {
    HCA_SOFTWARE_FAULTS faults{};
    faults.ReorderingOnceIn = 2;
    faults.ReorderingTime = 100;
    bool out_of_order = false;
    run_with(faults, [&](const std::vector<USHORT>& numbers) {
        EXPECT_EQ(numbers.size(), 5u);
        EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), 0), 15);
        out_of_order |= !ordered(numbers);
    });
    EXPECT_TRUE(out_of_order);
}

} // namespace
