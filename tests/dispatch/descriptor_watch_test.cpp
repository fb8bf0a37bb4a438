// A machine watches file descriptors of the process.
#include <dispatch/descriptor_watch.hpp>
#include <support/both_machines.hpp>

#include <array>
#include <atomic>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace {

using namespace irpverbs;

class DescriptorWatch : public ::testing::Test {
protected:
    DescriptorWatch() {
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
        KeInitializeEvent(&happened, SynchronizationEvent, FALSE);
    }
    ~DescriptorWatch() override {
        watch.reset(); // a call of it may be ending
        for (const int each : ends)
            close(each);
    }
    void send(char byte) const { EXPECT_EQ(write(ends[1], &byte, 1), 1); }
    void wait() { KeWaitForSingleObject(&happened, Executive, KernelMode, FALSE, nullptr); }

    dispatch::asio_machine machine{{.processors = 1}};
    dispatch::machine::scope inside{machine};
    std::array<int, 2> ends{};
    KEVENT happened;
    KEVENT assigned;
    std::string got;
    KIRQL level = HIGH_LEVEL;
    std::unique_ptr<dispatch::descriptor_watch> watch;
};

// The callback reads one byte per call: unread bytes cause another call.
TEST_F(DescriptorWatch, UnreadBytes_CallbackRunsAgainAtPassiveLevel) {
    watch = dispatch::watch_readable(
        machine, ends[0],
        [](void* context) {
            auto& self =
                *static_cast<DescriptorWatch_UnreadBytes_CallbackRunsAgainAtPassiveLevel_Test*>(
                    context);
            self.level = KeGetCurrentIrql();
            char byte = 0;
            EXPECT_EQ(read(self.ends[0], &byte, 1), 1);
            self.got += byte;
            if (byte == '.') KeSetEvent(&self.happened, IO_NO_INCREMENT, FALSE);
            return true;
        },
        this);
    ASSERT_NE(watch, nullptr);
    send('a');
    send('b');
    send('.');
    wait();
    send('.');
    wait();
    watch.reset();
    EXPECT_EQ(got, "ab..");
    EXPECT_EQ(level, PASSIVE_LEVEL);
    EXPECT_EQ(fcntl(ends[0], F_GETFD), 0); // still open
}

TEST_F(DescriptorWatch, PeerShutdown_CallbackReadsEndOfFileOnce) {
    watch = dispatch::watch_readable(
        machine, ends[0],
        [](void* context) {
            auto& self =
                *static_cast<DescriptorWatch_PeerShutdown_CallbackReadsEndOfFileOnce_Test*>(
                    context);
            char byte = 0;
            EXPECT_EQ(read(self.ends[0], &byte, 1), 0);
            self.got += '0';
            KeSetEvent(&self.happened, IO_NO_INCREMENT, FALSE);
            return false;
        },
        this);
    shutdown(ends[1], SHUT_WR);
    wait();
    watch.reset();
    EXPECT_EQ(got, "0");
}

TEST_F(DescriptorWatch, ResetInsideCallback_Completes) {
    KeInitializeEvent(&assigned, NotificationEvent, FALSE);
    watch = dispatch::watch_readable(
        machine, ends[0],
        [](void* context) {
            auto& self = *static_cast<DescriptorWatch_ResetInsideCallback_Completes_Test*>(context);
            KeWaitForSingleObject(&self.assigned, Executive, KernelMode, FALSE, nullptr);
            self.watch.reset();
            KeSetEvent(&self.happened, IO_NO_INCREMENT, FALSE);
            return true;
        },
        this);
    KeSetEvent(&assigned, IO_NO_INCREMENT, FALSE);
    send('a');
    wait();
    EXPECT_EQ(watch, nullptr);
}

// The watch's destructor waits for a callback in progress; no callback runs afterwards.
TEST_F(DescriptorWatch, Reset_WaitsForRunningCallback) {
    struct {
        KEVENT entered;
        std::atomic<bool> left{false};
    } call;
    KeInitializeEvent(&call.entered, NotificationEvent, FALSE);
    watch = dispatch::watch_readable(
        machine, ends[0],
        [](void* context) {
            auto& now = *static_cast<decltype(call)*>(context);
            KeSetEvent(&now.entered, IO_NO_INCREMENT, FALSE);
            KeStallExecutionProcessor(1000);
            now.left = true;
            return true;
        },
        &call);
    send('a');
    KeWaitForSingleObject(&call.entered, Executive, KernelMode, FALSE, nullptr);
    watch.reset();
    EXPECT_TRUE(call.left);
}

/// A watch that notes the threads of its calls.
struct noted_calls {
    explicit noted_calls(dispatch::machine& on, int descriptor)
        : from(descriptor), watch(dispatch::watch_readable(on, descriptor, called, this)) {}
    static bool called(void* context) {
        auto& self = *static_cast<noted_calls*>(context);
        char byte = 0;
        EXPECT_EQ(read(self.from, &byte, 1), 1);
        self.caller = KeGetCurrentThread();
        KeSetEvent(&self.happened, IO_NO_INCREMENT, FALSE);
        return true;
    }
    void wait() { KeWaitForSingleObject(&happened, Executive, KernelMode, FALSE, nullptr); }

