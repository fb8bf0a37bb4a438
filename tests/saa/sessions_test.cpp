// Sessions: the permitted ones, and the effect of a close on their accesses.
#include "scripted_sa.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::sim_machine;

class SaSessions : public BothMachines {};

sa_node_record_t node_at(ib_lid_t lid) {
    sa_node_record_t record{};
    record.LID = lid;
    return record;
}

struct node_access : test_access<sa_node_record_t> {
    explicit node_access(ib_lid_t lid = 1)
        : test_access(SA_NODERECORD_ATTRID, node_at(lid), SA_NODEINFO_COMPMASK_NODELID) {}
};

sa_reply one_node(const sa_request&) { return table_of<sa_node_record_t>({node_at(5)}); }
sa_reply silence(const sa_request&) { return {.silent = true}; }

int try_open(ib_guid_t port, uint_t version = IBMF_VERSION, uint_t flags = 0) {
    ibmf_saa_handle_t handle = nullptr;
    const int status = ibmf_sa_session_open(port, 0, nullptr, version, flags, &handle);
    if (status == IBMF_SUCCESS) {
        EXPECT_EQ(ibmf_sa_session_close(&handle, 0), IBMF_SUCCESS);
    }
    return status;
}

TEST_P(SaSessions, InvalidArgumentsOrPort_OpenFails) {
    wire joined;
    ibmf_saa_subnet_event_args_t no_callback{};
    ibmf_saa_handle_t handle = nullptr;
    EXPECT_EQ(ibmf_sa_session_open(wire::guids[0], 0, nullptr, IBMF_VERSION, 0, nullptr),
              IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_sa_session_open(wire::guids[0], 0, &no_callback, IBMF_VERSION, 0, &handle),
              IBMF_INVALID_ARG);
    EXPECT_EQ(try_open(wire::guids[0], 2), IBMF_BAD_VERSION);
    EXPECT_EQ(try_open(wire::guids[0], 1, 0x80), IBMF_INVALID_ARG);
    EXPECT_EQ(try_open(0x1234), IBMF_BAD_PORT);
    joined.set_state(0, IB_PORT_INIT);
    EXPECT_EQ(try_open(wire::guids[0]), IBMF_BAD_PORT_STATE);
    joined.set_state(0, IB_PORT_ACTIVE);
    EXPECT_EQ(try_open(wire::guids[0]), IBMF_SUCCESS);
}

TEST_P(SaSessions, NoOffload_CallbackRunsAtDispatchLevel) {
    const wire joined;
    scripted_sa sa(one_node);
    const session_scope session(nullptr, IBMF_SAA_SESSION_NO_OFFLOAD);
    node_access access;
    access.highest = DISPATCH_LEVEL;
    ibmf_saa_handle_t handle = session.handle;
    access.inside = [&] { EXPECT_EQ(ibmf_sa_session_close(&handle, 0), IBMF_INVALID_ARG); };
    EXPECT_EQ(access.begin(session), IBMF_SUCCESS);
    EXPECT_EQ(access.status(), IBMF_SUCCESS);
    EXPECT_EQ(access.level(), DISPATCH_LEVEL);
    EXPECT_EQ(access.records().at(0).LID, 5);
}

TEST_P(SaSessions, ClosedHandle_ReturnsBadHandle) {
    const wire joined;
    ibmf_saa_handle_t stale = nullptr;
    {
        const session_scope gone;
        stale = gone.handle;
    }
    const session_scope other; // at the same address
    ibmf_saa_handle_t copy = stale;
    ibmf_saa_stats_t stats;
    EXPECT_NE(other.handle, stale);
    EXPECT_EQ(ibmf_sa_session_close(&copy, 0), IBMF_BAD_HANDLE);
    EXPECT_EQ(ibmf_saa_query_stats(stale, &stats), IBMF_BAD_HANDLE);
    EXPECT_EQ(ibmf_sa_session_close(nullptr, 0), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_sa_session_close(&copy, 1), IBMF_INVALID_ARG);
}

