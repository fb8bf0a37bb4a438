#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/explore_gtest.hpp>
#include <support/ke_shorthand.hpp>

#include <array>
#include <memory>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

template <std::size_t Count>
NTSTATUS wait_for(std::array<PVOID, Count> objects, WAIT_TYPE type,
                  LARGE_INTEGER* timeout = nullptr) {
    KWAIT_BLOCK blocks[Count];
    return KeWaitForMultipleObjects(Count, objects.data(), type, Executive, KernelMode, FALSE,
                                    timeout, blocks);
}

class KeWait : public BothMachines {};

TEST_P(KeWait, WaitAny_ReturnsIndexOfFirstSignalled) {
    event one, two(SynchronizationEvent), three;
    set(two);
    set(three);
    EXPECT_EQ(wait_for<3>({&one, &two, &three}, WaitAny), STATUS_WAIT_1);
    EXPECT_EQ(wait_for<3>({&one, &two, &three}, WaitAny), STATUS_WAIT_2); // object two was acquired
}

TEST_P(KeWait, WaitAny_ResetsReportedObjectOnly) {
    event one(SynchronizationEvent, true), two(SynchronizationEvent, true);
    EXPECT_EQ(wait_for<2>({&one, &two}, WaitAny), STATUS_WAIT_0);
    EXPECT_EQ(KeReadStateEvent(&one), 0);
    EXPECT_NE(KeReadStateEvent(&two), 0);
}

TEST_P(KeWait, WaitAllTimesOut_NoObjectIsReset) {
    event one(SynchronizationEvent, true), two(SynchronizationEvent);
    LARGE_INTEGER short_time = from_now(millisecond);
    EXPECT_EQ(wait_for<2>({&one, &two}, WaitAll, &short_time), STATUS_TIMEOUT);
    EXPECT_NE(KeReadStateEvent(&one), 0);
    set(two);
    EXPECT_EQ(wait_for<2>({&one, &two}, WaitAll), STATUS_SUCCESS);
    EXPECT_EQ(KeReadStateEvent(&one), 0);
    EXPECT_EQ(KeReadStateEvent(&two), 0);
}

TEST_P(KeWait, WaitAll_CompletesWithLastObject) {
    event one(SynchronizationEvent), two(SynchronizationEvent);
    NTSTATUS status = STATUS_UNSUCCESSFUL;
    system_thread waiter([&] { status = wait_for<2>({&one, &two}, WaitAll); });
    set(one);
    set(two);
    waiter.join();
    EXPECT_EQ(status, STATUS_SUCCESS);
    EXPECT_EQ(KeReadStateEvent(&one) + KeReadStateEvent(&two), 0);
}

TEST_P(KeWait, EveryObjectType_CanBeWaitedOn) {
    event first;
    KSEMAPHORE semaphore;
    KMUTEX mutex;
    KTIMER timer;
    KeInitializeSemaphore(&semaphore, 1, 1);
    KeInitializeMutex(&mutex, 0);
    KeInitializeTimer(&timer);
    KeSetTimer(&timer, from_now(0), nullptr);
    set(first);
    HANDLE handle = nullptr;
    ASSERT_EQ(PsCreateSystemThread(
                  &handle, 0, nullptr, nullptr, nullptr, [](PVOID) {}, nullptr),
              STATUS_SUCCESS);
    PKTHREAD thread = thread_of(handle);
    EXPECT_EQ(wait_for<5>({&first, &semaphore, &mutex, &timer, thread}, WaitAll), STATUS_SUCCESS);
    KeReleaseMutex(&mutex, FALSE);
    ObDereferenceObject(thread);
    ZwClose(handle);
}

