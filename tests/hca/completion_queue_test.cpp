// Completion queues: what goes in comes out, and who is told when.
#include <support/both_machines.hpp>
#include <support/verbs.hpp>

#include <hca/software.h>

#include <array>

namespace {

using namespace irpverbs::testing;

struct told {
    int completions = 0;
    std::vector<int> events;
};

void on_completion(void* context) { ++static_cast<told*>(context)->completions; }
void on_event(void* context, IB_ASYNC_EVENT event) {
    static_cast<told*>(context)->events.push_back(event);
}
constexpr IB_CQ_DISPATCH calls{on_completion, on_event};

IB_WC entry(std::uint64_t id, ULONG flags = 0, ULONG status = IB_WC_SUCCESS) {
    IB_WC made{};
    made.WrId = id;
    made.Flags = flags;
    made.Status = status;
    return made;
}

class CompletionQueues : public BothMachines {
protected:
    CompletionQueues() : ca(open_ca(hcas.fdo())) {}
    ~CompletionQueues() override { EXPECT_EQ(close_ca(ca), STATUS_SUCCESS); }

    static NTSTATUS complete(IB_CQ* cq, const IB_WC& with) {
        return HcaSoftwareComplete(cq, &with);
    }
    static NTSTATUS arm(IB_CQ* cq, ULONG flags) {
        return verb_call([&](IRP* irp) { return CiArmCq(cq, flags, irp); }).status();
    }
    static std::vector<std::uint64_t> poll(IB_CQ* cq, ULONG most) {
        std::vector<IB_WC> entries(most);
        verb_call call([&](IRP* irp) { return CiPollCq(cq, most, entries.data(), irp); });
        EXPECT_EQ(call.status(), STATUS_SUCCESS);
        std::vector<std::uint64_t> ids;
        for (ULONG i = 0; i < call.information(); ++i)
            ids.push_back(entries[i].WrId);
        return ids;
    }
    using ids = std::vector<std::uint64_t>;

    attached hcas;
    IB_CA* ca;
};

TEST_P(CompletionQueues, GiveBackWhatWentInOldestFirst) {
    IB_CQ* cq = create_cq(ca, 4);
    for (std::uint64_t round = 0; round < 3; ++round) { // around the ring
        for (std::uint64_t i = 0; i < 3; ++i)
            EXPECT_EQ(complete(cq, entry(10 * round + i)), STATUS_SUCCESS);
        EXPECT_EQ(poll(cq, 2), (ids{10 * round, 10 * round + 1}));
        EXPECT_EQ(poll(cq, 2), (ids{10 * round + 2}));
        EXPECT_EQ(poll(cq, 2), ids{});
    }
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

TEST_P(CompletionQueues, KeepTheirEntriesWhenResized) {
    IB_CQ* cq = create_cq(ca, 2);
    complete(cq, entry(0));
    poll(cq, 1);
    complete(cq, entry(1));
    complete(cq, entry(2));
    const auto resize = [&](ULONG entries) {
        return verb_call([&](IRP* irp) { return CiResizeCq(cq, entries, nullptr, irp); }).status();
    };
    EXPECT_EQ(resize(1), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(resize(0), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(resize(65537), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(cq->NumCqes, 2u);
    EXPECT_EQ(resize(5), STATUS_SUCCESS);
    EXPECT_EQ(cq->NumCqes, 8u);
    complete(cq, entry(3));
    EXPECT_EQ(poll(cq, 8), (ids{1, 2, 3}));
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

TEST_P(CompletionQueues, TellOnceForEachArming) {
    told all;
    IB_CQ* cq = create_cq(ca, 8, &calls, &all);
    complete(cq, entry(1));
    EXPECT_EQ(all.completions, 0);
    poll(cq, 1);
    EXPECT_EQ(arm(cq, IB_CQ_ARM_NEXT), STATUS_SUCCESS);
    EXPECT_EQ(all.completions, 0);
    complete(cq, entry(2));
    complete(cq, entry(3));
    EXPECT_EQ(all.completions, 1);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

// An entry that is there already satisfies the arming at once: none is missed between poll and arm.
TEST_P(CompletionQueues, TellAtOnceOfAnEntryThatIsThere) {
    told all;
    IB_CQ* cq = create_cq(ca, 8, &calls, &all);
    complete(cq, entry(1));
    arm(cq, IB_CQ_ARM_SOLICITED);
    EXPECT_EQ(all.completions, 0);
    arm(cq, IB_CQ_ARM_NEXT);
    EXPECT_EQ(all.completions, 1);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

// Every pair of armings, and the weakest entry that satisfies what they come to.
TEST_P(CompletionQueues, TheWiderOfTwoArmingsHolds) {
    const IB_WC plain = entry(1);
    const IB_WC solicited = entry(2, IB_WC_SOLICITED);
    const IB_WC failed = entry(3, 0, IB_WC_FLUSHED);
    for (const ULONG first : {IB_CQ_ARM_NEXT, IB_CQ_ARM_SOLICITED})
        for (const ULONG second : {IB_CQ_ARM_NEXT, IB_CQ_ARM_SOLICITED})
            for (const IB_WC* came : {&plain, &solicited, &failed}) {
                told all;
                IB_CQ* cq = create_cq(ca, 8, &calls, &all);
                arm(cq, first);
                arm(cq, second);
                complete(cq, *came);
                const bool wide = first == IB_CQ_ARM_NEXT || second == IB_CQ_ARM_NEXT;
                EXPECT_EQ(all.completions, wide || came != &plain ? 1 : 0);
                EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
            }
}

TEST_P(CompletionQueues, CompleteAParkedIrpOrLatchTheEvent) {
    IB_CQ* cq = create_cq(ca);
    const auto waiting = [&] {
        return std::make_unique<verb_call>([&](IRP* irp) { return CiGetCqCompEvent(cq, irp); });
    };
    const auto parked = waiting();
    arm(cq, IB_CQ_ARM_NEXT);
    EXPECT_FALSE(parked->done());
    complete(cq, entry(1));
    EXPECT_EQ(parked->status(), STATUS_SUCCESS);
    EXPECT_EQ(parked->information(), 0u);
    arm(cq, IB_CQ_ARM_NEXT); // satisfied at once, and nobody waits
    EXPECT_EQ(waiting()->status(), STATUS_SUCCESS);
    const auto last = waiting();
    EXPECT_FALSE(last->done());
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
    EXPECT_EQ(last->status(), STATUS_CANCELLED);
}

TEST_P(CompletionQueues, OverrunIsAnErrorToldOnce) {
    told all;
    IB_CQ* cq = create_cq(ca, 2, &calls, &all);
    verb_call waiting([&](IRP* irp) { return CiGetCqAsyncEvent(cq, irp); });
    complete(cq, entry(1));
    complete(cq, entry(2));
    EXPECT_FALSE(waiting.done());
    EXPECT_EQ(complete(cq, entry(3)), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(waiting.information(), static_cast<ULONG_PTR>(IB_AE_CQ_ERROR));
    EXPECT_EQ(poll(cq, 4), (ids{1, 2}));
    EXPECT_EQ(complete(cq, entry(4)), STATUS_BUFFER_OVERFLOW); // it takes no more
    EXPECT_EQ(all.events, std::vector<int>{IB_AE_CQ_ERROR});
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(CompletionQueues);

} // namespace
