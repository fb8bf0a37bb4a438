#include "test_driver.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <irp/completion_queue.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_future.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace irpverbs;
using namespace std::chrono_literals;
using irp::completion_queue;
using irp::pending_irp;
using irpverbs::testing::test_device;

// Sends an IRP whose completion goes to the queue.
IRP* send(completion_queue& queue, const test_device& device) {
    IRP* irp = IoAllocateIrp(1, FALSE);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    queue.collect(irp);
    IoCallDriver(device.get(), irp);
    return irp;
}

struct removal {
    KEVENT done;
    error_code error;
    IRP* irp = nullptr;
    std::size_t count = 0;

    removal() { KeInitializeEvent(&done, NotificationEvent, FALSE); }
    auto handler() {
        return [this](error_code how, auto what) {
            error = how;
            if constexpr (std::is_same_v<decltype(what), IRP*>)
                irp = what;
            else
                count = what;
            KeSetEvent(&done, IO_NO_INCREMENT, FALSE);
        };
    }
    void wait() { KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr); }
};

class CompletionQueue : public irpverbs::testing::BothMachines {
protected:
    test_device device{
        [](pending_irp owed) { return std::move(owed).complete(STATUS_SUCCESS, 42); }};
    completion_queue queue;
};

// Tests that IRPs are removed in the order of their completion, one by one or many at once.
TEST_P(CompletionQueue, SeveralCompleted_RemovedInOrder) {
    std::array<IRP*, 3> sent{};
    for (IRP*& each : sent)
        each = send(queue, device);
    EXPECT_EQ(queue.try_remove(), sent[0]);
    std::array<IRP*, 8> removed{};
    EXPECT_EQ(queue.try_remove(removed), 2u);
    EXPECT_EQ(removed[0], sent[1]);
    EXPECT_EQ(removed[1], sent[2]);
    EXPECT_EQ(queue.try_remove(), nullptr);
    for (IRP* each : sent) {
        EXPECT_EQ(each->IoStatus.Information, 42u);
        IoFreeIrp(each);
    }
}

// Tests that a removal waits for an IRP, and that waiters are served in order.
TEST_P(CompletionQueue, RemovalsBeforeIrps_CompleteInOrder) {
    removal first, second;
    queue.async_remove(first.handler());
    queue.async_remove(second.handler());
    IRP* one = send(queue, device);
    IRP* two = send(queue, device);
    first.wait();
    second.wait();
    EXPECT_EQ(first.irp, one);
    EXPECT_EQ(second.irp, two);
    IoFreeIrp(one);
    IoFreeIrp(two);
}

// Tests that a removal of many returns the available IRPs, at most as many as it has room for.
TEST_P(CompletionQueue, RemoveMany_ReturnsAvailableUpToRoom) {
    for (int i = 0; i < 3; ++i)
        send(queue, device);
    std::array<IRP*, 2> into{};
    removal two;
    queue.async_remove(into, two.handler());
    two.wait();
    EXPECT_EQ(two.count, 2u);
    removal last;
    std::array<IRP*, 2> rest{};
    queue.async_remove(rest, asio::as_tuple([&, note = last.handler()](
                                                std::tuple<error_code, std::size_t> all) mutable {
                           note(std::get<0>(all), std::get<1>(all));
                       }));
    last.wait();
    EXPECT_EQ(last.count, 1u);
    removal no_room;
    queue.async_remove(std::span<IRP*>(), no_room.handler());
    no_room.wait();
    EXPECT_EQ(no_room.error, dispatch::make_error_code(STATUS_INVALID_PARAMETER));
    for (IRP* each : {into[0], into[1], rest[0]})
        IoFreeIrp(each);
}

