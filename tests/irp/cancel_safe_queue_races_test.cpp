// The C++ cancel-safe queue under every schedule of a few actors. tests/mutants plants bugs in it.
#include "test_driver.hpp"

#include <support/exhaustive_gtest.hpp>

#include <irp/cancel_safe_queue.hpp>

#include <gtest/gtest.h>

#include <cstring>

namespace {

using namespace irpverbs::dispatch;
using irpverbs::irp::cancel_safe_queue;
using irpverbs::irp::pending_irp;
using irpverbs::testing::numbered_request;
using irpverbs::testing::test_device;

explore_options exhausted_with_probes(std::vector<std::string_view> probes = {}) {
    explore_options options;
    options.exhaustive_runs = 100'000;
    options.preemption_bound = 2;
    options.required_probes = std::move(probes);
    return options;
}

void complete_owed(pending_irp owed, void*) { std::move(owed).complete(STATUS_SUCCESS); }

// One actor pends a request, one cancels, one serves.
void pend_cancel_serve(sim_machine& sim) {
    cancel_safe_queue queue;
    const test_device device([&](pending_irp owed) { return queue.pend(std::move(owed)); });
    numbered_request one(device);
    const auto serve = [&] {
        while (auto owed = queue.remove_next())
            std::move(*owed).complete(STATUS_SUCCESS);
    };
    sim.spawn("pend", [&] { EXPECT_EQ(one.send(), STATUS_PENDING); });
    sim.spawn("cancel", [&] { one.cancel(); });
    sim.spawn("serve", serve);
    sim.run();
    serve();
    EXPECT_EQ(one.completions(), 1);
}

// One actor pends two requests, another cancels the first; only the drain DPC completes the second.
// The DPC runs on the first actor's processor or on another one.
void cancel_beside_a_drain(sim_machine& sim, cancel_safe_queue& queue) {
    const test_device device([&](pending_irp owed) { return queue.pend(std::move(owed)); });
    numbered_request first(device);
    numbered_request second(device);
    sim.spawn("pend", [&] {
        first.send();
        second.send();
    });
    sim.spawn("cancel", [&] { first.cancel(); });
    sim.run();
    EXPECT_EQ(first.completions(), 1);
    EXPECT_EQ(second.completions(), 1);
    EXPECT_EQ(second.status(), STATUS_SUCCESS);
    EXPECT_TRUE(queue.empty());
}

void drained_here(sim_machine& sim) {
    cancel_safe_queue queue(complete_owed, nullptr);
    cancel_beside_a_drain(sim, queue);
}

void drained_elsewhere(sim_machine& sim) {
    cancel_safe_queue queue(complete_owed, nullptr);
    KeSetTargetProcessorDpc(queue.drain_dpc(), 1);
    cancel_beside_a_drain(sim, queue);
}

// Two actors pend a request each at DISPATCH_LEVEL, and the DPC drains both.
void pend_pend_drain(sim_machine& sim) {
    cancel_safe_queue queue(complete_owed, nullptr);
    KeSetTargetProcessorDpc(queue.drain_dpc(), 0);
    const test_device device([&](pending_irp owed) { return queue.pend(std::move(owed)); });
    numbered_request first(device);
    numbered_request second(device);
    numbered_request third(device);
    sim.spawn("pend", [&] {
        first.send();
        second.send();
    });
    sim.spawn("pend another", [&] { third.send(); });
    sim.run();
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(first.completions() + second.completions() + third.completions(), 3);
}

// One actor pends two requests, one cancels the first, one closes: a refused request has the
// close's status.
void pend_cancel_close(sim_machine& sim) {
    cancel_safe_queue queue;
    const test_device device([&](pending_irp owed) { return queue.pend(std::move(owed)); });
    numbered_request first(device);
    numbered_request second(device);
    sim.spawn("pend", [&] {
        first.send();
        second.send();
    });
    sim.spawn("cancel", [&] { first.cancel(); });
    sim.spawn("close", [&] { queue.close(STATUS_DELETE_PENDING); });
    sim.run();
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(first.completions(), 1);
    EXPECT_EQ(second.completions(), 1);
    EXPECT_TRUE(second.status() == STATUS_CANCELLED || second.status() == STATUS_DELETE_PENDING);
}

// The last request is removed and the queue destroyed, although the call that pended it may not
// have returned and may still be about to queue the drain DPC.
void pop_and_destroy(sim_machine& sim) {
    alignas(cancel_safe_queue) static unsigned char memory[sizeof(cancel_safe_queue)];
    unsigned char left[sizeof memory];
    auto* queue = new (memory) cancel_safe_queue(complete_owed, nullptr);
    const test_device device([&](pending_irp owed) { return queue->pend(std::move(owed)); });
    numbered_request only(device);
    sim.spawn("pend", [&] { only.send(); });
    sim.spawn("remove and destroy", [&] {
        while (only.completions() == 0) {
            if (auto owed = queue->remove_next())
                complete_owed(std::move(*owed), nullptr);
            else
                KeStallExecutionProcessor(1);
        }
        queue->~cancel_safe_queue();
        std::memcpy(left, memory, sizeof memory);
    });
    sim.run();
    EXPECT_EQ(std::memcmp(left, memory, sizeof memory), 0);
}

TEST(CancelSafeQueueRaces, Destructor_AfterTheLastRequest_WaitsForTheOneThatPended) {
    explore_options options;
    options.exhaustive_runs = 20'000;
    options.preemption_bound = 2;
    irpverbs::testing::expect_explored(options, pop_and_destroy);
}

TEST(CancelSafeQueueRaces, InsertCancelAndRemoveRace_CompletesOnce) {
    irpverbs::testing::expect_exhausted(
        exhausted_with_probes({"queue.cancelled_before_pend", "queue.canceller_waits_to_unlink",
                               "queue.pend_waits_for_the_lock",
                               "queue.canceller_waits_for_the_lock"}),
        pend_cancel_serve);
}
TEST(CancelSafeQueueRaces, CancelRacesWithDrainOnSameProcessor_EachIrpCompletesOnce) {
    irpverbs::testing::expect_exhausted(exhausted_with_probes({"queue.claim_skipped_cancelled"}),
                                        drained_here);
}
TEST(CancelSafeQueueRaces, CancelRacesWithDrainOnOtherProcessor_EachIrpCompletesOnce) {
    irpverbs::testing::expect_exhausted(exhausted_with_probes({"queue.claim_skipped_cancelled"}),
                                        drained_elsewhere);
}
TEST(CancelSafeQueueRaces, TwoInsertersAndDrainRace_EachIrpCompletesOnce) {
    irpverbs::testing::expect_exhausted(exhausted_with_probes(), pend_pend_drain);
}
TEST(CancelSafeQueueRaces, InsertCancelAndCloseRace_EachIrpCompletesOnce) {
    irpverbs::testing::expect_exhausted(
        exhausted_with_probes({"cancel.found_no_routine", "queue.claim_skipped_cancelled"}),
        pend_cancel_close);
}

} // namespace
