// Completion queues: create, resize, poll, destroy.
#include "completions.hpp"

namespace irpverbs::conformance {

namespace completion_queue_group {
namespace {

void success_has_requested_entries(world& here) {
    const ca opened(here);
    for (const ULONG entries : {1u, 2u, 5u, 64u}) {
        const cq queue(opened.get(), entries);
        EXPECT_GE(queue->NumCqes, entries);
        IB_CQ_ATTR attr{};
        EXPECT_STATUS(status_of(query_cq(queue, &attr, sizeof(attr))), STATUS_SUCCESS);
        EXPECT_EQ(attr.NumCqes, queue->NumCqes);
        EXPECT_EQ(attr.Filled, 0u);
    }
}

void invalid_num_cqes_returns_invalid_parameter(world& here) {
    const ca opened(here);
    for (const ULONG entries : {0u, ~0u})
        EXPECT_STATUS(status_of(create_cq(opened, entries)), STATUS_INVALID_PARAMETER);
}

void success_ca_can_close(world& here) {
    ca opened(here);
    cq queue(opened.get());
    EXPECT_EQ(must(destroy_cq(queue.release())), 0u);
    opened.close();
}

void pended_waits_cancelled_before_return(world& here) {
    const ca opened(here);
    cq queue(opened.get());
    verb_call completion(get_comp_event(queue));
    verb_call error(get_async_event(queue));
    verb_call destroy([&](IRP* irp) {
        const NTSTATUS status = CiDestroyCq(queue.release(), nullptr, irp);
        EXPECT_TRUE(completion.done() && error.done()) << "pended when destroy had returned";
        return status;
    });
    EXPECT_STATUS(completion.status(), STATUS_CANCELLED);
    EXPECT_STATUS(error.status(), STATUS_CANCELLED);
    EXPECT_STATUS(destroy.status(), STATUS_SUCCESS);
}

void success_returns_new_size(world& here) {
    const ca opened(here);
    const cq queue(opened.get(), 2);
    for (const ULONG entries : {1u, 9u, 3u}) {
        EXPECT_EQ(must(resize_cq(queue, entries)), queue->NumCqes);
        EXPECT_GE(queue->NumCqes, entries);
    }
}

void resize_cq_invalid_num_cqes_returns_invalid_parameter(world& here) {
    const ca opened(here);
    const cq queue(opened.get(), 4);
    const ULONG before = queue->NumCqes;
    for (const ULONG entries : {0u, ~0u})
        EXPECT_STATUS(status_of(resize_cq(queue, entries)), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(queue->NumCqes, before);
}

void queued_entries_are_kept(world& here) {
    const ca opened(here);
    const cq queue(opened.get(), 2);
    here.complete(queue, entry(1));
    here.complete(queue, entry(2));
    EXPECT_STATUS(status_of(resize_cq(queue, 1)), STATUS_INVALID_PARAMETER);
    EXPECT_STATUS(status_of(resize_cq(queue, 20)), STATUS_SUCCESS);
    here.complete(queue, entry(3));
    EXPECT_EQ(poll(queue, 20), (ids{1, 2, 3}));
}

void empty_queue_returns_zero(world& here) {
    const ca opened(here);
    const cq queue(opened.get());
    IB_WC to{};
    EXPECT_EQ(must(poll_cq(queue, 1, &to)), 0u);
    EXPECT_EQ(must(poll_cq(queue, 0, nullptr)), 0u);
}

void many_entries_returned_oldest_first(world& here) {
    const ca opened(here);
    const cq queue(opened.get(), 4);
    for (std::uint64_t round = 0; round < 5; ++round) { // past the end of any ring
        for (std::uint64_t i = 0; i < 3; ++i)
            EXPECT_STATUS(here.complete(queue, entry(10 * round + i)), STATUS_SUCCESS);
        IB_CQ_ATTR attr{};
        EXPECT_STATUS(status_of(query_cq(queue, &attr, sizeof(attr))), STATUS_SUCCESS);
        EXPECT_EQ(attr.Filled, 3u);
        EXPECT_EQ(poll(queue, 2), (ids{10 * round, 10 * round + 1}));
        EXPECT_EQ(poll(queue, 2), (ids{10 * round + 2}));
    }
}

void and_arm_cq_never_pend(world& here) {
    const ca opened(here);
    const cq queue(opened.get());
    IB_WC to{};
    for (const verb& each : {poll_cq(queue, 1, &to), arm_cq(queue, IB_CQ_ARM_NEXT)}) {
        EXPECT_STATUS(status_of(each), STATUS_SUCCESS) << each.name;
        EXPECT_NE(verb_call(each).returned(), STATUS_PENDING) << each.name;
    }
}

void races_with_destroy_both_complete(world& here) {
    ca opened(here);
    cq one(opened.get());
    verb_call second;
    world::together({[&] { second.send(create_cq(opened, 4)); }, [&] { one.destroy(); }});
    EXPECT_STATUS(second.status(), STATUS_SUCCESS);
    EXPECT_STATUS(status_of(close_ca(opened)), STATUS_DEVICE_BUSY);
    EXPECT_STATUS(status_of(destroy_cq(second.object<IB_CQ>())), STATUS_SUCCESS);
    opened.close();
}

constexpr const char* holds =
    "Resizes the queue to at least NumCqes entries; the entries in it stay.";
constexpr const char* new_size = "STATUS_SUCCESS: Information is the new size, as pCq->NumCqes.";
constexpr const char* wrong_size = "STATUS_INVALID_PARAMETER: NumCqes is 0, more than the HCA "
                                   "supports, or less than the number of entries in the queue.";

constexpr test_case cases[] = {
    {"CreateCq.Success_HasRequestedEntries",
     "Creates a completion queue of at least NumCqes entries.", nothing, kind::steps,
     success_has_requested_entries},
    {"CreateCq.InvalidNumCqes_ReturnsInvalidParameter",
     "STATUS_INVALID_PARAMETER: NumCqes is 0 or more than the HCA supports.", nothing, kind::steps,
     invalid_num_cqes_returns_invalid_parameter},
    {"CreateCq.RacesWithDestroy_BothComplete",
     "Ownership: the IB_CQ is the caller's until CiDestroyCq completes.", nothing, kind::race,
     races_with_destroy_both_complete},
    {"DestroyCq.Success_CaCanClose",
     "Ownership: the IB_CQ is the caller's until CiDestroyCq completes.", nothing, kind::steps,
     success_ca_can_close},
    {"DestroyCq.PendedWaits_CancelledBeforeReturn",
     "Destroys a completion queue; its event IRPs and up-calls end as in CiCloseCa.", nothing,
     kind::steps, pended_waits_cancelled_before_return},
    {"ResizeCq.Success_ReturnsNewSize", new_size, nothing, kind::steps, success_returns_new_size},
    {"ResizeCq.InvalidNumCqes_ReturnsInvalidParameter", wrong_size, nothing, kind::steps,
     resize_cq_invalid_num_cqes_returns_invalid_parameter},
    {"ResizeCq.QueuedEntries_AreKept", holds, completions, kind::steps, queued_entries_are_kept},
    {"PollCq.EmptyQueue_ReturnsZero",
     "STATUS_SUCCESS: Information is the number of completions, 0 when there are none.", nothing,
     kind::steps, empty_queue_returns_zero},
    {"PollCq.ManyEntries_ReturnedOldestFirst",
     "Removes up to NumEntries completions, oldest first.", completions, kind::steps,
     many_entries_returned_oldest_first},
    {"PollCq.AndArmCq_NeverPend", "Never pends.", nothing, kind::steps, and_arm_cq_never_pend},
};

} // namespace
} // namespace completion_queue_group

const std::span<const test_case> completion_queue_cases = completion_queue_group::cases;

} // namespace irpverbs::conformance
