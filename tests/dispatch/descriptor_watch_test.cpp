// A machine watches file descriptors of the process.
#include <dispatch/descriptor_watch.hpp>
#include <support/both_machines.hpp>

#include <array>
#include <atomic>
#include <fcntl.h>
#include <sys/socket.h>
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

TEST_F(DescriptorWatch, InvalidDescriptorOrSimMachine_ReturnsNull) {
    const auto never = [](void*) { return false; };
    EXPECT_EQ(dispatch::watch_readable(machine, -1, never, nullptr), nullptr);
    dispatch::random_choices chance{1};
    dispatch::sim_machine simulated(chance);
    EXPECT_EQ(dispatch::watch_readable(simulated, ends[0], never, nullptr), nullptr);
}

} // namespace
