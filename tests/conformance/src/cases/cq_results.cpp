// Polls without an IRP: CiGetCqResults.
#include "completions.hpp"

namespace irpverbs::conformance {

namespace cq_results_group {
namespace {

// A driver may serve a client that polls repeatedly by another path than one that polls rarely.
constexpr unsigned again_and_again = 100;

void poll_in_vain(IB_CQ* queue) {
    for (unsigned i = 0; i < again_and_again; ++i)
        EXPECT_EQ(get_results(queue, 2), ids{});
}

void empty_queue_returns_zero(world& here) {
    const ca opened(here);
    const cq queue(opened.get());
    poll_in_vain(queue);
    const cq_results none(queue, 0, nullptr);
    EXPECT_STATUS(none.status, STATUS_SUCCESS);
    EXPECT_EQ(none.taken, 0u);
}

void expect_equal(const IB_WC& one, const IB_WC& other) {
    EXPECT_EQ(one.WrId, other.WrId);
    EXPECT_EQ(one.Status, other.Status);
    EXPECT_EQ(one.Opcode, other.Opcode);
    EXPECT_EQ(one.VendorError, other.VendorError);
    EXPECT_EQ(one.ByteCount, other.ByteCount);
    EXPECT_EQ(one.Immediate, other.Immediate);
    EXPECT_EQ(one.QpNumber, other.QpNumber);
    EXPECT_EQ(one.SourceQp, other.SourceQp);
    EXPECT_EQ(one.Flags, other.Flags);
    EXPECT_EQ(one.PKeyIndex, other.PKeyIndex);
    EXPECT_EQ(one.SourceLid, other.SourceLid);
    EXPECT_EQ(one.ServiceLevel, other.ServiceLevel);
    EXPECT_EQ(one.PathBits, other.PathBits);
}

void many_entries_returned_as_by_poll_cq(world& here) {
    const ca opened(here);
    const cq one(opened.get(), 3);
    const cq other(opened.get(), 3);
    const auto compare = [&] {
        for (const IB_WC& each : {entry(1), entry(2, 0, IB_WC_FLUSHED), entry(3)})
            for (const cq* into : {&one, &other})
                EXPECT_STATUS(here.complete(*into, each), STATUS_SUCCESS);
        std::vector<IB_WC> polled(3);
        ASSERT_EQ(must(poll_cq(other, 3, polled.data())), 3u);
        const std::vector<IB_WC> got = results(one, 3);
        ASSERT_EQ(got.size(), 3u);
        for (std::size_t i = 0; i < got.size(); ++i)
            expect_equal(got[i], polled[i]);
    };
    compare();
    poll_in_vain(one);
    compare();
}

void alternates_with_poll_cq_no_entry_lost(world& here) {
    const ca opened(here);
    const cq queue(opened.get(), 4);
    for (std::uint64_t round = 0; round < 30; ++round) {
        for (std::uint64_t i = 0; i < 4; ++i)
            EXPECT_STATUS(here.complete(queue, entry(10 * round + i)), STATUS_SUCCESS);
        EXPECT_EQ(get_results(queue, 1), (ids{10 * round}));
        EXPECT_EQ(poll(queue, 1), (ids{10 * round + 1}));
        IB_CQ_ATTR attr{};
        EXPECT_STATUS(status_of(query_cq(queue, &attr, sizeof(attr))), STATUS_SUCCESS);
        EXPECT_EQ(attr.Filled, 2u);
        EXPECT_EQ(get_results(queue, 9), (ids{10 * round + 2, 10 * round + 3}));
    }
}

void fewer_requested_rest_stays_queued(world& here) {
    const ca opened(here);
    const cq queue(opened.get(), 4);
    poll_in_vain(queue);
    for (std::uint64_t id = 1; id <= 3; ++id)
        EXPECT_STATUS(here.complete(queue, entry(id)), STATUS_SUCCESS);
    std::vector<IB_WC> room(4, entry(77));
    EXPECT_EQ(cq_results(queue, 2, room.data()).taken, 2u);
    EXPECT_EQ(room[1].WrId, 2u);
    EXPECT_EQ(room[2].WrId, 77u) << "written to beyond NumEntries";
    EXPECT_EQ(cq_results(queue, ~0u, room.data()).taken, 1u);
    EXPECT_EQ(room[0].WrId, 3u);
}

void null_arguments_return_invalid_parameter(world& here) {
    const ca opened(here);
    const cq queue(opened.get());
    IB_WC to{};
    for (const auto& [of, into] :
         {std::pair<IB_CQ*, IB_WC*>{nullptr, &to}, {queue.get(), nullptr}}) {
        const cq_results refused(of, 1, into);
        EXPECT_STATUS(refused.status, STATUS_INVALID_PARAMETER);
        EXPECT_EQ(refused.taken, 0u);
    }
}

void dispatch_level_succeeds(world& here) {
    const ca opened(here);
    const cq queue(opened.get());
    for (std::uint64_t id = 0; id < again_and_again; ++id) {
        EXPECT_STATUS(here.complete(queue, entry(id)), STATUS_SUCCESS);
        const at_dispatch_level raised;
        EXPECT_EQ(get_results(queue, 2), ids{id});
        EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
    }
}

void fatal_event_returns_forced_closed(world& here) {
    const ca opened(here);
    const cq queue(opened.get());
    const cq fresh(opened.get());
    poll_in_vain(queue);
    here.fail();
    must(get_fatal_event(opened));
    IB_WC to{};
    for (IB_CQ* of : {queue.get(), fresh.get()})
        for (IB_WC* into : {&to, static_cast<IB_WC*>(nullptr)}) {
            const cq_results refused(of, 1, into);
            EXPECT_STATUS(refused.status, STATUS_FILE_FORCED_CLOSED);
            EXPECT_EQ(refused.taken, 0u);
        }
}

/// Entries that are inserted during `other` are removed in their order.
template <class Other>
void meets(world& here, const Other& other) {
    const ca opened(here);
    const cq queue(opened.get(), 4);
    poll_in_vain(queue);
    here.complete(queue, entry(1));
    ids taken;
    const auto take = [&] {
        for (const std::uint64_t each : get_results(queue, 1))
            taken.push_back(each);
    };
    world::together({[&] {
                         take();
                         take();
                     },
                     [&] { other(queue); },
                     [&] {
                         here.complete(queue, entry(2));
                         here.complete(queue, entry(3));
                     }});
    while (taken.size() < 3) {
        const std::size_t before = taken.size();
        take();
        ASSERT_GT(taken.size(), before) << "an entry is lost";
    }
    EXPECT_EQ(taken, (ids{1, 2, 3}));
}

void races_with_arm_cq_no_entry_lost(world& here) {
    meets(here, [](IB_CQ* queue) { verb_call(arm_cq(queue, IB_CQ_ARM_NEXT)); });
}

void races_with_resize_no_entry_lost(world& here) {
    meets(here, [](IB_CQ* queue) { verb_call(resize_cq(queue, 16)).status(); });
}

void races_with_query_no_entry_lost(world& here) {
    meets(here, [](IB_CQ* queue) {
        IB_CQ_ATTR attr{};
        EXPECT_STATUS(verb_call(query_cq(queue, &attr, sizeof(attr))).status(), STATUS_SUCCESS);
    });
}

constexpr const char* same = "Does what CiPollCq does without an IRP";
constexpr const char* oldest = "Removes up to NumEntries completions, oldest first.";

constexpr test_case cases[] = {
    {"GetCqResults.EmptyQueue_ReturnsZero",
     "*pTaken is the number of completions, 0 when there are none and after a failure.", nothing,
     kind::steps, empty_queue_returns_zero},
    {"GetCqResults.ManyEntries_ReturnedAsByPollCq", same, completions, kind::steps,
     many_entries_returned_as_by_poll_cq},
    {"GetCqResults.AlternatesWithPollCq_NoEntryLost", same, completions, kind::steps,
     alternates_with_poll_cq_no_entry_lost},
    {"GetCqResults.FewerRequested_RestStaysQueued", oldest, completions, kind::steps,
     fewer_requested_rest_stays_queued},
    {"GetCqResults.NullArguments_ReturnInvalidParameter",
     "STATUS_INVALID_PARAMETER: pCq is NULL, or pEntries with NumEntries above 0.", nothing,
     kind::steps, null_arguments_return_invalid_parameter},
    {"GetCqResults.DispatchLevel_Succeeds", "IRQL: <= DISPATCH_LEVEL.", completions, kind::steps,
     dispatch_level_succeeds},
    {"GetCqResults.FatalEvent_ReturnsForcedClosed",
     "STATUS_FILE_FORCED_CLOSED: there was a fatal event.", fatal_events, kind::steps,
     fatal_event_returns_forced_closed},
    {"GetCqResults.RacesWithArmCq_NoEntryLost", oldest, completions, kind::race,
     races_with_arm_cq_no_entry_lost},
    {"GetCqResults.RacesWithResize_NoEntryLost", oldest, completions, kind::race,
     races_with_resize_no_entry_lost},
    {"GetCqResults.RacesWithQuery_NoEntryLost", oldest, completions, kind::race,
     races_with_query_no_entry_lost},
};

} // namespace
} // namespace cq_results_group

const std::span<const test_case> cq_results_cases = cq_results_group::cases;

} // namespace irpverbs::conformance
