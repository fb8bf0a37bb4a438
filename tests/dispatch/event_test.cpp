#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/explore_gtest.hpp>
#include <support/ke_shorthand.hpp>

#include <memory>
#include <vector>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

class Events : public BothMachines {};

TEST_P(Events, SetResetAndPulse_ReturnPreviousState) {
    for (const EVENT_TYPE type : {NotificationEvent, SynchronizationEvent}) {
        event one(type);
        EXPECT_EQ(KeReadStateEvent(&one), 0);
        EXPECT_EQ(KeSetEvent(&one, IO_NO_INCREMENT, FALSE), 0);
        EXPECT_NE(KeSetEvent(&one, IO_NO_INCREMENT, FALSE), 0);
        EXPECT_NE(KeReadStateEvent(&one), 0);
        EXPECT_NE(KeResetEvent(&one), 0);
        EXPECT_EQ(KeResetEvent(&one), 0);
        EXPECT_EQ(KePulseEvent(&one, IO_NO_INCREMENT, FALSE), 0);
        EXPECT_EQ(KeReadStateEvent(&one), 0);
        set(one);
        EXPECT_NE(KePulseEvent(&one, IO_NO_INCREMENT, FALSE), 0);
        EXPECT_EQ(KeReadStateEvent(&one), 0);
        set(one);
        KeClearEvent(&one);
        EXPECT_EQ(KeReadStateEvent(&one), 0);
    }
}

TEST_P(Events, InitialState_DecidesFirstWait) {
    event on(NotificationEvent, true), off(NotificationEvent, false);
    EXPECT_EQ(try_wait(&on), STATUS_SUCCESS);
    EXPECT_EQ(try_wait(&off), STATUS_TIMEOUT);
}

TEST_P(Events, SatisfiedWait_ResetsSynchronizationEventOnly) {
    event all(NotificationEvent, true), one(SynchronizationEvent, true);
    EXPECT_EQ(try_wait(&all), STATUS_SUCCESS);
    EXPECT_EQ(try_wait(&all), STATUS_SUCCESS);
    EXPECT_EQ(try_wait(&one), STATUS_SUCCESS);
    EXPECT_EQ(try_wait(&one), STATUS_TIMEOUT);
}

TEST_P(Events, SetNotificationEvent_ReleasesAllWaiters) {
    event go, here(SynchronizationEvent);
    LONG released = 0;
    const auto body = [&] {
        set(here);
        wait(&go);
        InterlockedIncrement(&released);
    };
    {
        system_thread one(body);
        wait(&here);
        system_thread two(body);
        wait(&here);
        set(go);
    }
    EXPECT_EQ(released, 2);
}

TEST_P(Events, SetSynchronizationEvent_ReleasesOneWaiterEach) {
    event go(SynchronizationEvent), through(SynchronizationEvent);
    const auto body = [&] {
        wait(&go);
        set(through);
    };
    system_thread one(body), two(body), three(body);
    for (int i = 0; i < 3; ++i) {
        set(go);
        wait(&through);
    }
}

TEST_P(Events, SetWithWaitAtDispatch_BugChecks) {
    event one;
    EXPECT_EQ(KeSetEvent(&one, IO_NO_INCREMENT, TRUE), 0);
    const at_dispatch_level raised;
    EXPECT_EQ(bug_check_of([&] { KeSetEvent(&one, IO_NO_INCREMENT, TRUE); }),
              ATTEMPTED_SWITCH_FROM_DPC);
}

IRPVERBS_ON_BOTH_MACHINES(Events);

// A signal is neither lost nor doubled: one that came after the time-out leaves the event set.
TEST(EventsExplored, SetRacesWithTimeout_NoSignalLostOrDoubled) {
    int in_time = 0, late = 0;
    explore_options options = thorough();
    options.machine.delays = 8;
    expect_explored(options, [&](sim_machine& machine) {
        event one(SynchronizationEvent);
        NTSTATUS status = STATUS_UNSUCCESSFUL;
        machine.spawn("waiter", [&] { status = wait_at_most(&one, millisecond); });
        machine.spawn("setter", [&] {
            delay(millisecond);
            set(one);
        });
        machine.run();
        EXPECT_EQ(KeReadStateEvent(&one), status == STATUS_TIMEOUT ? 1 : 0);
        (status == STATUS_TIMEOUT ? late : in_time) += 1;
    });
    EXPECT_GT(in_time, 0);
    EXPECT_GT(late, 0);
}

// The delays make both threads wait before the pulse.
TEST(EventsExplored, Pulse_ReleasesCurrentWaitersOnly) {
    expect_explored(without_delays(thorough()), [](sim_machine& machine) {
        for (const EVENT_TYPE type : {NotificationEvent, SynchronizationEvent}) {
            auto one = std::make_shared<event>(type);
            auto released = std::make_shared<int>(0);
            for (const char* name : {"first", "second"})
                machine.spawn(
                    name, [=] { *released += wait_at_most(one.get(), second) == STATUS_SUCCESS; });
            machine.spawn("pulser", [=] {
                delay(millisecond); // both threads wait by now
                KePulseEvent(one.get(), IO_NO_INCREMENT, FALSE);
            });
            machine.spawn("late", [=] {
                delay(2 * millisecond);
                EXPECT_EQ(wait_at_most(one.get(), millisecond), STATUS_TIMEOUT);
            });
            machine.run();
            EXPECT_EQ(*released, type == NotificationEvent ? 2 : 1);
        }
    });
}

// Two threads that wait for one signal each are released in the order of their waits.
// The delays set the order of the waits.
TEST(EventsExplored, SynchronizationEvent_ReleasesWaitersInFifoOrder) {
    expect_explored(without_delays(thorough()), [](sim_machine& machine) {
        event one(SynchronizationEvent);
        std::vector<int> order;
        for (int i = 0; i < 3; ++i)
            machine.spawn("waiter" + std::to_string(i), [&, i] {
                delay((i + 1) * millisecond);
                wait(&one);
                order.push_back(i);
            });
        machine.spawn("setter", [&] {
            for (int i = 0; i < 3; ++i) {
                delay(10 * millisecond);
                set(one);
            }
        });
        machine.run();
        EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
    });
}

// A handler frees the event: the setter does not access it after releasing the waiter.
TEST(EventsExplored, EventFreedByWaiter_IsNotAccessedBySetter) {
    expect_explored(thorough(), [](sim_machine& machine) {
        auto one = std::make_unique<event>();
        machine.spawn("waiter", [&] {
            wait(one.get());
            one.reset();
        });
        machine.spawn("setter", [&] { set(*one); });
        machine.run();
    });
}

} // namespace
