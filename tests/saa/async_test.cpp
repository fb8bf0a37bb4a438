// The C++ wrappers: completion values, deadlines, cancellation slots, coroutines.
#include "scripted_sa.hpp"

#include <saa/async.hpp>

#include <support/both_machines.hpp>
#include <support/coroutines.hpp>
#include <support/explore_gtest.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace {

using namespace irpverbs::testing;
namespace saa = irpverbs::saa;
namespace irp = irpverbs::irp;
using boost::asio::awaitable;
using boost::asio::use_awaitable;
using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::sim_machine;
using paths_found = saa::found<sa_path_record_t>;

class SaAsync : public BothMachines {};

sa_reply one_path(const sa_request&) { return table_of<sa_path_record_t>({path_to(7, 1)}); }

const saa::path_criteria criteria{.sgid = gid_of(0x10), .dgid = gid_of(0x20), .max_paths = 1};

// The most common use, complete.
TEST_P(SaAsync, PathQueryInCoroutine_ReturnsRecords) {
    const wire joined;
    scripted_sa sa([](const sa_request&) {
        return table_of<sa_path_record_t>({path_to(7, 1), path_to(7, 2), path_to(8, 3)});
    });
    run_to_end(machine(), [&]() -> awaitable<void> {
        const auto opened = co_await saa::session_open(wire::guids[0], 0, {}, 0, use_awaitable);
        EXPECT_EQ(opened.status, IBMF_SUCCESS);
        const auto here = co_await saa::paths(opened.handle, criteria, use_awaitable);
        EXPECT_EQ(here.status, IBMF_SUCCESS);
        EXPECT_EQ(here.records.size(), 1u);
        EXPECT_EQ(here.records[0].DLID, 1);
        const auto all =
            co_await saa::paths_from_gid(opened.handle, gid_of(0x10), 0, true, 0, use_awaitable);
        EXPECT_EQ(all.records.size(), 2u);
        EXPECT_EQ(co_await saa::session_close(opened.handle, use_awaitable), IBMF_SUCCESS);
    });
}

TEST_P(SaAsync, AsyncServiceHelpers_SendExpectedComponents) {
    const wire joined;
    std::vector<std::uint64_t> masks;
    scripted_sa sa([&](const sa_request& request) {
        masks.push_back(request.sa.component_mask);
        sa_reply reply = table_of<sa_service_record_t>({service_42()});
        if (request.header.method != SA_SUBN_ADM_GET_TABLE) reply.attribute_offset = 0;
        return reply;
    });
    const session_scope session;
    call_result<saa::found<sa_service_record_t>> endings[4];
    saa::name_to_service_record(session.handle, "svc", 0, 0, endings[0].handler());
    EXPECT_EQ(endings[0].result().status, IBMF_SUCCESS);
    saa::id_to_service_record(session.handle, 42, 0, 0, endings[1].handler());
    EXPECT_EQ(endings[1].result().status, IBMF_SUCCESS);
    saa::update_service_record(session.handle, {}, IBMF_SAA_UPDATE, 0, endings[2].handler());
    EXPECT_EQ(endings[2].result().status, IBMF_SUCCESS);
    saa::update_service_record(session.handle, {}, IBMF_SAA_DELETE, 0, endings[3].handler());
    EXPECT_EQ(endings[3].result().status, IBMF_SUCCESS);
    for (auto& each : endings)
        EXPECT_EQ(each.result().records[0].ServiceID, 42u);
    EXPECT_EQ(masks, (std::vector<std::uint64_t>{SA_SR_COMPMASK_NAME, SA_SR_COMPMASK_ID,
                                                 0x1FFFFFFFF7u, 0x27u}));
}

TEST_P(SaAsync, InvalidRequest_CompletesWithItsStatus) {
    const wire joined;
    call_result<paths_found> refused;
    saa::paths(nullptr, criteria, refused.handler());
    EXPECT_EQ(refused.result().status, IBMF_BAD_HANDLE);
    EXPECT_EQ(refused.status(), STATUS_INVALID_HANDLE);
    call_result<saa::opened_session> no_port;
    saa::session_open(0x1234, 0, {}, 0, no_port.handler());
    EXPECT_EQ(no_port.result().status, IBMF_BAD_PORT);
}

// One of the accesses that share a request is cancelled, the other is not.
TEST_P(SaAsync, DeadlineOrCancellation_EndsOneMergedAccessOnly) {
    wire joined;
    scripted_sa sa(one_path);
    std::atomic<bool> open{false};
    joined.tap = [&](unsigned from, const auto&) { return from == 0 || open.load(); };
    const session_scope session;
    call_result<paths_found> late;
    call_result<paths_found> cancelled;
    call_result<paths_found> patient;
    boost::asio::cancellation_signal signal;
    saa::paths(session.handle, criteria, patient.handler());
    saa::paths(session.handle, criteria, irp::within(std::chrono::milliseconds(5), late.handler()));
    saa::paths(session.handle, criteria,
               boost::asio::bind_cancellation_slot(signal.slot(), cancelled.handler()));
    EXPECT_EQ(session.stats().ss_merged, 2u);
    signal.emit(boost::asio::cancellation_type::all);
    EXPECT_EQ(cancelled.result().status, IBMF_TRANS_FAILURE);
    EXPECT_EQ(cancelled.status(), STATUS_CANCELLED);
    EXPECT_EQ(late.result().status, IBMF_TRANS_FAILURE);
    EXPECT_EQ(late.status(), STATUS_IO_TIMEOUT);
    EXPECT_FALSE(patient.done());
    open = true;
    EXPECT_EQ(patient.result().status, IBMF_SUCCESS);
    EXPECT_EQ(session.stats().ss_cancelled, 0u);
}

IRPVERBS_ON_BOTH_MACHINES(SaAsync);

// A cancellation and the response race: each of the equal accesses ends once, and independently.
TEST(SaAsyncRaces, MergedAccessCancelled_OtherCompletes) {
    explore_options options;
    options.random_runs = 400;
    options.pct_runs = 200;
    irpverbs::testing::expect_explored(options, [](sim_machine& sim) {
        const wire joined({0, 0, 100});
        scripted_sa sa(one_path);
        const session_scope session;
        call_result<paths_found> kept;
        call_result<paths_found> withdrawn;
        boost::asio::cancellation_signal signal;
        boost::asio::post(sim.context(), [&] {
            saa::paths(session.handle, criteria,
                       boost::asio::bind_cancellation_slot(signal.slot(), withdrawn.handler()));
        });
        boost::asio::post(sim.context(), [&] { signal.emit(boost::asio::cancellation_type::all); });
        sim.spawn("asks too", [&] { saa::paths(session.handle, criteria, kept.handler()); });
        sim.run();
        EXPECT_EQ(kept.result().status, IBMF_SUCCESS);
        EXPECT_TRUE(withdrawn.result().status == IBMF_SUCCESS ||
                    withdrawn.status() == STATUS_CANCELLED);
        EXPECT_EQ(session.stats().ss_waiting, 0u);
    });
}

} // namespace
