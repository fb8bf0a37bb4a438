// Shared receive queues: create, modify, query, destroy, their events, and receives.
#include "transfers.hpp"

#include <cstdint>

namespace irpverbs::conformance {

namespace shared_receive_group {
namespace {

constexpr ib_qp_type_t rc = IB_QPT_RELIABLE_CONN;

struct srq_scene {
    ca opened;
    pd domain{opened};
    srq queue{domain};

    explicit srq_scene(const world& here) : opened(here) {}

    IB_CA_ATTR limits() const {
        IB_CA_ATTR attr{};
        status_of(query_ca(opened, &attr, sizeof(attr)));
        return attr;
    }
    bool resizes() const { return (limits().Capabilities & IB_CA_CAP_SRQ_RESIZE) != 0; }
};

/// Two connected queue pairs, of which the other receives by a shared queue.
struct shared_transfer_scene {
    ca opened;
    pd domain{opened};
    srq queue;
    transfer_end one{opened, domain, rc};
    transfer_end other{opened, domain, rc, queue};

    explicit shared_transfer_scene(const world& here, ULONG depth = 4)
        : opened(here), queue(domain, depth) {
        one.connect(other);
        other.connect(one);
    }
};

void granted_at_least_as_requested(world& here) {
    const srq_scene scene(here);
    EXPECT_GE(scene.queue->MaxWr, 4u);
    EXPECT_GE(scene.queue->MaxSge, 1u);
    const ib_srq_attr_t attr = scene.queue.attributes();
    EXPECT_EQ(attr.max_wr, scene.queue->MaxWr);
    EXPECT_EQ(attr.max_sge, scene.queue->MaxSge);
    EXPECT_EQ(attr.h_pd, scene.domain);
    EXPECT_EQ(attr.srq_limit, 0u);
}

void parents_are_busy(world& here) {
    srq_scene scene(here);
    EXPECT_STATUS(status_of(deallocate_pd(scene.domain)), STATUS_DEVICE_BUSY);
    {
        const transfer_end user(scene.opened, scene.domain, rc, scene.queue);
        EXPECT_EQ(user.pair.attributes().h_srq, scene.queue);
        EXPECT_STATUS(status_of(destroy_srq(scene.queue)), STATUS_DEVICE_BUSY);
    }
    EXPECT_EQ(scene.queue.attributes().max_wr, scene.queue->MaxWr);
}

void invalid_parameters_are_refused(world& here) {
    const srq_scene scene(here);
    const IB_CA_ATTR limits = scene.limits();
    for (const ib_srq_create_t& wanted :
         {ib_srq_create_t{nullptr, {}, 0, 1, nullptr, nullptr},
          ib_srq_create_t{nullptr, {}, limits.MaxSrqWrs + 1, 1, nullptr, nullptr},
          ib_srq_create_t{nullptr, {}, 1, limits.MaxSrqSges + 1, nullptr, nullptr}})
        EXPECT_STATUS(verb_call(create_srq(scene.domain, &wanted)).status(),
                      STATUS_INVALID_PARAMETER)
            << wanted.max_wr;
    EXPECT_STATUS(verb_call(create_srq(scene.domain, nullptr)).status(), STATUS_INVALID_PARAMETER);
}

void queue_pair_has_one_kind_of_receives(world& here) {
    const srq_scene scene(here);
    const ca other(here);
    const pd others(other);
    const cq queue(scene.opened.get());
    const cq queue_of_other(other.get());
    ib_qp_create_t wanted = small_queue_pair(queue, queue);
    wanted.h_srq = scene.queue;
    EXPECT_STATUS(verb_call(create_qp(scene.domain, &wanted)).status(), STATUS_INVALID_PARAMETER)
        << "it has receives of its own";
    wanted.rq_depth = wanted.rq_sge = 0;
    wanted.h_sq_cq = wanted.h_rq_cq = queue_of_other;
    EXPECT_STATUS(verb_call(create_qp(others, &wanted)).status(), STATUS_INVALID_PARAMETER)
        << "the shared queue is another adapter's";
    wanted.h_sq_cq = wanted.h_rq_cq = queue;
    const qp pair(scene.domain, wanted);
    ib_recv_wr_t receive{};
    ib_recv_wr_t* failed = nullptr;
    EXPECT_STATUS(CiPostRecv(pair, &receive, &failed), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(failed, &receive);
    EXPECT_STATUS(status_of(transfer_recv(pair, &receive, nullptr)), STATUS_INVALID_DEVICE_REQUEST);
    IB_WC none{};
    EXPECT_STATUS(verb_call(poll_cq(queue, 1, &none)).status(), STATUS_SUCCESS)
        << "it is no transfer queue";
}

void modify_changes_size_and_limit(world& here) {
    const srq_scene scene(here);
    EXPECT_STATUS(scene.queue.modify({IB_MOD_SRQ_LIMIT, 0, 0}), STATUS_SUCCESS);
    if (!scene.resizes()) throw skipped{"the HCA resizes no shared receive queue"};
    EXPECT_STATUS(scene.queue.modify({IB_MOD_SRQ_MAX_WR, 30, 0}), STATUS_SUCCESS);
    EXPECT_GE(scene.queue->MaxWr, 30u);
    EXPECT_EQ(scene.queue.attributes().max_wr, scene.queue->MaxWr);
}

void wrong_modify_changes_nothing(world& here) {
    const srq_scene scene(here);
    const ULONG beyond = scene.limits().MaxSrqWrs + 1;
    for (const ib_srq_mod_t& change :
         {ib_srq_mod_t{0, 1, 1}, ib_srq_mod_t{4, 1, 1}, ib_srq_mod_t{IB_MOD_SRQ_MAX_WR, 0, 0},
          ib_srq_mod_t{IB_MOD_SRQ_LIMIT, 0, beyond}})
        EXPECT_STATUS(scene.queue.modify(change), STATUS_INVALID_PARAMETER) << change.opts;
    if (scene.resizes()) {
        EXPECT_STATUS(scene.queue.modify({IB_MOD_SRQ_MAX_WR, beyond, 0}), STATUS_INVALID_PARAMETER);
    }
    EXPECT_STATUS(status_of(modify_srq(scene.queue, nullptr)), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(scene.queue.attributes().max_wr, scene.queue->MaxWr);
}

void size_below_its_receives_is_refused(world& here) {
    shared_transfer_scene scene(here);
    for (const ULONGLONG id : {1u, 2u, 3u, 4u})
        scene.other.post_shared_receive(scene.queue, id);
    IB_CA_ATTR limits{};
    status_of(query_ca(scene.opened, &limits, sizeof(limits)));
    if ((limits.Capabilities & IB_CA_CAP_SRQ_RESIZE) == 0)
        throw skipped{"the HCA resizes no shared receive queue"};
    EXPECT_STATUS(scene.queue.modify({IB_MOD_SRQ_MAX_WR, 1, 0}), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(scene.queue.attributes().max_wr, scene.queue->MaxWr);
}

void query_short_buffer_returns_too_small(world& here) {
    const srq_scene scene(here);
    ULONG size = 0;
    EXPECT_STATUS(status_of(query_srq(scene.queue, &size, 3)), STATUS_BUFFER_TOO_SMALL);
    EXPECT_STATUS(status_of(query_srq(scene.queue, &size, 4)), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(size, sizeof(ib_srq_attr_t));
}

void destroy_cancels_waits_before_return(world& here) {
    srq_scene scene(here);
    verb_call waits(get_srq_event(scene.queue));
    verb_call destroy([&](IRP* irp) {
        const NTSTATUS status = CiDestroySrq(scene.queue.release(), nullptr, irp);
        EXPECT_TRUE(waits.done()) << "pended when destroy had returned";
        return status;
    });
    EXPECT_STATUS(waits.status(), STATUS_CANCELLED);
    EXPECT_STATUS(destroy.status(), STATUS_SUCCESS);
}

void wait_for_event_races_with_cancel(world& here) {
    const srq_scene scene(here);
    verb_call waits;
    world::together({[&] { waits.send(get_srq_event(scene.queue)); }, [&] { waits.cancel(); }});
    EXPECT_STATUS(waits.status(), STATUS_CANCELLED);
}

void user_parameters_are_copied(world& here) {
    const srq_scene scene(here);
    const ib_srq_create_t wanted{nullptr, {}, 4, 1, nullptr, nullptr};
    verb_call call(for_user(create_srq(scene.domain, &wanted)));
    ASSERT_EQ(call.status(), STATUS_SUCCESS);
    EXPECT_STATUS(status_of(destroy_srq(call.object<IB_SRQ>())), STATUS_SUCCESS);
    const auto* unmapped = reinterpret_cast<const ib_srq_create_t*>(std::uintptr_t{16});
    EXPECT_STATUS(status_of(for_user(create_srq(scene.domain, unmapped))), STATUS_ACCESS_VIOLATION);
    const auto* no_change = reinterpret_cast<const ib_srq_mod_t*>(std::uintptr_t{16});
    EXPECT_STATUS(status_of(for_user(modify_srq(scene.queue, no_change))), STATUS_ACCESS_VIOLATION);
}

void missing_arguments_of_post_are_refused(world& here) {
    const srq_scene scene(here);
    ib_recv_wr_t receive{};
    EXPECT_STATUS(CiPostSrqRecv(nullptr, &receive, nullptr), STATUS_INVALID_PARAMETER);
    EXPECT_STATUS(CiPostSrqRecv(scene.queue, nullptr, nullptr), STATUS_INVALID_PARAMETER);
    ib_local_ds_t segments[64] = {};
    receive.ds_array = segments;
    receive.num_ds = scene.queue->MaxSge + 1;
    ib_recv_wr_t* failed = nullptr;
    const NTSTATUS status = CiPostSrqRecv(scene.queue, &receive, &failed);
    if (status == STATUS_NOT_SUPPORTED) throw skipped{"CiPostSrqRecv returns STATUS_NOT_SUPPORTED"};
    EXPECT_STATUS(status, STATUS_INVALID_PARAMETER);
    EXPECT_EQ(failed, &receive);
}

void full_queue_returns_the_first_beyond(world& here) {
    shared_transfer_scene scene(here);
    scene.other.post_shared_receive(scene.queue, 1); // skips the case if there are no posts
    std::vector<ib_recv_wr_t> list(scene.queue->MaxWr + 1);
    for (std::size_t i = 0; i + 1 < list.size(); ++i)
        list[i].p_next = &list[i + 1];
    ib_recv_wr_t* failed = nullptr;
    EXPECT_STATUS(CiPostSrqRecv(scene.queue, list.data(), &failed), STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(failed, &list[list.size() - 2]);
}

void receives_serve_each_queue_pair(world& here) {
    const ca opened(here);
    const pd domain(opened);
    const srq queue(domain);
    transfer_end sender(opened, domain, rc);
    transfer_end second_sender(opened, domain, rc);
    transfer_end one(opened, domain, rc, queue);
    transfer_end other(opened, domain, rc, queue);
    sender.connect(one);
    one.connect(sender);
    second_sender.connect(other);
    other.connect(second_sender);
    for (const ULONGLONG id : {1u, 2u})
        one.post_shared_receive(queue, id);
    second_sender.post(second_sender.request(WR_SEND, 11));
    second_sender.expect(11);
    EXPECT_EQ(other.expect(1).ByteCount, 64u);
    sender.post(sender.request(WR_SEND, 12));
    sender.expect(12);
    one.expect(2);
}

void error_leaves_the_receives(world& here) {
    shared_transfer_scene scene(here);
    for (const ULONGLONG id : {1u, 2u})
        scene.other.post_shared_receive(scene.queue, id);
    scene.one.skip_without_posts();
    EXPECT_STATUS(status_of(flush_qp(scene.other.pair)), STATUS_SUCCESS);
    scene.other.expect_none();
    if (!is_rxe(here)) { // soft-RoCE reports it from kernel 6.12 on
        verb_call last(get_qp_event(scene.other.pair));
        EXPECT_STATUS(last.status(), STATUS_SUCCESS);
        EXPECT_EQ(last.information(), static_cast<ULONG_PTR>(IB_AE_LAST_WQE_REACHED));
    }
    transfer_end sender(scene.opened, scene.domain, rc);
    transfer_end receiver(scene.opened, scene.domain, rc, scene.queue);
    sender.connect(receiver);
    receiver.connect(sender);
    sender.post(sender.request(WR_SEND, 3));
    sender.expect(3);
    receiver.expect(1);
}

void limit_is_reported_once(world& here) {
    shared_transfer_scene scene(here);
    for (const ULONGLONG id : {1u, 2u, 3u})
        scene.other.post_shared_receive(scene.queue, id);
    EXPECT_STATUS(scene.queue.modify({IB_MOD_SRQ_LIMIT, 0, 2}), STATUS_SUCCESS);
    EXPECT_EQ(scene.queue.attributes().srq_limit, 2u);
    verb_call reached(get_srq_event(scene.queue));
    const auto send = [&](ULONGLONG id) {
        scene.one.post(scene.one.request(WR_SEND, id));
        scene.one.expect(id);
        scene.other.expect(id);
    };
    send(1);
    EXPECT_FALSE(reached.done());
    send(2);
    EXPECT_STATUS(reached.status(), STATUS_SUCCESS);
    EXPECT_EQ(reached.information(), static_cast<ULONG_PTR>(IB_AE_SRQ_LIMIT_REACHED));
    EXPECT_EQ(scene.queue.attributes().srq_limit, 0u);
    verb_call again(get_srq_event(scene.queue));
    send(3);
    again.cancel();
    EXPECT_STATUS(again.status(), STATUS_CANCELLED);
}

constexpr const char* counts =
    "It counts as created with the protection domain, both completion queues, which may be one, "
    "the shared receive queue and the XRC domain.";
constexpr const char* wrong_create =
    "STATUS_INVALID_PARAMETER: also a max_wr of 0, more work requests or data segments than the "
    "HCA supports (IB_CA_ATTR.MaxSrqWrs, MaxSrqSges), only one of h_xrcd and h_cq, or one of "
    "another IB_CA.";
constexpr const char* wrong_modify =
    "STATUS_INVALID_PARAMETER: also opts that are 0 or unknown, a max_wr of 0, above the HCA's "
    "limit or below the number of outstanding receives, or an srq_limit above max_wr.";
constexpr const char* limit =
    "When fewer receives than the limit are outstanding, IB_AE_SRQ_LIMIT_REACHED occurs once and "
    "the limit becomes 0;";
constexpr const char* ends = "its event IRPs and up-calls end as in CiCloseCa.";
constexpr const char* serves =
    "A receive serves whichever of the queue pairs receives a message first, and completes in the "
    "receive completion queue of that queue pair.";

constexpr test_case cases[] = {
    {"CreateSrq.Granted_AtLeastAsRequested",
     "The numbers are granted: at least those that were requested.", nothing, kind::steps,
     granted_at_least_as_requested},
    {"CreateSrq.InvalidParameters_AreRefused", wrong_create, nothing, kind::steps,
     invalid_parameters_are_refused},
    {"CreateSrq.ForUser_ParametersAreCopied",
     "STATUS_ACCESS_VIOLATION when Irp->RequestorMode is UserMode and a buffer is not mapped.",
     nothing, kind::steps, user_parameters_are_copied},
    {"CreateQp.SharedReceives_QueueIsBusy", counts, nothing, kind::steps, parents_are_busy},
    {"CreateQp.SharedReceives_AreTheOnlyOnes",
     "STATUS_INVALID_DEVICE_REQUEST: the queue pair has a shared receive queue, or its type "
     "receives nothing.",
     nothing, kind::steps, queue_pair_has_one_kind_of_receives},
    {"ModifySrq.ChangesSizeAndLimit",
     "Changes the size of a shared receive queue, its limit, or both.", nothing, kind::steps,
     modify_changes_size_and_limit},
    {"ModifySrq.WrongValues_ChangeNothing", wrong_modify, nothing, kind::steps,
     wrong_modify_changes_nothing},
    {"ModifySrq.SizeBelowItsReceives_IsRefused", wrong_modify, nothing, kind::steps,
     size_below_its_receives_is_refused},
    {"ModifySrq.Limit_IsReportedOnce", limit, nothing, kind::steps, limit_is_reported_once},
    {"QuerySrq.ShortBuffer_ReturnsTooSmall",
     "Attributes of a shared receive queue; sizes and statuses as CiQueryCa.", nothing, kind::steps,
     query_short_buffer_returns_too_small},
    {"DestroySrq.PendedWaits_CancelledBeforeReturn", ends, nothing, kind::steps,
     destroy_cancels_waits_before_return},
    {"GetSrqAsyncEvent.RacesWithCancel_CompletesOnce", "Every pended verb can be cancelled",
     nothing, kind::race, wait_for_event_races_with_cancel},
    {"PostSrqRecv.WrongArguments_AreRefused",
     "STATUS_INVALID_PARAMETER: pSrq or pRecvWr is NULL, or a work request has too many segments.",
     nothing, kind::steps, missing_arguments_of_post_are_refused},
    {"PostSrqRecv.FullQueue_ReturnsTheFirstBeyond",
     "STATUS_INSUFFICIENT_RESOURCES: the queue is full.", nothing, kind::steps,
     full_queue_returns_the_first_beyond},
    {"PostSrqRecv.Receives_ServeEachQueuePair", serves, nothing, kind::steps,
     receives_serve_each_queue_pair},
    {"PostSrqRecv.Error_LeavesTheReceives",
     "IB_QPS_ERROR of a queue pair leaves the receives of a shared queue there;", nothing,
     kind::steps, error_leaves_the_receives},
};

} // namespace
} // namespace shared_receive_group

const std::span<const test_case> shared_receive_cases = shared_receive_group::cases;

} // namespace irpverbs::conformance
