#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/explore_gtest.hpp>
#include <support/ke_shorthand.hpp>

#include <utility>
#include <vector>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

/// Returns a thread's object with its handle closed.
PKTHREAD start(PKSTART_ROUTINE routine, PVOID context) {
    HANDLE handle = nullptr;
    EXPECT_EQ(PsCreateSystemThread(&handle, 0, nullptr, nullptr, nullptr, routine, context),
              STATUS_SUCCESS);
    PVOID object = nullptr;
    EXPECT_EQ(ObReferenceObjectByHandle(handle, 0, nullptr, KernelMode, &object, nullptr),
              STATUS_SUCCESS);
    EXPECT_EQ(ZwClose(handle), STATUS_SUCCESS);
    return static_cast<PKTHREAD>(object);
}

class Threads : public BothMachines {};

TEST_P(Threads, NewThread_RunsAtPassiveWithItsContext) {
    struct seen {
        KIRQL level = HIGH_LEVEL;
        PKTHREAD thread = nullptr;
    } noted;
    PKTHREAD thread = start(
        [](PVOID context) {
            auto& note = *static_cast<seen*>(context);
            note.level = KeGetCurrentIrql();
            note.thread = PsGetCurrentThread();
        },
        &noted);
    EXPECT_EQ(wait(thread), STATUS_SUCCESS);
    EXPECT_EQ(noted.level, PASSIVE_LEVEL);
    EXPECT_EQ(noted.thread, thread);
    EXPECT_NE(noted.thread, KeGetCurrentThread());
    ObDereferenceObject(thread);
}

TEST_P(Threads, ThreadEnded_EveryWaitSucceeds) {
    PKTHREAD thread = start([](PVOID) {}, nullptr);
    EXPECT_EQ(wait(thread), STATUS_SUCCESS);
    EXPECT_EQ(wait(thread), STATUS_SUCCESS);
    EXPECT_EQ(thread->ExitStatus, STATUS_SUCCESS);
    ObDereferenceObject(thread);
}

void terminate_deep_inside(PVOID) {
    PsTerminateSystemThread(STATUS_CANCELLED);
    ADD_FAILURE() << "came back";
}

TEST_P(Threads, TerminateFromNestedCall_SetsExitStatus) {
    PKTHREAD thread = start(terminate_deep_inside, nullptr);
    wait(thread);
    EXPECT_EQ(thread->ExitStatus, STATUS_CANCELLED);
    ObDereferenceObject(thread);
}

TEST_P(Threads, Terminate_DestroysObjectsOnStack) {
    static bool destroyed;
    destroyed = false;
    struct guard {
        ~guard() { destroyed = true; }
    };
    PKTHREAD thread = start(
        [](PVOID) {
            const guard on_stack;
            PsTerminateSystemThread(STATUS_SUCCESS);
        },
        nullptr);
    wait(thread);
    EXPECT_TRUE(destroyed);
    ObDereferenceObject(thread);
}

TEST_P(Threads, TerminateOfOtherThanSystemThread_ReturnsInvalidParameter) {
    EXPECT_EQ(PsTerminateSystemThread(STATUS_SUCCESS), STATUS_INVALID_PARAMETER);
}

TEST_P(Threads, InvalidHandle_ReturnsInvalidHandle) {
    PVOID object = nullptr;
    EXPECT_EQ(ZwClose(nullptr), STATUS_INVALID_HANDLE);
    EXPECT_EQ(ObReferenceObjectByHandle(nullptr, 0, nullptr, KernelMode, &object, nullptr),
              STATUS_INVALID_HANDLE);
    event no_thread;
    EXPECT_EQ(ZwClose(&no_thread), STATUS_INVALID_HANDLE);
    EXPECT_EQ(ObReferenceObjectByHandle(&no_thread, 0, nullptr, KernelMode, &object, nullptr),
              STATUS_INVALID_HANDLE);
    EXPECT_EQ(object, nullptr);
}

