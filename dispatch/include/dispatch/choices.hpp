// Choices: the one source of every decision a simulated run takes: who goes on, what fails, how
// long it lasts. The same source answers give the same run. Pure: no thread, no clock, no I/O; the
// same on every compiler. One object serves one run at a time and one thread.
#ifndef IRPVERBS_DISPATCH_CHOICES_HPP
#define IRPVERBS_DISPATCH_CHOICES_HPP

#include <dispatch/ntdef.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace irpverbs::dispatch {

/// One who can be scheduled: a virtual processor, a thread. Dense, in order of creation.
using actor_id = std::uint32_t;

/// One decision with its meaning, for a person to read.
struct decision {
    const char* what;     // "actor", or what the caller said; not owned
    std::uint32_t count;  // how many answers there were; 0: a drawn value
    std::uint32_t chosen; // 0 is always the plain answer: go on, no fault
    actor_id actor;       // who goes on, of an "actor" decision
};

/// The source of decisions. Picks never throw and never ask when only one answer is possible.
class NT_API choices {
public:
    virtual ~choices();
    choices(const choices&) = delete;
    choices& operator=(const choices&) = delete;

    /// Says which of `runnable` goes on, as an index. When the current actor is runnable it stands
    /// first, so that 0 means "no preemption"; the others stand in an order the run determines.
    /// `yielded`: the current actor can't progress until another one has run.
    std::size_t pick_actor(std::span<const actor_id> runnable, bool current_runnable,
                           bool yielded) {
        if (runnable.size() < 2) return 0;
        const std::uint32_t index = choose_actor(runnable, current_runnable, yielded);
        ++actor_decisions_;
        record("actor", static_cast<std::uint32_t>(runnable.size()), index, runnable[index]);
        return index;
    }

    /// Picks a value in 0..n-1; 0 should be the plainest. `what` must outlive the log.
    std::uint32_t pick(std::uint32_t n, const char* what) {
        if (n < 2) return 0;
        const std::uint32_t value = choose(n);
        record(what, n, value, 0);
        return value;
    }

    /// Says whether a fault happens: once in `one_in` times where chance decides. 0: never, 1:
    /// always.
    bool fires(const char* what, std::uint32_t one_in) {
        if (one_in < 2) return one_in == 1;
        const bool fired = choose_fires(one_in);
        record(what, 2, fired ? 1 : 0, 0);
        return fired;
    }

    /// Records an answer that the caller worked out; a replay gives back the recorded one instead.
    bool suggest(const char* what, bool answer) {
        const bool taken = choose_suggested(answer);
        record(what, 2, taken ? 1 : 0, 0);
        return taken;
    }

    /// Draws 64 bits for a workload. Two entries in the trace, high half first.
    std::uint64_t value64();

    /// All answers so far, in order: what a replay needs.
    const std::vector<std::uint32_t>& trace() const { return trace_; }

    /// The line that makes the same decisions again from the start (see schedule.hpp); empty where
    /// there is none but the trace.
    virtual std::string line() const { return {}; }

    /// How many times pick_actor had more than one to choose from: the schedule's length for PCT.
    std::uint64_t actor_decisions() const { return actor_decisions_; }

    /// A digest of all answers so far and of the next random draw; draws nothing. Two runs that
    /// differ here were not the same run, even when their event logs agree.
    std::uint64_t next_draw_fingerprint() const;

    /// Appends each further decision with its meaning to `log` (not owned; null: stops).
    void log_to(std::vector<decision>* log) { log_ = log; }

protected:
    choices();
    void start_over(); // forgets the trace, keeps its memory

private:
    virtual std::uint32_t choose_actor(std::span<const actor_id> runnable, bool current_runnable,
                                       bool yielded) = 0;
    virtual std::uint32_t choose(std::uint32_t n) = 0;
    virtual bool choose_fires(std::uint32_t one_in) = 0;
    virtual bool choose_suggested(bool answer) { return answer; }
    virtual std::uint64_t choose_bits() = 0;
    virtual std::uint64_t peek() const = 0; // what the next draw would be made of

    void record(const char* what, std::uint32_t count, std::uint32_t chosen, actor_id actor) {
        trace_.push_back(chosen);
        if (log_) log_->push_back({what, count, chosen, actor});
    }

