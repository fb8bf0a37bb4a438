// irp::call with every kind of token, on both machines.
#include "test_driver.hpp"

#include <support/both_machines.hpp>
#include <support/coroutines.hpp>

#include <irp/async.hpp>
#include <irp/cancel_safe_queue.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace irpverbs;
using namespace std::chrono_literals;
using irp::pending_irp;
using irpverbs::testing::ask;
using irpverbs::testing::signal;
using irpverbs::testing::test_device;

class AsyncCall : public irpverbs::testing::BothMachines {
protected:
    // The result of a call, and where its handler ran.
    struct end {
        signal done;
        error_code error;
        ULONG_PTR information = 0;
        KIRQL level = HIGH_LEVEL;
        PKTHREAD thread = nullptr;

        void note(error_code how, ULONG_PTR what) {
            error = how;
            information = what;
            level = KeGetCurrentIrql();
            thread = KeGetCurrentThread();
            done.set();
        }
        auto handler() {
            return [this](error_code how, ULONG_PTR what) { note(how, what); };
        }
    };

    void serve(NTSTATUS status = STATUS_SUCCESS, ULONG_PTR information = 7) {
        while (auto owed = queue.remove_next())
            std::move(*owed).complete(status, information);
    }
    // Runs the machine's context until it has delivered every earlier completion.
    void let_arrive() {
        signal arrived;
        irp::call(at_once(), ask, [&](error_code, ULONG_PTR) { arrived.set(); });
        arrived.wait();
    }
    DEVICE_OBJECT* at_once() { return inline_device.get(); }
    DEVICE_OBJECT* pending_device() { return queue_device.get(); }

    irp::cancel_safe_queue queue;
    test_device inline_device{
        [](pending_irp owed) { return std::move(owed).complete(STATUS_SUCCESS, 42); }};
    test_device queue_device{[this](pending_irp owed) { return queue.pend(std::move(owed)); }};
    end ended;
};

// Tests that the handler runs on the machine's context at PASSIVE_LEVEL, never inside the call,
// even when the request completes inside it.
TEST_P(AsyncCall, InlineCompletion_HandlerIsPosted) {
    irp::call(at_once(), ask, ended.handler());
    ended.done.wait();
    EXPECT_FALSE(ended.error);
    EXPECT_EQ(ended.information, 42u);
    EXPECT_EQ(ended.level, PASSIVE_LEVEL);
    EXPECT_NE(ended.thread, KeGetCurrentThread());
}

// Tests that the handler runs at PASSIVE_LEVEL although the pending request is completed at
// DISPATCH_LEVEL.
TEST_P(AsyncCall, CompletionAtDispatchLevel_HandlerRunsAtPassiveLevel) {
    irp::call(pending_device(), ask, ended.handler());
    {
        const irpverbs::testing::at_dispatch_level raised;
        serve();
    }
    ended.done.wait();
    EXPECT_EQ(ended.information, 7u);
    EXPECT_EQ(ended.level, PASSIVE_LEVEL);
}

// Tests that a failure arrives as an error_code of the NTSTATUS category.
TEST_P(AsyncCall, FailureStatus_ArrivesAsNtstatusErrorCode) {
    irp::call(pending_device(), ask, ended.handler());
    serve(STATUS_INVALID_DEVICE_STATE, 0);
    ended.done.wait();
    EXPECT_EQ(ended.error, dispatch::make_error_code(STATUS_INVALID_DEVICE_STATE));
    EXPECT_STREQ(ended.error.category().name(), "ntstatus");
}

// Tests that statuses that are no failures produce no error.
TEST_P(AsyncCall, InformationalStatus_IsNoError) {
    irp::call(pending_device(), ask, ended.handler());
    serve(STATUS_ALERTED);
    ended.done.wait();
    EXPECT_FALSE(ended.error);
    EXPECT_EQ(ended.error.value(), STATUS_ALERTED);
}

