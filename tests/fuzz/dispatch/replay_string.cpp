// Parses replay strings, seeds and strategies as a user types or pastes them. Parsing either yields
// the value that was written or throws schedule_error.
#include <dispatch/testing/schedule.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using namespace irpverbs::dispatch;

void require(bool kept, const char* rule) {
    if (kept) return;
    std::fprintf(stderr, "broken: %s\n", rule);
    std::abort();
}

void read_as_replay_string(const std::string& text) {
    try {
        require(to_replay_string(from_replay_string(text)) == text, "one trace, one string");
    } catch (const schedule_error& error) {
        require(error.position() <= text.size(), "the position lies in the text");
    }
}

void write_as_trace(const std::uint8_t* data, std::size_t size) {
    std::vector<std::uint32_t> trace;
    for (std::size_t i = 0; i + 4 <= size; i += 4) {
        std::uint32_t choice = 0;
        std::memcpy(&choice, data + i, 4);
        trace.push_back(choice >> (choice % 32)); // mostly small numbers
    }
    require(from_replay_string(to_replay_string(trace)) == trace, "a trace comes back as it was");
}

bool same(const schedule_options& one, const schedule_options& other) {
    if (one.strategy != other.strategy) return false;
    switch (one.strategy) {
    case strategy::random:
        return one.seed == other.seed;
    case strategy::pct:
        return one.seed == other.seed && one.depth == other.depth &&
               one.expected_steps == other.expected_steps;
    case strategy::exhaustive:
        return one.preemption_bound == other.preemption_bound;
    case strategy::replay:
        return one.script == other.script;
    }
    return false;
}

// "IRPVERBS_SEED=1 IRPVERBS_STRATEGY=pct" as a shell would set it.
schedule_options parse_line(const std::string& line) {
    std::string seed, name;
    schedule_environment environment;
    const auto value_of = [&line](const char* variable, std::string& into) -> const char* {
        const std::size_t at = line.find(variable);
        if (at == line.npos) return nullptr;
        const std::size_t from = at + std::strlen(variable);
        into = line.substr(from, line.find(' ', from) - from);
        return into.c_str();
    };
    environment.seed = value_of("IRPVERBS_SEED=", seed);
    environment.strategy = value_of("IRPVERBS_STRATEGY=", name);
    return parse_schedule(environment);
}

// The first line is a seed, the rest a strategy.
void read_as_environment(const std::string& text) {
    const std::size_t line = text.find('\n');
    const std::string seed = text.substr(0, line);
    const std::string name = line == text.npos ? "" : text.substr(line + 1);
    schedule_options read;
    try {
        read = parse_schedule({seed.empty() ? nullptr : seed.c_str(), name.c_str()});
    } catch (const schedule_error&) {
        return;
    }
    require(make_choices(read) != nullptr, "what can be read can be run");
    require(same(parse_line(replay_line(read)), read), "a replay line says what was read");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    read_as_replay_string(text);
    write_as_trace(data, size);
    read_as_environment(text);
    return 0;
}
