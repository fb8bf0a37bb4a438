// The order of the work requests that several clients pass in their rings: the daemon's ends of two
// connections, in a simulated machine, over queues that only count.
#include <served_posts.hpp>

#include <ci/driver.h>
#include <ci/support/shared_memory.hpp>

#include <support/explore_gtest.hpp>

#include <optional>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using ci::crossing::post_producer;
using ci::crossing::post_rings;
using ci::crossing::post_writer;
using ci::detail::shared_memory;
using ci::wire::open_descriptor;
using ci::wire::work;

constexpr unsigned some_turn = 64;

void step(const void* object) {
    dispatch::detail::sched_point(dispatch::detail::point::interlocked, object);
}

/// A queue pair whose every post is a step of its own.
struct counting_queue {
    counting_queue() {
        qp.Create.qp_type = IB_QPT_UNRELIABLE_DGRM;
        qp.Posts = {post_send, post_receive, this};
    }
    static NTSTATUS post_send(void* self, ib_send_wr_t* list, ib_send_wr_t**) {
        auto& own = *static_cast<counting_queue*>(self);
        step(&own.sends);
        for (; list != nullptr; list = list->p_next) {
            if (own.peer != nullptr && own.peer->receives <= own.sends) ++own.lost;
            ++own.sends;
        }
        return STATUS_SUCCESS;
    }
    static NTSTATUS post_receive(void* self, ib_recv_wr_t* list, ib_recv_wr_t**) {
        auto& own = *static_cast<counting_queue*>(self);
        EXPECT_TRUE(own.exists);
        step(&own.receives);
        EXPECT_TRUE(own.exists);
        for (; list != nullptr; list = list->p_next)
            ++own.receives;
        return STATUS_SUCCESS;
    }

    HCA_QP qp{};
    counting_queue* peer = nullptr; // of its sends
    unsigned sends = 0;
    unsigned receives = 0;
    unsigned lost = 0; // sends for which the peer had no receive
    bool exists = true;
};

/// A connection: the client's producers, and what serves them.
struct connection final : ci::crossing::directory {
    connection() {
        KeInitializeEvent(&bell, SynchronizationEvent, FALSE);
        ci::detail::descriptors passed;
        served.make_rings(memory, passed);
        const auto mapped = [&](open_descriptor which, shared_memory::others rights) {
            return shared_memory::map(passed[static_cast<std::size_t>(which)], rights);
        };
        own = mapped(open_descriptor::posts_of_client, shared_memory::others::may_write);
        daemons = mapped(open_descriptor::posts_of_daemon, shared_memory::others::may_read);
        auto& written = *reinterpret_cast<post_rings::client_part*>(own.bytes().data());
        auto& read = *reinterpret_cast<const post_rings::daemon_part*>(daemons.bytes().data());
        sends.emplace(written.sends, read.sends);
        receives.emplace(written.receives, read.receives);
    }
    std::uint64_t handle_of(ci::crossing::object_type, void*) override { return 0; }
    void* object_of(ci::crossing::object_type type, std::uint64_t) override {
        return type == HCA_MN_CREATE_QP && named ? &queue.qp : nullptr;
    }

    // ---- the client
    void post_send() {
        post_writer made(sends->room(), work::send, 0, 1);
        made.add(ib_send_wr_t{}, true, *this);
        publish(*sends, made);
    }
    void post_receive() {
        post_writer made(receives->room(), work::receive, 0, 1);
        made.add(ib_recv_wr_t{});
        publish(*receives, made);
    }
    void publish(post_producer& in, post_writer& what) {
        in.publish(what.finish().size());
        if (in.must_wake()) KeSetEvent(&bell, IO_NO_INCREMENT, FALSE);
    }

    void end() {
        ended = true;
        KeSetEvent(&bell, IO_NO_INCREMENT, FALSE);
    }

    // ---- the daemon
    /// Posts what is passed, until the client ends.
    void serve() {
        for (bool last = false; !last;) {
            last = ended;
            const auto made = served.post_some(some_turn);
            EXPECT_NE(made, ual::served_ring::result::violation);
            if (made != ual::served_ring::result::idle || last) continue;
            if (!served.begin_sleep()) continue;
            KeWaitForSingleObject(&bell, Executive, KernelMode, FALSE, nullptr);
            served.end_sleep();
        }
    }
    void end_and_serve() {
        end();
        serve();
    }

    counting_queue queue;
    KEVENT bell{};
    std::atomic<bool> named{true};
    std::atomic<bool> ended{false};
    ual::quota of_user{~ULONG{0}};
    ual::ring_quota memory{of_user};
    ual::served_posts served{*this};
    shared_memory own;
    shared_memory daemons;
    std::optional<post_producer> sends;
    std::optional<post_producer> receives;
};

