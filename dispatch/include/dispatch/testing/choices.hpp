// A `choices` object makes every decision of a simulated run: which actor runs next, which call
// fails, how long an operation takes. The same choices give the same run. The classes use no
// thread, no clock and no I/O, and behave the same on every compiler. One object serves one run at
// a time and one thread.
#ifndef IRPVERBS_DISPATCH_TESTING_CHOICES_HPP
#define IRPVERBS_DISPATCH_TESTING_CHOICES_HPP

#include <dispatch/ntdef.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace irpverbs::dispatch {

/// The number of an actor, which is a virtual processor or a thread that can be scheduled. Numbers
/// are dense, in order of creation.
using actor_id = std::uint32_t;

/// One decision with its meaning, in a form that a programmer reads.
struct decision {
    const char* what;     // "actor", or the caller's name of the decision; not owned
    std::uint32_t count;  // number of possible choices; 0: a drawn value
    std::uint32_t chosen; // 0 is always the plain choice: no preemption, no fault
    actor_id actor;       // for an "actor" decision: the actor that runs next
};

/// The source of decisions. A pick never throws, and draws nothing when only one choice is
/// possible.
class NT_API choices {
public:
    virtual ~choices();
    choices(const choices&) = delete;
    choices& operator=(const choices&) = delete;

    /// Picks the actor that runs next, as an index into `runnable`. When the current actor is
    /// runnable it stands first, so that 0 means "no preemption"; the run determines the order of
    /// the others. `yielded`: the current actor can't progress until another actor has run.
    std::size_t pick_actor(std::span<const actor_id> runnable, bool current_runnable,
                           bool yielded) {
        if (runnable.size() < 2) return 0;
        const std::uint32_t index = choose_actor(runnable, current_runnable, yielded);
        ++actor_decisions_;
        if (index != 0 && current_runnable && !yielded) ++preemptions_;
        record("actor", static_cast<std::uint32_t>(runnable.size()), index, runnable[index]);
        return index;
    }

    /// Picks a value in 0..n-1; 0 should be the plainest one. `what` must outlive the log.
    std::uint32_t pick(std::uint32_t n, const char* what) {
        if (n < 2) return 0;
        const std::uint32_t value = choose(n);
        record(what, n, value, 0);
        return value;
    }

    /// Returns whether a fault happens: once in `one_in` times where chance decides. 0: never; 1:
    /// always.
    bool fires(const char* what, std::uint32_t one_in) {
        if (one_in < 2) return one_in == 1;
        const bool fired = choose_fires(one_in);
        record(what, 2, fired ? 1 : 0, 0);
        return fired;
    }

    /// As fires(), for an event that only chance brings: a search of all schedules chooses false,
    /// and does not branch.
    bool fires_by_chance(const char* what, std::uint32_t one_in) {
        if (one_in < 2) return one_in == 1;
        const bool fired = choose_fires_by_chance(one_in);
        record(what, 2, fired ? 1 : 0, 0);
        return fired;
    }

    /// Records a choice that the caller computed and returns it; a replay returns the recorded
    /// choice instead.
    bool record_choice(const char* what, bool choice) {
        const bool taken = choose_recorded(choice);
        record(what, 2, taken ? 1 : 0, 0);
        return taken;
    }

    /// Draws 64 bits for a workload. The trace receives two entries, the high half first.
    std::uint64_t value64();

    /// All choices so far, in order. A replay needs nothing else.
    const std::vector<std::uint32_t>& trace() const { return trace_; }

    /// Memory for a line.
    using line_buffer = std::array<char, 96>;
    /// Writes the line that makes the same decisions again from the start (see schedule.hpp);
    /// empty when only the trace can repeat them. Allocates nothing: a handler of fatal signals
    /// calls it.
    virtual std::string_view line(line_buffer&) const { return {}; }

    /// The number of calls of pick_actor that had more than one actor to choose from: the
    /// schedule's length for PCT.
    std::uint64_t actor_decisions() const { return actor_decisions_; }

