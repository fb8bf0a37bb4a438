// XRC: domains, the queue pairs and shared receive queues of one, and messages between them.
#include "completions.hpp"
#include "transfers.hpp"

namespace irpverbs::conformance {

namespace xrc_group {
namespace {

/// An XRC domain; the destructor deallocates it.
class xrcd {
public:
    explicit xrcd(IB_CA* parent) : xrcd_(reinterpret_cast<IB_XRCD*>(must(allocate_xrcd(parent)))) {}
    ~xrcd() { EXPECT_STATUS(verb_call(deallocate_xrcd(xrcd_)).status(), STATUS_SUCCESS); }
    xrcd(const xrcd&) = delete;
    xrcd& operator=(const xrcd&) = delete;

    operator IB_XRCD*() const { return xrcd_; }

private:
    IB_XRCD* xrcd_;
};

ib_srq_create_t wanted_srq(IB_XRCD* in, IB_CQ* receives) {
    ib_srq_create_t wanted{};
    wanted.max_wr = 4;
    wanted.max_sge = 1;
    wanted.h_xrcd = in;
    wanted.h_cq = receives;
    return wanted;
}

ib_qp_create_t wanted_target(IB_XRCD* in) {
    ib_qp_create_t wanted{};
    wanted.qp_type = IB_QPT_XRC_TGT;
    wanted.h_xrcd = in;
    return wanted;
}

ib_qp_create_t wanted_initiator(IB_CQ* sends) {
    ib_qp_create_t wanted{};
    wanted.qp_type = IB_QPT_XRC_INI;
    wanted.h_sq_cq = sends;
    wanted.sq_depth = 8;
    wanted.sq_sge = 1;
    return wanted;
}

struct domain_scene {
    ca opened;
    xrcd shared{opened};
    pd domain{opened};
    cq queue{opened.get()};

