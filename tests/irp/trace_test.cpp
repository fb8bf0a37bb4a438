// Traces: complete, well formed, equal for equal runs, and without influence on a run.
#include "verified.hpp"

#include <irp/trace.hpp>
#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>
#include <support/reference_drivers.hpp>
#include <support/trace_rules.hpp>

#include <boost/json/src.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <sstream>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::random_choices;
using irpverbs::dispatch::sim_machine;
using irpverbs::irp::trace_event;
using irpverbs::irp::trace_names;
using irpverbs::irp::trace_recorder;
using irpverbs::irp::trace_step;
using ::testing::HasSubstr;
namespace dispatch = irpverbs::dispatch;

std::string text_of(const trace_recorder& recorder, const trace_names& names = {}) {
    std::ostringstream out;
    recorder.write(out, names);
    return out.str();
}

struct recorded {
    std::string text;
    std::uint64_t hash = 0;
};

// Two requests go through a filter to a queue; one actor serves it, another cancels.
recorded run(std::uint64_t seed, bool trace = true) {
    random_choices chance(seed);
    sim_machine sim(chance);
    const dispatch::machine::scope here(sim);
    recorded result;
    {
        std::optional<trace_recorder> recorder;
        if (trace) recorder.emplace(sim);
        queue_driver queue;
        filter_driver filter(queue.device());
        counted_request first(filter.device());
        counted_request second(filter.device());
        sim.spawn("send", [&] {
            first.send();
            second.send();
        });
        sim.spawn("serve", [&] { queue.serve(); });
        sim.spawn("cancel", [&] {
            for (int turns = 0; turns < 10; ++turns)
                sim.yield();
            second.cancel();
        });
        sim.run();
        queue.serve();
        EXPECT_EQ(first.completions, 1);
        EXPECT_EQ(second.completions, 1);
        result.hash = sim.event_hash();
        if (recorder) result.text = text_of(*recorder);
    }
    return result;
}

TEST(IrpTrace, EachSchedule_TraceIsWellFormed) {
    std::size_t crossed = 0;
    std::size_t cancelled = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const trace_contents found = expect_trace(run(seed).text);
        EXPECT_EQ(found.spans, 2u);
        EXPECT_EQ(found.arrows, 4u) << "a request has two locations";
        crossed += found.crossing;
        cancelled += found.cancels;
        if (HasFailure()) FAIL() << "seed " << seed;
    }
    EXPECT_GT(crossed, 0u);
    EXPECT_GT(cancelled, 0u);
}

TEST(IrpTrace, SameSeed_TraceIsEqual) {
    for (std::uint64_t seed = 0; seed < 20; ++seed)
        EXPECT_EQ(run(seed).text, run(seed).text) << "seed " << seed;
    EXPECT_NE(run(1).text, run(2).text);
}

TEST(IrpTrace, RecorderAttached_RunIsUnchanged) {
    for (std::uint64_t seed = 0; seed < 20; ++seed)
        EXPECT_EQ(run(seed).hash, run(seed, false).hash) << "seed " << seed;
}

TEST(IrpTrace, PendedRequest_ArrowCrossesTracks) {
    random_choices chance(3);
    sim_machine sim(chance);
    const dispatch::machine::scope here(sim);
    IRP* pended = nullptr;
    lambda_driver driver(pend_in(pended));
    const trace_recorder recorder(sim);
    request asked;
    sim.spawn("ask", [&] { asked.send(driver); });
    ASSERT_TRUE(sim.run());
    sim.spawn("complete", [&] {
        const KIRQL old = KeRaiseIrqlToDpcLevel();
        complete(pended, STATUS_SUCCESS);
        KeLowerIrql(old);
    });
    ASSERT_TRUE(sim.run());
    const trace_contents found = expect_trace(
        text_of(recorder, {.request = [](const trace_event&) { return std::string("Ask"); },
                           .device = [](const trace_event&) { return std::string("\"hca\""); }}));
    EXPECT_EQ(found.arrows, 1u);
    EXPECT_EQ(found.crossing, 1u);
    EXPECT_TRUE(found.has("Ask to \"hca\""));
    EXPECT_TRUE(found.has("IoCompleteRequest Ask irp#1"));
    EXPECT_TRUE(found.has("completion routine of the originator"));
    EXPECT_TRUE(found.has("PASSIVE_LEVEL"));
    EXPECT_TRUE(found.has("DISPATCH_LEVEL"));
}