    /// The number of switches so far away from an actor that could have run on and did not yield.
    std::uint32_t preemptions() const { return preemptions_; }
    /// Counts a switch that another decision than pick_actor() made.
    void count_preemption() { ++preemptions_; }

    /// A digest of all choices so far and of the next random draw. Draws nothing. Two runs whose
    /// digests differ were different runs, even when their event logs agree.
    std::uint64_t next_draw_fingerprint() const;

    /// Appends each later decision with its meaning to `log` (not owned; null: stops appending).
    void log_to(std::vector<decision>* log) { log_ = log; }

protected:
    choices();
    void clear_trace(); // keeps its memory

private:
    virtual std::uint32_t choose_actor(std::span<const actor_id> runnable, bool current_runnable,
                                       bool yielded) = 0;
    virtual std::uint32_t choose(std::uint32_t n) = 0;
    virtual bool choose_fires(std::uint32_t one_in) = 0;
    virtual bool choose_fires_by_chance(std::uint32_t one_in) { return choose_fires(one_in); }
    virtual bool choose_recorded(bool choice) { return choice; }
    virtual std::uint64_t choose_bits() = 0;
    virtual std::uint64_t peek() const = 0; // the state from which the next draw is computed

    void record(const char* what, std::uint32_t count, std::uint32_t chosen, actor_id actor) {
        trace_.push_back(chosen);
        if (log_) log_->push_back({what, count, chosen, actor});
    }

    std::vector<std::uint32_t> trace_;
    std::uint64_t actor_decisions_ = 0;
    std::uint32_t preemptions_ = 0;
    std::vector<decision>* log_ = nullptr;
};

namespace detail {

/// A reproducible stream of 64-bit numbers. Source: splitmix64, Steele, Lea and Flood 2014.
class generator {
public:
    explicit generator(std::uint64_t seed) : state_(mixed(seed + step)) {}

    std::uint64_t next() { return mixed(state_ += step); }
    std::uint64_t peek() const { return mixed(state_ + step); }

    /// A number in 0..n-1. The probabilities differ by less than n in 2^32: that is cheaper than a
    /// loop, and the same on every computer.
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

/// The order of actors when no choices are left: no preemption; when the current actor yields or
/// can't run, the actor that has not run for longest is next. Actors that wait for another actor
/// never starve it.
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

    /// Restarts as if newly constructed, but keeps the memory.
    void restart(std::uint64_t seed);
    std::string_view line(line_buffer& into) const override;

private:
    std::uint32_t choose_actor(std::span<const actor_id> runnable, bool, bool) override;
    std::uint32_t choose(std::uint32_t n) override;
    bool choose_fires(std::uint32_t one_in) override;
    std::uint64_t choose_bits() override;
    std::uint64_t peek() const override;

    std::uint64_t seed_;
    detail::generator random_;
};

/// Probabilistic concurrency testing: each actor has a random priority, and the runnable actor of
/// the highest priority runs. At depth-1 random steps the actor that would run next falls below all
/// actors that were not yet lowered. An actor that yields falls to the bottom. Finds a bug of depth
/// d among n actors and k steps with probability >= 1/(n k^(d-1)). Source: Burckhardt et al.,
/// ASPLOS 2010; the rule for yields is an addition that programs with spin loops need.
class NT_API pct_choices final : public choices {
public:
    /// `depth` >= 1. `expected_steps`: actor decisions of a run; see actor_decisions().
    pct_choices(std::uint64_t seed, std::uint32_t depth, std::uint32_t expected_steps);

    /// Restarts as if newly constructed with that seed, but keeps the memory.
    void restart(std::uint64_t seed);
    std::string_view line(line_buffer& into) const override;

