// Coroutines that await IRPs: with Asio's awaitable, and with irp::send in a coroutine of any type.
#include "test_driver.hpp"

#include <support/both_machines.hpp>
#include <support/coroutines.hpp>
#include <support/explore_gtest.hpp>

#include <irp/async.hpp>
#include <irp/cancel_safe_queue.hpp>
#include <irp/send.hpp>

#include <dispatch/support/processor.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#if defined(BOOST_ASIO_HAS_CO_AWAIT) && defined(__cpp_impl_coroutine)

namespace {

namespace asio = boost::asio;
using namespace irpverbs;
using namespace std::chrono_literals;
using irp::pending_irp;
using irpverbs::testing::ask;
using irpverbs::testing::test_device;

struct devices {
    irp::cancel_safe_queue queue;
    test_device at_once{
        [](pending_irp owed) { return std::move(owed).complete(STATUS_SUCCESS, 42); }};
    test_device pending_device{[this](pending_irp owed) { return queue.pend(std::move(owed)); }};

    void serve() {
        while (auto owed = queue.remove_next())
            std::move(*owed).complete(STATUS_SUCCESS, 7);
    }
};

class AsyncCoroutine : public irpverbs::testing::BothMachines {
protected:
    template <class Coroutine>
    void run(Coroutine body) {
        irpverbs::testing::run_to_end(machine(), std::move(body));
    }

    devices device;
};

asio::awaitable<void> use_all(devices& device) {
    EXPECT_EQ(co_await irp::call(device.at_once.get(), ask, asio::use_awaitable), 42u);
    EXPECT_EQ(co_await irp::call(device.at_once.get(), ask), 42u); // deferred
    auto [error, information] = co_await irp::call(
        device.pending_device.get(), ask, irp::within(1ms, asio::as_tuple(asio::use_awaitable)));
    EXPECT_EQ(error, dispatch::make_error_code(STATUS_IO_TIMEOUT));
    EXPECT_EQ(information, 0u);
    try {
        co_await irp::call(device.pending_device.get(), ask, irp::within(1ms));
        ADD_FAILURE() << "nothing was thrown";
    } catch (const boost::system::system_error& thrown) {
        EXPECT_EQ(thrown.code(), dispatch::make_error_code(STATUS_IO_TIMEOUT));
    }
}

// Tests that a coroutine may await a call by each of Asio's ways, and that a failure is thrown.
TEST_P(AsyncCoroutine, EachAwaitForm_ReturnsResultOrThrows) {
    run([this] { return use_all(device); });
}

asio::awaitable<void> first_of_two(devices& device) {
    using namespace asio::experimental::awaitable_operators;
    const auto first = co_await (irp::call(device.pending_device.get(), ask, asio::use_awaitable) ||
                                 irp::call(device.at_once.get(), ask, asio::use_awaitable));
    EXPECT_EQ(first.index(), 1u);
    EXPECT_TRUE(device.queue.empty());
}

// Tests that the loser of a race of two awaited calls is cancelled.
TEST_P(AsyncCoroutine, FirstOfTwoAwaitsCompletes_OtherIsCancelled) {
    run([this] { return first_of_two(device); });
}

asio::awaitable<void> three_calls(devices& device, int& done) {
    for (done = 0; done < 3; ++done)
        co_await irp::call(device.pending_device.get(), ask, asio::use_awaitable);
}

// Tests that a cancellation at each suspension point ends the coroutine there: either the pending
// call is cancelled, or its result wins and the next call is cancelled.
void cancel_anywhere(dispatch::sim_machine& sim) {
    devices device;
    asio::cancellation_signal cancel;
    int done = -1;
    int ended = 0;
    bool cancelled = false;
    asio::co_spawn(
        sim.context(), [&] { return three_calls(device, done); },
        asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr error) {
            ++ended;
            cancelled = error != nullptr;
        }));
    sim.spawn("serve", [&] {
        for (int i = 0; i < 40 && ended == 0; ++i) {
            device.serve();
            sim.yield();
        }
        while (ended == 0) {
            device.serve();
            LARGE_INTEGER millisecond;
            millisecond.QuadPart = -10'000;
            KeDelayExecutionThread(KernelMode, FALSE, &millisecond);
        }
    });
    sim.spawn("cancel", [&] {
        asio::post(sim.context(), [&] { cancel.emit(asio::cancellation_type::terminal); });
    });
    sim.run();
    EXPECT_EQ(ended, 1);
    EXPECT_EQ(cancelled, done < 3);
    EXPECT_TRUE(device.queue.empty());
}

TEST(AsyncCoroutineRaces, TerminalCancelAtAnyStep_EndsCoroutineOnce) {
    irpverbs::testing::expect_explored({}, cancel_anywhere);
}

// A coroutine type of the program's own, independent of Asio.
struct plain_coroutine {
    struct promise_type {
        plain_coroutine get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

struct sent_end {
    KEVENT done;
    irp::sent_result result{};
    KIRQL level = HIGH_LEVEL;
    PKTHREAD thread = nullptr;
    int depth = 0;

