// What a completion queue tells, and when: CiArmCq, CiGetCqCompEvent, CiGetCqAsyncEvent, up-calls.
#include "completions.hpp"
#include "recorder.hpp"

namespace irpverbs::conformance {

namespace {

void arm_refuses_unknown_flags(world& here) {
    const ca opened(here);
    const cq queue(opened.get());
    for (const ULONG flags : {0u, 3u, 4u, 0x80000000u})
        EXPECT_STATUS(answer(arm_cq(queue, flags)), STATUS_INVALID_PARAMETER);
}

void one_event_an_arming(world& here) {
    recorder heard;
    const ca opened(here);
    const cq queue(opened.get(), 8, &recorder::cq_calls, &heard);
    here.complete(queue, entry(1));
    EXPECT_EQ(heard.count(), 0u) << "not armed";
    poll(queue, 1);
    arm(queue, IB_CQ_ARM_NEXT);
    EXPECT_EQ(heard.count(), 0u) << "empty";
    here.complete(queue, entry(2));
    here.complete(queue, entry(3));
    EXPECT_EQ(heard.wait_for(1).size(), 1u);
    EXPECT_EQ(heard.all()[0].level, DISPATCH_LEVEL);
}

void an_entry_that_is_there_counts(world& here) {
    recorder heard;
    const ca opened(here);
    const cq queue(opened.get(), 8, &recorder::cq_calls, &heard);
    here.complete(queue, entry(1));
    arm(queue, IB_CQ_ARM_SOLICITED);
    EXPECT_EQ(heard.count(), 0u) << "it asked for no event";
    arm(queue, IB_CQ_ARM_NEXT);
    EXPECT_EQ(heard.wait_for(1).size(), 1u);
}

// Every pair of armings, and each kind of entry.
void the_wider_of_two_armings_holds(world& here) {
    const ca opened(here);
    const IB_WC plain = entry(1);
    const IB_WC solicited = entry(2, IB_WC_SOLICITED);
    const IB_WC failed = entry(3, 0, IB_WC_FLUSHED);
    for (const ULONG first : {IB_CQ_ARM_NEXT, IB_CQ_ARM_SOLICITED})
        for (const ULONG second : {IB_CQ_ARM_NEXT, IB_CQ_ARM_SOLICITED})
            for (const IB_WC* came : {&plain, &solicited, &failed}) {
                recorder heard;
                const cq queue(opened.get(), 8, &recorder::cq_calls, &heard);
                arm(queue, first);
                arm(queue, second);
                here.complete(queue, *came);
                const bool wide = first == IB_CQ_ARM_NEXT || second == IB_CQ_ARM_NEXT;
                const std::size_t expected = wide || came != &plain ? 1 : 0;
                EXPECT_EQ(heard.wait_for(expected).size(), expected);
            }
}

void completes_an_irp_or_is_latched(world& here) {
    const ca opened(here);
    const cq queue(opened.get());
    verb_call waiter(get_comp_event(queue));
    arm(queue, IB_CQ_ARM_NEXT);
    EXPECT_FALSE(waiter.done());
    here.complete(queue, entry(1));
    EXPECT_STATUS(waiter.status(), STATUS_SUCCESS);
    EXPECT_EQ(waiter.information(), 0u);
    arm(queue, IB_CQ_ARM_NEXT); // satisfied at once, and nobody waits
    EXPECT_STATUS(answer(get_comp_event(queue)), STATUS_SUCCESS);
}

void overrun_is_told_once(world& here) {
    recorder heard;
    const ca opened(here);
    const cq queue(opened.get(), 2, &recorder::cq_calls, &heard);
    verb_call waiter(get_async_event(queue));
    std::uint64_t id = 0;
    while (here.complete(queue, entry(id)) == STATUS_SUCCESS && id < queue->NumCqes)
        ++id;
    EXPECT_EQ(id, queue->NumCqes);
    EXPECT_EQ(waiter.information(), static_cast<ULONG_PTR>(IB_AE_CQ_ERROR));
    EXPECT_STATUS(here.complete(queue, entry(id)), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(heard.wait_for(1)[0].event, IB_AE_CQ_ERROR);
    EXPECT_EQ(heard.count(), 1u);
}

void destroyed_from_inside_an_up_call(world& here) {
    recorder heard;
    verb_call destroy;
    const ca opened(here);
    cq queue(opened.get(), 4, &recorder::cq_calls, &heard);
    IB_CQ* const inside = queue.get();
    destroy.on_completion([&] { heard.close(); });
    heard.inside = [&] {
        destroy.send(destroy_cq(inside));
        EXPECT_FALSE(destroy.done()) << "completed while an up-call runs";
    };
    verb_call waiter(get_comp_event(queue));
    arm(queue, IB_CQ_ARM_NEXT);
    here.complete(queue, entry(1));
    heard.wait_for(1);
    queue.release();
    EXPECT_STATUS(destroy.status(), STATUS_SUCCESS);
    EXPECT_TRUE(waiter.status() == STATUS_SUCCESS || waiter.status() == STATUS_CANCELLED);
}

// An arming and the entry that satisfies it come at the same time: the event comes.
void no_entry_passes_an_arming_by(world& here) {
    const ca opened(here);
    const cq queue(opened.get());
    verb_call waiter(get_comp_event(queue));
    world::together({[&] { verb_call(arm_cq(queue, IB_CQ_ARM_NEXT)); },
                     [&] { here.complete(queue, entry(1)); }});
    EXPECT_STATUS(waiter.status(), STATUS_SUCCESS);
}

constexpr const char* at_once =
    "The event comes at once when an entry that qualifies is already there.";

constexpr test_case cases[] = {
    {"ArmCq.RefusesUnknownFlags",
     "STATUS_INVALID_PARAMETER for a port, flag or object that does not exist", nothing,
     kind::steps, arm_refuses_unknown_flags},
    {"ArmCq.OneEventAnArming", "Asks for one completion event: Flags is one of IB_CQ_ARM.",
     completions, kind::steps, one_event_an_arming},
    {"ArmCq.AnEntryThatIsThereCounts", at_once, completions, kind::steps,
     an_entry_that_is_there_counts},
    {"ArmCq.TheWiderOfTwoHolds", "Armed twice, the wider one holds.", completions, kind::steps,
     the_wider_of_two_armings_holds},
    {"ArmCq.MeetsACompletion", at_once, completions, kind::race, no_entry_passes_an_arming_by},
    {"GetCqCompEvent.CompletesAnIrpOrIsLatched",
     "Waits for the completion event that CiArmCq asked for; latched as port events are.",
     completions, kind::steps, completes_an_irp_or_is_latched},
    {"GetCqAsyncEvent.TellsAnOverrunOnce",
     "Waits for an error of the queue. STATUS_SUCCESS: Information is the IB_ASYNC_EVENT.",
     completions, kind::steps, overrun_is_told_once},
    {"DestroyCq.FromInsideAnUpCall",
     "Destroys a completion queue; its event IRPs and up-calls end as in CiCloseCa.",
     completions | dispatch_callers, kind::steps, destroyed_from_inside_an_up_call},
};

} // namespace

const std::span<const test_case> completion_event_cases = cases;

} // namespace irpverbs::conformance
