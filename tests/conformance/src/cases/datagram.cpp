// Datagrams: sent, received, refused, lost.
#include "datagrams.hpp"

#include <cstring>

namespace irpverbs::conformance {

namespace datagram_group {
namespace {

void many_waiters_oldest_completes(world& here) {
    const ca opened(here);
    agent receiver(opened);
    reception first(receiver);
    reception second(receiver);
    EXPECT_STATUS(first.call.returned(), STATUS_PENDING);
    send(opened, receiver, 7);
    EXPECT_EQ(first.number(), 7u);
    EXPECT_EQ(first.call.information(), IB_MAD_SIZE);
    EXPECT_EQ(first.into.Length, IB_MAD_SIZE);
    EXPECT_EQ(first.into.Lost, 0u);
    EXPECT_FALSE(second.call.done()) << "one datagram, two IRPs";
    receiver.deregister();
}

void queued_datagrams_returned_in_order(world& here) {
    const ca opened(here);
    const agent receiver(opened);
    for (ULONG i = 1; i <= 3; ++i)
        send(opened, receiver, i);
    for (ULONG i = 1; i <= 3; ++i)
        EXPECT_EQ(reception(receiver).number(), i);
}

// Each datagram is received or reported as lost. The next received datagram reports the last
// losses, so another one is sent when no more arrive.
void datagrams_dropped_count_is_reported(world& here) {
    const ca opened(here);
    IB_MAD_AGENT_ATTR attr = agent_attr(true);
    attr.ReceiveLimit = 2;
    const agent receiver(opened, attr);
    ULONG sent = 0;
    while (sent < 5)
        send(opened, receiver, ++sent);
    ULONG accounted = 0;
    for (ULONG number = 0; number != sent;) {
        reception each(receiver);
        if (!each.call.completes_within(100)) send(opened, receiver, ++sent);
        number = each.number();
        accounted += 1 + each.into.Lost;
    }
    EXPECT_EQ(accounted, sent);
}

void small_buffer_returns_buffer_too_small(world& here) {
    const ca opened(here);
    const agent receiver(opened);
    reception small;
    small.into.Size = IB_MAD_SIZE - 1;
    small.call.send(get_mad(receiver, &small.into));
    EXPECT_STATUS(small.call.status(), STATUS_BUFFER_TOO_SMALL);
}

void agent_with_up_call_returns_invalid_device_request(world& here) {
    recorder heard;
    const ca opened(here);
    const agent sender(opened, agent_attr(false));
    const agent receiver(opened, agent_attr(true), &recorder::mad_calls, &heard);
    reception refused(receiver);
    EXPECT_STATUS(refused.call.status(), STATUS_INVALID_DEVICE_REQUEST);
    for (ULONG i = 1; i <= 3; ++i)
        send(opened, sender, i);
    for (const recorder::up_call& each : heard.wait_for(3))
        EXPECT_EQ(each.level, DISPATCH_LEVEL);
}

void invalid_arguments_return_invalid_parameter(world& here) {
    const ca opened(here);
    const agent sender(opened);
    for (const ULONG length : {0u, IB_MAD_HEADER_SIZE - 1, IB_MAD_SIZE + 1, ~0u}) {
        datagram wrong(opened, 1);
        wrong.send().Length = length;
        EXPECT_STATUS(status_of(send_mad(sender, wrong.get())), STATUS_INVALID_PARAMETER) << length;
    }
    datagram index(opened, 1);
    index.send().To.PKeyIndex = 0xFFFF;
    EXPECT_STATUS(status_of(send_mad(sender, index.get())), STATUS_INVALID_PARAMETER);
    datagram other_class(opened, 1);
    other_class.data()[1] = 0x0B;
    EXPECT_STATUS(status_of(send_mad(sender, other_class.get())), STATUS_INVALID_PARAMETER);
    datagram empty(opened, 1);
    empty.send().Data = nullptr;
    EXPECT_STATUS(status_of(send_mad(sender, empty.get())), STATUS_INVALID_PARAMETER);
}

// The high half of the transaction ID belongs to the driver, the low half to the requester.
void response_reaches_requester(world& here) {
    const ca opened(here);
    const agent receiver(opened);
    const agent bystander(opened, agent_attr(false));
    const agent asker(opened, agent_attr(false));
    constexpr std::size_t low_half = 12;
    constexpr UCHAR own[4] = {1, 2, 3, 4};
    datagram request(opened, 1);
    std::memcpy(&request.data()[low_half], own, sizeof(own));
    request.send().ResponseTimeout = 1000;
    must(send_mad(asker, request.get()));
    reception asked(receiver);
    EXPECT_EQ(asked.number(), 1u);
    datagram reply(opened, 0);
    reply.data() = asked.data;
    reply.data()[3] |= 0x80;
    reply.send().To = asked.into.From;
    must(send_mad(receiver, reply.get()));
    reception response(asker);
    EXPECT_EQ(response.number(), 1u);
    EXPECT_EQ(std::memcmp(&response.data[low_half], own, sizeof(own)), 0);
}

void races_with_datagram_completes_with_it(world& here) {
    const ca opened(here);
    const agent receiver(opened);
    const datagram one(opened, 1);
    reception waiter;
    verb_call sent;
    world::together({[&] { waiter.call.send(get_mad(receiver, &waiter.into)); },
                     [&] { sent.send(send_mad(receiver, one.get())); }});
    EXPECT_STATUS(sent.status(), STATUS_SUCCESS);
    EXPECT_EQ(waiter.number(), 1u);
}

void races_with_datagram_and_cancel_no_datagram_lost(world& here) {
    const ca opened(here);
    agent receiver(opened);
    const datagram one(opened, 1);
    reception waiter;
    verb_call sent;
    world::together({[&] { waiter.call.send(get_mad(receiver, &waiter.into)); },
                     [&] { waiter.call.cancel(); },
                     [&] { sent.send(send_mad(receiver, one.get())); }});
    EXPECT_STATUS(sent.status(), STATUS_SUCCESS);
    reception next(receiver);
    if (waiter.call.status() == STATUS_CANCELLED) {
        EXPECT_EQ(next.number(), 1u);
    } else {
        EXPECT_EQ(waiter.number(), 1u);
        EXPECT_FALSE(next.call.done()) << "one datagram, two IRPs";
        receiver.deregister();
    }
}

void races_with_deregistration_is_cancelled(world& here) {
    const ca opened(here);
    const agent sender(opened, agent_attr(false));
    agent receiver(opened);
    const datagram one(opened, 1);
    reception waiter(receiver);
    verb_call sent;
    verb_call end;
    world::together({[&] { sent.send(send_mad(sender, one.get())); },
                     [&] { end.send(deregister_agent(receiver.release())); }});
    EXPECT_STATUS(sent.status(), STATUS_SUCCESS);
    EXPECT_STATUS(end.status(), STATUS_SUCCESS);
    EXPECT_TRUE(waiter.call.status() == STATUS_SUCCESS || waiter.call.status() == STATUS_CANCELLED);
}

// A cancelled datagram is not sent: the next one is the first that arrives.
void races_with_cancel_result_wins(world& here) {
    const ca opened(here);
    const agent both(opened);
    const datagram one(opened, 1);
    verb_call sent;
    world::together({[&] { sent.send(send_mad(both, one.get())); }, [&] { sent.cancel(); }});
    const bool done = sent.status() == STATUS_SUCCESS;
    EXPECT_STATUS(sent.status(), done ? STATUS_SUCCESS : STATUS_CANCELLED);
    send(opened, both, 2);
    reception first(both);
    EXPECT_EQ(first.number(), done ? 1u : 2u);
}

constexpr const char* one_each =
    "Waits for a datagram; any number of IRPs may wait, and a datagram completes the oldest.";

constexpr test_case cases[] = {
    {"GetMad.ManyWaiters_OldestCompletes", one_each, nothing, kind::steps,
     many_waiters_oldest_completes},
    {"GetMad.QueuedDatagrams_ReturnedInOrder", one_each, nothing, kind::steps,
     queued_datagrams_returned_in_order},
    {"GetMad.DatagramsDropped_CountIsReported",
     "datagrams dropped since the previous one, at ReceiveLimit or without memory", nothing,
     kind::steps, datagrams_dropped_count_is_reported},
    {"GetMad.SmallBuffer_ReturnsBufferTooSmall",
     "STATUS_BUFFER_TOO_SMALL: Size is less than IB_MAD_SIZE.", nothing, kind::steps,
     small_buffer_returns_buffer_too_small},
    {"GetMad.AgentWithUpCall_ReturnsInvalidDeviceRequest",
     "STATUS_INVALID_DEVICE_REQUEST: the agent has an up-call.", nothing, kind::steps,
     agent_with_up_call_returns_invalid_device_request},
    {"SendMad.InvalidArguments_ReturnInvalidParameter",
     "STATUS_INVALID_PARAMETER: also a length, P_Key or GID index, or a class other than the "
     "agent's (0x01 and 0x81 are the same class here).",
     nothing, kind::steps, invalid_arguments_return_invalid_parameter},
    {"SendMad.Response_ReachesRequester",
     "A response (response bit, or TrapRepress) goes to the agent that sent the request", nothing,
     kind::steps, response_reaches_requester},
    {"SendMad.RacesWithCancel_ResultWins",
     "completes STATUS_CANCELLED when IoCancelIrp is called while it is pended and has not taken "
     "effect; a result that exists wins.",
     nothing, kind::race, races_with_cancel_result_wins},
    {"GetMad.RacesWithDatagram_CompletesWithIt", one_each, nothing, kind::race,
     races_with_datagram_completes_with_it},
    {"GetMad.RacesWithDatagramAndCancel_NoDatagramLost", one_each, nothing, kind::race,
     races_with_datagram_and_cancel_no_datagram_lost},
    {"GetMad.RacesWithDeregistration_IsCancelled",
     "Datagrams that it has not received are dropped, and pended CiGetMad complete "
     "STATUS_CANCELLED before this returns.",
     nothing, kind::race, races_with_deregistration_is_cancelled},
};

} // namespace
} // namespace datagram_group

const std::span<const test_case> datagram_cases = datagram_group::cases;

} // namespace irpverbs::conformance
