// Timers of devices.
#include <support/bug_checks.hpp>

#include <dispatch/sim_machine.hpp>
#include <dispatch/testing/fault_sweep.hpp>
#include <irp/wdm.h>

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

namespace {

using namespace irpverbs::testing;

constexpr LONGLONG ticks_of_second = 10'000'000;

void pass_time(LONGLONG ticks) {
    LARGE_INTEGER time;
    time.QuadPart = -ticks;
    KeDelayExecutionThread(KernelMode, FALSE, &time);
}

struct timed_device {
    timed_device() {
        EXPECT_EQ(IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device),
                  STATUS_SUCCESS);
        EXPECT_EQ(IoInitializeTimer(device, on_tick, this), STATUS_SUCCESS);
    }
    ~timed_device() {
        if (device != nullptr) IoDeleteDevice(device);
    }
    timed_device(const timed_device&) = delete;
    timed_device& operator=(const timed_device&) = delete;

    static void on_tick(DEVICE_OBJECT* called, void* context) {
        auto& self = *static_cast<timed_device*>(context);
        EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
        EXPECT_EQ(called, self.device);
        self.calls.push_back(KeQueryInterruptTime());
        if (self.starts != nullptr) IoStartTimer(self.starts);
    }

    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = nullptr;
    DEVICE_OBJECT* starts = nullptr; // by its routine
    std::vector<ULONGLONG> calls;
};

void run(const std::function<void()>& test) {
    irpverbs::dispatch::random_choices chance(1);
    irpverbs::dispatch::sim_machine machine(chance);
    machine.spawn("test", test);
    machine.run();
}

TEST(IoTimer, Started_IsCalledOnceASecondUntilItIsStopped) {
    run([] {
        timed_device one;
        pass_time(2 * ticks_of_second);
        EXPECT_TRUE(one.calls.empty());
        IoStartTimer(one.device);
        IoStartTimer(one.device); // changes nothing
        pass_time(3 * ticks_of_second + ticks_of_second / 2);
        IoStopTimer(one.device);
        IoStopTimer(one.device);
        ASSERT_EQ(one.calls.size(), 3U);
        EXPECT_EQ(one.calls[1] - one.calls[0], ULONGLONG{ticks_of_second});
        EXPECT_EQ(one.calls[2] - one.calls[1], ULONGLONG{ticks_of_second});
        pass_time(3 * ticks_of_second);
        EXPECT_EQ(one.calls.size(), 3U);
        IoStartTimer(one.device);
        pass_time(ticks_of_second + ticks_of_second / 2);
        EXPECT_EQ(one.calls.size(), 4U);
    });
}

TEST(IoTimer, DevicesOfAMachine_AreCalledInTheSameTick) {
    run([] {
        timed_device one, other;
        IoStartTimer(one.device);
        pass_time(ticks_of_second / 4);
        IoStartTimer(other.device);
        pass_time(ticks_of_second);
        ASSERT_EQ(one.calls.size(), 1U);
        EXPECT_EQ(other.calls, one.calls);
        IoStopTimer(one.device);
        pass_time(ticks_of_second);
        EXPECT_EQ(one.calls.size(), 1U);
        EXPECT_EQ(other.calls.size(), 2U);
    });
}

TEST(IoTimer, Routine_MayStartAnotherTimer) {
    run([] {
        timed_device one, other;
        one.starts = other.device;
        IoStartTimer(one.device);
        pass_time(2 * ticks_of_second + ticks_of_second / 2);
        EXPECT_EQ(one.calls.size(), 2U);
        EXPECT_EQ(other.calls.size(), 1U);
    });
}

TEST(IoTimer, InitializedAgain_IsStoppedAndHasTheNewRoutine) {
    run([] {
        timed_device one;
        IoStartTimer(one.device);
        int calls = 0;
        EXPECT_EQ(IoInitializeTimer(
                      one.device, [](DEVICE_OBJECT*, void* count) { ++*static_cast<int*>(count); },
                      &calls),
                  STATUS_SUCCESS);
        pass_time(2 * ticks_of_second);
        EXPECT_EQ(calls, 0);
        IoStartTimer(one.device);
        pass_time(2 * ticks_of_second + ticks_of_second / 2);
        EXPECT_EQ(calls, 2);
        EXPECT_TRUE(one.calls.empty());
    });
}

TEST(IoTimer, DeletedDevice_IsCalledNoMore) {
    run([] {
        timed_device one, stays;
        IoStartTimer(stays.device);
        IoStartTimer(one.device);
        IoDeleteDevice(std::exchange(one.device, nullptr));
        pass_time(2 * ticks_of_second + ticks_of_second / 2);
        EXPECT_TRUE(one.calls.empty());
        EXPECT_EQ(stays.calls.size(), 2U);
    });
}

TEST(IoTimer, MachineThatEnds_StopsIt) {
    timed_device* one = nullptr;
    run([&] {
        one = new timed_device;
        IoStartTimer(one->device);
    });
    delete one;
}

TEST(IoTimer, WithoutMemory_IsAStatusAndLeavesNoTimer) {
    timed_device one;
    DRIVER_OBJECT driver{};
    const auto summary = irpverbs::dispatch::fault_sweep([&] {
        DEVICE_OBJECT* device = nullptr;
        if (!NT_SUCCESS(
                IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device)))
            return;
        const NTSTATUS status = IoInitializeTimer(device, timed_device::on_tick, nullptr);
        EXPECT_EQ(status == STATUS_SUCCESS, device->Timer != nullptr);
        EXPECT_TRUE(NT_SUCCESS(status) || status == STATUS_INSUFFICIENT_RESOURCES);
        IoDeleteDevice(device);
    });
    EXPECT_EQ(summary.stacks, 2U); // the device, the timer
}

TEST(IoTimer, DeviceWithoutTimer_IsABugCheck) {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = nullptr;
    ASSERT_EQ(IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device),
              STATUS_SUCCESS);
    EXPECT_EQ(bug_check_of([&] { IoStartTimer(device); }), DRIVER_VERIFIER_IOMANAGER_VIOLATION);
    EXPECT_EQ(bug_check_of([&] { IoStopTimer(device); }), DRIVER_VERIFIER_IOMANAGER_VIOLATION);
    IoDeleteDevice(device);
}

} // namespace
