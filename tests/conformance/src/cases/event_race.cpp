// Port events against waiters, cancellation, open and close, under every schedule of a few actors.
#include "recorder.hpp"

namespace irpverbs::conformance {

namespace event_race_group {
namespace {

void races_with_waiter_waiter_completes(world& here) {
    const ca opened(here);
    verb_call waiter;
    world::together({[&] { waiter.send(get_port_event(opened)); },
                     [&] { here.raise(IB_AE_CLIENT_REREGISTER); }});
    EXPECT_STATUS(waiter.status(), STATUS_SUCCESS);
}

void races_with_cancel_event_not_lost(world& here) {
    ca opened(here);
    verb_call waiter;
    world::together({[&] { waiter.send(get_port_event(opened)); }, [&] { waiter.cancel(); },
                     [&] { here.raise(IB_AE_CLIENT_REREGISTER); }});
    verb_call next(get_port_event(opened));
    if (waiter.status() == STATUS_CANCELLED) {
        EXPECT_STATUS(next.status(), STATUS_SUCCESS);
    } else {
        EXPECT_STATUS(waiter.status(), STATUS_SUCCESS);
        EXPECT_FALSE(next.done()) << "one event, two IRPs";
        opened.close();
    }
}

void many_events_run_one_at_a_time(world& here) {
    recorder heard;
    const ca opened(here, &recorder::ca_calls, &heard);
    world::together({[&] { here.raise(IB_AE_CLIENT_REREGISTER); },
                     [&] { here.raise(IB_AE_SM_CHANGE); }, [&] { here.raise(IB_AE_LID_CHANGE); }});
    EXPECT_EQ(heard.wait_for(3).size(), 3u);
}

void races_with_close_none_after_completion(world& here) {
    recorder heard;
    ca opened(here, &recorder::ca_calls, &heard);
    verb_call close;
    close.on_completion([&] {
        EXPECT_TRUE(heard.idle()) << "completed while an up-call runs";
        heard.close();
    });
    world::together({[&] { here.raise(IB_AE_CLIENT_REREGISTER); },
                     [&] { here.raise(IB_AE_SM_CHANGE); },
                     [&] { close.send(close_ca(opened.release())); }});
    EXPECT_STATUS(close.status(), STATUS_SUCCESS);
    here.raise(IB_AE_LID_CHANGE);
}

// The client receives its IB_CA before any up-call about it.
void races_with_open_none_before_completion(world& here) {
    recorder heard;
    std::atomic<bool> open_completed = false;
    heard.inside = [&] { EXPECT_TRUE(open_completed.load()); };
    verb_call open;
    open.on_completion([&] { open_completed = true; });
    world::together({[&] { open.send(open_ca(here.fdo(), &heard, &recorder::ca_calls)); },
                     [&] { here.raise(IB_AE_CLIENT_REREGISTER); }});
    EXPECT_STATUS(open.status(), STATUS_SUCCESS);
    EXPECT_STATUS(verb_call(close_ca(open.object<IB_CA>())).status(), STATUS_SUCCESS);
}

constexpr const char* up_calls = "Up-calls run at DISPATCH_LEVEL, one at a time for each object, "
                                 "and never after its close has completed;";
constexpr const char* latched =
    "An event that neither took is latched: the next IRP that waits for it completes at once.";

constexpr test_case cases[] = {
    {"PortEvent.RacesWithWaiter_WaiterCompletes", latched, port_events, kind::race,
     races_with_waiter_waiter_completes},
    {"PortEvent.RacesWithCancel_EventNotLost", latched, port_events, kind::race,
     races_with_cancel_event_not_lost},
    {"UpCall.ManyEvents_RunOneAtATime", up_calls, port_events, kind::race,
     many_events_run_one_at_a_time},
    {"UpCall.RacesWithClose_NoneAfterCompletion", up_calls, port_events, kind::race,
     races_with_close_none_after_completion},
    {"UpCall.RacesWithOpen_NoneBeforeCompletion", "No up-call comes before the open has completed.",
     port_events, kind::race, races_with_open_none_before_completion},
};

} // namespace
} // namespace event_race_group

const std::span<const test_case> event_race_cases = event_race_group::cases;

} // namespace irpverbs::conformance
