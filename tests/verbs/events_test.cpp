// Completion channels and asynchronous events: descriptors, acknowledgements, cancellation.
#include "ends.hpp"

#include <hca/software.h>
#include <support/child_process.hpp>

#include <atomic>
#include <cerrno>
#include <endian.h>
#include <fcntl.h>
#include <pthread.h>
#include <thread>

namespace {

using namespace irpverbs::testing;

void send_one(connected_ends& ends) {
    ASSERT_EQ(ends.right.post_receive(1, 0, 64), 0);
    ibv_sge segment = ends.left.piece(0, 4);
    ASSERT_EQ(ends.left.post(ends.left.request(IBV_WR_SEND, segment)), 0);
}

TEST(CompletionChannel, ArmedQueue_MakesTheDescriptorReadable) {
    connected_ends ends({.has_channel = true});
    ibv_comp_channel* channel = *ends.right.channel;
    EXPECT_FALSE(is_readable(channel->fd, 0));
    ASSERT_EQ(ibv_req_notify_cq(*ends.right.cq, 0), 0);
    send_one(ends);
    ASSERT_TRUE(is_readable(channel->fd, -1));
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel, &cq, &context), 0);
    EXPECT_EQ(cq, static_cast<ibv_cq*>(*ends.right.cq));
    EXPECT_EQ(context, &ends.right);
    EXPECT_FALSE(is_readable(channel->fd, 0));
    ibv_ack_cq_events(cq, 1);
}

TEST(CompletionChannel, NonBlockingDescriptor_ReturnsEagain) {
    end one({.has_channel = true});
    const int fd = (*one.channel)->fd;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    EXPECT_EQ(ibv_get_cq_event(*one.channel, &cq, &context), -1);
    EXPECT_EQ(errno, EAGAIN);
}

TEST(CompletionChannel, EventsOfADestroyedQueue_AreRemoved) {
    connected_ends ends({.has_channel = true});
    ASSERT_EQ(ibv_req_notify_cq(*ends.right.cq, 0), 0);
    send_one(ends);
    const int fd = (*ends.right.channel)->fd;
    ASSERT_TRUE(is_readable(fd, -1));
    EXPECT_EQ(ends.right.qp->destroy(), 0);
    EXPECT_EQ(ends.right.cq->destroy(), 0);
    EXPECT_FALSE(is_readable(fd, 0));
}

TEST(CompletionChannel, Destroy_WaitsForTheAcknowledgement) {
    connected_ends ends({.has_channel = true});
    ASSERT_EQ(ibv_req_notify_cq(*ends.right.cq, 0), 0);
    send_one(ends);
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(*ends.right.channel, &cq, &context), 0);
    EXPECT_EQ(ends.right.qp->destroy(), 0);
    std::atomic<bool> acknowledged{false};
    std::thread acknowledger([&] {
        acknowledged = true;
        ibv_ack_cq_events(cq, 1);
    });
    EXPECT_EQ(ends.right.cq->destroy(), 0);
    EXPECT_TRUE(acknowledged);
    acknowledger.join();
}

// Programs cancel threads that wait for events (OpenSM does): no lock or event is lost.
TEST(CompletionChannel, CancelledReader_LosesNothing) {
    connected_ends ends({.has_channel = true});
    ibv_comp_channel* channel = *ends.right.channel;
    for (int i = 0; i < 20; ++i) {
        pthread_t reader;
        ASSERT_EQ(pthread_create(
                      &reader, nullptr,
                      [](void* of) -> void* {
                          ibv_cq* cq = nullptr;
                          void* context = nullptr;
                          ibv_get_cq_event(static_cast<ibv_comp_channel*>(of), &cq, &context);
                          return nullptr;
                      },
                      channel),
                  0);
        ASSERT_EQ(pthread_cancel(reader), 0);
        void* result = nullptr;
        ASSERT_EQ(pthread_join(reader, &result), 0);
        ASSERT_EQ(result, PTHREAD_CANCELED);
    }
    ASSERT_EQ(ibv_req_notify_cq(*ends.right.cq, 0), 0);
    send_one(ends);
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel, &cq, &context), 0);
    ibv_ack_cq_events(cq, 1);
}

TEST(AsyncEvents, LinkThatGoesDownAndUp_IsReportedInOrder) {
    const owned<ibv_context> context(open_device(0), ibv_close_device);
    const auto guid = be64toh(ibv_get_device_guid(context->device));
    ASSERT_EQ(HcaSoftwareFlapLink(guid, 2), STATUS_SUCCESS);
    ibv_async_event event{};
    ASSERT_EQ(ibv_get_async_event(context, &event), 0);
    EXPECT_EQ(event.event_type, IBV_EVENT_PORT_ERR);
    EXPECT_EQ(event.element.port_num, 2);
    ibv_ack_async_event(&event);
}

TEST(AsyncEvents, LastReceiveOfASharedQueue_IsReported) {
    connected_ends ends({.has_shared_receives = true});
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ends.right.modify(attr, IBV_QP_STATE), 0);
    ibv_async_event event{};
    ASSERT_EQ(ibv_get_async_event(ends.right.context, &event), 0);
    EXPECT_EQ(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
    ibv_ack_async_event(&event);
}

TEST(Fork, ObjectsOfTheParent_FailInTheChild) {
    static ibv_context* inherited;
    const owned<ibv_context> context(open_device(0), ibv_close_device);
    inherited = context;
    EXPECT_TRUE(in_child([] {
        ibv_device_attr attr;
        ibv_port_attr port;
        return ibv_query_port(inherited, 1, &port) == EIO && ibv_alloc_pd(inherited) == nullptr &&
               errno == EIO && ibv_query_device(inherited, &attr) == 0 && attr.max_qp != 0;
    }));
}

} // namespace
