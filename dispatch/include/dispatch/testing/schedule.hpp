// Schedules: the texts that identify a run: a seed, a strategy, a replay string.
#ifndef IRPVERBS_DISPATCH_TESTING_SCHEDULE_HPP
#define IRPVERBS_DISPATCH_TESTING_SCHEDULE_HPP

#include <dispatch/testing/choices.hpp>

#include <memory>
#include <stdexcept>
#include <string_view>

namespace irpverbs::dispatch {

/// The error for an unreadable seed, strategy or replay string. what() names the expected form and
/// the position.
class NT_API schedule_error : public std::invalid_argument {
public:
    schedule_error(const std::string& message, std::size_t position)
        : std::invalid_argument(message), position_(position) {}

    /// Offset of the first wrong character in the text that was read.
    std::size_t position() const { return position_; }

private:
    std::size_t position_;
};

/// The maximum number of decisions in a replay string.
inline constexpr std::size_t max_replay_length = std::size_t{1} << 20;

/// Writes a trace as one printable token that a shell takes unquoted: "r1.", the choices, a
/// checksum. Each trace has one string. Throws std::length_error for a trace longer than
/// max_replay_length.
NT_API std::string to_replay_string(std::span<const std::uint32_t> trace);

/// Reads a string that to_replay_string wrote. Any other string, or one that was cut or changed,
/// throws schedule_error.
NT_API std::vector<std::uint32_t> from_replay_string(std::string_view text);

enum class strategy { random, pct, exhaustive, replay };

/// The options that determine a run of a program.
struct schedule_options {
    dispatch::strategy strategy = dispatch::strategy::random;
    std::uint64_t seed = 0;                             // random, pct
    std::uint32_t depth = 3;                            // pct
    std::uint32_t expected_steps = 100;                 // pct: actor decisions of a run
    std::optional<std::uint32_t> preemption_bound = {}; // exhaustive
    std::vector<std::uint32_t> script = {};             // replay
};

/// The variables of a program's environment; null: not set.
struct schedule_environment {
    const char* seed = nullptr;     // IRPVERBS_SEED: 0..2^64-1
    const char* strategy = nullptr; // IRPVERBS_STRATEGY: random, pct[:DEPTH[:STEPS]],
                                    // exhaustive[:PREEMPTIONS], replay:STRING
};

/// Reads the environment over `defaults`. A schedule_error names the variable and its valid values.
NT_API schedule_options parse_schedule(const schedule_environment& environment,
                                       schedule_options defaults = {});

/// Makes the source of decisions that `options` describe.
NT_API std::unique_ptr<choices> make_choices(const schedule_options& options);

/// The environment that repeats the run: "IRPVERBS_SEED=58 IRPVERBS_STRATEGY=pct:3:100".
/// parse_schedule reads the same options from it, whatever its defaults are.
NT_API std::string replay_line(const schedule_options& options);

/// The line that repeats one recorded run of any strategy. Throws std::length_error for a trace
/// longer than max_replay_length.
NT_API std::string replay_line(std::span<const std::uint32_t> trace);

/// The line that repeats the decisions of `source` so far: its trace or, for a trace longer than
/// max_replay_length, the options that it was made with; empty when neither is possible.
NT_API std::string replay_line_of(const choices& source);

} // namespace irpverbs::dispatch

#endif
