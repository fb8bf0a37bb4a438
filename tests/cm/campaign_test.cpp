// Two ends over a faulty cable, in drawn order: messages are lost, duplicated and reordered, calls
// are cancelled, requests rejected, connections closed at any moment. Each IRP completes once
// (verb_call checks it), no call hangs, and both managers forget all connections.
//
// IRPVERBS_SEEDS=100 cm_test --gtest_filter='CmCampaign.*' makes 10^5 runs.
#include "campaign_world.hpp"

#include <support/exhaustive_gtest.hpp>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;

struct connecting_world : campaign_world {
    using campaign_world::campaign_world;

    void be_client() {
        IB_QP* const qp = ends.one.make_qp();
        connect_to wanted(qp, ends.one.path_to(ends.two));
        if (drawn(2) == 0) wanted.flags = IB_CM_ESTABLISH;
        pending_connect connect(ends.first, wanted);
        if (drawn(3) == 0) {
            let_pass_ms(static_cast<LONGLONG>(drawn(200)));
            connect.call.cancel();
        }
        // An MRA lets it wait for 69 s, and a lost rejection is repeated only after that.
        EXPECT_TRUE(connect.call.completes_within(500'000));
        if (connect.status() != STATUS_SUCCESS) return;
        open_connection link = connect.connection();
        if (wanted.flags == 0 && drawn(8) == 0) {
            EXPECT_TRUE(is_one_of(link.reject(), {STATUS_SUCCESS, STATUS_REQUEST_ABORTED}));
            return;
        }
        if (wanted.flags == 0 && link.complete() != STATUS_SUCCESS) return;
        ++succeeded;
        finish(link);
        EXPECT_EQ(cm_end::state(qp), ib_qp_state_t{IB_QPS_ERROR});
    }
    /// Ends an established connection in one of the ways.
    void finish(open_connection& link) {
        let_pass_ms(static_cast<LONGLONG>(drawn(50)));
        if (drawn(2) == 0) {
            verb_call end([&](IRP* irp) { return CmDisconnect(link, nullptr, 0, irp); });
            if (drawn(3) == 0) end.cancel();
            EXPECT_TRUE(is_one_of(end.status(), {STATUS_SUCCESS, STATUS_CANCELLED}));
        }
        link.close();
    }
    void be_server(open_listener& listener) {
        for (;;) {
            pending_request request(listener);
            while (!request.call.completes_within(100))
                if (stop) request.call.cancel();
            if (request.call.status() != STATUS_SUCCESS) return listener.close();
            open_connection link = request.connection();
            switch (drawn(6)) {
            case 0:
                EXPECT_TRUE(is_one_of(link.reject(), {STATUS_SUCCESS, STATUS_REQUEST_ABORTED}));
                break;
            case 1:
                break; // closed
            default:
                accept(link);
            }
        }
    }
    void accept(open_connection& link) {
        let_pass_ms(static_cast<LONGLONG>(drawn(3) * 100));
        IB_QP* const qp = ends.two.make_qp();
        pending_accept accept(link, qp);
        if (drawn(4) == 0) accept.call.cancel();
        EXPECT_TRUE(accept.call.completes_within(500'000));
        const NTSTATUS status = accept.status();
        EXPECT_TRUE(is_one_of(status, {STATUS_SUCCESS, STATUS_CANCELLED, STATUS_IO_TIMEOUT,
                                       STATUS_REQUEST_NOT_ACCEPTED, STATUS_REQUEST_ABORTED}))
            << name_of(status);
        if (status == STATUS_SUCCESS) finish(link);
    }
};

TEST(CmCampaign, LossDuplicationReorderingAndCancels_EveryCallEndsAndNothingRemains) {
    irpverbs::dispatch::explore_options options;
    options.random_runs = 800;
    options.pct_runs = 200;
    options.machine.step_limit = 2'000'000;
    std::uint64_t established = 0;
    const auto seen = expect_explored(options, [&](sim_machine& sim) {
        connecting_world world(sim);
        open_listener listener(world.ends.second);
        world.make_faulty();
        sim.spawn("server", [&] { world.be_server(listener); });
        sim.spawn("clients", [&] {
            for (int i = 0; i < 3; ++i)
                world.be_client();
            world.stop = true;
        });
        sim.run();
        established += static_cast<std::uint64_t>(world.succeeded.load());
        world.expect_all_forgotten();
    });
    EXPECT_GT(10 * established, 3 * seen.runs()) << "runs without connections test nothing";
}

/// The bytes of an end that its peer writes, or that it writes.
struct transfer_memory {
    static constexpr ULONG part = 8000; // bytes of a write
    static constexpr ULONG parts = 8;

    explicit transfer_memory(const cm_end& of)
        : mr(register_mr(of.pd, bytes.data(), bytes.size(), IB_AC_REMOTE | IB_AC_LOCAL_WRITE)) {}
    ~transfer_memory() { EXPECT_EQ(deregister_mr(mr), STATUS_SUCCESS); }
    transfer_memory(const transfer_memory&) = delete;
    transfer_memory& operator=(const transfer_memory&) = delete;

    ib_local_ds_t segment(ULONG number) {
        const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
        return {ULONGLONG{at} + ULONGLONG{number} * part, part, mr->LKey};
    }
    std::vector<UCHAR> bytes = std::vector<UCHAR>(std::size_t{part} * parts);
    IB_MR* mr;
};

void write_part(ULONG number, IB_QP* qp, IB_CQ* cq, transfer_memory& from, transfer_memory& to) {
    ib_local_ds_t source = from.segment(number);
    ib_send_wr_t write{};
    write.wr_id = number;
    write.wr_type = WR_RDMA_WRITE;
    write.send_opt = IB_SEND_OPT_SIGNALED;
    write.ds_array = &source;
    write.num_ds = 1;
    write.remote_ops = {to.segment(number).vaddr, 0, 0, to.mr->RKey};
    EXPECT_EQ(CiPostSend(qp, &write, nullptr), STATUS_SUCCESS);
    const IB_WC done = next_completion(cq);
    EXPECT_EQ(done.WrId, number);
    EXPECT_EQ(done.Status, ULONG{IB_WC_SUCCESS});
}

/// Loads every path that the peer requests, until the connection ends.
void respond_to_paths(const open_connection& link) {
    ib_cm_event_t event{};
    do {
        if (event.type == ULONG{IB_CM_EVENT_PATH_REQUESTED}) link.respond_path();
        verb_call next([&](IRP* irp) { return CmGetEvent(link, &event, irp); });
        EXPECT_TRUE(next.completes_within(500'000));
    } while (event.type == ULONG{IB_CM_EVENT_PATH_REQUESTED});
}

// Over a faulty cable the path is loaded by a request, or by LAPs of which some are cancelled; then
// the cable is pulled while bytes are written.
TEST(CmCampaign, PathMigrationInMidTransfer_LosesNoByte) {
    irpverbs::dispatch::explore_options options;
    options.random_runs = 300;
    options.pct_runs = 100;
    options.machine.step_limit = 2'000'000;
    expect_explored(options, [&](sim_machine& sim) {
        campaign_world world(sim);
        const sa_path_record_t second = world.ends.one.second_path_to(world.ends.two);
        const bool by_request = world.drawn(2) == 0;
        connected_pair pair(world.ends, IB_QPT_RELIABLE_CONN,
                            by_request ? std::optional(second) : std::nullopt);
        transfer_memory from(world.ends.one);
        transfer_memory to(world.ends.two);
        for (UCHAR& each : from.bytes)
            each = static_cast<UCHAR>(world.drawn(256));
        const auto is_armed = [&] {
            return cm_end::attributes(pair.active_qp).apm_state == IB_APM_ARMED &&
                   cm_end::attributes(pair.passive_qp).apm_state == IB_APM_ARMED;
        };
        std::atomic<bool> pulled{false};
        sim.spawn("passive", [&] { respond_to_paths(pair.passive); });
        sim.spawn("active", [&] {
            if (!by_request) world.make_faulty();
            bool loaded = by_request;
            for (int i = 0; i < 400 && !loaded; ++i) {
                pending_path load(pair.active, second);
                if (i < 4 && world.drawn(3) == 0) load.call.cancel();
                EXPECT_TRUE(load.call.completes_within(500'000)); // an MRA lets it wait for 69 s
                loaded = load.status() == STATUS_SUCCESS;
                let_pass_ms(1000);
            }
            EXPECT_TRUE(loaded);
            world.mend();
            for (int i = 0; i < 10 && !is_armed(); ++i)
                write_part(0, pair.active_qp, world.ends.one.cq, from, to);
            EXPECT_TRUE(is_armed());
            for (ULONG i = 0; i < transfer_memory::parts; ++i) {
                if (i == 3) world.stop = true;
                write_part(i, pair.active_qp, world.ends.one.cq, from, to);
            }
            while (!pulled)
                let_pass_ms(1);
            EXPECT_EQ(HcaSoftwareSetLink(world.hcas.guid(0), 1, TRUE), STATUS_SUCCESS);
            EXPECT_EQ(pair.active.disconnect().first, STATUS_SUCCESS);
        });
        sim.spawn("cable", [&] {
            while (!world.stop)
                let_pass_ms(1);
            EXPECT_EQ(HcaSoftwareSetLink(world.hcas.guid(0), 1, FALSE), STATUS_SUCCESS);
            pulled = true;
        });
        sim.run();
        EXPECT_EQ(from.bytes, to.bytes);
    });
}

/// How the calls of CmConnect ended, over all runs.
struct endings {
    int established = 0;
    int rejected = 0;
    int cancelled = 0;
};

/// One client connects and is cancelled or disconnects, one server accepts or rejects, at once.
void run_one_exchange(sim_machine& sim, bool rejects, LONGLONG cancelled_after, endings& all) {
    campaign_world world(sim);
    open_listener listener(world.ends.second);
    IB_QP* const active_qp = world.ends.one.make_qp();
    IB_QP* const passive_qp = world.ends.two.make_qp();
    connect_to wanted(active_qp, world.ends.one.path_to(world.ends.two));
    wanted.flags = IB_CM_ESTABLISH;
    pending_connect connect(world.ends.first, wanted);
    sim.spawn("canceller", [&] {
        LARGE_INTEGER due;
        due.QuadPart = -cancelled_after;
        if (cancelled_after != 0) KeDelayExecutionThread(KernelMode, FALSE, &due);
        connect.call.cancel();
    });
    sim.spawn("client", [&] {
        if (connect.status() != STATUS_SUCCESS) return;
        const open_connection link = connect.connection();
        EXPECT_EQ(link.disconnect().first, STATUS_SUCCESS);
    });
    sim.spawn("server", [&] {
        pending_request request(listener);
        const open_connection link = request.connection();
        if (link == nullptr) return;
        if (rejects)
            static_cast<void>(link.reject());
        else
            static_cast<void>(pending_accept(link, passive_qp).status());
    });
    sim.run();
    all.established += connect.status() == STATUS_SUCCESS ? 1 : 0;
    all.rejected += connect.status() == STATUS_REQUEST_NOT_ACCEPTED ? 1 : 0;
    all.cancelled += connect.status() == STATUS_CANCELLED ? 1 : 0;
    EXPECT_NE(cm_end::state(active_qp), ib_qp_state_t{IB_QPS_RTS});
    EXPECT_NE(cm_end::state(passive_qp), ib_qp_state_t{IB_QPS_RTS});
}

class CmExchange : public ::testing::TestWithParam<bool> {};

/// Cancels 0 to 7 us after the request; the exchange takes 6 us.
void explore_cancellation(bool rejects, LONGLONG time, std::uint32_t preemptions, endings& all) {
    irpverbs::dispatch::explore_options options;
    options.random_runs = options.pct_runs = 0;
    options.exhaustive_runs = 100'000;
    options.preemption_bound = preemptions;
    expect_exhausted(options, [&](sim_machine& sim) { run_one_exchange(sim, rejects, time, all); });
}

TEST_P(CmExchange, ConnectCancelDisconnectReject_EndUnderEverySchedule) {
    endings all;
    for (LONGLONG time = 0; time <= 70; time += 10)
        explore_cancellation(GetParam(), time, 0, all);
    for (const LONGLONG time : {20, 30}) // the cancellation meets the reply
        explore_cancellation(GetParam(), time, 1, all);
    EXPECT_GT(all.cancelled, 0);
    EXPECT_GT(GetParam() ? all.rejected : all.established, 0);
}
INSTANTIATE_TEST_SUITE_P(Server, CmExchange, ::testing::Values(false, true),
                         [](const auto& row) { return row.param ? "Rejects" : "Accepts"; });

} // namespace