    std::vector<std::uint32_t> trace_;
    std::uint64_t actor_decisions_ = 0;
    std::vector<decision>* log_ = nullptr;
};

namespace detail {

/// A reproducible stream of 64-bit numbers. Source: splitmix64, Steele, Lea and Flood 2014.
class generator {
public:
    explicit generator(std::uint64_t seed) : state_(mixed(seed + step)) {}

    std::uint64_t next() { return mixed(state_ += step); }
    std::uint64_t peek() const { return mixed(state_ + step); }

    /// A number in 0..n-1. Uneven by less than n in 2^32: cheaper than a loop, and the same
    /// everywhere.
    std::uint32_t below(std::uint32_t n) {
        return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32);
    }

    static constexpr std::uint64_t mixed(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

private:
    static constexpr std::uint64_t step = 0x9e3779b97f4a7c15u;
    std::uint64_t state_;
};

/// How a run goes on when no answers are left: no preemption; when the current actor yields or
/// can't run, the one who has not run for longest. Actors that wait for another never starve it.
class fair_order {
public:
    std::uint32_t next(std::span<const actor_id> runnable, bool current_runnable,
                       bool yielded) const;
    void ran(actor_id actor);
    void clear() { last_ran_.clear(), step_ = 0; }

private:
    std::vector<std::uint64_t> last_ran_;
    std::uint64_t step_ = 0;
};

} // namespace detail

/// A random walk: each runnable actor is as likely as any other.
class NT_API random_choices final : public choices {
public:
    explicit random_choices(std::uint64_t seed) : seed_(seed), random_(seed) {}

    /// As if newly made, but keeps its memory.
    void restart(std::uint64_t seed);
    std::string line() const override;

private:
    std::uint32_t choose_actor(std::span<const actor_id> runnable, bool, bool) override;
    std::uint32_t choose(std::uint32_t n) override;
    bool choose_fires(std::uint32_t one_in) override;
    std::uint64_t choose_bits() override;
    std::uint64_t peek() const override;

    std::uint64_t seed_;
    detail::generator random_;
};

/// Probabilistic concurrency testing: random priorities, the highest goes on; at depth-1 random
/// steps the one about to go on falls below all that were not yet lowered; one that yields falls to
/// the bottom. Finds a bug of depth d among n actors and k steps with probability >= 1/(n k^(d-1)).
/// Source: Burckhardt et al., ASPLOS 2010; the rule for yields is needed beside it.
class NT_API pct_choices final : public choices {
public:
    /// `depth` >= 1. `expected_steps`: actor decisions of a run; see actor_decisions().
    pct_choices(std::uint64_t seed, std::uint32_t depth, std::uint32_t expected_steps);

    /// As if newly made with that seed, but keeps its memory.
    void restart(std::uint64_t seed);
    std::string line() const override;

    /// How many of the depth-1 changes have happened so far.
    std::size_t priority_changes() const { return changes_done_; }

private:
    struct change {
        std::uint64_t step;
        std::int64_t priority;
    };

    std::uint32_t choose_actor(std::span<const actor_id> runnable, bool current_runnable,
                               bool yielded) override;
    std::uint32_t choose(std::uint32_t n) override;
    bool choose_fires(std::uint32_t one_in) override;
    std::uint64_t choose_bits() override;
    std::uint64_t peek() const override;
    void plan();
    std::uint32_t highest(std::span<const actor_id> runnable);
    std::int64_t& priority_of(actor_id actor);

    std::uint64_t seed_;
    detail::generator random_;
    std::uint32_t depth_;
    std::uint32_t expected_steps_;
    std::vector<change> changes_; // by step
    std::size_t changes_done_ = 0;
    std::vector<std::int64_t> priorities_; // by actor; drawn when first asked for
    std::int64_t bottom_ = 0;              // the lowest priority given so far
};

/// Every run of a small program, depth first:  `do { run(source); } while (source.next());`
/// One that yields goes on only after another has, and a second time only after all those that
/// could run have, so programs that spin end. value64 does not branch: the same draws in each run.
/// Source of the rule for yields: fair scheduling, Musuvathi and Qadeer, PLDI 2008.
class NT_API exhaustive_choices final : public choices {
public:
    /// `preemption_bound`: most preemptions in one run (a runnable actor that did not yield is put
    /// aside); none: no limit.
    explicit exhaustive_choices(std::optional<std::uint32_t> preemption_bound = std::nullopt);