// Tests that removals end by cancel, by their slot, by a deadline and by close; later IRPs still
// arrive.
TEST_P(CompletionQueue, CancelSlotDeadlineOrClose_EndsRemoval) {
    removal cancelled, by_slot, late, closed, after;
    asio::cancellation_signal cancel;
    queue.async_remove(cancelled.handler());
    queue.cancel();
    queue.async_remove(asio::bind_cancellation_slot(cancel.slot(), by_slot.handler()));
    cancel.emit(asio::cancellation_type::total);
    queue.async_remove(irp::within(1ms, late.handler()));
    late.wait();
    queue.async_remove(closed.handler());
    queue.close();
    queue.async_remove(after.handler());
    for (removal* each : {&cancelled, &by_slot, &closed, &after})
        each->wait();
    EXPECT_EQ(cancelled.error, dispatch::make_error_code(STATUS_CANCELLED));
    EXPECT_EQ(by_slot.error, dispatch::make_error_code(STATUS_CANCELLED));
    EXPECT_EQ(late.error, dispatch::make_error_code(STATUS_IO_TIMEOUT));
    EXPECT_EQ(closed.error, dispatch::make_error_code(STATUS_CANCELLED));
    EXPECT_EQ(after.error, dispatch::make_error_code(STATUS_FILE_CLOSED));
    EXPECT_EQ(after.irp, nullptr);
    IRP* irp = send(queue, device);
    EXPECT_EQ(queue.try_remove(), irp);
    IoFreeIrp(irp);
}

IRPVERBS_ON_BOTH_MACHINES(CompletionQueue);

// A future blocks its thread, which in the simulator is the thread that runs the simulation.
class CompletionQueueOnRealThreads : public CompletionQueue {};

// Tests a future as a completion token.
TEST_P(CompletionQueueOnRealThreads, UseFuture_ReturnsIrp) {
    auto later = queue.async_remove(asio::use_future);
    IRP* irp = send(queue, device);
    EXPECT_EQ(later.get(), irp);
    IoFreeIrp(irp);
}

IRPVERBS_ON_THE_REAL_MACHINE(CompletionQueueOnRealThreads);

// Two IRPs arrive while two removals wait and one is removed by try_remove: each gets its IRP.
void arrive_and_remove(dispatch::sim_machine& sim) {
    const test_device device(
        [](pending_irp owed) { return std::move(owed).complete(STATUS_SUCCESS); });
    completion_queue queue;
    std::array<IRP*, 3> sent{};
    std::array<removal, 2> removals;
    sim.spawn("send", [&] {
        sent[0] = send(queue, device);
        sent[1] = send(queue, device);
    });
    sim.spawn("remove", [&] {
        for (removal& each : removals)
            queue.async_remove(each.handler());
    });
    IRP* by_hand = nullptr;
    sim.spawn("by hand", [&] {
        by_hand = queue.try_remove();
        sent[2] = send(queue, device);
    });
    sim.run();
    IRP* left = queue.try_remove();
    for (removal& each : removals)
        EXPECT_NE(each.irp, nullptr);
    EXPECT_NE(removals[0].irp, removals[1].irp);
    EXPECT_TRUE((left == nullptr) != (by_hand == nullptr));
    for (IRP* each : sent)
        IoFreeIrp(each);
}

/// A queue in memory that must not be accessed once it is destroyed: zeroed, its locks are free,
/// and its lists lead to the null page.
class watched_queue {
public:
    watched_queue() : queue_(new (memory_) completion_queue) {}
    ~watched_queue() {
        if (queue_ != nullptr) destroy();
    }
    watched_queue(const watched_queue&) = delete;
    watched_queue& operator=(const watched_queue&) = delete;

    completion_queue& operator*() const { return *queue_; }
    void destroy() {
        std::exchange(queue_, nullptr)->~completion_queue();
        std::memset(memory_, 0, sizeof memory_);
    }
    bool touched() const {
        return std::any_of(memory_, memory_ + sizeof memory_,
                           [](unsigned char byte) { return byte != 0; });
    }

private:
    alignas(completion_queue) unsigned char memory_[sizeof(completion_queue)];
    completion_queue* queue_;
};

// The consumer has removed every IRP and destroys the queue, although the thread that completed the
// last one may not have returned.
void remove_and_destroy(dispatch::sim_machine& sim) {
    const test_device device(
        [](pending_irp owed) { return std::move(owed).complete(STATUS_SUCCESS); });
    watched_queue queue;
    sim.spawn("send", [&] { send(*queue, device); });
    sim.spawn("remove", [&] {
        IRP* removed = nullptr;
        while ((removed = (*queue).try_remove()) == nullptr)
            KeStallExecutionProcessor(1);
        IoFreeIrp(removed);
        queue.destroy();
    });
    sim.run();
    EXPECT_FALSE(queue.touched());
}

