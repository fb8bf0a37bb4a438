// The fatal event against every verb that a client may have in progress.
#include "datagrams.hpp"

#include <algorithm>

namespace irpverbs::conformance {

namespace fatal_race_group {
namespace {

using statuses = std::initializer_list<NTSTATUS>;

// A verb before the failure completes as usual, one after it is refused.
constexpr statuses done_or_refused = {STATUS_SUCCESS, STATUS_FILE_FORCED_CLOSED,
                                      STATUS_NOT_SUPPORTED};
constexpr statuses queried_or_refused = {STATUS_SUCCESS, STATUS_BUFFER_OVERFLOW,
                                         STATUS_FILE_FORCED_CLOSED, STATUS_NOT_SUPPORTED};
constexpr statuses refused_or_cancelled = {STATUS_FILE_FORCED_CLOSED, STATUS_CANCELLED};
constexpr statuses signaled_or_ended = {STATUS_SUCCESS, STATUS_FILE_FORCED_CLOSED,
                                        STATUS_CANCELLED};

// The destructor of the call expects exactly one completion.
NTSTATUS came_to(verb_call& call, const char* name, statuses allowed) {
    const NTSTATUS status = call.status();
    EXPECT_NE(std::ranges::find(allowed, status), allowed.end()) << name << ": " << name_of(status);
    return status;
}
NTSTATUS came_to(const verb& asked, statuses allowed) {
    verb_call call(asked);
    return came_to(call, asked.name, allowed);
}

void opens_and_closes(world& here) {
    verb_call open(open_ca(here.fdo()));
    if (came_to(open, "CiOpenCa", done_or_refused) != STATUS_SUCCESS) return;
    auto* late = open.object<IB_CA>(); // it receives the fatal event, whenever that happened
    came_to(get_fatal_event(late), {STATUS_SUCCESS});
    came_to(close_ca(late), {STATUS_SUCCESS});
}

void polls_straight(IB_CQ* queue) {
    IB_WC entry{};
    ULONG taken = 0;
    const NTSTATUS status = CiGetCqResults(queue, 1, &entry, &taken);
    EXPECT_NE(std::ranges::find(done_or_refused, status), done_or_refused.end())
        << "CiGetCqResults: " << name_of(status);
    EXPECT_EQ(taken, 0u);
}

void uses_a_queue_of_its_own(IB_CA* by) {
    verb_call create(create_cq(by, 4));
    if (came_to(create, "CiCreateCq", done_or_refused) != STATUS_SUCCESS) return;
    auto* queue = create.object<IB_CQ>();
    IB_WC entry{};
    came_to(arm_cq(queue, IB_CQ_ARM_NEXT), done_or_refused);
    came_to(poll_cq(queue, 1, &entry), done_or_refused);
    polls_straight(queue);
    came_to(resize_cq(queue, 8), done_or_refused);
    came_to(destroy_cq(queue), {STATUS_SUCCESS});
}

void queries_and_changes(const good_calls& calls) {
    for (const verb& each : calls.all())
        came_to(each, queried_or_refused);
}

void gives_up(const verb& asked, statuses allowed) {
    verb_call call(asked);
    call.cancel();
    came_to(call, asked.name, allowed);
}

// The queue has no event of its own.
void waits_and_cancels(IB_CA* by, IB_CQ* queue) {
    gives_up(get_port_event(by), signaled_or_ended);
    if (queue == nullptr) return;
    gives_up(get_comp_event(queue), refused_or_cancelled);
    gives_up(get_async_event(queue), refused_or_cancelled);
}

/// An agent with a datagram in flight that it waits for, if the HCA has management.
class correspondence {
public:
    explicit correspondence(IB_CA* by)
        : one_(by, 1), made_(register_agent(by, &attr_)),
          agent_(made_.status() == STATUS_SUCCESS ? made_.object<IB_MAD_AGENT>() : nullptr) {
        if (agent_ == nullptr) return;
        pended_.call.send(get_mad(agent_, &pended_.into));
    }
    void goes_on() {
        if (agent_ == nullptr) return;
        came_to(send_mad(agent_, one_.get()), done_or_refused);
        reception late(agent_);
        late.call.cancel();
        came_to(late.call, "CiGetMad", signaled_or_ended);
    }
    void ends() {
        if (agent_ == nullptr) return;
        came_to(deregister_agent(agent_), {STATUS_SUCCESS});
        came_to(pended_.call, "CiGetMad", signaled_or_ended);
    }

private:
    const IB_MAD_AGENT_ATTR attr_ = agent_attr(true);
    const datagram one_;
    verb_call made_;
    IB_MAD_AGENT* agent_;
    reception pended_;
};

void races_with_verbs_all_complete(world& here) {
    ca opened(here);
    cq queue(cq_if_there_is(opened));
    ca leaving(here);
    const good_calls calls(opened, queue);
    correspondence letters(opened);
    verb_call fatal(get_fatal_event(opened));
    verb_call port(get_port_event(opened));
    verb_call of_the_leaving(get_port_event(leaving));
    world::together({[&] { opens_and_closes(here); }, [&] { uses_a_queue_of_its_own(opened); },
                     [&] { queries_and_changes(calls); }, [&] { waits_and_cancels(opened, queue); },
                     [&] { letters.goes_on(); }, [&] { leaving.close(); },
                     [&] { here.try_to_raise(IB_AE_CLIENT_REREGISTER); }, [&] { here.fail(); }});
    EXPECT_STATUS(fatal.status(), STATUS_SUCCESS);
    came_to(of_the_leaving, "CiGetCaPortEvent", signaled_or_ended);
    letters.ends();
    if (queue.get() != nullptr) queue.destroy();
    opened.close();
    came_to(port, "CiGetCaPortEvent", signaled_or_ended);
}

// A waiter on the queue ends with the queue at the latest, and receives no event that did not
// happen.
void races_with_cq_waiters_all_complete(world& here) {
    const ca opened(here);
    cq queue(opened.get());
    verb_call completion;
    verb_call error(get_async_event(queue));
    world::together({[&] { completion.send(get_comp_event(queue)); },
                     [&] { came_to(arm_cq(queue, IB_CQ_ARM_NEXT), done_or_refused); },
                     [&] { here.fail(); }});
    queue.destroy();
    came_to(completion, "CiGetCqCompEvent", refused_or_cancelled);
    came_to(error, "CiGetCqAsyncEvent", refused_or_cancelled);
}

constexpr const char* forced = "completes STATUS_FILE_FORCED_CLOSED after a fatal event (except "
                               "close, destroy and waits for latched events)";

constexpr test_case cases[] = {
    {"FatalEvent.RacesWithVerbs_AllComplete", forced, fatal_events, kind::race,
     races_with_verbs_all_complete},
    {"FatalEvent.RacesWithCqWaiters_AllComplete", forced, fatal_events, kind::race,
     races_with_cq_waiters_all_complete},
};

} // namespace
} // namespace fatal_race_group

const std::span<const test_case> fatal_race_cases = fatal_race_group::cases;

} // namespace irpverbs::conformance
