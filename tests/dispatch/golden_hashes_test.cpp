// The same seed yields the same event log, byte for byte, in every process, build and compiler.
#include <support/golden.hpp>
#include <support/ke_shorthand.hpp>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

// Uses every kind of object that the machine schedules.
void program(sim_machine& machine) {
    event one(SynchronizationEvent);
    KMUTEX mutex;
    KTIMER timer;
    KSPIN_LOCK lock;
    KQUEUE queue;
    LIST_ENTRY entry;
    WORK_QUEUE_ITEM item;
    signaling_dpc dpc;
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
        machine.note(try_wait(&dpc.done) == STATUS_SUCCESS ? "after the timer"
                                                           : "before the timer");
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

TEST(ScheduleHashes, RandomSeeds_MatchRecordedHashes) {
    expect_golden(golden_run(random_choices(0), program), {0x78c9b645258b8b82, 0x85f18ad8e0302856});
}

TEST(ScheduleHashes, PctSeeds_MatchRecordedHashes) {
    expect_golden(golden_run(pct_choices(0, 3, 60), program),
                  {0x68507db4c9d682b7, 0x40ee15e3378b7dca});
}

} // namespace