    /// Ends a run and steps to the next one; false when all are done. std::logic_error when the run
    /// asked other questions than the one before it: then something beside choices decides.
    bool next();

    /// Runs ended so far.
    std::uint64_t leaves() const { return leaves_; }

private:
    struct branch {
        std::uint32_t taken;
        std::uint32_t count;
    };
    struct actor_state {
        std::uint64_t last_ran = 0;
        std::uint64_t last_yield = 0;
        std::uint64_t waits_since = 0;   // those of `waits_for` that have run since are done with
        std::vector<actor_id> rivals;    // could have run at the last yield
        std::vector<actor_id> waits_for; // must run before this one does
    };

    std::uint32_t choose_actor(std::span<const actor_id> runnable, bool current_runnable,
                               bool yielded) override;
    std::uint32_t choose(std::uint32_t n) override;
    bool choose_fires(std::uint32_t one_in) override;
    std::uint64_t choose_bits() override;
    std::uint64_t peek() const override;
    void collect_candidates(std::span<const actor_id> runnable, bool current_runnable,
                            bool yielded);
    void note_yield(std::span<const actor_id> runnable);
    bool must_wait(actor_id actor, std::span<const actor_id> runnable) const;
    void begin_run();

    std::optional<std::uint32_t> preemption_bound_;
    std::vector<branch> path_;
    std::size_t position_ = 0;
    std::uint64_t leaves_ = 0;
    std::uint64_t step_ = 0;
    std::uint32_t preemptions_ = 0;
    bool diverged_ = false;
    std::vector<actor_state> actors_;
    std::vector<std::uint32_t> candidates_; // indices into `runnable`
    detail::generator values_;
};

/// Repeats the answers of a trace. Always goes on: an answer out of range becomes the last one
/// there is, and past the end all is plain: nothing fires, nobody is preempted, those who wait take
/// turns. Strings: see schedule.hpp.
class NT_API replay_choices final : public choices {
public:
    explicit replay_choices(std::vector<std::uint32_t> script) : script_(std::move(script)) {}

    /// As if newly made, but keeps its memory.
    void restart(std::span<const std::uint32_t> script);

    /// How well script and program fit. All 0 when the program is the one that was recorded.
    std::size_t out_of_range() const { return out_of_range_; }
    std::size_t past_end() const { return past_end_; }
    std::size_t unused() const { return script_.size() - position_; }

private:
    std::uint32_t choose_actor(std::span<const actor_id> runnable, bool current_runnable,
                               bool yielded) override;
    std::uint32_t choose(std::uint32_t n) override;
    bool choose_fires(std::uint32_t one_in) override;
    bool choose_suggested(bool answer) override;
    std::uint64_t choose_bits() override;
    std::uint64_t peek() const override;
    std::uint32_t take();

    std::vector<std::uint32_t> script_;
    std::size_t position_ = 0;
    std::size_t out_of_range_ = 0;
    std::size_t past_end_ = 0;
    detail::fair_order fair_;
};

/// Answers from a fuzzer's input: a byte each where that is enough. Past the end like
/// replay_choices.
class NT_API byte_choices final : public choices {
public:
    /// `input` is not copied.
    explicit byte_choices(std::span<const std::uint8_t> input) : input_(input) {}

    bool exhausted() const { return position_ == input_.size(); }

private:
    std::uint32_t choose_actor(std::span<const actor_id> runnable, bool current_runnable,
                               bool yielded) override;
    std::uint32_t choose(std::uint32_t n) override;
    bool choose_fires(std::uint32_t one_in) override;
    std::uint64_t choose_bits() override;
    std::uint64_t peek() const override;
    std::uint64_t take(std::size_t bytes);

    std::span<const std::uint8_t> input_;
    std::size_t position_ = 0;
    detail::fair_order fair_;
};

/// Tells the decisions that are not plain, a line each; "all N decisions are plain" when none is.
NT_API std::string describe(std::span<const decision> log);

} // namespace irpverbs::dispatch

#endif
