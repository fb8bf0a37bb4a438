// Objects that packages keep per processor and per machine.
#include <support/both_machines.hpp>

#include <dispatch/support/locals.hpp>

#include <thread>
#include <vector>

namespace {

namespace core = irpverbs::dispatch::detail;
using irpverbs::dispatch::asio_machine;
using irpverbs::dispatch::machine;

struct counted {
    ULONG calls;
};
ULONG dropped_calls = 0;

IRPVERBS_REGISTERED_EARLY const core::processor_local<counted> counts([](void* held) {
    dropped_calls += static_cast<counted*>(held)->calls;
});
IRPVERBS_REGISTERED_EARLY const core::processor_local<void*> pointers;

TEST(ProcessorLocal, EachThread_HasAnObjectOfItsOwnThatBeginsWithZeros) {
    dropped_calls = 0;
    {
        asio_machine owner;
        const machine::scope inside(owner);
        counts.of(core::this_processor()).calls += 2;
        std::thread([&] {
            const machine::scope also_inside(owner);
            EXPECT_EQ(counts.of(core::this_processor()).calls, 0u);
            EXPECT_EQ(pointers.of(core::this_processor()), nullptr);
            counts.of(core::this_processor()).calls += 1;
        }).join();
        EXPECT_EQ(counts.of(core::this_processor()).calls, 2u);
    }
    EXPECT_EQ(dropped_calls, 3u);
}

std::vector<int> dropped; // ranks

template <int Rank>
struct ranked {
    ranked() = default;
    ranked(const ranked&) = delete;
    ranked& operator=(const ranked&) = delete;
    ~ranked() { dropped.push_back(Rank); }
};
IRPVERBS_REGISTERED_EARLY const core::machine_local<ranked<101>> lower(101);
IRPVERBS_REGISTERED_EARLY const core::machine_local<ranked<102>> higher(102);

TEST(MachineLocal, MachineEnds_HighestRankIsDroppedFirst) {
    dropped.clear();
    {
        asio_machine owner;
        const machine::scope inside(owner);
        const auto* first = &higher.current();
        EXPECT_EQ(&higher.current(), first);
        lower.current();
    }
    EXPECT_EQ(dropped, (std::vector{102, 101}));
}

TEST(MachineLocal, TwoMachines_EachHasItsOwn) {
    asio_machine one, other;
    const void* of_one = nullptr;
    {
        const machine::scope inside(one);
        of_one = &lower.current();
    }
    const machine::scope inside(other);
    EXPECT_NE(&lower.current(), of_one);
}

TEST(MachineLocal, NeverRequested_IsNeverCreated) {
    dropped.clear();
    { asio_machine owner; }
    EXPECT_TRUE(dropped.empty());
}

} // namespace
