// Sessions with a path cache: the requests that they answer, and the events that invalidate
// entries.
#include "scripted_sa.hpp"
#include "trap_notices.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <dispatch/support/spin_lock.hpp>
#include <saa/async.hpp>

#include <map>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::explore_summary;
using irpverbs::dispatch::sim_machine;

constexpr ULONGLONG ticks_a_second = 10'000'000;

sa_path_record_t path_from_1_to(std::uint64_t guid) {
    sa_path_record_t record{};
    record.SGID = gid_of(1);
    record.DGID = gid_of(guid);
    return record;
}

struct cached_path_access : test_access<sa_path_record_t> {
    explicit cached_path_access(std::uint64_t to = 2, std::uint64_t components = path_ends)
        : test_access(SA_PATHRECORD_ATTRID, path_from_1_to(to), components) {}
};

/// A subnet whose paths have a version each: its SA returns the current one (in ServiceID) and
/// accepts subscriptions. Odd ports have no path.
struct versioned_sa {
    std::atomic<std::uint64_t> version{1};
    std::atomic<int> asked{0};  // requests for paths that may be cached
    std::atomic<int> silent{0}; // so many requests are not answered
    scripted_sa sa{[this](const sa_request& request) {
        if (request.header.attribute_id == SA_INFORMINFO_ATTRID)
            return sa_reply{.data = request.data};
        if ((request.sa.component_mask & SA_PR_COMPMASK_SGID) != 0) ++asked;
        if (silent > 0) {
            --silent;
            return sa_reply{.silent = true};
        }
        auto record = request.record<sa_path_record_t>();
        record.ServiceID = version;
        return (record.DGID.gid_guid & 1) == 0 ? table_of<sa_path_record_t>({record})
                                               : table_of<sa_path_record_t>({});
    }};

    int report_change(std::uint16_t trap_number = 65, std::uint64_t guid = 2) {
        ++version;
        return sa.report(trap_about(trap_number, gid_of(guid)));
    }
};

/// A session with a path cache, whose port gets the SA's Reports.
struct remembering_session : session_scope {
    remembering_session() : session_scope(nullptr, IBMF_SAA_SESSION_CACHED_PATHS) {}

    ibmf_saa_path_cache_stats_t cached() const {
        ibmf_saa_path_cache_stats_t stats{};
        EXPECT_EQ(ibmf_saa_query_path_cache(handle, &stats), IBMF_SUCCESS);
        return stats;
    }
    /// Returns when responses are cached: the SA has accepted the subscriptions.
    void await_hearing() const {
        while (cached().pc_subscribed == 0) {
            cached_path_access another(2, SA_PR_COMPMASK_DGID);
            EXPECT_EQ(another.ask(*this), IBMF_SUCCESS);
        }
    }
    std::uint64_t version_of(std::uint64_t guid = 2) const {
        cached_path_access access(guid);
        EXPECT_EQ(access.ask(*this), IBMF_SUCCESS);
        return access.records().at(0).ServiceID;
    }
};

/// An SA, and a session with a path cache.
struct remembering_world {
    remembering_world() { session.await_hearing(); }

    wire joined;
    versioned_sa sa;
    const remembering_session session;
};

struct CachedPaths : BothMachines, remembering_world {};

struct simulator {
    irpverbs::dispatch::random_choices chance{1};
    sim_machine machine{chance};
    const irpverbs::dispatch::machine::scope inside{machine};
};

struct CachedPathExpiry : ::testing::Test, simulator, remembering_world {};

// Lets virtual time pass.
void let_pass(ULONGLONG ticks) {
    LARGE_INTEGER due;
    due.QuadPart = -static_cast<LONGLONG>(ticks);
    KeDelayExecutionThread(KernelMode, FALSE, &due);
}

TEST_P(CachedPaths, RepeatedQuery_ServedFromCache) {
    EXPECT_EQ(session.version_of(), 1u);
    EXPECT_EQ(session.version_of(), 1u);
    cached_path_access with_callback;
    EXPECT_EQ(with_callback.begin(session), IBMF_SUCCESS);
    EXPECT_EQ(with_callback.status(), IBMF_SUCCESS);
    EXPECT_EQ(with_callback.records().at(0).DGID.gid_guid, 2u);
    EXPECT_EQ(sa.asked, 1);
    EXPECT_EQ(session.cached().pc_hits, 2u);
    EXPECT_EQ(session.cached().pc_misses, 1u);
    EXPECT_EQ(session.cached().pc_entries, 1u);
    EXPECT_EQ(session.stats().ss_waiting, 0u);
}

