// Agents: valid registrations, and the end of an agent.
#include "datagrams.hpp"

namespace irpverbs::conformance {

namespace mad_agent_group {
namespace {

void registration_returns_agent(world& here) {
    const ca opened(here);
    const IB_MAD_AGENT_ATTR attr = agent_attr(true);
    const agent made(opened, attr);
    const IB_MAD_AGENT_ATTR& seen = static_cast<IB_MAD_AGENT*>(made)->Attr;
    EXPECT_EQ(seen.PortNumber, attr.PortNumber);
    EXPECT_EQ(seen.ManagementClass, attr.ManagementClass);
}

void same_methods_returns_sharing_violation(world& here) {
    const ca opened(here);
    const ca other(here);
    const IB_MAD_AGENT_ATTR attr = agent_attr(true);
    agent first(opened, attr);
    EXPECT_STATUS(status_of(register_agent(opened, &attr)), STATUS_SHARING_VIOLATION);
    EXPECT_STATUS(status_of(register_agent(other, &attr)), STATUS_SHARING_VIOLATION);
    const agent asker(other, agent_attr(false));
    first.deregister();
    const agent second(other, attr);
}

void invalid_attributes_return_invalid_parameter(world& here) {
    const ca opened(here);
    { const agent supported(opened); }
    IB_MAD_AGENT_ATTR no_port = agent_attr(true, 0);
    IB_MAD_AGENT_ATTR far_port = agent_attr(true, 255);
    IB_MAD_AGENT_ATTR next_port = agent_attr(true, port_beyond_the_last(opened));
    IB_MAD_AGENT_ATTR no_class = agent_attr(true);
    no_class.ManagementClass = 0;
    IB_MAD_AGENT_ATTR with_oui = agent_attr(true);
    with_oui.Oui[0] = 1;
    for (const IB_MAD_AGENT_ATTR* each : {&no_port, &next_port, &far_port, &no_class, &with_oui})
        EXPECT_STATUS(status_of(register_agent(opened, each)), STATUS_INVALID_PARAMETER);
    EXPECT_STATUS(status_of(register_agent(opened, nullptr)), STATUS_INVALID_PARAMETER);
}

void registered_ca_close_is_busy(world& here) {
    ca opened(here);
    agent made(opened);
    EXPECT_STATUS(status_of(close_ca(opened)), STATUS_DEVICE_BUSY);
    made.deregister();
    opened.close();
}

void deregistration_cancels_pended_receives(world& here) {
    const ca opened(here);
    agent made(opened);
    reception first(made);
    reception second(made);
    verb_call end([&](IRP* irp) {
        const NTSTATUS status = CiDeregisterMadAgent(made.release(), irp);
        EXPECT_TRUE(first.call.done() && second.call.done()) << "pended when it had returned";
        return status;
    });
    EXPECT_STATUS(first.call.status(), STATUS_CANCELLED);
    EXPECT_STATUS(second.call.status(), STATUS_CANCELLED);
    EXPECT_STATUS(end.status(), STATUS_SUCCESS);
}

void deregistered_inside_up_call_completes(world& here) {
    recorder heard;
    verb_call end;
    const ca opened(here);
    const agent sender(opened, agent_attr(false));
    agent receiver(opened, agent_attr(true), &recorder::mad_calls, &heard);
    IB_MAD_AGENT* const inside = receiver;
    end.on_completion([&] { heard.close(); });
    heard.inside = [&] {
        end.send(deregister_agent(inside));
        EXPECT_FALSE(end.done()) << "completed while an up-call runs";
    };
    send(opened, sender, 1);
    EXPECT_EQ(heard.wait_for(1)[0].level, DISPATCH_LEVEL);
    receiver.release();
    EXPECT_STATUS(end.status(), STATUS_SUCCESS);
}

void deregistration_pending_verbs_return_file_closed(world& here) {
    recorder heard;
    verb_call end;
    const ca opened(here);
    const agent sender(opened, agent_attr(false));
    agent receiver(opened, agent_attr(true), &recorder::mad_calls, &heard);
    const datagram one(opened, 1);
    reception room;
    IB_MAD_AGENT* const its = receiver;
    late_calls late({send_mad(its, one.get()), get_mad(its, &room.into), modify_agent(its, nullptr),
                     deregister_agent(its)});
    heard.inside = [&] {
        end.send(deregister_agent(its));
        end.cancel();
        EXPECT_FALSE(end.done()) << "cancelled";
        late.send();
    };
    send(opened, sender, 1);
    heard.wait_for(1);
    receiver.release();
    late.expect_closed();
    EXPECT_STATUS(end.status(), STATUS_SUCCESS);
}

void fatal_event_verbs_return_forced_closed(world& here) {
    const ca opened(here);
    agent made(opened);
    const datagram one(opened, 1);
    here.fail();
    must(get_fatal_event(opened));
    reception waiter(made);
    EXPECT_STATUS(waiter.call.status(), STATUS_FILE_FORCED_CLOSED);
    EXPECT_STATUS(status_of(send_mad(made, one.get())), STATUS_FILE_FORCED_CLOSED);
    const IB_MAD_AGENT_ATTR attr = agent_attr(false);
    EXPECT_STATUS(status_of(register_agent(opened, &attr)), STATUS_FILE_FORCED_CLOSED);
    made.deregister();
}

void registration_races_with_cancel_completes_once(world& here) {
    ca opened(here);
    const IB_MAD_AGENT_ATTR attr = agent_attr(true);
    { const agent supported(opened); }
    verb_call made;
    world::together({[&] { made.send(register_agent(opened, &attr)); }, [&] { made.cancel(); }});
    if (made.status() == STATUS_SUCCESS) {
        EXPECT_STATUS(status_of(deregister_agent(made.object<IB_MAD_AGENT>())), STATUS_SUCCESS);
    } else {
        EXPECT_STATUS(made.status(), STATUS_CANCELLED);
    }
    opened.close();
}

void deregistration_races_with_cancel_is_not_cancelled(world& here) {
    ca opened(here);
    agent made(opened);
    verb_call end;
    world::together({[&] { end.send(deregister_agent(made.release())); }, [&] { end.cancel(); }});
    EXPECT_STATUS(end.status(), STATUS_SUCCESS);
    opened.close();
}

constexpr const char* ends = "pended CiGetMad complete STATUS_CANCELLED before this returns";

constexpr test_case cases[] = {
    {"MadAgent.Registration_ReturnsAgent", "STATUS_SUCCESS: Information is the IB_MAD_AGENT*.",
     nothing, kind::steps, registration_returns_agent},
    {"MadAgent.SameMethods_ReturnsSharingViolation",
     "STATUS_SHARING_VIOLATION: another agent of the port receives one of these methods.", nothing,
     kind::steps, same_methods_returns_sharing_violation},
    {"MadAgent.InvalidAttributes_ReturnInvalidParameter",
     "STATUS_INVALID_PARAMETER: also class 0, and an OUI for a class that has none.", nothing,
     kind::steps, invalid_attributes_return_invalid_parameter},
    {"MadAgent.Registered_CaCloseIsBusy",
     "STATUS_DEVICE_BUSY: objects created with it remain; nothing changed.", nothing, kind::steps,
     registered_ca_close_is_busy},
    {"MadAgent.Deregistration_CancelsPendedReceives", ends, nothing, kind::steps,
     deregistration_cancels_pended_receives},
    {"MadAgent.DeregisteredInsideUpCall_Completes",
     "The up-call runs at DISPATCH_LEVEL, one at a time for an agent, and never after its "
     "deregistration has completed.",
     dispatch_callers, kind::steps, deregistered_inside_up_call_completes},
    {"MadAgent.DeregistrationPending_VerbsReturnFileClosed",
     "STATUS_FILE_CLOSED when the object is being closed", dispatch_callers, kind::steps,
     deregistration_pending_verbs_return_file_closed},
    {"MadAgent.FatalEvent_VerbsReturnForcedClosed",
     "completes STATUS_FILE_FORCED_CLOSED after a fatal event (except close, destroy and waits for "
     "latched events)",
     fatal_events, kind::steps, fatal_event_verbs_return_forced_closed},
    {"MadAgent.RegistrationRacesWithCancel_CompletesOnce", "Every pended verb can be cancelled",
     nothing, kind::race, registration_races_with_cancel_completes_once},
    {"MadAgent.DeregistrationRacesWithCancel_IsNotCancelled",
     "Close and destroy, once begun, are not cancelled;", nothing, kind::race,
     deregistration_races_with_cancel_is_not_cancelled},
};

} // namespace
} // namespace mad_agent_group

const std::span<const test_case> mad_agent_cases = mad_agent_group::cases;

} // namespace irpverbs::conformance