TEST_P(SaSessions, HundredSessionsOnPort_NextOpenReturnsBusy) {
    const wire joined;
    scripted_sa sa(one_node);
    std::vector<std::unique_ptr<session_scope>> all;
    for (unsigned i = 0; i < 100; ++i)
        all.push_back(std::make_unique<session_scope>());
    EXPECT_EQ(try_open(wire::guids[0]), IBMF_BUSY);
    EXPECT_EQ(all[0]->stats().ss_sessions, 100u);
    all.pop_back();
    EXPECT_EQ(try_open(wire::guids[0]), IBMF_SUCCESS);
    EXPECT_EQ(node_access().ask(*all[50]), IBMF_SUCCESS);
}

// Another client has registered the class exclusively.
TEST_P(SaSessions, ManagerClassRegisteredExclusively_ReturnsNoResources) {
    const wire joined;
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    EXPECT_EQ(try_open(wire::guids[0]), IBMF_NO_RESOURCES);
}

TEST_P(SaSessions, DriverRefusesRegistration_OpenReturnsItsStatus) {
    wire joined;
    for (const auto& [driver_status, status] :
         {std::pair{STATUS_INSUFFICIENT_RESOURCES, IBMF_NO_RESOURCES},
          {STATUS_SHARING_VIOLATION, IBMF_NO_RESOURCES},
          {STATUS_IO_DEVICE_ERROR, IBMF_TRANSPORT_FAILURE}}) {
        joined.fail_registrations(driver_status);
        EXPECT_EQ(try_open(wire::guids[0]), status);
    }
    joined.fail_registrations(STATUS_SUCCESS);
    EXPECT_EQ(try_open(wire::guids[0]), IBMF_SUCCESS);
}

TEST_P(SaSessions, CloseWithPendingAccesses_CallbacksRunBeforeReturn) {
    const wire joined;
    scripted_sa sa(silence);
    node_access first(1);
    node_access second(2);
    node_access of_another(1);
    session_scope other;
    {
        session_scope session;
        ibmf_saa_limit_port(session.handle, 1);
        EXPECT_EQ(first.begin(session), IBMF_SUCCESS);
        EXPECT_EQ(second.begin(session), IBMF_SUCCESS);
        EXPECT_EQ(of_another.begin(other), IBMF_SUCCESS);
    }
    EXPECT_EQ(first.calls(), 1);
    EXPECT_EQ(second.calls(), 1);
    EXPECT_EQ(of_another.calls(), 0);
    EXPECT_EQ(first.status(), IBMF_TRANS_FAILURE);
    EXPECT_EQ(second.status(), IBMF_TRANS_FAILURE);
    EXPECT_EQ(ibmf_sa_session_close(&other.handle, 0), IBMF_SUCCESS);
    EXPECT_EQ(of_another.calls(), 1);
}

TEST_P(SaSessions, CallbackClosesOwnSession_Succeeds) {
    const wire joined;
    scripted_sa sa(one_node);
    session_scope session;
    node_access access;
    access.inside = [&] { EXPECT_EQ(ibmf_sa_session_close(&session.handle, 0), IBMF_SUCCESS); };
    EXPECT_EQ(access.begin(session), IBMF_SUCCESS);
    EXPECT_EQ(access.status(), IBMF_SUCCESS);
    EXPECT_EQ(session.handle, nullptr);
}

TEST_P(SaSessions, FatalEvent_PendingAccessFails) {
    const wire joined;
    scripted_sa sa(silence);
    session_scope session;
    node_access access;
    EXPECT_EQ(access.begin(session), IBMF_SUCCESS);
    HcaReportFatal(joined.fdo(0));
    EXPECT_EQ(access.status(), IBMF_TRANS_FAILURE);
    EXPECT_EQ(node_access().ask(session), IBMF_BAD_PORT_STATE);
}

IRPVERBS_ON_BOTH_MACHINES(SaSessions);

explore_options session_campaign() {
    explore_options options;
    options.random_runs = 400;
    options.pct_runs = 200;
    return options;
}