TEST(CompletionQueueRaces, Destructor_AfterTheLastRemoval_WaitsForTheOneThatCompletes) {
    dispatch::explore_options options;
    options.exhaustive_runs = 5000;
    options.preemption_bound = 2;
    irpverbs::testing::expect_explored(options, remove_and_destroy);
}

// The removal's handler destroys the queue, although the call that began the removal may not have
// returned.
void remove_later_and_destroy(dispatch::sim_machine& sim) {
    const test_device device(
        [](pending_irp owed) { return std::move(owed).complete(STATUS_SUCCESS); });
    watched_queue queue;
    removal removed;
    sim.spawn("ask", [&] { (*queue).async_remove(removed.handler()); });
    sim.spawn("send", [&] { send(*queue, device); });
    sim.spawn("destroy", [&] {
        removed.wait();
        IoFreeIrp(removed.irp);
        queue.destroy();
    });
    sim.run();
    EXPECT_FALSE(queue.touched());
}

TEST(CompletionQueueRaces, Destructor_AfterTheLastHandler_WaitsForTheCallThatBegan) {
    dispatch::explore_options options;
    options.exhaustive_runs = 5000;
    options.preemption_bound = 2;
    irpverbs::testing::expect_explored(options, remove_later_and_destroy);
}

// One consumer removes without waiting while two removals wait: the first removal is served first.
void serve_in_order(dispatch::sim_machine& sim) {
    const test_device device(
        [](pending_irp owed) { return std::move(owed).complete(STATUS_SUCCESS); });
    completion_queue queue;
    std::vector<IRP*> sent;
    removal first, second;
    queue.async_remove(first.handler());
    queue.async_remove(second.handler());
    sim.spawn("send", [&] { sent.push_back(send(queue, device)); });
    IRP* by_hand = nullptr;
    sim.spawn("by hand", [&] { by_hand = queue.try_remove(); });
    sim.spawn("send another", [&] { sent.push_back(send(queue, device)); });
    sim.run();
    EXPECT_NE(first.irp, nullptr);
    EXPECT_EQ(second.irp == nullptr, by_hand != nullptr);
    queue.cancel();
    second.wait();
    for (IRP* each : sent)
        IoFreeIrp(each);
}

TEST(CompletionQueueRaces, Removals_OneTakesByHand_AreServedInOrder) {
    dispatch::explore_options options;
    options.exhaustive_runs = 20000;
    options.preemption_bound = 2;
    irpverbs::testing::expect_explored(options, serve_in_order);
}

// A cancel ends the waiting removals, also while an IRP arrives and is removed without waiting.
void cancel_beside_arrival(dispatch::sim_machine& sim) {
    const test_device device(
        [](pending_irp owed) { return std::move(owed).complete(STATUS_SUCCESS); });
    completion_queue queue;
    IRP* sent = nullptr;
    removal waiting;
    queue.async_remove(waiting.handler());
    sim.spawn("send", [&] { sent = send(queue, device); });
    sim.spawn("by hand", [&] { queue.try_remove(); });
    sim.spawn("cancel", [&] { queue.cancel(); });
    sim.run();
    EXPECT_NE(KeReadStateEvent(&waiting.done), 0);
    while (queue.try_remove() != nullptr) {
    }
    IoFreeIrp(sent);
}

TEST(CompletionQueueRaces, Cancel_WhileAnIrpArrives_EndsTheRemoval) {
    dispatch::explore_options options;
    options.exhaustive_runs = 20000;
    options.preemption_bound = 2;
    irpverbs::testing::expect_explored(options, cancel_beside_arrival);
}

TEST(CompletionQueueRaces, SendRacesWithRemovals_NoIrpLost) {
    dispatch::explore_options options;
    options.exhaustive_runs = 5000;
    options.preemption_bound = 2;
    irpverbs::testing::expect_explored(options, arrive_and_remove);
}

} // namespace
