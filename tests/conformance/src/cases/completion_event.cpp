// Events of a completion queue, and their times: CiArmCq, CiGetCqCompEvent, CiGetCqAsyncEvent,
// up-calls.
#include "completions.hpp"
#include "recorder.hpp"

namespace irpverbs::conformance {

namespace completion_event_group {
namespace {

void unknown_flag_returns_invalid_parameter(world& here) {
    const ca opened(here);
    const cq queue(opened.get());
    for (const ULONG flags : {0u, 3u, 4u, 0x80000000u})
        EXPECT_STATUS(status_of(arm_cq(queue, flags)), STATUS_INVALID_PARAMETER);
}

void armed_once_one_event(world& here) {
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

void queued_entry_event_at_once(world& here) {
    recorder heard;
    const ca opened(here);
    const cq queue(opened.get(), 8, &recorder::cq_calls, &heard);
    here.complete(queue, entry(1));
    arm(queue, IB_CQ_ARM_SOLICITED);
    EXPECT_EQ(heard.count(), 0u) << "it asked for no event";
    arm(queue, IB_CQ_ARM_NEXT);
    EXPECT_EQ(heard.wait_for(1).size(), 1u);
}

void arm_without_irp_is_that_of_the_verb(world& here) {
    recorder heard;
    const ca opened(here);
    const cq queue(opened.get(), 8, &recorder::cq_calls, &heard);
    const NTSTATUS status = CiArmCqNow(queue, IB_CQ_ARM_SOLICITED);
    if (status == STATUS_NOT_SUPPORTED) throw skipped{"CiArmCqNow returns STATUS_NOT_SUPPORTED"};
    EXPECT_STATUS(status, STATUS_SUCCESS);
    here.complete(queue, entry(1));
    EXPECT_EQ(heard.count(), 0u) << "it asked for no event";
    EXPECT_STATUS(CiArmCqNow(queue, IB_CQ_ARM_NEXT), STATUS_SUCCESS);
    EXPECT_EQ(heard.wait_for(1).size(), 1u);
    for (const ULONG flags : {0u, 3u, ~0u})
        EXPECT_STATUS(CiArmCqNow(queue, flags), STATUS_INVALID_PARAMETER);
    EXPECT_STATUS(CiArmCqNow(nullptr, IB_CQ_ARM_NEXT), STATUS_INVALID_PARAMETER);
}

// Tries every pair of armings with each kind of entry.
void armed_twice_wider_request_holds(world& here) {
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

void event_completes_irp_or_is_latched(world& here) {
    const ca opened(here);
    const cq queue(opened.get());
    verb_call waiter(get_comp_event(queue));
    arm(queue, IB_CQ_ARM_NEXT);
    EXPECT_FALSE(waiter.done());
    here.complete(queue, entry(1));
    EXPECT_STATUS(waiter.status(), STATUS_SUCCESS);
    EXPECT_EQ(waiter.information(), 0u);
    arm(queue, IB_CQ_ARM_NEXT); // satisfied at once, without a waiter
    EXPECT_STATUS(status_of(get_comp_event(queue)), STATUS_SUCCESS);
}

void overrun_reported_once(world& here) {
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

/// A queue that is destroyed inside its first up-call.
class short_lived {
public:
    explicit short_lived(IB_CA* by) : queue_(by, 2, &recorder::cq_calls, &heard_) {
        destroy_.on_completion([&] { heard_.close(); });
        heard_.inside = [&, inside = queue_.get()] {
            destroy_.send(destroy_cq(inside));
            EXPECT_FALSE(destroy_.done()) << "completed while an up-call runs";
            late.send();
        };
    }
    IB_CQ* get() const { return queue_.get(); }
    recorder::up_call ends() {
        const recorder::up_call seen = heard_.wait_for(1)[0];
        queue_.release();
        late.expect_closed();
        EXPECT_STATUS(destroy_.status(), STATUS_SUCCESS);
        return seen;
    }

    late_calls late; // sent after the destroy

private:
    recorder heard_;
    verb_call destroy_;
    cq queue_;
};

void overrun(const world& here, IB_CQ* queue) {
    while (here.complete(queue, entry(1)) == STATUS_SUCCESS) {
    }
}

void inside_up_call_completes(world& here) {
    const ca opened(here);
    short_lived queue(opened);
    verb_call waiter(get_comp_event(queue.get()));
    arm(queue.get(), IB_CQ_ARM_NEXT);
    here.complete(queue.get(), entry(1));
    EXPECT_EQ(queue.ends().event, IB_AE_NONE);
    EXPECT_TRUE(waiter.status() == STATUS_SUCCESS || waiter.status() == STATUS_CANCELLED);
}

void inside_error_up_call_completes(world& here) {
    const ca opened(here);
    short_lived queue(opened);
    verb_call waiter(get_async_event(queue.get()));
    overrun(here, queue.get());
    EXPECT_EQ(queue.ends().event, IB_AE_CQ_ERROR);
    EXPECT_TRUE(waiter.status() == STATUS_SUCCESS || waiter.status() == STATUS_CANCELLED);
}

void destroy_pending_verbs_return_file_closed(world& here) {
    const ca opened(here);
    short_lived queue(opened);
    IB_CQ* const its = queue.get();
    IB_CQ_ATTR attr{};
    IB_WC taken{};
    queue.late = late_calls({query_cq(its, &attr, sizeof(attr)), resize_cq(its, 8),
                             poll_cq(its, 1, &taken), arm_cq(its, IB_CQ_ARM_NEXT),
                             get_comp_event(its), get_async_event(its), destroy_cq(its)});
    arm(its, IB_CQ_ARM_NEXT);
    here.complete(its, entry(1));
    queue.ends();
}

void event_reaches_up_call_and_irp(world& here) {
    recorder heard;
    const ca opened(here);
    cq queue(opened.get(), 4, &recorder::cq_calls, &heard);
    verb_call waiter(get_comp_event(queue));
    arm(queue, IB_CQ_ARM_NEXT);
    here.complete(queue, entry(1));
    EXPECT_STATUS(waiter.status(), STATUS_SUCCESS);
    EXPECT_EQ(heard.wait_for(1)[0].event, IB_AE_NONE);
    verb_call later(get_comp_event(queue));
    EXPECT_FALSE(later.done()) << "latched, though an up-call took it";
    queue.destroy();
    EXPECT_EQ(heard.count(), 1u);
}

// An arming races with the entry that satisfies it: the event is always signalled.
void races_with_completion_event_occurs(world& here) {
    const ca opened(here);
    const cq queue(opened.get());
    verb_call waiter(get_comp_event(queue));
    world::together({[&] { verb_call(arm_cq(queue, IB_CQ_ARM_NEXT)); },
                     [&] { here.complete(queue, entry(1)); }});
    EXPECT_STATUS(waiter.status(), STATUS_SUCCESS);
}

constexpr const char* at_once =
    "The event occurs at once when the queue already has an entry that qualifies.";
constexpr const char* ends =
    "Destroys a completion queue; its event IRPs and up-calls end as in CiCloseCa.";

constexpr test_case cases[] = {
    {"ArmCq.UnknownFlag_ReturnsInvalidParameter",
     "STATUS_INVALID_PARAMETER for a port or flag that does not exist and for an object that is "
     "NULL",
     nothing, kind::steps, unknown_flag_returns_invalid_parameter},
    {"ArmCq.ArmedOnce_OneEvent", "Requests one completion event: Flags is one of IB_CQ_ARM.",
     completions, kind::steps, armed_once_one_event},
    {"ArmCq.QueuedEntry_EventAtOnce", at_once, completions, kind::steps,
     queued_entry_event_at_once},
    {"ArmCqNow.DoesWhatArmCqDoes",
     "Does what CiArmCq does without an IRP: requests one completion event, which is latched until "
     "CiGetCqCompEvent or the up-call takes it.",
     completions, kind::steps, arm_without_irp_is_that_of_the_verb},
    {"ArmCq.ArmedTwice_WiderRequestHolds",
     "When the queue is armed twice, the wider request holds.", completions, kind::steps,
     armed_twice_wider_request_holds},
    {"ArmCq.RacesWithCompletion_EventOccurs", at_once, completions, kind::race,
     races_with_completion_event_occurs},
    {"GetCqCompEvent.Event_CompletesIrpOrIsLatched",
     "Waits for the completion event that CiArmCq requested; it is latched as port events are.",
     completions, kind::steps, event_completes_irp_or_is_latched},
    {"GetCqAsyncEvent.Overrun_ReportedOnce",
     "Waits for an error of the queue. STATUS_SUCCESS: Information is the IB_ASYNC_EVENT.",
     completions, kind::steps, overrun_reported_once},
    {"GetCqCompEvent.Event_ReachesUpCallAndIrp",
     "An event goes to the up-call, if there is one, and completes the oldest IRP that waits for "
     "it, if there is one.",
     completions, kind::steps, event_reaches_up_call_and_irp},
    {"DestroyCq.InsideUpCall_Completes", ends, completions | dispatch_callers, kind::steps,
     inside_up_call_completes},
    {"DestroyCq.InsideErrorUpCall_Completes", ends, completions | dispatch_callers, kind::steps,
     inside_error_up_call_completes},
    {"DestroyCq.DestroyPending_VerbsReturnFileClosed",
     "STATUS_FILE_CLOSED when the object is being closed", completions | dispatch_callers,
     kind::steps, destroy_pending_verbs_return_file_closed},
};

} // namespace
} // namespace completion_event_group

const std::span<const test_case> completion_event_cases = completion_event_group::cases;

} // namespace irpverbs::conformance
