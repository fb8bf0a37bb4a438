// Shared receive queues on the fabric: several senders, one queue.
#include "connected_end.hpp"
#include "datagram_end.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <hca/software.h>

#include <set>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

/// The HCA whose queue pairs share receives.
struct shared_end {
    explicit shared_end(DEVICE_OBJECT* fdo)
        : ca(fdo), srq(create_srq(pd, {this, {note}, 16, 1, nullptr, nullptr})) {
        KeInitializeSemaphore(&noted, 0, 16);
    }
    ~shared_end() {
        for (IB_QP* each : pairs)
            EXPECT_EQ(destroy_qp(each), STATUS_SUCCESS);
        EXPECT_EQ(destroy_srq(srq), STATUS_SUCCESS);
        EXPECT_EQ(deregister_mr(mr), STATUS_SUCCESS);
        EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
    }
    shared_end(const shared_end&) = delete;
    shared_end& operator=(const shared_end&) = delete;

    static void note(VOID* self, IB_ASYNC_EVENT event) {
        auto& end = *static_cast<shared_end*>(self);
        end.events.push_back(event);
        KeReleaseSemaphore(&end.noted, IO_NO_INCREMENT, 1, FALSE);
    }
    void await_up_call() { KeWaitForSingleObject(&noted, Executive, KernelMode, FALSE, nullptr); }
    IB_QP* add(ib_qp_type_t type) {
        ib_qp_create_t wanted = small_qp(cq, type);
        wanted.h_srq = srq;
        wanted.rq_depth = wanted.rq_sge = 0;
        return pairs.emplace_back(create_qp(pd, wanted));
    }
    /// A queue pair that is connected to the peer, which has the same type.
    IB_QP* add(connected_end& peer, ib_qp_type_t type = IB_QPT_RELIABLE_CONN) {
        IB_QP* made = add(type);
        EXPECT_EQ(modify_qp(made, ci::to_init(type, {.access = IB_AC_REMOTE})), STATUS_SUCCESS);
        ci::rtr_attributes path;
        path.av.port_num = 1;
        path.av.dlid = peer.lid();
        path.dest_qp = peer.qp->Num;
        path.rq_psn = connected_end::first_psn;
        path.rnr_nak_timeout = 1;
        EXPECT_EQ(modify_qp(made, ci::to_rtr(type, path)), STATUS_SUCCESS);
        EXPECT_EQ(modify_qp(made, ci::to_rts(type, {.sq_psn = connected_end::first_psn})),
                  STATUS_SUCCESS);
        peer.connect(ca.lid(), made->Num);
        return made;
    }
    /// A queue pair that receives datagrams.
    IB_QP* add_datagrams() {
        const ib_qp_type_t type = IB_QPT_UNRELIABLE_DGRM;
        IB_QP* made = add(type);
        EXPECT_EQ(modify_qp(made, ci::to_init(type, {.qkey = datagram_end::qkey})), STATUS_SUCCESS);
        EXPECT_EQ(modify_qp(made, ci::to_rtr(type)), STATUS_SUCCESS);
        return made;
    }
    NTSTATUS post(ULONGLONG wr_id, ULONG length = 100) {
        ib_local_ds_t into{
            static_cast<ULONGLONG>(reinterpret_cast<std::uintptr_t>(&bytes[wr_id * 100])), length,
            mr->LKey};
        ib_recv_wr_t what{nullptr, wr_id, &into, 1};
        return CiPostSrqRecv(srq, &what, nullptr);
    }
    IB_WC next() const { return next_completion(cq); }