// A request that is still outstanding when the trace is written has no arrow, and every slice is
// closed.
TEST(IrpTrace, OutstandingRequest_HasNoArrowAndSlicesAreClosed) {
    random_choices chance(1);
    sim_machine sim(chance);
    const dispatch::machine::scope here(sim);
    IRP* pended = nullptr;
    std::string half_way;
    const trace_recorder recorder(sim);
    lambda_driver driver([&](DEVICE_OBJECT* device, IRP* irp) {
        half_way = text_of(recorder);
        return pend_in(pended)(device, irp);
    });
    request asked;
    asked.send(driver);
    for (const std::string& text : {half_way, text_of(recorder)}) {
        const trace_contents found = expect_trace(text);
        EXPECT_EQ(found.arrows, 0u);
        EXPECT_EQ(found.spans, 1u);
        EXPECT_TRUE(found.has("IRP_MJ_INTERNAL_DEVICE_CONTROL to device#1"));
    }
    complete(pended, STATUS_SUCCESS);
    EXPECT_EQ(expect_trace(text_of(recorder)).arrows, 1u);
}

TEST(IrpTrace, LimitReached_KeepsFirstEventsAndCountsDropped) {
    random_choices chance(1);
    sim_machine sim(chance);
    const dispatch::machine::scope here(sim);
    lambda_driver driver(succeed_at_once);
    const trace_recorder recorder(sim, 5);
    for (int i = 0; i < 3; ++i) {
        request asked;
        asked.send(driver);
    }
    EXPECT_EQ(recorder.events().size(), 5u);
    EXPECT_GT(recorder.dropped(), 0u);
    const std::string text = text_of(recorder);
    expect_trace(text);
    EXPECT_THAT(text, HasSubstr("\"dropped\":" + std::to_string(recorder.dropped())));
}

// A device's name may contain bytes from the fabric.
TEST(IrpTrace, DeviceNameOfAnyBytes_JsonStaysValid) {
    random_choices chance(1);
    sim_machine sim(chance);
    const dispatch::machine::scope here(sim);
    const trace_recorder recorder(sim);
    lambda_driver driver(succeed_at_once);
    request asked;
    asked.send(driver);
    const std::string name = "h\xC3\xB4te\xFF\x1B";
    const trace_contents found = expect_trace(
        text_of(recorder, {.request = [](const trace_event&) { return std::string("Ask"); },
                           .device = [&](const trace_event&) { return name; }}));
    EXPECT_TRUE(found.has("Ask to h\xC3\xB4te\xEF\xBF\xBD\x1B"));
}

TEST(IrpTrace, SecondRecorderOnMachine_Throws) {
    random_choices chance(1);
    sim_machine sim(chance);
    const dispatch::machine::scope here(sim);
    {
        const trace_recorder recorder(sim);
        EXPECT_TRUE(dispatch::detail::verifying());
        EXPECT_THROW(trace_recorder second(sim), std::logic_error);
        // Changing options during the recording leaves the recorder on.
        { const irpverbs::irp::verifier_scope verified("default"); }
        lambda_driver driver(succeed_at_once);
        request asked;
        asked.send(driver);
        EXPECT_FALSE(recorder.events().empty());
    }
    EXPECT_FALSE(dispatch::detail::verifying());
}

class IrpTraceOnBothMachines : public BothMachines {};

TEST_P(IrpTraceOnBothMachines, EachMachine_RecordsSameEvents) {
    const trace_recorder recorder(machine());
    lambda_driver driver(succeed_at_once);
    request asked;
    asked.send(driver);
    const trace_contents found = expect_trace(text_of(recorder));
    EXPECT_EQ(found.arrows, 1u);
    EXPECT_EQ(found.spans, 1u);
    const std::vector<trace_event> events = recorder.events();
    const auto is_end = [](const trace_event& each) { return each.ends; };
    EXPECT_EQ(std::count_if(events.begin(), events.end(), is_end), 3);
}
IRPVERBS_ON_BOTH_MACHINES(IrpTraceOnBothMachines);

} // namespace
