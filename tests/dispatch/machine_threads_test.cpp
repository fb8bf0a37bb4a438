// The threads that a real machine creates: none outlives it, and a machine that cannot create one
// reports that.
#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/ke_shorthand.hpp>

#include <boost/asio/io_context.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <pthread.h>
#include <unistd.h>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

std::size_t address_space() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t usual_stack() {
    pthread_attr_t attributes;
    pthread_getattr_default_np(&attributes);
    std::size_t size = 0;
    pthread_attr_getstacksize(&attributes, &size);
    pthread_attr_destroy(&attributes);
    return size;
}

/// Sets the default stack size of threads created during its lifetime.
class stack_size {
public:
    explicit stack_size(std::size_t size) {
        pthread_getattr_default_np(&before_);
        pthread_attr_t attributes;
        pthread_getattr_default_np(&attributes);
        pthread_attr_setstacksize(&attributes, size);
        pthread_setattr_default_np(&attributes);
        pthread_attr_destroy(&attributes);
    }
    ~stack_size() {
        pthread_setattr_default_np(&before_);
        pthread_attr_destroy(&before_);
    }
    stack_size(const stack_size&) = delete;
    stack_size& operator=(const stack_size&) = delete;

private:
    pthread_attr_t before_;
};

constexpr std::size_t no_such_stack = std::size_t{1} << 46;

TEST(MachineThreads, SystemThreadThatEnded_KeepsNoStack) {
    asio_machine machine({.processors = 1});
    const machine::scope inside(machine);
    constexpr std::size_t threads = 100;
    system_thread([] {}).join();
    const std::size_t before = address_space();
    for (std::size_t i = 0; i < threads; ++i)
        system_thread([] {}).join();
    EXPECT_LT(address_space(), before + threads / 2 * usual_stack());
}

TEST(MachineThreads, MachineThatEnds_WaitsForEveryThread) {
    int ended = 0;
    {
        asio_machine machine({.processors = 1});
        const machine::scope inside(machine);
        KSPIN_LOCK lock = 0;
        for (int i = 0; i < 20; ++i)
            system_thread([&] {
                const KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock);
                ++ended;
                KeReleaseSpinLock(&lock, old);
            }).join();
    }
    EXPECT_EQ(ended, 20);
}

TEST(MachineThreads, ContextThatGetsNoThread_IsABugCheck) {
    asio_machine machine({.processors = 1});
    const machine::scope inside(machine);
    {
        const stack_size unavailable(no_such_stack);
        EXPECT_EQ(bug_check_of([&] { machine.context(); }), ULONG{MANUALLY_INITIATED_CRASH});
    }
    EXPECT_FALSE(machine.context().stopped());
}

TEST(MachineThreads, SystemThreadThatGetsNone_IsAStatus) {
    asio_machine machine({.processors = 1});
    const machine::scope inside(machine);
    const stack_size unavailable(no_such_stack);
    HANDLE handle = nullptr;
    EXPECT_EQ(PsCreateSystemThread(
                  &handle, 0, nullptr, nullptr, nullptr, [](PVOID) {}, nullptr),
              STATUS_INSUFFICIENT_RESOURCES);
}

} // namespace
