/// The simulated machine: every processor and thread is a fiber of the one thread that runs it,
/// time is virtual, and all that is left to chance is drawn from one `choices`. The same answers
/// give the same run, event for event, in every process and build.
#pragma once

#include <dispatch/choices.hpp>
#include <dispatch/machine.hpp>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace irpverbs::dispatch {

namespace sim {
class attempt;
class simulation;
} // namespace sim

/// How a simulated run ended.
enum class sim_outcome : std::uint8_t {
    finished,   // all that was spawned has ended, and nothing more can happen
    hung,       // something spawned waits for what can't happen, or longer than the time limit
    step_limit, // too many steps: a livelock, or a limit too small
    bug_check,  // a rule was broken; what broke it goes no further
    failed,     // an exception left what was spawned
};

NT_API const char* name_of(sim_outcome outcome);

/// One machine serves one thread, and one run at a time; what it runs may not call run(). Machines
/// of several threads run side by side: none has a part in another's run or in its reports.
///
/// The thread that made it, in a machine::scope, sets the world up before run() and takes it down
/// after: it is a visitor that nothing preempts. When it has to wait (for a DPC, a work item, a
/// thread) the library's own threads run meanwhile, but nothing spawned starts before run(). A wait
/// that can't end throws std::runtime_error with the report.
///
/// Code takes no virtual time; time passes when all wait. boost::asio::steady_timer and other
/// clocks of the real world are not simulated. A loop that polls must call
/// KeStallExecutionProcessor, yield() or anything else with a scheduling point in it, else it never
/// ends.
class NT_API sim_machine final : public machine {
public:
    struct options {
        /// Processors that run DPCs. None costs anything before its first DPC.
        std::uint32_t processors = 2;
        /// Scheduling points and waits of one run.
        std::uint64_t step_limit = 200'000;
        /// Virtual time of one run, in units of 100 ns: 24 hours.
        std::uint64_t time_limit = 24ull * 3600 * 10'000'000;
        /// After the end of the last spawned actor, timers that are set once still fire, however
        /// late; periodic ones and waits with a time-out of other threads go on only so long, in
        /// units of 100 ns: 10 s.
        std::uint64_t drain_time = 10ull * 10'000'000;
        /// Once in so many scheduling points an actor is held up for a while (100 ns to 13 s, the
        /// long ones rare), in every other run; likewise for timers that are late. 0: never.
        std::uint32_t delays = 0;
        /// detail::platform::perturb draws faults (see swarm); otherwise it says no.
        bool faults = false;
        /// event_log() is written; otherwise only its hash is kept.
        bool log = false;
    };

    struct result {
        sim_outcome outcome = sim_outcome::finished;
        /// When not finished: why, who waits for what and since when, then what state dumpers add.
        std::string report;
        std::uint64_t steps = 0;
        /// Units of 100 ns.
        std::uint64_t time = 0;

        explicit operator bool() const { return outcome == sim_outcome::finished; }
    };

    /// `source` is not owned and must outlive this.
    explicit sim_machine(choices& source);
    sim_machine(choices& source, const options& chosen);
    /// Ends the library's threads when the last run finished. What a run that did not finish left
    /// behind is not destroyed: its stacks and their contents are dropped.
    ~sim_machine() override;

    /// Adds an actor, a processor of its own at PASSIVE_LEVEL that runs a copy of `body` on a stack
    /// of 256 KiB. It starts with run(), or at once when called from inside the run.
    template <class Callable>
    void spawn(std::string_view name, Callable&& body) {
        using copy = std::decay_t<Callable>;
        spawn_actor(
            name, [](void* held) { (*static_cast<copy*>(held))(); },
            new copy(std::forward<Callable>(body)),
            [](void* held) { delete static_cast<copy*>(held); });
    }

    /// Runs all that was spawned, until that has ended and no DPC, work item or handler of
    /// context() is left to run, and nothing more is due (see drain_time). System threads that wait
    /// for ever do not keep it. May be called again after more was spawned; after a run that did
    /// not finish it only gives the same result. While it runs, a bug check ends the run, unless a
    /// thread of this machine installed a handler (KeSetBugCheckHandler).
    const result& run();

    /// The last result.
    const result& last() const;

    /// Another actor goes on, if there is one that can.
    void yield();

    /// Who calls: the name given to spawn.
    std::string_view actor_name() const;

    /// A line of the event log, in the caller's name. Must not hold an address or anything else
    /// that choices do not determine.
    void note(std::string_view text);

    /// A line an event: step, time, actor, what it is about to do, to which object.
    const std::string& event_log() const;
    /// Of all events, objects apart; kept also when the log is not written.
    std::uint64_t event_hash() const;
    choices& source() const;

    /// Adds `dump(text, context)` to what a report tells. Not for removal: it lives as long as
    /// this.
    void add_state_dumper(void (*dump)(std::string& text, void* context), void* context);

    /// Created when first called; its handlers run one at a time, on an actor of their own. Threads
    /// of the outside world must not post to it.
    boost::asio::io_context& context() override;
    bool simulated() const noexcept override { return true; }

    std::uint64_t interrupt_time() override;
    /// Begins on 2020-01-01, and goes on as interrupt_time() does.
    std::uint64_t system_time() override;
    /// Sets the clock, as NTP or an operator does. KeQuerySystemTime gives `now` from here on;
    /// timers and waits that end at an absolute time follow.
    void set_system_time(std::uint64_t now);
    bool park(detail::processor& self, std::uint64_t deadline) override;
    void unpark(detail::processor& target) override;
    bool start_thread(int processor_number, void (*body)(void*), void* context) override;
    void sched_point(detail::processor& self, detail::point kind, const void* object) override;
    void spin(detail::processor& self, bool (*blocked)(const void*), const void* context,
              unsigned turn) override;
    void stall(detail::processor& self, std::uint64_t ticks) override;
    std::uint64_t random() override;
    bool fires(const char* what, std::uint32_t one_in) override;
    bool suggest(const char* what, bool answer) override;
    bool perturb(const char* site) override;
    void introduce(const void* object, const char* kind) override;
    const char* replay_line() override;
    bool on_bug_check(const BUG_CHECK_REPORT& report) override;
    detail::bug_check_receiver* own_receiver() override;

private:
    friend class sim::attempt;
    void spawn_actor(std::string_view name, void (*body)(void*), void* held, void (*drop)(void*));

    std::unique_ptr<sim::simulation> simulation_;
};

} // namespace irpverbs::dispatch
