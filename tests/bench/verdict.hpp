// The rule for checking a bar.
#pragma once

#include "bars.hpp"
#include "harness.hpp"

#include <span>
#include <string>
#include <vector>

namespace irpverbs::bench {

// impossible: the bar's limit misses it too, and the measurement is within 5 % of that limit.
enum class outcome { passed, impossible, failed, skipped };

struct verdict {
    const bar* which;
    double ratio = 0; // 0 if a side is missing
    outcome what = outcome::skipped;
    std::string why; // reason for skipping, or the ratio of the limit
};

inline constexpr std::size_t rounds_to_judge = 9;

// The median over the rounds of (a / its probe) / (b / its probe).
double ratio(const bar& which, const series& measured, const series* minus, const series* against);

std::vector<verdict> judge(const std::vector<series>& results, std::span<const bar> which = bars);

} // namespace irpverbs::bench