// The response, the close and the other session's request race: each access ends once, and a
// session's callbacks end with its close.
TEST(SaSessionRaces, SessionClosedDuringResponses_OtherSessionCompletes) {
    expect_explored(session_campaign(), [](sim_machine& sim) {
        const wire joined({0, 0, 200});
        scripted_sa sa(one_node);
        session_scope kept;
        session_scope closed;
        bool is_closed = false;
        node_access equal(1);
        node_access own(2);
        node_access of_kept(1);
        for (node_access* each : {&equal, &own})
            each->inside = [&] { EXPECT_FALSE(is_closed); };
        sim.spawn("asks", [&] {
            of_kept.begin(kept);
            EXPECT_TRUE(equal.begin(closed) == IBMF_SUCCESS || equal.calls() == 0);
            own.begin(closed);
        });
        sim.spawn("closes", [&] {
            EXPECT_EQ(ibmf_sa_session_close(&closed.handle, 0), IBMF_SUCCESS);
            is_closed = true;
        });
        sim.run();
        EXPECT_EQ(of_kept.calls(), 1);
        EXPECT_EQ(of_kept.status(), IBMF_SUCCESS);
        EXPECT_LE(equal.calls(), 1);
        EXPECT_LE(own.calls(), 1);
        EXPECT_EQ(kept.stats().ss_waiting, 0u);
    });
}

TEST(SaSessionRaces, LossAndClose_EachAccessCompletesOnce) {
    expect_explored(session_campaign(), [](sim_machine& sim) {
        const wire joined({6, 6, 3'000});
        scripted_sa sa(one_node);
        session_scope session;
        std::vector<std::unique_ptr<node_access>> all;
        std::vector<bool> begun(5);
        for (ib_lid_t i = 0; i < 5; ++i)
            all.push_back(std::make_unique<node_access>(i / 2));
        sim.spawn("asks", [&] {
            for (unsigned i = 0; i < 5; ++i)
                begun[i] = all[i]->begin(session) == IBMF_SUCCESS;
        });
        if (sim.source().fires("close early", 2))
            sim.spawn("closes", [&] { ibmf_sa_session_close(&session.handle, 0); });
        sim.run();
        for (unsigned i = 0; i < 5; ++i)
            EXPECT_EQ(all[i]->calls(), begun[i] ? 1 : 0);
    });
}

TEST(SaSessionRaces, ConcurrentCloses_ExactlyOneSucceeds) {
    expect_explored(session_campaign(), [](sim_machine& sim) {
        const wire joined;
        scripted_sa sa(silence);
        session_scope session;
        node_access access;
        EXPECT_EQ(access.begin(session), IBMF_SUCCESS);
        int closed = 0;
        ibmf_saa_handle_t copies[2] = {session.handle, session.handle};
        for (ibmf_saa_handle_t& each : copies)
            sim.spawn("close", [&] {
                const int status = ibmf_sa_session_close(&each, 0);
                EXPECT_TRUE(status == IBMF_SUCCESS || status == IBMF_BAD_HANDLE);
                if (status == IBMF_SUCCESS) ++closed;
            });
        sim.run();
        EXPECT_EQ(closed, 1);
        EXPECT_EQ(access.calls(), 1);
        session.handle = nullptr;
    });
}

TEST(SaSessionRaces, HcaFailsDuringUse_EachAccessCompletesOnce) {
    expect_explored(session_campaign(), [](sim_machine& sim) {
        const wire joined;
        scripted_sa sa(one_node);
        session_scope session;
        node_access access;
        bool begun = false;
        ibmf_saa_handle_t late = nullptr;
        sim.spawn("ask", [&] { begun = access.begin(session) == IBMF_SUCCESS; });
        sim.spawn("open", [&] {
            ibmf_sa_session_open(wire::guids[0], 0, nullptr, IBMF_VERSION, 0, &late);
        });
        sim.spawn("fail", [&] { HcaReportFatal(joined.fdo(0)); });
        if (sim.source().fires("close early", 2))
            sim.spawn("close", [&] { ibmf_sa_session_close(&session.handle, 0); });
        sim.run();
        EXPECT_EQ(access.calls(), begun ? 1 : 0);
        if (late != nullptr) {
            EXPECT_EQ(ibmf_sa_session_close(&late, 0), IBMF_SUCCESS);
        }
    });
}

} // namespace
