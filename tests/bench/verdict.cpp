#include "verdict.hpp"

#include "statistics.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace irpverbs::bench {
namespace {

const series* find(const std::vector<series>& results, std::string_view name) {
    const auto found = std::find_if(results.begin(), results.end(),
                                    [&](const series& each) { return each.what.name == name; });
    return found == results.end() || found->samples.empty() ? nullptr : &*found;
}

double in_calls(const sample& taken) { return taken.nanoseconds / taken.call; }

bool needs_no_other(const bar& which) {
    return which.against == indirect_call || which.against == nanosecond;
}

bool mostly_clean(const series* first, const series* second) {
    std::size_t clean = 0, all = 0;
    for (const series* each : {first, second}) {
        if (!each) continue;
        all += each->samples.size();
        clean += static_cast<std::size_t>(std::count_if(each->samples.begin(), each->samples.end(),
                                                        [](const sample& s) { return s.clean; }));
    }
    return clean * 2 >= all;
}

// For a bar that `measured` misses by `value`.
verdict judge_missed(const bar& which, double value, double most, const series* limit,
                     const series* against) {
    if (!limit) return {&which, value, outcome::failed, {}};
    const double least = ratio(which, *limit, nullptr, against);
    std::array<char, 64> text;
    std::snprintf(text.data(), text.size(), "the limit, %s, is %.3f",
                  std::string(which.limit).c_str(), least);
    const bool impossible = least > most && value <= least * 1.05;
    return {&which, value, impossible ? outcome::impossible : outcome::failed, text.data()};
}

verdict judge_one(const bar& which, const std::vector<series>& results) {
    const bool probed = needs_no_other(which);
    const series* measured = find(results, which.measured);
    const series* against = probed ? nullptr : find(results, which.against);
    const series* minus = which.minus.empty() ? nullptr : find(results, which.minus);
    const auto skip = [&](double value, std::string why) {
        return verdict{&which, value, outcome::skipped, std::move(why)};
    };
    if (!measured) return skip(0, "not measured: " + std::string(which.measured));
    if (!probed && !against) return skip(0, "not measured: " + std::string(which.against));
    if (!which.minus.empty() && !minus) return skip(0, "not measured: " + std::string(which.minus));

    const double value = ratio(which, *measured, minus, against);
    if (measured->samples.size() < rounds_to_judge) return skip(value, "fewer than 9 rounds");
    const bool two = which.kind == bar_kind::two_threads;
    if (two && !mostly_clean(measured, against))
        return skip(value, "most samples were disturbed; run it on a quieter machine");
    const double most = which.bound * (two ? 1.30 : 1.10);
    if (value <= most) return {&which, value, outcome::passed, {}};
    return judge_missed(which, value, most, find(results, which.limit), against);
}

} // namespace

double ratio(const bar& which, const series& measured, const series* minus, const series* against) {
    std::vector<double> of_rounds;
    for (std::size_t round = 0; round < measured.samples.size(); ++round) {
        if (which.against == nanosecond) {
            of_rounds.push_back(measured.samples[round].nanoseconds);
            continue;
        }
        double top = in_calls(measured.samples[round]);
        if (minus) top = (top - in_calls(minus->samples[round])) / which.shared_by;
        of_rounds.push_back(against ? top / in_calls(against->samples[round]) : top);
    }
    return median(std::move(of_rounds));
}

std::vector<verdict> judge(const std::vector<series>& results, std::span<const bar> which) {
    std::vector<verdict> all;
    for (const bar& each : which)
        all.push_back(judge_one(each, results));
    return all;
}

} // namespace irpverbs::bench
