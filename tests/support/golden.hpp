// Golden logs: the same seed yields the same event log, byte for byte, in every process and build
// and with every compiler.
#pragma once

#include <dispatch/machine.hpp>
#include <dispatch/testing/choices.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace irpverbs::testing {

/// Hashes over the logs of all seeds.
struct digests {
    std::uint64_t events = 0;                 // over machine.event_hash()
    std::uint64_t text = 0xcbf29ce484222325u; // FNV-1a over each byte of each log
    auto operator<=>(const digests&) const = default;
};

/// Runs `program(sim_machine&)` with the seeds 0 to 199.
template <class Choices>
digests golden_run(Choices source, void (*program)(dispatch::sim_machine&)) {
    digests sum;
    dispatch::sim_machine::options options;
    options.log = true;
    options.delays = 20;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        source.restart(seed);
        dispatch::sim_machine machine(source, options);
        {
            const dispatch::machine::scope here(machine);
            program(machine);
        }
        sum.events = sum.events * 31 + machine.event_hash() + source.next_draw_fingerprint();
        for (const char byte : machine.event_log())
            sum.text = (sum.text ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
    }
    return sum;
}

inline void expect_golden(const digests& seen, const digests& golden) {
    EXPECT_EQ(seen, golden) << std::hex << "this build: {0x" << seen.events << ", 0x" << seen.text
                            << "}. Expected after scheduling points were added or removed; "
                               "otherwise the run depends on more than its choices.";
}

} // namespace irpverbs::testing
