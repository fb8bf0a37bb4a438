// Verbs, events of the kernel, cancellation and the removal of the device, under every schedule of
// a few actors.
#include "verbs_hcas.hpp"

#include <support/explore_gtest.hpp>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;
using call = fake_verbs;

explore_options few_actors() {
    explore_options options;
    options.random_runs = 150;
    options.pct_runs = 150;
    options.exhaustive_runs = 300;
    options.preemption_bound = 2;
    return options;
}

bool is_one_of(NTSTATUS status, std::initializer_list<NTSTATUS> expected) {
    return std::find(expected.begin(), expected.end(), status) != expected.end();
}

// The fake's destructor finds a queue that is left.
TEST(VerbsRaces, CancelDuringCreate_NoQueueLeaks) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        verbs_kernel kernel;
        const open_verbs hca;
        verb_call create;
        sim.spawn("create", [&] { create.send(creating(hca.ca)); });
        sim.spawn("cancel", [&] { create.cancel(); });
        sim.run();
        EXPECT_TRUE(is_one_of(create.status(), {STATUS_SUCCESS, STATUS_CANCELLED}));
        if (create.status() == STATUS_SUCCESS) {
            EXPECT_EQ(destroy_cq(create.object<IB_CQ>()), STATUS_SUCCESS);
        }
    });
}

// The reader has the event and has not acknowledged it.
TEST(VerbsRaces, DestroyDuringEvents_Completes) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        verbs_kernel kernel;
        const open_verbs hca;
        IB_CQ* cq = create_cq(hca.ca, 1);
        const void* name = name_of_queue(cq);
        EXPECT_EQ(status_of(arming(cq)), STATUS_SUCCESS);
        verb_call completion(awaiting_completion(cq));
        verb_call error(awaiting_error(cq));
        verb_call destroy;
        sim.spawn("arrive", [&] {
            kernel.verbs.complete(name, wc(1));
            kernel.verbs.complete(name, wc(2));
            destroy.send([&](IRP* irp) { return CiDestroyCq(cq, nullptr, irp); });
        });
        sim.run();
        EXPECT_EQ(destroy.status(), STATUS_SUCCESS);
        for (verb_call* each : {&completion, &error})
            EXPECT_TRUE(is_one_of(each->status(), {STATUS_SUCCESS, STATUS_CANCELLED}));
    });
}

TEST(VerbsRaces, ArmDuringCompletion_NoEventLost) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        verbs_kernel kernel;
        const open_verbs hca;
        IB_CQ* cq = create_cq(hca.ca);
        const void* name = name_of_queue(cq);
        verb_call waiter(awaiting_completion(cq));
        sim.spawn("arm", [&] { status_of(arming(cq)); });
        sim.spawn("complete", [&] { kernel.verbs.complete(name, wc(1)); });
        sim.run();
        EXPECT_TRUE(waiter.done());
        EXPECT_EQ(poll(cq, 4).size(), 1u);
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
    });
}

TEST(VerbsRaces, ResizeDuringPollAndArm_NoEntryLost) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        verbs_kernel kernel;
        const open_verbs hca;
        IB_CQ* cq = create_cq(hca.ca);
        const void* name = name_of_queue(cq);
        verb_call resize;
        verb_call waiter(awaiting_completion(cq));
        std::size_t polled = 0;
        sim.spawn("resize", [&] { resize.send(resizing(cq, 9)); });
        sim.spawn("use", [&] {
            status_of(arming(cq));
            kernel.verbs.complete(name, wc(1));
            polled = poll(cq, 1).size();
        });
        sim.run();
        EXPECT_EQ(resize.status(), STATUS_SUCCESS);
        EXPECT_EQ(polled + poll(cq, 1).size(), 1u);
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
        EXPECT_TRUE(is_one_of(waiter.status(), {STATUS_SUCCESS, STATUS_CANCELLED}));
    });
}

TEST(VerbsRaces, DeviceRemovedDuringVerbs_RaisesOneFatalEvent) {
    static int fatal = 0;
    const auto note = [](IB_CA*, void*) { ++fatal; };
    expect_explored(few_actors(), [&](sim_machine& sim) {
        fatal = 0;
        verbs_kernel kernel;
        const rdma_hcas hcas;
        const IB_CA_DISPATCH calls{note, nullptr};
        IB_CA* ca = open_ca(rdma_hcas::fdo(kernel.guid), &calls);
        verb_call create;
        verb_call query;
        IB_PORT_ATTR attr{};
        sim.spawn("remove", [&] { kernel.remove("rxe0"); });
        sim.spawn("use", [&] {
            create.send(creating(ca));
            query.send(querying(ca, attr));
        });
        sim.run();
        EXPECT_EQ(fatal, 1);
        EXPECT_TRUE(is_one_of(create.status(), {STATUS_SUCCESS, STATUS_FILE_FORCED_CLOSED}));
        EXPECT_TRUE(is_one_of(query.status(), {STATUS_BUFFER_OVERFLOW, STATUS_FILE_FORCED_CLOSED}));
        if (create.status() == STATUS_SUCCESS) {
            EXPECT_EQ(destroy_cq(create.object<IB_CQ>()), STATUS_SUCCESS);
        }
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
        EXPECT_EQ(kernel.verbs.contexts(), 0u);
    });
}

// The verbs of one queue take effect in the order of their calls, while verbs of other objects
// overtake them.
TEST(VerbsRaces, VerbsOfOneQueue_KeepTheirOrder) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        verbs_kernel kernel;
        const open_verbs hca;
        IB_CQ* cq = create_cq(hca.ca);
        verb_call first;
        verb_call second;
        verb_call other;
        sim.spawn("resize", [&] {
            first.send(resizing(cq, 8));
            second.send(resizing(cq, 16));
        });
        sim.spawn("create", [&] { other.send(creating(hca.ca)); });
        sim.run();
        EXPECT_EQ(first.status(), STATUS_SUCCESS);
        EXPECT_EQ(second.status(), STATUS_SUCCESS);
        EXPECT_EQ(cq->NumCqes, 16u);
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
        EXPECT_EQ(destroy_cq(other.object<IB_CQ>()), STATUS_SUCCESS);
    });
}

} // namespace
