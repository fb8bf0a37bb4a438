// The machine of threads that no scope attaches, and of the child of a fork.
#include <dispatch/default_machine.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <support/child_process.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <future>
#include <thread>

namespace {

using namespace irpverbs::dispatch;
using irpverbs::testing::in_child;

machine* of_new_thread() {
    machine* seen = nullptr;
    std::thread([&] { seen = &machine::current(); }).join();
    return seen;
}

asio_machine& lasting_machine() {
    static asio_machine& only = *new asio_machine({.processors = 1});
    return only;
}

TEST(DefaultMachine, ThreadWithoutMachine_AttachesToTheChosenOne) {
    ASSERT_TRUE(in_child([] {
        set_default_machine(lasting_machine());
        return of_new_thread() == &lasting_machine() && &machine::current() == &lasting_machine();
    }));
}

TEST(DefaultMachine, ChildOfAFork_LeavesTheParentsMachine) {
    ASSERT_TRUE(in_child([] {
        set_default_machine(lasting_machine());
        machine::current();
        return in_child([] {
            leave_machine_after_fork();
            return &machine::current() != &lasting_machine();
        });
    }));
}

TEST(DefaultMachine, ChildOfAFork_EndsByExit) {
    ASSERT_TRUE(in_child([] {
        static_cast<asio_machine&>(machine::current()).context(); // starts a thread
        return in_child([] {
            exit(0);
            return false;
        });
    }));
}

TEST(DefaultMachine, ThreadsOfAMachine_BlockTheProgramsSignals) {
    asio_machine machine({.processors = 1});
    sigset_t open;
    sigemptyset(&open);
    boost::asio::post(machine.context(), boost::asio::use_future([&open] {
                          pthread_sigmask(SIG_SETMASK, nullptr, &open);
                      }))
        .get();
    EXPECT_TRUE(sigismember(&open, SIGTERM));
    EXPECT_TRUE(sigismember(&open, SIGCHLD));
    EXPECT_FALSE(sigismember(&open, SIGSEGV));
}

TEST(DefaultMachine, StartOfAThread_LeavesTheCallersSignals) {
    asio_machine machine({.processors = 1});
    machine.context();
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    EXPECT_FALSE(sigismember(&now, SIGTERM));
}

} // namespace