    open_hca ca;
    IB_PD* pd = allocate_pd(ca);
    IB_CQ* cq = create_cq(ca, 64);
    std::vector<UCHAR> bytes = std::vector<UCHAR>(10'000);
    IB_MR* mr = register_mr(pd, bytes.data(), bytes.size(), IB_AC_LOCAL_WRITE);
    std::vector<IB_ASYNC_EVENT> events;
    KSEMAPHORE noted;
    IB_SRQ* srq;
    std::vector<IB_QP*> pairs;
};

class SharedReceiveTraffic : public BothMachines {
protected:
    attached hcas;
};

TEST_P(SharedReceiveTraffic, TwoSenders_TakeReceivesInTheOrderOfArrival) {
    connected_end one(hcas.fdo(0));
    connected_end two(hcas.fdo(1));
    shared_end shared(hcas.fdo(2));
    const ib_qpn_t from_one = shared.add(one)->Num;
    const ib_qpn_t from_two = shared.add(two)->Num;
    one.fill();
    for (ULONGLONG id = 0; id < 4; ++id)
        EXPECT_EQ(shared.post(id), STATUS_SUCCESS);
    for (ULONGLONG id = 0; id < 4; ++id) {
        connected_end& sender = id % 2 == 0 ? one : two;
        EXPECT_EQ(sender.post(sender.send(id, 50)), STATUS_SUCCESS);
        EXPECT_EQ(sender.next().Status, ULONG{IB_WC_SUCCESS});
        const IB_WC received = shared.next();
        EXPECT_EQ(received.WrId, id);
        EXPECT_EQ(received.Status, ULONG{IB_WC_SUCCESS});
        EXPECT_EQ(received.QpNumber, id % 2 == 0 ? from_one : from_two);
    }
    EXPECT_EQ(shared.bytes[0], 1);
    EXPECT_EQ(shared.bytes[49], 50);
    EXPECT_EQ(shared.bytes[50], 0);
}

// The receives' keys are those of the queue's domain, which the queue pair need not have.
TEST_P(SharedReceiveTraffic, OtherDomain_ReceivesUseTheKeysOfTheQueue) {
    connected_end sender(hcas.fdo(0));
    shared_end shared(hcas.fdo(1));
    EXPECT_EQ(shared.post(1), STATUS_SUCCESS);
    IB_PD* other = allocate_pd(shared.ca);
    std::swap(other, shared.pd);
    shared.add(sender);
    std::swap(other, shared.pd);
    EXPECT_EQ(sender.post(sender.send(1, 50)), STATUS_SUCCESS);
    EXPECT_EQ(shared.next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(destroy_qp(shared.pairs.back()), STATUS_SUCCESS);
    shared.pairs.clear();
    EXPECT_EQ(deallocate_pd(other), STATUS_SUCCESS);
}

TEST_P(SharedReceiveTraffic, EachService_TakesReceivesOfOneQueue) {
    connected_end reliable(hcas.fdo(0));
    connected_end unreliable(hcas.fdo(0), IB_QPT_UNRELIABLE_CONN);
    datagram_end datagrams(hcas.fdo(0));
    shared_end shared(hcas.fdo(1));
    const ib_qpn_t by_reliable = shared.add(reliable)->Num;
    const ib_qpn_t by_unreliable = shared.add(unreliable, IB_QPT_UNRELIABLE_CONN)->Num;
    const ib_qpn_t by_datagrams = shared.add_datagrams()->Num;
    datagrams.start();
    for (ULONGLONG id = 0; id < 3; ++id)
        EXPECT_EQ(shared.post(id), STATUS_SUCCESS);
    const auto receives = [&](ULONGLONG id, ib_qpn_t by, ULONG length) {
        const IB_WC received = shared.next();
        EXPECT_EQ(received.WrId, id);
        EXPECT_EQ(received.Status, ULONG{IB_WC_SUCCESS});
        EXPECT_EQ(received.QpNumber, by);
        EXPECT_EQ(received.ByteCount, length);
    };
    EXPECT_EQ(reliable.post(reliable.send(1, 50)), STATUS_SUCCESS);
    receives(0, by_reliable, 50);
    EXPECT_EQ(unreliable.post(unreliable.send(1, 60)), STATUS_SUCCESS);
    receives(1, by_unreliable, 60);
    IB_AV* way = datagrams.vector(datagrams.way_to(shared.ca.lid()));
    EXPECT_EQ(datagrams.post(datagrams.send(1, 20, way, by_datagrams)), STATUS_SUCCESS);
    receives(2, by_datagrams, datagram_end::route_size + 20);
}

TEST_P(SharedReceiveTraffic, LimitReached_UpCallAndIrp) {
    connected_end sender(hcas.fdo(0));
    shared_end shared(hcas.fdo(1));
    shared.add(sender);
    for (ULONGLONG id = 0; id < 3; ++id)
        EXPECT_EQ(shared.post(id), STATUS_SUCCESS);
    EXPECT_EQ(modify_srq(shared.srq, {IB_MOD_SRQ_LIMIT, 0, 3}), STATUS_SUCCESS);
    verb_call reached([&](IRP* irp) { return CiGetSrqAsyncEvent(shared.srq, irp); });
    EXPECT_EQ(sender.post(sender.send(1, 10)), STATUS_SUCCESS);
    EXPECT_EQ(reached.status(), STATUS_SUCCESS);
    EXPECT_EQ(reached.information(), static_cast<ULONG_PTR>(IB_AE_SRQ_LIMIT_REACHED));
    shared.await_up_call();
    EXPECT_EQ(modify_srq(shared.srq, {IB_MOD_SRQ_LIMIT, 0, 9}), STATUS_SUCCESS);
    shared.await_up_call(); // fewer are outstanding when the limit is set
    EXPECT_EQ(shared.events, (std::vector{IB_AE_SRQ_LIMIT_REACHED, IB_AE_SRQ_LIMIT_REACHED}));
}

IRPVERBS_ON_BOTH_MACHINES(SharedReceiveTraffic);

/// Two senders, and a queue of three receives that both queue pairs of a third HCA share.
struct two_senders {
    attached hcas;
    connected_end one{hcas.fdo(0)};
    connected_end two{hcas.fdo(1)};
    shared_end shared{hcas.fdo(2)};

    two_senders() {
        shared.add(one);
        shared.add(two);
        for (ULONGLONG id = 0; id < 3; ++id)
            EXPECT_EQ(shared.post(id), STATUS_SUCCESS);
    }
};

template <class Body>
void explore_senders(const Body& body) {
    dispatch::explore_options options;
    options.random_runs = 200;
    options.pct_runs = 200;
    options.machine.step_limit = 1'000'000;
    expect_explored(options, [&](dispatch::sim_machine& sim) {
        two_senders world;
        body(sim, world);
    });
}

// Two senders race for the receives, of which there are fewer than messages at first; the rest
// arrive after retries. No receive serves two messages, and no message is lost.
TEST(SharedReceiveRaces, FewerReceivesThanMessages_EachServesOne) {
    constexpr ULONGLONG messages = 3; // of each sender
    explore_senders([](dispatch::sim_machine& sim, two_senders& world) {
        connected_end& one = world.one;
        connected_end& two = world.two;
        shared_end& shared = world.shared;
        const auto send = [&](connected_end& by) {
            for (ULONGLONG id = 0; id < messages; ++id)
                EXPECT_EQ(by.post(by.send(id, 90)), STATUS_SUCCESS);
        };
        sim.spawn("one", [&] { send(one); });
        sim.spawn("two", [&] { send(two); });
        sim.spawn("receiver", [&] {
            for (ULONGLONG id = messages; id < 2 * messages; ++id)
                EXPECT_EQ(shared.post(id), STATUS_SUCCESS);
        });
        sim.run();
        std::set<ULONGLONG> served;
        for (ULONGLONG i = 0; i < 2 * messages; ++i)
            EXPECT_TRUE(served.insert(shared.next().WrId).second);
        for (ULONGLONG id = 0; id < messages; ++id)
            for (connected_end* each : {&one, &two})
                EXPECT_EQ(each->next().Status, ULONG{IB_WC_SUCCESS});
    });
}

// A queue pair ends while messages arrive: the other one receives its messages all the same, and
// the queue can be destroyed.
TEST(SharedReceiveRaces, QueuePairDestroyed_OthersKeepTheReceives) {
    explore_senders([](dispatch::sim_machine& sim, two_senders& world) {
        connected_end& one = world.one;
        connected_end& two = world.two;
        shared_end& shared = world.shared;
        EXPECT_EQ(modify_srq(shared.srq, {IB_MOD_SRQ_LIMIT, 0, 3}), STATUS_SUCCESS);
        EXPECT_EQ(one.post(one.send(1, 90)), STATUS_SUCCESS);
        EXPECT_EQ(two.post(two.send(1, 90)), STATUS_SUCCESS);
        sim.spawn("end", [&] { EXPECT_EQ(destroy_qp(shared.pairs[0]), STATUS_SUCCESS); });
        sim.spawn("send", [&] { EXPECT_EQ(two.post(two.send(2, 90)), STATUS_SUCCESS); });
        sim.run();
        shared.pairs.erase(shared.pairs.begin());
        for (int i = 0; i < 2; ++i)
            EXPECT_EQ(two.next().Status, ULONG{IB_WC_SUCCESS});
        shared.await_up_call();
        EXPECT_EQ(shared.events, std::vector{IB_AE_SRQ_LIMIT_REACHED});
    });
}

} // namespace