// A cache hit completes within the call: callbacks that send further requests must not nest.
TEST_P(CachedPaths, NoOffloadCacheHits_CallbacksDoNotNest) {
    const session_scope direct(nullptr,
                               IBMF_SAA_SESSION_CACHED_PATHS | IBMF_SAA_SESSION_NO_OFFLOAD);
    session.version_of();
    std::vector<cached_path_access> all(200);
    KSPIN_LOCK lock = 0;
    std::map<const void*, int> depth;
    const auto enter = [&](int by) {
        const irpverbs::dispatch::detail::spin_guard locked(lock);
        return depth[&irpverbs::dispatch::detail::this_processor()] += by;
    };
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i].inside = [&, i] {
            EXPECT_EQ(enter(1), 1);
            if (i + 1 < all.size()) {
                EXPECT_EQ(all[i + 1].begin(direct), IBMF_SUCCESS);
            }
            enter(-1);
        };
    EXPECT_EQ(all.front().begin(direct), IBMF_SUCCESS);
    for (cached_path_access& each : all)
        EXPECT_EQ(each.status(), IBMF_SUCCESS);
    EXPECT_EQ(sa.asked, 1);
}

// A lookup without an access returns at once, also at DISPATCH_LEVEL.
TEST_P(CachedPaths, LookupCachedPaths_SucceedsAtDispatchLevel) {
    const session_scope forgetful;
    const sa_path_record_t wanted = path_from_1_to(2);
    sa_path_record_t path{};
    const auto recall = [&](const session_scope& by, const sa_path_record_t& of, uint_t places) {
        const at_dispatch_level up;
        const int status = ibmf_saa_lookup_cached_paths(by.handle, &of, path_ends, &places, &path);
        EXPECT_EQ(places, status == IBMF_SUCCESS ? 1u : 0u);
        return status;
    };
    EXPECT_EQ(recall(session, wanted, 1), IBMF_FAILURE);
    session.version_of();
    EXPECT_EQ(recall(session, wanted, 0), IBMF_SUCCESS);
    EXPECT_EQ(path.DGID.gid_guid, 0u); // there was no room
    EXPECT_EQ(recall(session, wanted, 1), IBMF_SUCCESS);
    EXPECT_EQ(path.DGID.gid_guid, 2u);
    EXPECT_EQ(sa.asked, 1);
    cached_path_access none(3);
    EXPECT_EQ(none.ask(session), IBMF_NO_RECORDS);
    EXPECT_EQ(recall(session, path_from_1_to(3), 1), IBMF_NO_RECORDS);
    EXPECT_EQ(recall(forgetful, wanted, 1), IBMF_NOT_SUPPORTED);
    uint_t places = 1;
    EXPECT_EQ(ibmf_saa_lookup_cached_paths(session.handle, nullptr, path_ends, &places, &path),
              IBMF_INVALID_ARG);
    EXPECT_EQ(
        irpverbs::saa::lookup_cached_paths(session.handle, {wanted, path_ends}, {&path, 1}).count,
        1u);
    EXPECT_EQ(sa.report_change(), IBMF_SUCCESS);
    EXPECT_EQ(recall(session, wanted, 1), IBMF_FAILURE);
}

TEST_P(CachedPaths, SessionWithoutCachedPaths_QueriesSa) {
    const session_scope other;
    session.version_of();
    cached_path_access access;
    EXPECT_EQ(access.ask(other), IBMF_SUCCESS);
    EXPECT_EQ(sa.asked, 2);
    EXPECT_EQ(ibmf_saa_query_path_cache(other.handle, nullptr), IBMF_INVALID_ARG);
}

// No event reports a change of paths by LID, so these requests are not cached.
TEST_P(CachedPaths, QueryWithoutBothGids_SentToSa) {
    for (int i = 0; i < 2; ++i) {
        cached_path_access access(2, SA_PR_COMPMASK_DGID);
        EXPECT_EQ(access.ask(session), IBMF_SUCCESS);
    }
    EXPECT_EQ(session.cached().pc_misses, 0u);
    EXPECT_EQ(session.cached().pc_entries, 0u);
}

TEST_P(CachedPaths, GidEvent_AffectedPathsQueriedAgain) {
    EXPECT_EQ(session.version_of(2), 1u);
    EXPECT_EQ(session.version_of(4), 1u);
    // the client answered, so it has received the Report
    EXPECT_EQ(sa.report_change(65, 2), IBMF_SUCCESS);
    EXPECT_EQ(session.version_of(2), 2u);
    EXPECT_EQ(session.version_of(4), 1u);
    EXPECT_EQ(sa.report_change(64, 4), IBMF_SUCCESS);
    EXPECT_EQ(session.version_of(4), 3u);
    EXPECT_EQ(session.cached().pc_gid_out_of_service, 1u);
    EXPECT_EQ(session.cached().pc_gid_in_service, 1u);
}

