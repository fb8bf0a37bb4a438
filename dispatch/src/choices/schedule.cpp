#include "seed_line.hpp"

#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <limits>
#include <utility>

namespace irpverbs::dispatch {
namespace {

constexpr std::uint32_t max_depth = 1000;

// A part of a variable's value, and the part's position in the value.
struct part {
    std::string_view text;
    std::size_t position;
};

[[noreturn]] void throw_parse_error(const char* variable, std::string_view value,
                                    std::size_t position, const std::string& expected) {
    throw schedule_error(std::string(variable) + "=" + std::string(value) + ": expected " +
                             expected + " at character " + std::to_string(position + 1),
                         position);
}

std::uint64_t number(const char* variable, std::string_view value, part digits,
                     std::uint64_t lowest, std::uint64_t highest) {
    std::uint64_t result = 0;
    const char* const end = digits.text.data() + digits.text.size();
    const auto [stop, error] = std::from_chars(digits.text.data(), end, result);
    const bool good = error == std::errc() && stop == end && result >= lowest && result <= highest;
    if (good) return result;
    // The error position of a number out of range is its first digit; that of a stray letter is the
    // letter.
    const bool stray = error == std::errc() && stop != end;
    const std::size_t into = stray ? static_cast<std::size_t>(stop - digits.text.data()) : 0;
    throw_parse_error(variable, value, digits.position + into,
                      "a decimal number " + std::to_string(lowest) + ".." +
                          std::to_string(highest));
}

class strategy_parser {
public:
    strategy_parser(std::string_view value, schedule_options& options)
        : value_(value), options_(options) {}

    void parse() {
        const part name = next_part();
        if (name.text == "random") {
            options_.strategy = strategy::random;
        } else if (name.text == "pct") {
            options_.strategy = strategy::pct;
            if (!done()) options_.depth = next_number(1, max_depth);
            if (!done()) options_.expected_steps = next_number(1, most);
        } else if (name.text == "exhaustive") {
            options_.strategy = strategy::exhaustive;
            options_.preemption_bound.reset();
            if (!done()) options_.preemption_bound = next_number(0, most);
        } else if (name.text == "replay") {
            options_.strategy = strategy::replay;
            options_.script = script();
        } else {
            fail(0, "random, pct[:DEPTH[:STEPS]], exhaustive[:PREEMPTIONS] or replay:STRING");
        }
        if (!done()) fail(position_ - 1, "nothing more");
    }

private:
    static constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();

    [[noreturn]] void fail(std::size_t position, const std::string& expected) const {
        throw_parse_error("IRPVERBS_STRATEGY", value_, position, expected);
    }

    bool done() const { return position_ > value_.size(); }

    // Returns the text up to the next ':'. position_ is then behind the ':', or one past the end
    // when there is none.
    part next_part() {
        const std::size_t from = position_;
        const std::size_t colon = value_.find(':', from);
        const std::size_t to = colon == value_.npos ? value_.size() : colon;
        position_ = to + 1;
        return {value_.substr(from, to - from), from};
    }

    std::uint32_t next_number(std::uint32_t lowest, std::uint32_t highest) {
        return static_cast<std::uint32_t>(
            number("IRPVERBS_STRATEGY", value_, next_part(), lowest, highest));
    }

    std::vector<std::uint32_t> script() {
        if (done()) fail(value_.size(), "\":STRING\", the replay string,");
        const part token = next_part();
        try {
            return from_replay_string(token.text);
        } catch (const schedule_error& error) {
            throw schedule_error("IRPVERBS_STRATEGY=replay: " + std::string(error.what()),
                                 token.position + error.position());
        }
    }

    std::string_view value_;
    schedule_options& options_;
    std::size_t position_ = 0;
};

} // namespace

schedule_options parse_schedule(const schedule_environment& environment,
                                schedule_options defaults) {
    schedule_options options = std::move(defaults);
    if (environment.seed)
        options.seed = number("IRPVERBS_SEED", environment.seed, {environment.seed, 0}, 0,
                              std::numeric_limits<std::uint64_t>::max());
    if (environment.strategy) strategy_parser(environment.strategy, options).parse();
    return options;
}

std::unique_ptr<choices> make_choices(const schedule_options& options) {
    switch (options.strategy) {
    case strategy::random:
        return std::make_unique<random_choices>(options.seed);
    case strategy::pct:
        return std::make_unique<pct_choices>(options.seed, options.depth, options.expected_steps);
    case strategy::exhaustive:
        return std::make_unique<exhaustive_choices>(options.preemption_bound);
    case strategy::replay:
        return std::make_unique<replay_choices>(options.script);
    }
    throw std::invalid_argument("schedule_options: no such strategy");
}

std::string_view seed_line(const schedule_options& options, choices::line_buffer& into) {
    const int length =
        options.strategy == strategy::random
            ? std::snprintf(into.data(), into.size(),
                            "IRPVERBS_SEED=%" PRIu64 " IRPVERBS_STRATEGY=random", options.seed)
            : std::snprintf(into.data(), into.size(),
                            "IRPVERBS_SEED=%" PRIu64 " IRPVERBS_STRATEGY=pct:%" PRIu32 ":%" PRIu32,
                            options.seed, options.depth, options.expected_steps);
    return {into.data(), static_cast<std::size_t>(length)};
}

std::string replay_line(const schedule_options& options) {
    choices::line_buffer line;
    switch (options.strategy) {
    case strategy::random:
    case strategy::pct:
        return std::string(seed_line(options, line));
    case strategy::exhaustive:
        return "IRPVERBS_STRATEGY=exhaustive" +
               (options.preemption_bound ? ":" + std::to_string(*options.preemption_bound) : "");
    case strategy::replay:
        return replay_line(options.script);
    }
    throw std::invalid_argument("schedule_options: no such strategy");
}

std::string replay_line(std::span<const std::uint32_t> trace) {
    return "IRPVERBS_STRATEGY=replay:" + to_replay_string(trace);
}

std::string replay_line_of(const choices& source) {
    choices::line_buffer line;
    return source.trace().size() <= max_replay_length ? replay_line(source.trace())
                                                      : std::string(source.line(line));
}

} // namespace irpverbs::dispatch