// Tests that a deferred call starts only when it is invoked, and that it can be invoked again.
TEST_P(AsyncCall, DeferredCall_StartsAtEachInvocation) {
    auto later = irp::call(pending_device(), ask);
    EXPECT_TRUE(queue.empty());
    later(ended.handler());
    end second;
    std::move(later)(second.handler());
    serve();
    ended.done.wait();
    second.done.wait();
    EXPECT_EQ(second.information, 7u);
}

// Tests that as_tuple adapts this call as it adapts any other.
TEST_P(AsyncCall, AsTuple_HandlerReceivesTuple) {
    irp::call(at_once(), ask, asio::as_tuple([&](std::tuple<error_code, ULONG_PTR> all) {
                  ended.note(std::get<0>(all), std::get<1>(all));
              }));
    ended.done.wait();
    EXPECT_EQ(ended.information, 42u);
}

// Tests that a detached call is sent and completes.
TEST_P(AsyncCall, DetachedCall_IsSentAndCompletes) {
    irp::call(pending_device(), ask, asio::detached);
    EXPECT_FALSE(queue.empty());
    serve();
    EXPECT_TRUE(queue.empty());
    irp::call(at_once(), ask, ended.handler());
    ended.done.wait(); // runs after the detached one
}

// Tests that the handler runs on its associated executor.
TEST_P(AsyncCall, BoundExecutor_RunsHandler) {
    auto strand = asio::make_strand(machine().context());
    bool inside = false;
    irp::call(at_once(), ask,
              asio::bind_executor(strand, [&](error_code error, ULONG_PTR information) {
                  inside = strand.running_in_this_thread();
                  ended.note(error, information);
              }));
    ended.done.wait();
    EXPECT_TRUE(inside);
}

// Tests that the request keeps the program's own context running, and that its handler runs there.
TEST_P(AsyncCall, HandlerBoundToOwnContext_KeepsContextBusyAndRunsThere) {
    asio::io_context own;
    irp::call(pending_device(), ask, asio::bind_executor(own, ended.handler()));
    EXPECT_EQ(own.poll(), 0u);
    EXPECT_FALSE(own.stopped());
    own.restart();
    serve();
    let_arrive();
    own.run();
    EXPECT_EQ(ended.information, 7u);
    EXPECT_EQ(ended.thread, KeGetCurrentThread());
}

// A pool of one block that knows whether the block is allocated.
struct one_block {
    alignas(64) std::array<std::byte, 2048> memory;
    int taken = 0;
    int ever = 0;
};

template <class T>
struct block_allocator {
    using value_type = T;
    one_block* block;
    explicit block_allocator(one_block* from) : block(from) {}
    template <class U>
    block_allocator(const block_allocator<U>& other) : block(other.block) {}
    T* allocate(std::size_t count) {
        EXPECT_LE(count * sizeof(T), sizeof block->memory);
        EXPECT_EQ(block->taken++, 0);
        ++block->ever;
        return reinterpret_cast<T*>(block->memory.data());
    }
    void deallocate(T*, std::size_t) { --block->taken; }
    template <class U>
    bool operator==(const block_allocator<U>& other) const {
        return block == other.block;
    }
};

// Tests that memory comes from the associated allocator, in one allocation at the start, and is
// freed before the handler runs: the handler starts the next call from the same block.
TEST_P(AsyncCall, AssociatedAllocator_MemoryIsFreedBeforeHandler) {
    one_block block;
    const auto with_block = [&](auto handler) {
        return asio::bind_allocator(block_allocator<void>(&block), std::move(handler));
    };
    int taken_in_handler = -1;
    irp::call(pending_device(), ask, with_block([&](error_code, ULONG_PTR) {
                  taken_in_handler = block.taken;
                  irp::call(at_once(), ask, with_block(ended.handler()));
              }));
    EXPECT_EQ(block.taken, 1);
    serve();
    ended.done.wait();
    EXPECT_EQ(taken_in_handler, 0);
    EXPECT_EQ(block.ever, 2);
    EXPECT_EQ(block.taken, 0);
}

