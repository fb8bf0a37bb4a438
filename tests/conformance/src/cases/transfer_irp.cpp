// Work requests that are IRPs.
#include "transfers.hpp"

#include <optional>

namespace irpverbs::conformance {

namespace transfer_irp_group {
namespace {

/// A receive of 64 bytes that has begun.
struct receiving {
    explicit receiving(transfer_end& end)
        : segment(*end.request(WR_SEND, 0).ds_array), request{nullptr, 7, &segment, 1} {
        call.emplace(transfer_recv(end.pair, &request, &completion));
        if (call->done() && call->status() == STATUS_NOT_SUPPORTED)
            throw skipped{"CiTransferRecv returns STATUS_NOT_SUPPORTED"};
    }

    ib_local_ds_t segment;
    ib_recv_wr_t request;
    IB_WC completion{};
    std::optional<verb_call> call;
};

void transfers_complete_with_their_work_completions(world& here) {
    transfer_scene scene(here);
    receiving receive(scene.other);
    const ib_send_wr_t send = scene.one.request(WR_SEND, 5, 48);
    IB_WC sent{};
    verb_call sending(transfer(scene.one.pair, &send, &sent));
    EXPECT_STATUS(sending.status(), STATUS_SUCCESS);
    EXPECT_EQ(sending.information(), 48u);
    EXPECT_EQ(sent.WrId, 5u);
    EXPECT_STATUS(receive.call->status(), STATUS_SUCCESS);
    EXPECT_EQ(receive.call->information(), 48u);
    EXPECT_EQ(receive.completion.WrId, 7u);
    EXPECT_EQ(receive.completion.ByteCount, 48u);
}

void failed_completion_is_the_status(world& here) {
    transfer_scene scene(here);
    scene.one.skip_without_posts();
    ib_send_wr_t what = scene.one.remote(WR_RDMA_WRITE, 1, scene.other);
    what.remote_ops.rkey ^= 0x5A00;
    IB_WC completion{};
    EXPECT_STATUS(verb_call(transfer(scene.one.pair, &what, &completion)).status(),
                  STATUS_ACCESS_DENIED);
    EXPECT_EQ(completion.Status, ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

void cancel_flushes_the_queue_pair(world& here) {
    transfer_scene scene(here);
    receiving first(scene.one);
    receiving second(scene.one);
    first.call->cancel();
    EXPECT_STATUS(first.call->status(), STATUS_CANCELLED);
    EXPECT_STATUS(second.call->status(), STATUS_CANCELLED);
    EXPECT_EQ(scene.one.pair.attributes().state, IB_QPS_ERROR);
}

void reset_cancels_transfers(world& here) {
    transfer_scene scene(here);
    receiving receive(scene.one);
    ib_qp_mod_t change{};
    change.opts = IB_MOD_QP_STATE;
    change.req_state = IB_QPS_RESET;
    EXPECT_STATUS(scene.one.pair.modify(change), STATUS_SUCCESS);
    EXPECT_STATUS(receive.call->status(), STATUS_CANCELLED);
}

void polls_of_a_transfer_queue_are_refused(world& here) {
    transfer_scene scene(here);
    const receiving receive(scene.one);
    IB_WC entry{};
    ULONG taken = 0;
    EXPECT_STATUS(CiGetCqResults(scene.one.queue, 1, &entry, &taken), STATUS_INVALID_DEVICE_STATE);
    EXPECT_STATUS(status_of(poll_cq(scene.one.queue, 1, &entry)), STATUS_INVALID_DEVICE_STATE);
    EXPECT_STATUS(status_of(flush_qp(scene.one.pair)), STATUS_SUCCESS);
}

void list_is_refused(world& here) {
    transfer_scene scene(here);
    ib_send_wr_t what = scene.one.remote(WR_RDMA_WRITE, 1, scene.other);
    ib_send_wr_t second = what;
    what.p_next = &second;
    EXPECT_STATUS(verb_call(transfer(scene.one.pair, &what, nullptr)).status(),
                  STATUS_INVALID_PARAMETER);
}

constexpr const char* as_completion =
    "Posts one work request to the send queue and completes the IRP with its work completion.";

constexpr test_case cases[] = {
    {"Transfer.Irp_CompletesWithItsWorkCompletion", as_completion, nothing, kind::steps,
     transfers_complete_with_their_work_completions},
    {"Transfer.FailedCompletion_IsTheStatus",
     "With a work completion that failed, pWc->Status is the reason", nothing, kind::steps,
     failed_completion_is_the_status},
    {"Transfer.Cancel_FlushesTheQueuePair",
     "IoCancelIrp therefore flushes the queue pair, as CiFlushQp does", nothing, kind::steps,
     cancel_flushes_the_queue_pair},
    {"Transfer.Reset_CancelsTransfers",
     "The destruction of the queue pair and its change to IB_QPS_RESET complete transfers "
     "STATUS_CANCELLED, too.",
     nothing, kind::steps, reset_cancels_transfers},
    {"Transfer.PollOfTransferQueue_IsRefused",
     "CiPollCq and CiGetCqResults return STATUS_INVALID_DEVICE_STATE for it", nothing, kind::steps,
     polls_of_a_transfer_queue_are_refused},
    {"Transfer.List_IsRefused", "STATUS_INVALID_PARAMETER: also p_next is not NULL.", nothing,
     kind::steps, list_is_refused},
};

} // namespace
} // namespace transfer_irp_group

const std::span<const test_case> transfer_irp_cases = transfer_irp_group::cases;

} // namespace irpverbs::conformance
