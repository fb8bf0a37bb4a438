// Systematic low resources, by the verifier's own options and functions.
#include "verified.hpp"

#include <dispatch/pool.h>

#include <algorithm>
#include <string>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;
using irpverbs::irp::verifier_scope;

// Two call stacks allocate an IRP, one allocates pool memory; the results are letters.
[[gnu::noinline]] bool get_irp() {
    IRP* irp = IoAllocateIrp(1, FALSE);
    if (irp != nullptr) IoFreeIrp(irp);
    return irp != nullptr;
}

[[gnu::noinline]] std::string ask_thrice() {
    std::string got;
    got += get_irp() ? 'a' : '-';
    got += get_irp() ? 'b' : '-';
    void* block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 16, 0x74736574);
    got += block != nullptr ? 'c' : '-';
    if (block != nullptr) ExFreePool(block);
    return got;
}

// One place in the program calls repeatedly.
std::string asked_again(int times) {
    std::string all;
    for (int i = 0; i < times; ++i)
        all += ask_thrice() + ' ';
    return all;
}

TEST(SystematicLowResources, EachNewStack_FailsOnce) {
    irpverbs::dispatch::random_choices chance(1);
    sim_machine sim(chance);
    const irpverbs::dispatch::machine::scope here(sim);
    for (int configured = 0; configured < 2; ++configured) { // each configuration starts anew
        const verifier_scope verified("io,low_resources=stacks");
        EXPECT_EQ(asked_again(3), "--- abc abc ");
        EXPECT_EQ(ask_thrice(), "---") << "called from elsewhere: other stacks";
        EXPECT_EQ(asked_again(1), "--- ");
    }
    VERIFIER_COUNTERS counted;
    VerifierQueryCounters(&counted);
    EXPECT_EQ(counted.FaultsInjected, 18u);
    EXPECT_EQ(ask_thrice(), "abc") << "off";
}

TEST(SystematicLowResources, ChanceOrder_FailsAtRandom) {
    const verifier_scope verified("io,low_resources=stacks,low_resources=chance");
    irpverbs::dispatch::random_choices chance(1);
    sim_machine sim(chance);
    const irpverbs::dispatch::machine::scope here(sim);
    const std::string got = asked_again(500);
    const auto failed = std::count(got.begin(), got.end(), '-');
    EXPECT_GT(failed, 20);
    EXPECT_LT(failed, 250);
}

TEST(SystematicLowResources, UnknownOrder_ReturnsInvalidParameter) {
    EXPECT_EQ(VerifierConfigure("low_resources=often"), STATUS_INVALID_PARAMETER);
    EXPECT_STREQ(VerifierMessage(), "low_resources=often: chance or stacks was expected");
}

// Appends as C code does.
void note_one(void* context) { *static_cast<std::string*>(context) += ask_thrice() + ' '; }

TEST(SystematicLowResources, Sweep_FailsEachStackThenEachPair) {
    std::string seen;
    VERIFIER_SWEEP summary{};
    VerifierSweepLowResources(note_one, &seen, TRUE, &summary);
    EXPECT_EQ(seen, "abc -bc a-c ab- --c -b- a-- ");
    EXPECT_EQ(summary.Runs, 7u);
    EXPECT_EQ(summary.Stacks, 3u);
    EXPECT_EQ(summary.Pairs, 3u);
    seen.clear();
    VerifierSweepLowResources(note_one, &seen, FALSE, &summary);
    EXPECT_EQ(seen, "abc -bc a-c ab- ");
    EXPECT_EQ(summary.Pairs, 0u);
}

} // namespace