// The form of a C++ wrapper of a verb: buffers inside, a result type of its own.
struct read_text {
    std::array<char, 16> buffer{};

    void operator()(IRP* irp) {
        IO_STACK_LOCATION* next = IoGetNextIrpStackLocation(irp);
        next->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
        next->Parameters.Others.Argument1 = buffer.data();
    }
    std::string result(ULONG_PTR information) && { return {buffer.data(), information}; }
};

// Tests that the objects that fill holds live until the request is completed, and that fill's
// result is delivered.
TEST_P(AsyncCall, FillWithResult_ResultReachesHandler) {
    irp::call(pending_device(), read_text{}, [&](error_code error, const std::string& text) {
        EXPECT_EQ(text, "hello");
        ended.note(error, text.size());
    });
    auto owed = queue.remove_next();
    ASSERT_TRUE(owed);
    std::memcpy(owed->stack().Parameters.Others.Argument1, "hello", 5);
    std::move(*owed).complete(STATUS_SUCCESS, 5);
    ended.done.wait();
    EXPECT_EQ(ended.information, 5u);
}

// Tests that the cancellation slot cancels the IRP, and that emitting to it after the end has no
// effect.
TEST_P(AsyncCall, CancellationSlotEmitted_CompletesCancelled) {
    asio::cancellation_signal cancel;
    irp::call(pending_device(), ask, asio::bind_cancellation_slot(cancel.slot(), ended.handler()));
    cancel.emit(asio::cancellation_type::none);
    EXPECT_FALSE(queue.empty());
    cancel.emit(asio::cancellation_type::total);
    EXPECT_TRUE(queue.empty());
    ended.done.wait();
    EXPECT_EQ(ended.error, dispatch::make_error_code(STATUS_CANCELLED));
    EXPECT_EQ(ended.error, boost::system::errc::operation_canceled);
    cancel.emit(asio::cancellation_type::all);
}

// Tests that a result that is already available wins over a cancellation.
TEST_P(AsyncCall, CancelAfterCompletion_ResultWins) {
    asio::io_context own; // its handler waits until this context runs
    asio::cancellation_signal cancel;
    irp::call(
        pending_device(), ask,
        asio::bind_executor(own, asio::bind_cancellation_slot(cancel.slot(), ended.handler())));
    serve();
    cancel.emit(asio::cancellation_type::terminal);
    let_arrive();
    own.run();
    EXPECT_FALSE(ended.error);
    EXPECT_EQ(ended.information, 7u);
}

// Tests that a request that is not completed in time is cancelled and ends with STATUS_IO_TIMEOUT.
TEST_P(AsyncCall, DeadlineExpires_CompletesWithIoTimeout) {
    irp::call(pending_device(), ask, irp::within(2ms, ended.handler()));
    ended.done.wait();
    EXPECT_EQ(ended.error, dispatch::make_error_code(STATUS_IO_TIMEOUT));
    EXPECT_EQ(ended.error, boost::system::errc::timed_out);
    EXPECT_TRUE(queue.empty());
}

// Tests that a deadline passes through token adapters, outside and inside them.
TEST_P(AsyncCall, DeadlineThroughTokenAdapters_CompletesWithIoTimeout) {
    irp::call(pending_device(), ask,
              irp::within(2ms, asio::as_tuple([&](std::tuple<error_code, ULONG_PTR> all) {
                              ended.note(std::get<0>(all), std::get<1>(all));
                          })));
    ended.done.wait();
    EXPECT_EQ(ended.error, dispatch::make_error_code(STATUS_IO_TIMEOUT));
    end second;
    irp::call(pending_device(), ask,
              asio::bind_executor(machine().context().get_executor(),
                                  irp::within(2ms, second.handler())));
    second.done.wait();
    EXPECT_EQ(second.error, dispatch::make_error_code(STATUS_IO_TIMEOUT));
    end third;
    constexpr auto soon = irp::within(2ms); // a token that is used repeatedly
    irp::call(pending_device(), ask, soon)(third.handler());
    third.done.wait();
    EXPECT_EQ(third.error, dispatch::make_error_code(STATUS_IO_TIMEOUT));
}

