// The same seed gives the same event log, byte for byte, in every process, build and compiler.
#include <support/explore_gtest.hpp>
#include <support/ke_words.hpp>

#include <cstdint>
#include <string>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

// Some of everything that the machine schedules.
void program(sim_machine& machine) {
    event one(SynchronizationEvent);
    KMUTEX mutex;
    KTIMER timer;
    KSPIN_LOCK lock;
    KQUEUE queue;
    LIST_ENTRY entry;
    WORK_QUEUE_ITEM item;
    announcing_dpc dpc;
    KeInitializeMutex(&mutex, 0);
    KeInitializeTimer(&timer);
    KeInitializeSpinLock(&lock);
    KeInitializeQueue(&queue, 1);
    ExInitializeWorkItem(
        &item, [](PVOID context) { set(*static_cast<event*>(context)); }, &one);
    KeSetTargetProcessorDpc(&dpc, 1);

    machine.spawn("first", [&] {
        KeSetTimer(&timer, from_now(5 * millisecond), &dpc);
        wait(&mutex);
        delay(microsecond);
        KeReleaseMutex(&mutex, FALSE);
        machine.note(look(&dpc.done) == STATUS_SUCCESS ? "after the timer" : "before the timer");
        KeInsertQueue(&queue, &entry);
    });
    machine.spawn("second", [&] {
        ExQueueWorkItem(&item, DelayedWorkQueue);
        const KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock);
        KeReleaseSpinLock(&lock, old);
        wait_at_most(&one, millisecond);
        wait(&dpc.done);
    });
    machine.spawn("third", [&] {
        wait(&mutex);
        const KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock);
        KeStallExecutionProcessor(10);
        KeReleaseSpinLock(&lock, old);
        KeReleaseMutex(&mutex, FALSE);
        KeRemoveQueue(&queue, KernelMode, nullptr);
        KeFlushQueuedDpcs();
    });
    EXPECT_TRUE(machine.run());
    KeRundownQueue(&queue);
}

struct digests {
    std::uint64_t events = 0;                 // of the machines' own hashes
    std::uint64_t text = 0xcbf29ce484222325u; // of every byte of every log
    auto operator<=>(const digests&) const = default;
};

template <class Choices>
digests run_seeds(Choices source) {
    digests sum;
    sim_machine::options options;
    options.log = true;
    options.delays = 20;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        source.restart(seed);
        sim_machine machine(source, options);
        {
            const machine::scope here(machine);
            program(machine);
        }
        sum.events = sum.events * 31 + machine.event_hash() + source.next_draw_fingerprint();
        for (const char byte : machine.event_log())
            sum.text = (sum.text ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
    }
    return sum;
}

void expect_golden(const digests& seen, const digests& golden) {
    EXPECT_EQ(seen, golden) << std::hex << "this build: {0x" << seen.events << ", 0x" << seen.text
                            << "}. Right when scheduling points were added or taken away; "
                               "otherwise something beside choices decides.";
}

TEST(GoldenHashes, RandomSeeds) {
    expect_golden(run_seeds(random_choices(0)), {0x5e05662414ea4f5c, 0xd26111927ce92a42});
}

TEST(GoldenHashes, PctSeeds) {
    expect_golden(run_seeds(pct_choices(0, 3, 60)), {0x24b1e13da808cabb, 0xd0b29f8b1a3bc6cd});
}

} // namespace
