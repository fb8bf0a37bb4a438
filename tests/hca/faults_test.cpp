// Faults on links: each occurs when it is requested, and no other does.
#include "mad_client.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <algorithm>
#include <numeric>

namespace {

using namespace irpverbs::testing;

constexpr ULONG always = 1;

class Faults : public BothMachines {
protected:
    void set(const HCA_SOFTWARE_FAULTS* wanted) {
        EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(1), 1, wanted), STATUS_SUCCESS);
    }
    void send_numbered(USHORT number) {
        EXPECT_EQ(sender.send(to_lid(two.lid()), {vendor_class, send_method, number}),
                  STATUS_SUCCESS);
    }
    std::uint64_t next_number() { return receiver.receive().data.get<2>(16); }
    /// Sends `count` datagrams with the faults and one without; returns the numbers of those that
    /// arrived.
    std::vector<std::uint64_t> come_through(USHORT count) {
        set(&faults);
        for (USHORT i = 1; i <= count; ++i)
            send_numbered(i);
        set(nullptr);
        while (port_block(two, 1)->State != IB_PORT_ACTIVE)
            verb_call([&](IRP* irp) { return CiGetCaPortEvent(two, 1, irp); }).status();
        send_numbered(0);
        std::vector<std::uint64_t> numbers;
        while (const std::uint64_t number = next_number())
            numbers.push_back(number);
        return numbers;
    }

    attached hcas;
    open_hca one{hcas.fdo(0)};
    open_hca two{hcas.fdo(1)};
    mad_client sender{one, agent_of(vendor_class)};
    mad_client receiver{two, agent_of(vendor_class, {send_method})};
    HCA_SOFTWARE_FAULTS faults{};
};

TEST_P(Faults, Loss_SilentUntilFaultIsCleared) {
    faults.LossOnceIn = always;
    set(&faults);
    send_numbered(1);
    set(nullptr);
    send_numbered(2);
    EXPECT_EQ(next_number(), 2u);
}

TEST_P(Faults, Duplication_DatagramArrivesTwice) {
    faults.DuplicationOnceIn = always;
    set(&faults);
    send_numbered(1);
    EXPECT_EQ(next_number(), 1u);
    EXPECT_EQ(next_number(), 1u);
}

