// A program for choices to schedule: actors that are functions of one step.
#ifndef IRPVERBS_TESTS_DISPATCH_TOY_PROGRAM_HPP
#define IRPVERBS_TESTS_DISPATCH_TOY_PROGRAM_HPP

#include <dispatch/testing/choices.hpp>

#include <algorithm>
#include <functional>
#include <vector>

namespace irpverbs::dispatch::testing {

enum class step { progress, spin, done };
using actor_body = std::function<step()>;

struct toy_run {
    std::vector<actor_id> schedule; // the actors in the order of their steps
    std::size_t preemptions = 0;
    bool finished = false; // all actors finished within the limit
};

// Runs until all actors are done or `limit` steps are made. With `report_yields` false the source
// does not learn that an actor spins.
inline toy_run run_toy(choices& source, const std::vector<actor_body>& actors,
                       std::size_t limit = 1000, bool report_yields = true) {
    toy_run result;
    std::vector<actor_id> runnable;
    for (actor_id id = 0; id < actors.size(); ++id)
        runnable.push_back(id);
    bool current_runnable = false;
    bool yielded = false;
    while (!runnable.empty() && result.schedule.size() < limit) {
        const std::size_t index = source.pick_actor(runnable, current_runnable, yielded);
        if (index != 0 && current_runnable && !yielded) ++result.preemptions;
        const actor_id current = runnable.at(index);
        runnable.erase(std::find(runnable.begin(), runnable.end(), current));
        std::sort(runnable.begin(), runnable.end());
        const step outcome = actors[current]();
        result.schedule.push_back(current);
        current_runnable = outcome != step::done;
        yielded = outcome == step::spin && report_yields;
        if (current_runnable) runnable.insert(runnable.begin(), current);
    }
    result.finished = runnable.empty();
    return result;
}

// Finishes at its `steps`th step.
inline actor_body counts_to(int steps) {
    return [left = steps]() mutable { return --left == 0 ? step::done : step::progress; };
}

inline std::vector<actor_body> counters(std::size_t actors, int steps) {
    return std::vector<actor_body>(actors, counts_to(steps));
}

} // namespace irpverbs::dispatch::testing

#endif