    sent_end() { KeInitializeEvent(&done, NotificationEvent, FALSE); }
    void wait() { KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr); }
};

plain_coroutine send_one(DEVICE_OBJECT* device, IRP* irp, sent_end& end) {
    ask(irp);
    end.result = co_await irp::send(device, irp);
    end.level = KeGetCurrentIrql();
    end.thread = KeGetCurrentThread();
    KeSetEvent(&end.done, IO_NO_INCREMENT, FALSE);
}

class CoroutineSend : public irpverbs::testing::BothMachines {
protected:
    ~CoroutineSend() override { IoFreeIrp(irp); }
    devices device;
    IRP* irp = IoAllocateIrp(1, FALSE);
    sent_end end;
};

// Tests that a request that completes inside the call does not suspend the coroutine.
TEST_P(CoroutineSend, InlineCompletion_DoesNotSuspend) {
    send_one(device.at_once.get(), irp, end);
    EXPECT_EQ(end.result.information, 42u);
    EXPECT_EQ(end.thread, KeGetCurrentThread());
}

// Tests that a completion at PASSIVE_LEVEL resumes the coroutine on the completing thread.
TEST_P(CoroutineSend, CompletionAtPassiveLevel_ResumesOnCompletingThread) {
    send_one(device.pending_device.get(), irp, end);
    EXPECT_EQ(end.thread, nullptr);
    device.serve();
    EXPECT_EQ(end.result.information, 7u);
    EXPECT_EQ(end.thread, KeGetCurrentThread());
    EXPECT_EQ(end.level, PASSIVE_LEVEL);
}

// Tests that a completion at DISPATCH_LEVEL resumes the coroutine on a worker, at PASSIVE_LEVEL.
TEST_P(CoroutineSend, CompletionAtDispatchLevel_ResumesOnWorkerAtPassiveLevel) {
    send_one(device.pending_device.get(), irp, end);
    {
        const irpverbs::testing::at_dispatch_level raised;
        device.serve();
    }
    end.wait();
    EXPECT_EQ(end.level, PASSIVE_LEVEL);
    EXPECT_NE(end.thread, KeGetCurrentThread());
}

plain_coroutine send_many(DEVICE_OBJECT* device, IRP* irp, int count, int& done) {
    for (; done < count; ++done) {
        IoReuseIrp(irp, STATUS_SUCCESS);
        ask(irp);
        co_await irp::send(device, irp);
    }
}

// Tests that the stack does not grow with a driver that pends and completes before it returns.
TEST_P(CoroutineSend, PendedAndCompletedInsideCall_StackDoesNotGrow) {
    const test_device hasty([](pending_irp owed) -> NTSTATUS {
        IoMarkIrpPending(owed.get());
        std::move(owed).complete(STATUS_SUCCESS);
        return STATUS_PENDING;
    });
    int done = 0;
    send_many(hasty.get(), irp, 100'000, done);
    EXPECT_EQ(done, 100'000);
}

plain_coroutine send_and_catch(DEVICE_OBJECT* device, IRP* irp, bool& caught) {
    ask(irp);
    try {
        co_await irp::send(device, irp);
    } catch (const std::runtime_error&) {
        caught = true;
    }
}

// A bug check's handler may throw through IoCallDriver. The processor then removes the record of
// that call, since a completion searches the processor's current calls for its own.
TEST_P(CoroutineSend, Send_ThatThrows_LeavesNoCallBehind) {
    const test_device throwing([](pending_irp owed) -> NTSTATUS {
        static_cast<void>(std::move(owed).release());
        throw std::runtime_error("reported");
    });
    bool caught = false;
    const auto& locals = dispatch::detail::this_processor().locals;
    const auto before = std::to_array(locals);
    send_and_catch(throwing.get(), irp, caught);
    EXPECT_TRUE(caught);
    EXPECT_TRUE(std::ranges::equal(locals, before));
}

IRPVERBS_ON_BOTH_MACHINES(AsyncCoroutine);
IRPVERBS_ON_BOTH_MACHINES(CoroutineSend);

// A coroutine sends three requests; two actors complete them, one of them at DISPATCH_LEVEL.
void served_by_two(dispatch::sim_machine& sim) {
    devices device;
    IRP* irp = IoAllocateIrp(1, FALSE);
    int done = 0;
    const auto served = [&](auto serve) {
        for (int i = 0; i < 1000 && done < 3; ++i) {
            serve();
            sim.yield();
        }
    };
    sim.spawn("send", [&] { send_many(device.pending_device.get(), irp, 3, done); });
    sim.spawn("serve", [&] { served([&] { device.serve(); }); });
    sim.spawn("serve at dispatch", [&] {
        served([&] {
            const irpverbs::testing::at_dispatch_level raised;
            device.serve();
        });
    });
    sim.run();
    device.serve();
    EXPECT_EQ(done, 3);
    IoFreeIrp(irp);
}

TEST(CoroutineSendRaces, PassiveAndDispatchCompletersRace_EachSendResumesOnce) {
    irpverbs::testing::expect_explored({}, served_by_two);
}

} // namespace
#endif