TEST_P(CachedPaths, PortEvent_InvalidatesAllPaths) {
    session.version_of();
    ++sa.version;
    HcaReportPortEvent(joined.fdo(0), 1, IB_AE_PKEY_CHANGE);
    EXPECT_EQ(session.version_of(), 2u);
    EXPECT_EQ(session.cached().pc_pkey_change, 1u);
}

// A negative entry lasts for a short time, or until its port appears.
TEST_F(CachedPathExpiry, EntryLifetimeExpired_QueriedAgain) {
    const auto ask_for_none = [&] {
        cached_path_access none(3);
        EXPECT_EQ(none.ask(session), IBMF_NO_RECORDS);
    };
    ask_for_none();
    ask_for_none();
    EXPECT_EQ(sa.asked, 1);
    let_pass(3 * ticks_a_second);
    ask_for_none();
    EXPECT_EQ(sa.asked, 2);
    EXPECT_EQ(sa.report_change(64, 3), IBMF_SUCCESS);
    ask_for_none();
    EXPECT_EQ(sa.asked, 3);
    session.version_of();
    let_pass(299 * ticks_a_second);
    session.version_of();
    EXPECT_EQ(sa.asked, 4);
    let_pass(2 * ticks_a_second);
    session.version_of();
    EXPECT_EQ(sa.asked, 5);
}

// The request before the event is still outstanding when an equal one follows the event: they must
// not share a response, and the older response must not be cached.
TEST_F(CachedPathExpiry, QueryAfterEvent_NotMergedWithEarlierQuery) {
    sa.silent = 1; // the first retry gets the response
    cached_path_access before;
    EXPECT_EQ(before.begin(session), IBMF_SUCCESS);
    while (sa.asked == 0)
        let_pass(1000);
    EXPECT_EQ(sa.report_change(), IBMF_SUCCESS);
    cached_path_access after;
    EXPECT_EQ(after.begin(session), IBMF_SUCCESS);
    EXPECT_EQ(after.status(), IBMF_SUCCESS);
    EXPECT_EQ(session.stats().ss_merged, 0u);
    EXPECT_EQ(before.status(), IBMF_SUCCESS);
    EXPECT_EQ(session.cached().pc_late_responses, 1u);
}

explore_options racing_runs() {
    explore_options options;
    options.random_runs = 300;
    options.pct_runs = 150;
    return options;
}

// Once the client has acknowledged the Report of a change, no caller gets an older path, whatever
// else is outstanding, late, lost or duplicated.
TEST(CachedPathRaces, PathInvalidatedByEvent_NeverReturned) {
    std::uint64_t hits = 0;
    const explore_summary seen = expect_explored(racing_runs(), [&](sim_machine& sim) {
        remembering_world world;
        versioned_sa& sa = world.sa;
        const remembering_session& session = world.session;
        world.joined.set_faults({20, 20, 5000});
        std::atomic<std::uint64_t> reported{0};
        const auto ask = [&] {
            for (int i = 0; i < 5; ++i) {
                const std::uint64_t known = reported;
                cached_path_access access;
                if (access.ask(session) == IBMF_SUCCESS) {
                    EXPECT_GE(access.records().at(0).ServiceID, known);
                }
            }
        };
        sim.spawn("one asks", ask);
        sim.spawn("another asks", ask);
        sim.spawn("reports", [&] {
            for (int i = 0; i < 3; ++i) {
                const std::uint64_t changed = sa.version + 1;
                if (sa.report_change() == IBMF_SUCCESS) reported = changed;
            }
        });
        sim.run();
        hits += session.cached().pc_hits;
    });
    EXPECT_GT(hits, seen.runs() / 5) << "a run without hits tests nothing";
}

// A cache hit races with the end of its session.
TEST(CachedPathRaces, SessionClosedDuringHit_NoCallbackAfterClose) {
    expect_explored(racing_runs(), [](sim_machine& sim) {
        const wire joined;
        versioned_sa sa;
        remembering_session session;
        session.await_hearing();
        session.version_of();
        bool closed = false;
        int begun = IBMF_FAILURE;
        cached_path_access asked;
        asked.inside = [&] { EXPECT_FALSE(closed); };
        sim.spawn("asks", [&] { begun = asked.begin(session); });
        sim.spawn("closes", [&] {
            EXPECT_EQ(ibmf_sa_session_close(&session.handle, 0), IBMF_SUCCESS);
            closed = true;
        });
        sim.run();
        EXPECT_TRUE(begun == IBMF_SUCCESS || begun == IBMF_BAD_HANDLE);
        EXPECT_EQ(asked.calls(), begun == IBMF_SUCCESS ? 1 : 0);
    });
}

IRPVERBS_ON_BOTH_MACHINES(CachedPaths);

} // namespace
