// The report of a run that did not finish: what each actor waits for, and since when.
#include "scheduler.hpp"

#include <sstream>

namespace irpverbs::dispatch::sim {

static const char* name_of(state now) {
    switch (now) {
    case state::running_others:
        return "outside the run";
    case state::ready:
        return "could run";
    case state::parked:
        return "waits";
    case state::spinning:
        return "spins";
    case state::stalled:
        return "stalls";
    case state::delayed:
        return "is delayed";
    case state::idle:
        return "has nothing to do";
    case state::ended:
        return "ended";
    }
    return "?";
}

// Formats "0.0000123 s" without floating point, so that the text is the same on every machine.
static std::string seconds(std::uint64_t time) {
    std::string fraction = std::to_string(time % 10'000'000);
    fraction.insert(0, 7 - fraction.size(), '0');
    while (fraction.size() > 1 && fraction.back() == '0')
        fraction.pop_back();
    return std::to_string(time / 10'000'000) + '.' + fraction + " s";
}

void scheduler::describe(std::string& text, actor& which) {
    text += "  " + which.name + ": ";
    const detail::processor* processor = &which == running_ ? detail::current : which.current;
    if (which.stack == nullptr && which.now != state::ended) {
        text += "not started\n";
        return;
    }
    text += name_of(which.now);
    if (which.now == state::ended || which.now == state::running_others) {
        text += '\n';
        return;
    }
    std::string line;
    text += " at ";
    text += sim::name_of(which.at);
    if (const std::string object = log_.object_name(which.object); !object.empty())
        text += ' ' + object;
    text += ", since " + seconds(which.since);
    if (which.deadline != detail::no_deadline) text += ", until " + seconds(which.deadline);
    if (processor != nullptr) text += ", IRQL " + std::to_string(processor->irql);
    text += '\n';
    if (which.part == role::library && which.now == state::idle) return;
    for (std::istringstream frames(detail::describe(stack_of(which))); std::getline(frames, line);)
        text += "  " + line + '\n';
}

// The actors of a run that ended early did nothing wrong by where they stand.
static bool shows_actors(sim_outcome outcome) {
    return outcome == sim_outcome::hung || outcome == sim_outcome::step_limit;
}

std::string scheduler::report() {
    std::string text = dispatch::name_of(outcome_);
    text += ": " + reason_ + "\nafter " + std::to_string(steps_) + " steps, at " + seconds(time_) +
            "\n";
    if (!shows_actors(outcome_)) return text;
    for (const std::unique_ptr<actor>& each : actors_)
        describe(text, *each);
    return text;
}

std::string scheduler::failure_kind() const {
    return std::string(dispatch::name_of(outcome_)) + ' ' + kind_;
}

} // namespace irpverbs::dispatch::sim