TEST_P(Threads, ZwClose_OfAClosedHandle_IsRefused) {
    HANDLE first = nullptr;
    HANDLE second = nullptr;
    for (HANDLE* each : {&first, &second})
        ASSERT_EQ(PsCreateSystemThread(
                      each, 0, nullptr, nullptr, nullptr, [](PVOID) {}, nullptr),
                  STATUS_SUCCESS);
    PVOID object = nullptr;
    ASSERT_EQ(ObReferenceObjectByHandle(first, 0, nullptr, KernelMode, &object, nullptr),
              STATUS_SUCCESS);
    EXPECT_EQ(ZwClose(first), STATUS_SUCCESS);
    EXPECT_EQ(ZwClose(first), STATUS_INVALID_HANDLE);
    PVOID none = nullptr;
    EXPECT_EQ(ObReferenceObjectByHandle(first, 0, nullptr, KernelMode, &none, nullptr),
              STATUS_INVALID_HANDLE);
    EXPECT_EQ(none, nullptr);
    HANDLE third = nullptr; // at the slot of the first
    ASSERT_EQ(PsCreateSystemThread(
                  &third, 0, nullptr, nullptr, nullptr, [](PVOID) {}, nullptr),
              STATUS_SUCCESS);
    EXPECT_NE(third, first);
    EXPECT_EQ(ZwClose(first), STATUS_INVALID_HANDLE);
    EXPECT_EQ(ZwClose(second), STATUS_SUCCESS);
    EXPECT_EQ(ZwClose(third), STATUS_SUCCESS);
    wait(object);
    ObDereferenceObject(object);
}

TEST_P(Threads, ObDereferenceObject_OfAThreadThatRuns_NeverTakesItsOwnReference) {
    event go;
    PKTHREAD thread = start([](PVOID context) { wait(static_cast<event*>(context)); }, &go);
    ObReferenceObject(thread); // keeps the object alive for the checks below
    ObDereferenceObject(thread);
    ObDereferenceObject(thread);
    EXPECT_EQ(bug_check_of([&] { ObDereferenceObject(thread); }), ULONG{REFERENCE_BY_POINTER});
    EXPECT_EQ(try_wait(thread), STATUS_TIMEOUT);
    ObReferenceObject(thread);
    set(go);
    wait(thread);
    ObDereferenceObject(thread);
}

TEST_P(Threads, ReferencedObject_OutlivesThread) {
    PKTHREAD thread = start([](PVOID) {}, nullptr);
    ObReferenceObject(thread);
    ObDereferenceObject(thread);
    wait(thread);
    EXPECT_EQ(try_wait(thread), STATUS_SUCCESS);
    ObDereferenceObject(thread);
}

TEST_P(Threads, HandleClosed_ThreadRunsToEnd) {
    event go, done;
    std::pair events{&go, &done};
    HANDLE handle = nullptr;
    PsCreateSystemThread(
        &handle, 0, nullptr, nullptr, nullptr,
        [](PVOID context) {
            const auto [first, last] = *static_cast<std::pair<event*, event*>*>(context);
            wait(first);
            set(*last);
        },
        &events);
    ZwClose(handle);
    set(go);
    wait(&done);
}

TEST_P(Threads, FortyThreads_AllRun) {
    LONG count = 0;
    std::vector<PKTHREAD> threads;
    for (int i = 0; i < 40; ++i)
        threads.push_back(start(
            [](PVOID context) { InterlockedIncrement(static_cast<LONG*>(context)); }, &count));
    for (PKTHREAD each : threads) {
        wait(each);
        ObDereferenceObject(each);
    }
    EXPECT_EQ(count, 40);
}

IRPVERBS_ON_BOTH_MACHINES(Threads);

TEST(ThreadsExplored, EndAtRaisedIrql_BugChecks) {
    const explore_summary found = expect_found({}, [](sim_machine& machine) {
        machine.spawn("starter",
                      [] { const system_thread thread([] { KeRaiseIrqlToDpcLevel(); }); });
        machine.run();
    });
    EXPECT_NE(found.failure->what.find("IRQL_UNEXPECTED_VALUE"), std::string::npos);
}

} // namespace