    int from;
    KEVENT happened = [] {
        KEVENT made;
        KeInitializeEvent(&made, SynchronizationEvent, FALSE);
        return made;
    }();
    std::atomic<PKTHREAD> caller{nullptr};
    std::unique_ptr<dispatch::descriptor_watch> watch;
};

bool is_readable(int descriptor) {
    pollfd one{descriptor, POLLIN, 0};
    return poll(&one, 1, -1) == 1;
}

/// The context's call may not have returned yet.
void serve_after_the_last_call(dispatch::machine& machine) {
    while (dispatch::begin_serving(machine) < 0)
        std::this_thread::yield();
}

TEST_F(DescriptorWatch, ThreadThatServes_MakesTheCalls) {
    EXPECT_EQ(dispatch::begin_serving(machine), -1) << "there is no watch";
    noted_calls calls(machine, ends[0]);
    for (int i = 0; i < 3; ++i) {
        const int due = dispatch::begin_serving(machine);
        ASSERT_GE(due, 0);
        EXPECT_EQ(dispatch::begin_serving(machine), due) << "it serves already";
        send('a');
        ASSERT_TRUE(is_readable(due));
        EXPECT_EQ(calls.caller.load(), nullptr) << "another thread was called";
        EXPECT_TRUE(dispatch::serve_watches(machine));
        EXPECT_EQ(calls.caller.exchange(nullptr), KeGetCurrentThread());
        EXPECT_FALSE(dispatch::serve_watches(machine));
        dispatch::end_serving(machine);
    }
}

TEST_F(DescriptorWatch, EndOfServing_LeavesTheCallsToTheContext) {
    noted_calls calls(machine, ends[0]);
    ASSERT_GE(dispatch::begin_serving(machine), 0);
    send('a'); // before the end, and unread
    dispatch::end_serving(machine);
    dispatch::end_serving(machine); // without effect
    for (int i = 0; i < 2; ++i) {
        calls.wait();
        EXPECT_NE(calls.caller.load(), KeGetCurrentThread());
        if (i == 0) send('b');
    }
}

TEST_F(DescriptorWatch, ThreadThatLeavesTheWatches_WaitsForACallOfTheContext) {
    noted_calls calls(machine, ends[0]);
    for (int i = 0; i < 100; ++i) {
        serve_after_the_last_call(machine);
        send('a');
        if (i % 2 == 0) dispatch::end_serving(machine);
        dispatch::leave_watches(machine);
        calls.wait();
        EXPECT_NE(calls.caller.load(), KeGetCurrentThread());
        EXPECT_FALSE(dispatch::serve_watches(machine));
    }
}

// A thread may leave its wait by a jump, and may have ended since.
TEST_F(DescriptorWatch, ServerThatLeavesACallUndone_ServesNoLonger) {
    noted_calls calls(machine, ends[0]);
    std::thread([&] {
        const dispatch::machine::scope attached(machine);
        ASSERT_GE(dispatch::begin_serving(machine), 0);
    }).join();
    dispatch::leave_watches(machine); // without effect: another thread serves
    for (int i = 0; i < 2; ++i) {
        send('a');
        calls.wait();
        EXPECT_NE(calls.caller.load(), KeGetCurrentThread());
    }
    serve_after_the_last_call(machine);
    send('a');
    EXPECT_TRUE(dispatch::serve_watches(machine));
    dispatch::end_serving(machine);
}

TEST_F(DescriptorWatch, SecondThread_DoesNotServe) {
    noted_calls calls(machine, ends[0]);
    ASSERT_GE(dispatch::begin_serving(machine), 0);
    std::thread([&] {
        const dispatch::machine::scope attached(machine);
        EXPECT_EQ(dispatch::begin_serving(machine), -1);
        send('a');
        EXPECT_FALSE(dispatch::serve_watches(machine));
        dispatch::end_serving(machine);
    }).join();
    EXPECT_EQ(calls.caller.load(), nullptr);
    EXPECT_TRUE(dispatch::serve_watches(machine));
    EXPECT_EQ(calls.caller.load(), KeGetCurrentThread());
    dispatch::end_serving(machine);
}

TEST_F(DescriptorWatch, ResetOfAnotherWatchInsideCallback_Completes) {
    std::array<int, 2> others{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, others.data()), 0);
    noted_calls other(machine, others[0]);
    struct {
        noted_calls* other;
        KEVENT done;
    } scene{&other, {}};
    KeInitializeEvent(&scene.done, NotificationEvent, FALSE);
    watch = dispatch::watch_readable(
        machine, ends[0],
        [](void* context) {
            auto& now = *static_cast<decltype(scene)*>(context);
            now.other->watch.reset();
            KeSetEvent(&now.done, IO_NO_INCREMENT, FALSE);
            return false;
        },
        &scene);
    send('a');
    KeWaitForSingleObject(&scene.done, Executive, KernelMode, FALSE, nullptr);
    EXPECT_EQ(other.watch, nullptr);
    for (const int each : others)
        close(each);
}

TEST_F(DescriptorWatch, InvalidDescriptorOrSimMachine_ReturnsNull) {
    const auto never = [](void*) { return false; };
    EXPECT_EQ(dispatch::watch_readable(machine, -1, never, nullptr), nullptr);
    dispatch::random_choices chance{1};
    dispatch::sim_machine simulated(chance);
    EXPECT_EQ(dispatch::watch_readable(simulated, ends[0], never, nullptr), nullptr);
}

} // namespace