TEST_P(Faults, Delay_PassesMachineTimeAndKeepsOrder) {
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

TEST_P(Faults, Partition_KeepsPortActiveAndEndsByItself) {
    faults.PartitionOnceIn = always;
    faults.PartitionTime = 1000;
    set(&faults);
    send_numbered(1);
    EXPECT_EQ(port_block(two, 1)->State, IB_PORT_ACTIVE);
    set(nullptr);
    send_numbered(2);
    EXPECT_EQ(next_number(), 2u);
}

TEST_P(Faults, Flap_RaisesPortErrorThenPortActive) {
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

// The cable between switches is named by one switch and its port.
TEST_P(Faults, FaultOnSwitchPort_AppliesToItsCable) {
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

TEST_P(Faults, RandomDuplication_DuplicatesSomeInOrder) {
    faults.DuplicationOnceIn = 3;
    faults.Seed = 5;
    const auto numbers = come_through(40);
    std::size_t twice = 0;
    for (std::uint64_t i = 1; i <= 40; ++i) {
        const auto times = std::ranges::count(numbers, i);
        EXPECT_TRUE(times == 1 || times == 2) << i;
        twice += times == 2 ? 1 : 0;
    }
    EXPECT_TRUE(std::ranges::is_sorted(numbers));
    EXPECT_GT(twice, 4u);
    EXPECT_LT(twice, 36u);
}

TEST_P(Faults, RandomPartitions_LoseSomeInOrder) {
    faults.PartitionOnceIn = 10;
    faults.PartitionTime = 20;
    faults.Seed = 5;
    const auto numbers = come_through(40);
    EXPECT_TRUE(std::ranges::is_sorted(numbers));
    EXPECT_FALSE(numbers.empty());
    EXPECT_LT(numbers.size(), 40u);
}

TEST_P(Faults, RandomFlaps_LoseSomeInOrder) {
    faults.FlapOnceIn = 10;
    faults.FlapTime = 20;
    faults.Seed = 5;
    const auto numbers = come_through(40);
    EXPECT_TRUE(std::ranges::is_sorted(numbers));
    EXPECT_FALSE(numbers.empty());
    EXPECT_LT(numbers.size(), 40u);
}

IRPVERBS_ON_BOTH_MACHINES(Faults);

struct arrivals {
    std::vector<USHORT> numbers;
    HCA_SOFTWARE_COUNTERS sender{}; // of its port,
    HCA_SOFTWARE_COUNTERS next{};   // and of the other end of its cable
    static void note(IB_MAD_AGENT*, void* context, const IB_MAD_RECEIVED* received) {
        const auto* bytes = static_cast<const UCHAR*>(received->Data);
        static_cast<arrivals*>(context)->numbers.push_back(bytes[17]);
    }
};

/// How a test sends its datagrams.
struct sending {
    USHORT count = 5;
    LONGLONG pause_us = 0; // between two datagrams
};

// Sends some datagrams over a link with faults in many runs, and passes each run's result to
// `look`.
template <class Look>
void run_with(const HCA_SOFTWARE_FAULTS& faults, sending how, const Look& look) {
    constexpr ib_guid_t switch1 = 0x0200000000000000 + (5 << 8);
    irpverbs::dispatch::explore_options options;
    options.random_runs = 2000;
    options.pct_runs = 200;
    // The sender sends at exact times.
    expect_explored(
        irpverbs::testing::without_delays(options), [&](irpverbs::dispatch::sim_machine& sim) {
            attached hcas;
            const open_hca ca(hcas.fdo(0));
            HcaSoftwareSetFaults(hcas.guid(0), 1, &faults);
            arrivals got;
            const IB_MAD_DISPATCH calls{arrivals::note};
            const IB_MAD_AGENT_ATTR attr = agent_of(vendor_class, {send_method}, 2);
            verb_call make(
                [&](IRP* irp) { return CiRegisterMadAgent(ca, &attr, &got, &calls, irp); });
            auto* agent = make.object<IB_MAD_AGENT>();
            mad_client sender(ca, agent_of(vendor_class));
            const ib_lid_t lid = ca.lid(2);
            sim.spawn("send", [&] {
                for (USHORT i = 1; i <= how.count; ++i) {
                    sender.send(to_lid(lid), {vendor_class, send_method, i});
                    LARGE_INTEGER pause;
                    pause.QuadPart = -10 * how.pause_us;
                    if (how.pause_us != 0) KeDelayExecutionThread(KernelMode, FALSE, &pause);
                }
            });
            sim.run();
            EXPECT_EQ(
                verb_call([&](IRP* irp) { return CiDeregisterMadAgent(agent, irp); }).status(),
                STATUS_SUCCESS);
            EXPECT_EQ(port_block(ca, 1)->State, IB_PORT_ACTIVE);
            HcaSoftwareCounters(hcas.guid(0), 1, &got.sender);
            HcaSoftwareCounters(switch1, 1, &got.next);
            look(got);
        });
}

bool ordered(const std::vector<USHORT>& numbers) { return std::ranges::is_sorted(numbers); }

/// The lengths of the gaps in the sequence, except one at the end.
std::vector<int> gaps(const std::vector<USHORT>& numbers) {
    std::vector<int> found;
    int before = 0;
    for (const USHORT each : numbers) {
        if (each > before + 1) found.push_back(each - before - 1);
        before = each;
    }
    return found;
}

/// The fewest and the most datagrams that arrived in one run.
struct extremes {
    std::size_t fewest = 1000;
    std::size_t most = 0;
    void note(std::size_t count) {
        fewest = std::min(fewest, count);
        most = std::max(most, count);
    }
};

TEST(RandomFaults, RandomLoss_OthersStayInOrder) {
    HCA_SOFTWARE_FAULTS faults{};
    faults.LossOnceIn = 3;
    faults.Jitter = 50;
    extremes seen;
    run_with(faults, {}, [&](const arrivals& got) {
        EXPECT_TRUE(ordered(got.numbers));
        EXPECT_EQ(got.next.ReceiveErrors, 5 - got.numbers.size());
        seen.note(got.numbers.size());
    });
    EXPECT_LT(seen.fewest, 3u);
    EXPECT_EQ(seen.most, 5u);
}

TEST(RandomFaults, RandomReordering_LosesNone) {
    HCA_SOFTWARE_FAULTS faults{};
    faults.ReorderingOnceIn = 2;
    faults.ReorderingTime = 100;
    bool out_of_order = false;
    run_with(faults, {}, [&](const arrivals& got) {
        EXPECT_EQ(got.numbers.size(), 5u);
        EXPECT_EQ(std::accumulate(got.numbers.begin(), got.numbers.end(), 0), 15);
        out_of_order |= !ordered(got.numbers);
    });
    EXPECT_TRUE(out_of_order);
}

TEST(RandomFaults, RandomDuplication_CopiesFollowOriginals) {
    HCA_SOFTWARE_FAULTS faults{};
    faults.DuplicationOnceIn = 3;
    faults.Jitter = 50;
    extremes seen;
    run_with(faults, {}, [&](const arrivals& got) {
        EXPECT_TRUE(ordered(got.numbers));
        for (USHORT i = 1; i <= 5; ++i) {
            const auto times = std::ranges::count(got.numbers, i);
            EXPECT_TRUE(times == 1 || times == 2) << times;
        }
        seen.note(got.numbers.size());
    });
    EXPECT_EQ(seen.fewest, 5u);
    EXPECT_GT(seen.most, 7u);
}

// Eight datagrams go 100 us apart: the one that starts a partition is lost, and so are those within
// 250 us.
TEST(RandomFaults, RandomPartition_SilentForItsDuration) {
    HCA_SOFTWARE_FAULTS faults{};
    faults.PartitionOnceIn = 6;
    faults.PartitionTime = 250;
    extremes seen;
    bool went_on = false;
    run_with(faults, {8, 100}, [&](const arrivals& got) {
        EXPECT_TRUE(ordered(got.numbers));
        for (const int gap : gaps(got.numbers)) {
            EXPECT_GE(gap, 3);
            went_on = true;
        }
        EXPECT_EQ(got.sender.TransmitPackets, 8u);
        EXPECT_EQ(got.next.ReceivePackets, got.numbers.size());
        EXPECT_EQ(got.next.ReceiveErrors + got.next.LinkDowned + got.sender.TransmitDiscards, 0u);
        seen.note(got.numbers.size());
    });
    EXPECT_LT(seen.fewest, 3u);
    EXPECT_EQ(seen.most, 8u);
    EXPECT_TRUE(went_on);
}

TEST(RandomFaults, RandomFlap_LinkDownForItsDuration) {
    HCA_SOFTWARE_FAULTS faults{};
    faults.FlapOnceIn = 6;
    faults.FlapTime = 250;
    extremes seen;
    bool went_on = false;
    run_with(faults, {8, 100}, [&](const arrivals& got) {
        EXPECT_TRUE(ordered(got.numbers));
        for (const int gap : gaps(got.numbers)) {
            EXPECT_EQ(gap % 3, 0);
            went_on = true;
        }
        const ULONGLONG flaps = got.sender.LinkDowned;
        EXPECT_EQ(got.next.LinkDowned, flaps);
        EXPECT_EQ(got.numbers.size() + flaps + got.sender.TransmitDiscards, 8u);
        seen.note(got.numbers.size());
    });
    EXPECT_LT(seen.fewest, 3u);
    EXPECT_EQ(seen.most, 8u);
    EXPECT_TRUE(went_on);
}

} // namespace
