// The same seed yields the same event log and the same trace of IRPs, byte for byte, in every
// process, build and compiler. Checked inline functions would add the scheduling points of a debug
// build.
#define IRPVERBS_CHECKED_INLINES 0
#include "../three_deep.hpp"

#include <support/golden.hpp>

#include <string>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

// Sends, queues, cancels, serves and times out; the verifier's records end the log.
void program(sim_machine& machine) {
    const irpverbs::irp::verifier_scope verified("default,trace");
    three_deep stack;
    request first(3);
    request second(3);
    machine.spawn("first", [&] { first.send(stack.top); });
    machine.spawn("second", [&] {
        LARGE_INTEGER microsecond;
        microsecond.QuadPart = -10;
        KeDelayExecutionThread(KernelMode, FALSE, &microsecond);
        second.send(stack.top);
    });
    machine.spawn("cancel", [&] { IoCancelIrp(first.irp()); });
    machine.spawn("serve", [&] { stack.serve(); });
    EXPECT_TRUE(machine.run());
    stack.serve();
    EXPECT_EQ(first.completions() + second.completions(), 2);
    std::string trace(VerifierDumpLog(nullptr, nullptr, 0), '\0');
    VerifierDumpLog(nullptr, trace.data(), trace.size() + 1);
    machine.note(trace);
}

TEST(IrpGoldenHashes, RandomSeeds_HashesAreUnchanged) {
    expect_golden(golden_run(random_choices(0), program), {0x9470d069e651203f, 0x17d2bd1d53145a8});
}

TEST(IrpGoldenHashes, PctSeeds_HashesAreUnchanged) {
    expect_golden(golden_run(pct_choices(0, 3, 60), program),
                  {0x53de0383aacdfada, 0x5e5056649729310b});
}

} // namespace
