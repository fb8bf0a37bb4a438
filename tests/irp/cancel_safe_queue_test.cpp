#include "test_driver.hpp"

#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>

#include <irp/cancel_safe_queue.hpp>

#include <gtest/gtest.h>

#include <memory>

namespace {

using irpverbs::irp::cancel_safe_queue;
using irpverbs::irp::pending_irp;
using irpverbs::testing::numbered_request;
using irpverbs::testing::report_of;
using irpverbs::testing::test_device;

void complete_with_42(pending_irp owed, void*) { std::move(owed).complete(STATUS_SUCCESS, 42); }

class CancelSafeQueue : public irpverbs::testing::BothMachines {
protected:
    void send(int count) {
        for (int i = 0; i < count; ++i) {
            requests.push_back(std::make_unique<numbered_request>(device, &order, i));
            EXPECT_EQ(requests.back()->send(), STATUS_PENDING);
        }
    }
    const numbered_request& at(std::size_t i) const { return *requests[i]; }

    cancel_safe_queue queue;
    test_device device{[this](pending_irp owed) { return queue.pend(std::move(owed)); }};
    std::vector<int> order;
    std::vector<std::unique_ptr<numbered_request>> requests;
};

// Tests that requests leave in the order of their arrival, and cannot be cancelled afterwards.
TEST_P(CancelSafeQueue, SeveralInserted_RemovedInOrder) {
    send(3);
    for (int i = 0; i < 3; ++i) {
        auto owed = queue.remove_next();
        ASSERT_TRUE(owed);
        EXPECT_EQ(owed->get(), at(static_cast<std::size_t>(i)).irp());
        EXPECT_FALSE(requests[static_cast<std::size_t>(i)]->cancel());
        std::move(*owed).complete(STATUS_SUCCESS, static_cast<ULONG_PTR>(i));
    }
    EXPECT_FALSE(queue.remove_next());
    EXPECT_EQ(order, (std::vector{0, 1, 2}));
    EXPECT_EQ(at(2).information(), 2u);
}

// Tests that a queued request is completed before the IoCancelIrp that cancels it returns.
TEST_P(CancelSafeQueue, CancelQueuedIrp_CompletesBeforeCancelReturns) {
    send(3);
    EXPECT_TRUE(requests[1]->cancel());
    EXPECT_EQ(at(1).completions(), 1);
    EXPECT_EQ(at(1).status(), STATUS_CANCELLED);
    EXPECT_FALSE(requests[1]->cancel());
    queue.remove_all().complete(STATUS_SUCCESS);
    EXPECT_EQ(order, (std::vector{1, 0, 2}));
    EXPECT_TRUE(queue.empty());
}

// Tests that pend completes a request that is already cancelled, and returns STATUS_PENDING as it
// must.
TEST_P(CancelSafeQueue, CancelledBeforeInsert_CompletesCancelled) {
    numbered_request early(device);
    EXPECT_FALSE(early.cancel());
    EXPECT_EQ(early.send(), STATUS_PENDING);
    EXPECT_EQ(early.status(), STATUS_CANCELLED);
    EXPECT_EQ(early.completions(), 1);
}

// Tests that any one chosen request can be removed.
TEST_P(CancelSafeQueue, RemoveByIrpOrPredicate_RemovesThatIrp) {
    send(3);
    EXPECT_FALSE(queue.remove(nullptr));
    auto last = queue.remove(at(2).irp());
    ASSERT_TRUE(last);
    std::move(*last).complete(STATUS_SUCCESS);
    auto second = queue.remove_next_if([&](const IRP& irp) { return &irp != at(0).irp(); });
    ASSERT_TRUE(second);
    std::move(*second).complete(STATUS_SUCCESS);
    queue.cancel_all();
    EXPECT_EQ(order, (std::vector{2, 1, 0}));
}

// Tests that close cancels in order, and refuses later requests with the given status.
TEST_P(CancelSafeQueue, Close_CancelsInOrderAndRejectsLaterIrps) {
    send(3);
    queue.close(STATUS_FILE_FORCED_CLOSED);
    EXPECT_EQ(order, (std::vector{0, 1, 2}));
    EXPECT_EQ(at(0).status(), STATUS_CANCELLED);
    send(1);
    EXPECT_EQ(at(3).status(), STATUS_FILE_FORCED_CLOSED);
    EXPECT_EQ(at(3).completions(), 1);
}

// Tests that the drain DPC runs at DISPATCH_LEVEL, once for all requests that were queued before it
// ran.
TEST_P(CancelSafeQueue, SeveralQueuedAtDispatch_DrainDpcCompletesAll) {
    static int at_dispatch;
    at_dispatch = 0;
    cancel_safe_queue drained(
        [](pending_irp owed, void*) {
            at_dispatch += KeGetCurrentIrql() == DISPATCH_LEVEL;
            std::move(owed).complete(STATUS_SUCCESS);
        },
        nullptr);
    const test_device other([&](pending_irp owed) { return drained.pend(std::move(owed)); });
    numbered_request first(other, &order, 1);
    numbered_request second(other, &order, 2);
    {
        const irpverbs::testing::at_dispatch_level raised;
        first.send();
        second.send();
        EXPECT_EQ(first.completions(), 0);
    }
    EXPECT_EQ(order, (std::vector{1, 2}));
    EXPECT_EQ(at_dispatch, 2);
}

// Tests that a queue may be destroyed while its DPC waits for a processor.
TEST_P(CancelSafeQueue, DestroyedWithDrainDpcQueued_QueuedIrpIsCancelled) {
    auto drained = std::make_unique<cancel_safe_queue>(complete_with_42, nullptr);
    const test_device other([&](pending_irp owed) { return drained->pend(std::move(owed)); });
    numbered_request one(other);
    {
        const irpverbs::testing::at_dispatch_level raised;
        one.send();
        EXPECT_TRUE(one.cancel());
        drained.reset();
    }
    EXPECT_EQ(one.status(), STATUS_CANCELLED);
}

// Tests that dropping a list of removed requests is reported.
TEST_P(CancelSafeQueue, RemovedIrpsDropped_IsReported) {
    send(1);
    const auto report = report_of([&] { static_cast<void>(queue.remove_all()); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->id, 0x226u);
    pending_irp(requests[0]->irp()).complete(STATUS_SUCCESS);
}

// Tests real contention: threads queue and cancel while the DPC drains; each request completes
// once.
TEST_P(CancelSafeQueue, ThreadsInsertAndCancelDuringDrain_EachCompletesOnce) {
    cancel_safe_queue drained(complete_with_42, nullptr);
    const test_device other([&](pending_irp owed) { return drained.pend(std::move(owed)); });
    const int rounds = simulated() ? 20 : 2000;
    const auto worker = [&] {
        for (int i = 0; i < rounds; ++i) {
            numbered_request one(other);
            one.send();
            one.cancel();
            if (one.completions() != 1) {
                KeFlushQueuedDpcs();
                EXPECT_EQ(one.completions(), 1);
            }
        }
    };
    irpverbs::testing::system_thread a(worker), b(worker);
    worker();
}

IRPVERBS_ON_BOTH_MACHINES(CancelSafeQueue);

// Tests that destroying a queue with requests in it is a bug check.
TEST(CancelSafeQueueDeathTest, DestroyedWithQueuedIrp_BugChecks) {
    const auto end_too_early = [] {
        cancel_safe_queue queue;
        const test_device device([&](pending_irp owed) { return queue.pend(std::move(owed)); });
        numbered_request one(device);
        one.send();
        queue.~cancel_safe_queue();
    };
    EXPECT_DEATH(end_too_early(), "neither completed, forwarded nor pended");
}

} // namespace