    /// The number of the depth-1 priority changes that have happened so far.
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
    std::vector<std::int64_t> priorities_; // by actor; drawn at the first use
    std::int64_t bottom_ = 0;              // the lowest priority assigned so far
};

/// Every run of a small program, depth first:  `do { run(source); } while (source.next());`
/// An actor that yields runs again only after another actor has run, and after a second yield only
/// after all actors that could run have run, so programs that spin end. value64 does not branch: it
/// draws the same values in each run. Source of the rule for yields: fair scheduling, Musuvathi and
/// Qadeer, PLDI 2008.
class NT_API exhaustive_choices final : public choices {
public:
    /// `preemption_bound`: the maximum number of preemptions in one run (a preemption switches away
    /// from a runnable actor that did not yield); none: no limit.
    explicit exhaustive_choices(std::optional<std::uint32_t> preemption_bound = std::nullopt);

    /// Ends a run and advances to the next one. Returns false when all runs are done. Throws
    /// std::logic_error when the run asked for other decisions than the one before it: then the
    /// program depends on something other than the choices.
    bool next();

    /// Number of runs ended so far.
    std::uint64_t runs() const { return runs_; }

private:
    struct branch {
        std::uint32_t taken;
        std::uint32_t count;
    };
    struct actor_state {
        std::uint64_t last_ran = 0;
        std::uint64_t last_yield = 0;
        std::uint64_t waits_since = 0;     // an actor of `must_follow` that has run since then no
                                           // longer counts
        std::vector<actor_id> contenders;  // actors that could have run at the last yield
        std::vector<actor_id> must_follow; // actors that must run before this one does
    };

    std::uint32_t choose_actor(std::span<const actor_id> runnable, bool current_runnable,
                               bool yielded) override;
    std::uint32_t choose(std::uint32_t n) override;
    bool choose_fires(std::uint32_t one_in) override;
    bool choose_fires_by_chance(std::uint32_t) override { return false; }
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
    std::uint64_t runs_ = 0;
    std::uint64_t step_ = 0;
    bool diverged_ = false;
    std::vector<actor_state> actors_;
    std::vector<std::uint32_t> candidates_; // indices into `runnable`
    detail::generator values_;
};

/// Repeats the choices of a trace, and never fails: a choice out of range becomes the last
/// possible choice, and past the end every choice is plain: no fault fires, no actor is preempted,
/// and waiting actors take turns. schedule.hpp converts traces to strings.
class NT_API replay_choices final : public choices {
public:
    explicit replay_choices(std::vector<std::uint32_t> script) : script_(std::move(script)) {}

    /// Restarts as if newly constructed, but keeps the memory.
    void restart(std::span<const std::uint32_t> script);

    /// These count how badly script and program fit. All are 0 when the program is the recorded
    /// one.
    std::size_t out_of_range() const { return out_of_range_; }
    std::size_t past_end() const { return past_end_; }
    std::size_t unused() const { return script_.size() - position_; }

private:
    std::uint32_t choose_actor(std::span<const actor_id> runnable, bool current_runnable,
                               bool yielded) override;
    std::uint32_t choose(std::uint32_t n) override;
    bool choose_fires(std::uint32_t one_in) override;
    bool choose_recorded(bool choice) override;
    std::uint64_t choose_bits() override;
    std::uint64_t peek() const override;
    std::uint32_t next_choice();

    std::vector<std::uint32_t> script_;
    std::size_t position_ = 0;
    std::size_t out_of_range_ = 0;
    std::size_t past_end_ = 0;
    detail::fair_order fair_;
};

/// Takes its choices from a fuzzer's input, one byte for each choice where a byte is enough. Past
/// the end it chooses as replay_choices does.
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
    std::uint64_t read(std::size_t bytes);

    std::span<const std::uint8_t> input_;
    std::size_t position_ = 0;
    detail::fair_order fair_;
};

/// Lists the decisions that are not plain, one a line; "all N decisions are plain" when there are
/// none.
NT_API std::string describe(std::span<const decision> log);

} // namespace irpverbs::dispatch

#endif