// Tests that a result in time ends the call at once, and that the deadline leaves no timer behind.
TEST_P(AsyncCall, ResultBeforeDeadline_CompletesAtOnce) {
    irp::call(pending_device(), ask, irp::within(1h, ended.handler()));
    serve();
    ended.done.wait();
    EXPECT_FALSE(ended.error);
    EXPECT_EQ(ended.information, 7u);
}

// Tests that a limit beyond the range of machine time becomes the longest limit, not none.
TEST_P(AsyncCall, Within_MoreThanMachineTimeHolds_Waits) {
    irp::call(pending_device(), ask, irp::within(std::chrono::seconds::max(), ended.handler()));
    serve();
    ended.done.wait();
    EXPECT_FALSE(ended.error);
    EXPECT_EQ(ended.information, 7u);
}
TEST(Within, LimitsOutOfRange_AreTheNearestInRange) {
    EXPECT_EQ(irp::within(std::chrono::seconds::max()).limit, irp::ticks::max());
    EXPECT_EQ(irp::within(std::chrono::hours::min()).limit, irp::ticks::min());
    EXPECT_EQ(irp::within(std::chrono::duration<double>(1e300)).limit, irp::ticks::max());
    EXPECT_EQ(irp::within(irp::ticks::max()).limit, irp::ticks::max());
    EXPECT_EQ(irp::within(std::chrono::nanoseconds(101)).limit, irp::ticks(2));
    EXPECT_EQ(irp::within(std::chrono::nanoseconds(-101)).limit, irp::ticks(-1));
}

// Tests that a cancellation by the slot is reported as one when the call also has a deadline.
TEST_P(AsyncCall, CancelBeforeDeadline_CompletesCancelled) {
    asio::cancellation_signal cancel;
    irp::call(pending_device(), ask,
              irp::within(1h, asio::bind_cancellation_slot(cancel.slot(), ended.handler())));
    cancel.emit(asio::cancellation_type::total);
    ended.done.wait();
    EXPECT_EQ(ended.error, dispatch::make_error_code(STATUS_CANCELLED));
}

// Tests that a call with a deadline of zero is still sent.
TEST_P(AsyncCall, ZeroDeadline_CompletesWithIoTimeout) {
    irp::call(pending_device(), ask, irp::within(0ms, ended.handler()));
    ended.done.wait();
    EXPECT_EQ(ended.error, dispatch::make_error_code(STATUS_IO_TIMEOUT));
}

// Tests that a call whose executor's context is destroyed first frees its handler without calling
// it.
TEST_P(AsyncCall, ContextDestroyedFirst_HandlerIsFreedUncalled) {
    auto alive = std::make_shared<int>(1);
    {
        asio::io_context gone;
        irp::call(at_once(), ask, asio::bind_executor(gone, [alive](error_code, ULONG_PTR) {
                      FAIL() << "no thread runs that context";
                  }));
        let_arrive();
    }
    EXPECT_EQ(alive.use_count(), 1);
}

IRPVERBS_ON_BOTH_MACHINES(AsyncCall);

// A future blocks its thread, which in the simulator is the thread that runs the simulation.
class AsyncCallOnRealThreads : public AsyncCall {};

// Tests that a future becomes ready.
TEST_P(AsyncCallOnRealThreads, UseFuture_ReturnsResultOrThrows) {
    std::future<ULONG_PTR> good = irp::call(at_once(), ask, asio::use_future);
    EXPECT_EQ(good.get(), 42u);
    std::future<ULONG_PTR> bad = irp::call(pending_device(), ask, asio::use_future);
    serve(STATUS_IO_DEVICE_ERROR);
    EXPECT_THROW(bad.get(), boost::system::system_error);
}

IRPVERBS_ON_THE_REAL_MACHINE(AsyncCallOnRealThreads);

} // namespace