TEST_P(KeWait, CountOutOfRange_ReturnsInvalidParameter) {
    const auto events = std::make_unique<event[]>(MAXIMUM_WAIT_OBJECTS);
    std::array<PVOID, MAXIMUM_WAIT_OBJECTS + 1> objects{};
    for (std::size_t i = 0; i < MAXIMUM_WAIT_OBJECTS; ++i)
        objects[i] = &events[i];
    KWAIT_BLOCK blocks[MAXIMUM_WAIT_OBJECTS];
    set(events[63]);
    const auto call = [&](ULONG count, KWAIT_BLOCK* array) {
        return KeWaitForMultipleObjects(count, objects.data(), WaitAny, Executive, KernelMode,
                                        FALSE, nullptr, array);
    };
    EXPECT_EQ(call(64, blocks), STATUS_WAIT_63);
    EXPECT_EQ(call(65, blocks), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(call(0, blocks), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(call(THREAD_WAIT_OBJECTS + 1, nullptr), STATUS_INVALID_PARAMETER);
    set(events[2]);
    EXPECT_EQ(call(THREAD_WAIT_OBJECTS, nullptr), STATUS_WAIT_2);
}

TEST_P(KeWait, ZeroTimeout_ReturnsWithoutWaiting) {
    event one;
    const ULONGLONG before = KeQueryInterruptTime();
    EXPECT_EQ(try_wait(&one), STATUS_TIMEOUT);
    EXPECT_TRUE(!simulated() || KeQueryInterruptTime() == before);
}

TEST_P(KeWait, RelativeTimeout_ElapsesInFull) {
    event one;
    const ULONGLONG before = KeQueryInterruptTime();
    EXPECT_EQ(wait_at_most(&one, 2 * millisecond), STATUS_TIMEOUT);
    EXPECT_GE(KeQueryInterruptTime() - before, 2ull * millisecond);
}

TEST_P(KeWait, AbsoluteTimeout_EndsAtSystemTime) {
    event one;
    LARGE_INTEGER until = system_time();
    until.QuadPart += 2 * millisecond;
    EXPECT_EQ(KeWaitForSingleObject(&one, Executive, KernelMode, FALSE, &until), STATUS_TIMEOUT);
    EXPECT_GE(system_time().QuadPart, until.QuadPart);
    until.QuadPart = 1; // long past
    EXPECT_EQ(KeWaitForSingleObject(&one, Executive, KernelMode, FALSE, &until), STATUS_TIMEOUT);
}

TEST_P(KeWait, HugeTimeout_WaitSucceeds) {
    event one;
    LARGE_INTEGER never;
    never.QuadPart = std::numeric_limits<LONGLONG>::min();
    system_thread setter([&] { set(one); });
    EXPECT_EQ(KeWaitForSingleObject(&one, Executive, KernelMode, FALSE, &never), STATUS_SUCCESS);
    KeClearEvent(&one);
    never.QuadPart = std::numeric_limits<LONGLONG>::max();
    system_thread again([&] { set(one); });
    EXPECT_EQ(KeWaitForSingleObject(&one, Executive, KernelMode, FALSE, &never), STATUS_SUCCESS);
}

TEST_P(KeWait, WaitAtDispatch_AllowedWithZeroTimeoutOnly) {
    event one(SynchronizationEvent, true);
    LARGE_INTEGER short_time = from_now(1), zero = from_now(0);
    const at_dispatch_level raised;
    EXPECT_EQ(try_wait(&one), STATUS_SUCCESS);
    EXPECT_EQ(try_wait(&one), STATUS_TIMEOUT);
    EXPECT_EQ(wait_for<1>({&one}, WaitAny, &zero), STATUS_TIMEOUT);
    EXPECT_EQ(bug_check_of([&] { wait(&one); }), ATTEMPTED_SWITCH_FROM_DPC);
    EXPECT_EQ(bug_check_of([&] { wait_at_most(&one, 1); }), ATTEMPTED_SWITCH_FROM_DPC);
    EXPECT_EQ(bug_check_of([&] { wait_for<1>({&one}, WaitAny, &short_time); }),
              ATTEMPTED_SWITCH_FROM_DPC);
    EXPECT_EQ(bug_check_of([] { delay(0); }), ATTEMPTED_SWITCH_FROM_DPC);
}

TEST_P(KeWait, ZeroTimeoutAboveDispatch_BugChecks) {
    event one;
    KIRQL old;
    KeRaiseIrql(CLOCK_LEVEL, &old);
    EXPECT_EQ(bug_check_of([&] { try_wait(&one); }), ATTEMPTED_SWITCH_FROM_DPC);
    KeLowerIrql(old);
}

TEST_P(KeWait, Delay_ElapsesInFull) {
    const ULONGLONG before = KeQueryInterruptTime();
    EXPECT_EQ(delay(2 * millisecond), STATUS_SUCCESS);
    EXPECT_GE(KeQueryInterruptTime() - before, 2ull * millisecond);
    LARGE_INTEGER until = system_time();
    until.QuadPart += millisecond;
    EXPECT_EQ(KeDelayExecutionThread(KernelMode, FALSE, &until), STATUS_SUCCESS);
    EXPECT_GE(system_time().QuadPart, until.QuadPart);
    EXPECT_EQ(delay(0), STATUS_SUCCESS);
}

// A KQUEUE hands entries to KeRemoveQueue; a wait cannot return one.
TEST_P(KeWait, WaitOnKqueue_BugChecks) {
    KQUEUE queue;
    KeInitializeQueue(&queue, 1);
    EXPECT_EQ(bug_check_of([&] { try_wait(&queue); }), INVALID_DATA_ACCESS_TRAP);
    event one;
    EXPECT_EQ(bug_check_of([&] {
                  wait_for<2>({&one, &queue}, WaitAny);
              }),
              INVALID_DATA_ACCESS_TRAP);
}

// Memory that is no object, or was never initialised.
TEST_P(KeWait, WaitOnUninitialisedObject_BugChecks) {
    event blank;
    blank.Header.Type = 0;
    EXPECT_EQ(bug_check_of([&] { try_wait(&blank); }), INVALID_DATA_ACCESS_TRAP);
}

IRPVERBS_ON_BOTH_MACHINES(KeWait);

// One signal releases one waiter, whether it waits for this object alone or for two objects.
TEST(KeWaitExplored, WaitAnyAndSingleWait_EachSignalReleasesOneWaiter) {
    expect_explored(thorough(), [](sim_machine& machine) {
        event one(SynchronizationEvent), two(SynchronizationEvent);
        int released = 0;
        machine.spawn("any", [&] {
            released += wait_for<2>({&one, &two}, WaitAny) <= STATUS_WAIT_1;
        });
        machine.spawn("only one",
                      [&] { released += wait_at_most(&one, second) == STATUS_SUCCESS; });
        machine.spawn("setter", [&] {
            set(one);
            set(two);
        });
        machine.run();
        EXPECT_EQ(released + KeReadStateEvent(&one) + KeReadStateEvent(&two), 2);
    });
}

// Dining philosophers that acquire both forks at once never deadlock.
TEST(KeWaitExplored, WaitAllOfTwoMutexes_NeverDeadlocks) {
    expect_explored(thorough(), [](sim_machine& machine) {
        KMUTEX forks[3];
        for (KMUTEX& each : forks)
            KeInitializeMutex(&each, 0);
        int meals = 0;
        for (std::size_t i = 0; i < 3; ++i)
            machine.spawn("philosopher" + std::to_string(i), [&, i] {
                wait_for<2>({&forks[i], &forks[(i + 1) % 3]}, WaitAll);
                ++meals;
                machine.yield();
                KeReleaseMutex(&forks[i], FALSE);
                KeReleaseMutex(&forks[(i + 1) % 3], FALSE);
            });
        machine.run();
        EXPECT_EQ(meals, 3);
    });
}

// One object may be listed twice in a wait for any; after the wait neither entry is left.
TEST(KeWaitExplored, ObjectListedTwiceInWaitAny_IsReleasedOnceAndUnlinked) {
    expect_explored(thorough(), [](sim_machine& machine) {
        event one(SynchronizationEvent);
        int released = 0;
        machine.spawn("twice", [&] {
            released += wait_for<2>({&one, &one}, WaitAny) == STATUS_WAIT_0;
        });
        machine.spawn("once", [&] { released += wait(&one) == STATUS_SUCCESS; });
        machine.spawn("setter", [&] {
            set(one);
            delay(millisecond);
            set(one);
        });
        machine.run();
        EXPECT_EQ(released, 2);
        EXPECT_TRUE(IsListEmpty(&one.Header.WaitListHead));
    });
}

} // namespace