/// Two connections of a listener.
struct two_connections {
    two_connections() {
        one.served.others().add(other.served.receives());
        other.served.others().add(one.served.receives());
        one.queue.peer = &other.queue;
        other.queue.peer = &one.queue;
    }
    connection one;
    connection other;
};

dispatch::explore_options some_runs() {
    dispatch::explore_options options;
    options.random_runs = 300;
    options.pct_runs = 300;
    return options;
}

// The threads of the daemon run in any order. The thread that posts a send posts the receives first
// that its client may know of, of whatever client.
TEST(OrderOfPosts, ReceiveBeforeASendOfAnotherClient_IsPostedFirst) {
    expect_explored(some_runs(), [](dispatch::sim_machine& machine) {
        constexpr unsigned count = 3;
        two_connections both;
        KEVENT posted;
        KeInitializeEvent(&posted, SynchronizationEvent, FALSE);
        machine.spawn("receiver", [&] {
            for (unsigned i = 0; i < count; ++i) {
                both.one.post_receive();
                KeSetEvent(&posted, IO_NO_INCREMENT, FALSE);
            }
            both.one.end();
        });
        machine.spawn("sender", [&] {
            KeWaitForSingleObject(&posted, Executive, KernelMode, FALSE, nullptr);
            both.other.post_send();
            both.other.end();
        });
        machine.spawn("thread of the receiver", [&] { both.one.serve(); });
        machine.spawn("thread of the sender", [&] { both.other.serve(); });
        machine.run();
        EXPECT_EQ(both.one.queue.receives, count);
        EXPECT_EQ(both.other.queue.sends, 1u);
        EXPECT_EQ(both.other.queue.lost, 0u);
    });
}

// A send of the receiver waits in its ring in front of the receive.
TEST(OrderOfPosts, ReceiveBehindASend_IsPostedWithoutIt) {
    two_connections both;
    both.one.post_send();
    both.one.post_receive();
    both.other.post_send();
    both.other.end_and_serve();
    EXPECT_EQ(both.other.queue.lost, 0u);
    EXPECT_EQ(both.one.queue.sends, 0u);
}

TEST(OrderOfPosts, SendInAMessage_FollowsTheReceivesOfOthers) {
    two_connections both;
    both.one.post_receive();
    std::array<std::byte, 256> room{};
    post_writer made(room, work::send, 1, 1);
    made.add(ib_send_wr_t{}, true, both.other);
    ci::wire::posted reply{};
    EXPECT_TRUE(both.other.served.serve(made.finish(), reply));
    EXPECT_EQ(reply.status, STATUS_SUCCESS);
    EXPECT_EQ(both.other.queue.lost, 0u);
}

// The receiver's thread ends the queue pair while the sender's posts to it.
TEST(OrderOfPosts, QueueThatEnds_IsNotUsedByOtherThreads) {
    expect_explored(some_runs(), [](dispatch::sim_machine& machine) {
        two_connections both;
        both.one.post_receive();
        both.other.post_send();
        machine.spawn("thread of the receiver", [&] {
            for (unsigned steps = 0; steps < 20; ++steps) // to begin amid the post
                step(&both.one.named);
            both.one.named = false;
            both.one.served.receives().await_others();
            both.one.queue.exists = false;
        });
        machine.spawn("thread of the sender", [&] { both.other.end_and_serve(); });
        machine.run();
    });
}

TEST(OrderOfPosts, RingsOfAClientThatEnds_AreNotRead) {
    two_connections both;
    both.one.post_receive();
    both.one.served.receives().close();
    both.one.queue.exists = false;
    both.other.post_send();
    both.other.end_and_serve();
    both.other.served.others().remove(both.one.served.receives());
    both.other.post_send();
    both.other.end_and_serve();
}

TEST(OrderOfPosts, ViolationOfAClient_IsItsOwn) {
    two_connections both;
    both.one.receives->publish(4); // less than a header
    both.other.post_send();
    both.other.end_and_serve();
    EXPECT_EQ(both.other.queue.sends, 1u);
    EXPECT_EQ(both.one.served.post_some(some_turn), ual::served_ring::result::violation);
}

TEST(OrderOfPosts, WorkRequestInTheOtherKindsRing_IsAViolation) {
    two_connections both;
    post_writer send(both.one.receives->room(), work::send, 0, 1);
    send.add(ib_send_wr_t{}, true, both.one);
    both.one.receives->publish(send.finish().size());
    EXPECT_EQ(both.one.served.post_some(some_turn), ual::served_ring::result::violation);
    post_writer receive(both.other.sends->room(), work::receive, 0, 1);
    receive.add(ib_recv_wr_t{});
    both.other.sends->publish(receive.finish().size());
    EXPECT_EQ(both.other.served.post_some(some_turn), ual::served_ring::result::violation);
    EXPECT_EQ(both.one.queue.sends + both.other.queue.receives, 0u);
}

} // namespace
