// System time is the computer's: when its clock is set, KeQuerySystemTime and the waits for an
// absolute time follow.
#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>
#include <support/ke_shorthand.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace {
std::atomic<std::int64_t> clock_is_ahead{0}; // seconds by which CLOCK_REALTIME was set forward
}

// Replaces the C library's function in this program, since setting the clock requires a privilege.
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
    const long result = syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += clock_is_ahead.load();
    return static_cast<int>(result);
}

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

constexpr std::int64_t hour = 3600;

struct clock_set_back {
    clock_set_back() = default;
    clock_set_back(const clock_set_back&) = delete;
    clock_set_back& operator=(const clock_set_back&) = delete;
    ~clock_set_back() { clock_is_ahead = 0; }
};

class SystemTime : public ::testing::Test {
protected:
    const clock_set_back undone_;
    asio_machine machine_{{.processors = 1}};
    const machine::scope inside_{machine_};
};

LARGE_INTEGER in(LONGLONG ticks) {
    LARGE_INTEGER due = system_time();
    due.QuadPart += ticks;
    return due;
}

TEST_F(SystemTime, ClockThatIsSet_IsFollowed) {
    const LONGLONG before = system_time().QuadPart;
    clock_is_ahead = hour;
    EXPECT_GE(system_time().QuadPart - before, hour * second);
    clock_is_ahead = -hour;
    EXPECT_LT(system_time().QuadPart, before);
    EXPECT_LT(KeQueryInterruptTime(), static_cast<ULONGLONG>(hour * second));
}

TEST_F(SystemTime, AbsoluteTimer_ExpiresWhenTheClockIsSetPastIt) {
    KTIMER timer;
    signaling_dpc dpc;
    KeInitializeTimer(&timer);
    EXPECT_FALSE(KeSetTimer(&timer, in(hour * second), &dpc));
    clock_is_ahead = hour + 1;
    EXPECT_EQ(wait(&timer), STATUS_SUCCESS);
    EXPECT_EQ(wait(&dpc.done), STATUS_SUCCESS);
    EXPECT_FALSE(KeCancelTimer(&timer));
}

TEST_F(SystemTime, AbsoluteTimer_DoesNotExpireWhileTheClockIsBehindIt) {
    KTIMER absolute, relative;
    KeInitializeTimer(&absolute);
    KeInitializeTimer(&relative);
    EXPECT_FALSE(KeSetTimer(&absolute, in(20 * millisecond), nullptr));
    clock_is_ahead = -hour;
    EXPECT_FALSE(KeSetTimer(&relative, from_now(60 * millisecond), nullptr));
    EXPECT_EQ(wait(&relative), STATUS_SUCCESS);
    EXPECT_FALSE(KeReadStateTimer(&absolute));
    EXPECT_FALSE(KeSetTimer(&relative, from_now(millisecond), nullptr));
    EXPECT_TRUE(KeSetTimer(&absolute, in(millisecond), nullptr)); // by the clock as it is now
    EXPECT_EQ(wait(&absolute), STATUS_SUCCESS);
    EXPECT_EQ(wait(&relative), STATUS_SUCCESS);
}

TEST_F(SystemTime, WaitWithAnAbsoluteTimeout_EndsWhenTheClockIsSetPastIt) {
    LARGE_INTEGER until = in(hour * second);
    event never, waits;
    system_thread waiter([&] {
        set(waits);
        EXPECT_EQ(KeWaitForSingleObject(&never, Executive, KernelMode, FALSE, &until),
                  STATUS_TIMEOUT);
    });
    wait(&waits);
    clock_is_ahead = hour + 1;
}

// In the simulator the test sets the clock, and the machine follows at once.
// The times are exact.
TEST(SystemTimeSimulated, ClockThatIsSet_MovesWhatEndsAtAnAbsoluteTime) {
    expect_explored(without_delays({}), [](sim_machine& machine) {
        const auto set_clock = [&](LONGLONG by) {
            machine.set_system_time(static_cast<std::uint64_t>(in(by).QuadPart));
        };
        LARGE_INTEGER until = in(2 * hour * second);
        KTIMER forward, back, periodic;
        for (KTIMER* each : {&forward, &back, &periodic})
            KeInitializeTimer(each);
        event never;
        KeSetTimer(&forward, in(2 * hour * second), nullptr);
        KeSetTimer(&back, in(4 * hour * second), nullptr);
        KeSetTimerEx(&periodic, in(2 * hour * second), 1000, nullptr);
        machine.spawn("waits", [&] {
            EXPECT_EQ(KeWaitForSingleObject(&never, Executive, KernelMode, FALSE, &until),
                      STATUS_TIMEOUT);
            EXPECT_EQ(machine.interrupt_time(), static_cast<ULONGLONG>(hour * second));
        });
        machine.spawn("clock", [&] {
            delay(hour * second);
            EXPECT_FALSE(KeReadStateTimer(&forward));
            set_clock(hour * second); // two hours later than at first
            wait(&forward);
            wait(&periodic);
            EXPECT_EQ(machine.interrupt_time(), static_cast<ULONGLONG>(hour * second));
            KeCancelTimer(&periodic);
            delay(second); // time for the waiting thread to check the clock
            set_clock(-hour * second);
            delay(2 * hour * second);
            EXPECT_FALSE(KeReadStateTimer(&back));
            wait(&back);
            EXPECT_EQ(machine.interrupt_time(), static_cast<ULONGLONG>(4 * hour * second));
        });
        EXPECT_TRUE(machine.run());
    });
}

// The times are exact.
TEST(SystemTimeSimulated, PeriodsAfterAnAbsoluteTime_AreOfMachineTime) {
    expect_explored(without_delays({}), [](sim_machine& machine) {
        KTIMER timer;
        signaling_dpc dpc(3);
        KeInitializeTimer(&timer);
        KeSetTimerEx(&timer, in(second), 1000, &dpc);
        machine.spawn("clock", [&] {
            delay(1'500 * millisecond);
            machine.set_system_time(static_cast<std::uint64_t>(in(-hour * second).QuadPart));
            wait(&dpc.done);
            EXPECT_EQ(machine.interrupt_time(), static_cast<ULONGLONG>(3 * second));
            KeCancelTimer(&timer);
        });
        EXPECT_TRUE(machine.run());
    });
}

} // namespace