    explicit domain_scene(const world& here) : opened(here) {}
};

void domain_in_use_is_busy(world& here) {
    const domain_scene scene(here);
    {
        const qp target(scene.domain, wanted_target(scene.shared));
        EXPECT_STATUS(status_of(deallocate_xrcd(scene.shared)), STATUS_DEVICE_BUSY);
        EXPECT_EQ(target.attributes().h_xrcd, scene.shared);
    }
    const srq receives(scene.domain, wanted_srq(scene.shared, scene.queue));
    EXPECT_STATUS(status_of(deallocate_xrcd(scene.shared)), STATUS_DEVICE_BUSY);
}

void parents_of_the_queue_are_busy(world& here) {
    const domain_scene scene(here);
    const srq receives(scene.domain, wanted_srq(scene.shared, scene.queue));
    EXPECT_STATUS(status_of(destroy_cq(scene.queue)), STATUS_DEVICE_BUSY);
    EXPECT_STATUS(status_of(deallocate_pd(scene.domain)), STATUS_DEVICE_BUSY);
    EXPECT_NE(receives->Num, 0u);
    const ib_srq_attr_t seen = receives.attributes();
    EXPECT_EQ(seen.num, receives->Num);
    EXPECT_EQ(seen.h_xrcd, scene.shared);
    EXPECT_EQ(seen.h_cq, scene.queue);
    const srq without(scene.domain);
    EXPECT_EQ(without->Num, 0u);
}

void wrong_shared_queues_are_refused(world& here) {
    const domain_scene scene(here);
    const domain_scene other(here);
    for (const ib_srq_create_t& wanted :
         {wanted_srq(scene.shared, nullptr), wanted_srq(nullptr, scene.queue),
          wanted_srq(other.shared, scene.queue), wanted_srq(scene.shared, other.queue)})
        EXPECT_STATUS(verb_call(create_srq(scene.domain, &wanted)).status(),
                      STATUS_INVALID_PARAMETER);
}

void queues_of_other_types_are_refused(world& here) {
    const domain_scene scene(here);
    const domain_scene other(here);
    const srq receives(scene.domain);
    const auto refused = [&](ib_qp_create_t wanted, const auto& change) {
        change(wanted);
        EXPECT_STATUS(verb_call(create_qp(scene.domain, &wanted)).status(),
                      STATUS_INVALID_PARAMETER);
    };
    const ib_qp_create_t target = wanted_target(scene.shared);
    refused(target, [](ib_qp_create_t& wanted) { wanted.h_xrcd = nullptr; });
    refused(target, [&](ib_qp_create_t& wanted) { wanted.h_xrcd = other.shared; });
    refused(target, [&](ib_qp_create_t& wanted) { wanted.h_sq_cq = scene.queue; });
    refused(target, [&](ib_qp_create_t& wanted) { wanted.h_srq = receives; });
    refused(target, [](ib_qp_create_t& wanted) { wanted.sq_depth = 1; });
    const ib_qp_create_t initiator = wanted_initiator(scene.queue);
    refused(initiator, [](ib_qp_create_t& wanted) { wanted.h_sq_cq = nullptr; });
    refused(initiator, [&](ib_qp_create_t& wanted) { wanted.h_rq_cq = scene.queue; });
    refused(initiator, [&](ib_qp_create_t& wanted) { wanted.h_xrcd = scene.shared; });
    refused(initiator, [](ib_qp_create_t& wanted) { wanted.rq_depth = 1; });
    refused(small_queue_pair(scene.queue, scene.queue),
            [&](ib_qp_create_t& wanted) { wanted.h_xrcd = scene.shared; });
}

void absent_queues_refuse_posts(world& here) {
    const domain_scene scene(here);
    const qp target(scene.domain, wanted_target(scene.shared));
    const qp initiator(scene.domain, wanted_initiator(scene.queue));
    ib_send_wr_t request{};
    request.wr_type = WR_SEND;
    ib_recv_wr_t receive{};
    EXPECT_STATUS(CiPostSend(target, &request, nullptr), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_STATUS(CiPostRecv(target, &receive, nullptr), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_STATUS(CiPostRecv(initiator, &receive, nullptr), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_STATUS(status_of(transfer(target, &request, nullptr)), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_STATUS(status_of(transfer_recv(initiator, &receive, nullptr)),
                  STATUS_INVALID_DEVICE_REQUEST);
}

/// An initiator and its target, and two shared receive queues of the target's domain.
struct message_scene : domain_scene {
    cq of_first{opened.get(), 32};
    cq of_second{opened.get(), 32};
    srq first{domain, wanted_srq(shared, of_first)};
    srq second{domain, wanted_srq(shared, of_second)};
    transfer_end sender;
    qp target;

    explicit message_scene(const world& here)
        : domain_scene(here), sender(opened, domain, IB_QPT_XRC_INI),
          target(domain, wanted_target(shared)) {
        connect_queue_pair(opened, target, IB_QPT_XRC_TGT, sender.pair->Num);
        connect_queue_pair(opened, sender.pair, IB_QPT_XRC_INI, target->Num);
    }
    void send(ULONG to, ULONGLONG wr_id) {
        ib_send_wr_t request = sender.request(WR_SEND, wr_id);
        request.remote_srq = to;
        sender.post(request);
    }
};

void message_completes_in_the_queue_it_names(world& here) {
    message_scene scene(here);
    scene.sender.post_shared_receive(scene.first, 11);
    scene.sender.post_shared_receive(scene.second, 22);
    scene.send(scene.second->Num, 1);
    scene.sender.expect(1);
    const IB_WC second = next_completion(scene.of_second);
    EXPECT_EQ(second.WrId, 22u);
    EXPECT_EQ(second.QpNumber, scene.target->Num);
    EXPECT_TRUE(results(scene.of_first, 1).empty());
    scene.send(scene.first->Num, 2);
    scene.sender.expect(2);
    EXPECT_EQ(next_completion(scene.of_first).WrId, 11u);
}

void message_to_an_ended_queue_is_refused(world& here) {
    message_scene scene(here);
    const ULONG ended = scene.first->Num;
    EXPECT_STATUS(status_of(destroy_srq(scene.first.release())), STATUS_SUCCESS);
    scene.send(ended, 1);
    scene.sender.expect(1, IB_WC_REMOTE_INVALID_REQUEST_ERROR);
}

constexpr const char* domain_busy =
    "STATUS_DEVICE_BUSY: queue pairs or shared receive queues of it remain; nothing changed.";
constexpr const char* counts =
    "It counts as created with the protection domain, the XRC domain and the completion queue.";
constexpr const char* wrong_srq =
    "STATUS_INVALID_PARAMETER: also a max_wr of 0, more work requests or data segments than the "
    "HCA supports (IB_CA_ATTR.MaxSrqWrs, MaxSrqSges), only one of h_xrcd and h_cq, or one of "
    "another IB_CA.";
constexpr const char* wrong_qp =
    "of the types of XRC a queue, completion queue or domain that the type does not have, or none "
    "that it has.";
constexpr const char* no_queue =
    "STATUS_INVALID_DEVICE_REQUEST: the type of the queue pair has no such work request, or no "
    "send queue.";
constexpr const char* completes = "a message completes in the completion queue of the shared "
                                  "receive queue";
constexpr const char* refused = "A message of an XRC queue pair that names it is then refused: its "
                                "work request completes IB_WC_REMOTE_INVALID_REQUEST_ERROR.";

constexpr test_case cases[] = {
    {"DeallocateXrcd.InUse_ReturnsDeviceBusy", domain_busy, nothing, kind::steps,
     domain_in_use_is_busy},
    {"CreateSrq.OfAnXrcDomain_ParentsAreBusy", counts, nothing, kind::steps,
     parents_of_the_queue_are_busy},
    {"CreateSrq.WrongXrcDomain_IsRefused", wrong_srq, nothing, kind::steps,
     wrong_shared_queues_are_refused},
    {"CreateQp.QueuesOfOtherTypes_AreRefused", wrong_qp, nothing, kind::steps,
     queues_of_other_types_are_refused},
    {"PostSend.QueueThatTheTypeLacks_IsRefused", no_queue, nothing, kind::steps,
     absent_queues_refuse_posts},
    {"Xrc.Message_CompletesInTheQueueThatItNames", completes, nothing, kind::steps,
     message_completes_in_the_queue_it_names},
    {"Xrc.MessageToAnEndedQueue_IsRefused", refused, nothing, kind::steps,
     message_to_an_ended_queue_is_refused},
};

} // namespace
} // namespace xrc_group

const std::span<const test_case> xrc_cases = xrc_group::cases;

} // namespace irpverbs::conformance
