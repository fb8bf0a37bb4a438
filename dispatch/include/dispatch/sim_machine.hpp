/// The simulated machine: every processor and thread is a fiber of the one thread that runs the
/// machine, time is virtual, and one `choices` object makes all random decisions. The same choices
/// give the same run, event for event, in every process and build.
#pragma once

#include <dispatch/machine.hpp>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace irpverbs::dispatch {

class choices; // dispatch/testing/choices.hpp

namespace sim {
class explored_run;
class simulation;
} // namespace sim

/// How a simulated run ended.
enum class sim_outcome : std::uint8_t {
    finished,   // all spawned actors have ended, and no event is left
    hung,       // a spawned actor waits for an event that can't happen, or beyond the time limit
    step_limit, // the run took too many steps: a livelock, or a limit that is too small
    bug_check,  // an actor broke a rule and stopped there
    failed,     // an exception left a spawned actor
};

NT_API const char* name_of(sim_outcome outcome);

/// One machine serves one thread, and one run at a time; code that runs inside run() may not call
/// run(). Machines of several threads run side by side: no machine affects another's run or its
/// reports.
///
/// The thread that made the machine, in a machine::scope, builds the world before run() and tears
/// it down afterwards: it is attached to the machine, and no actor preempts it. While it waits (for
/// a DPC, a work item, a thread), the library's own threads run, but no spawned actor starts before
/// run(). A wait that can't end throws std::runtime_error with the report.
///
/// Code takes no virtual time; time passes when all actors wait or are delayed (options::delays),
/// or those that could run only poll while another is delayed. boost::asio::steady_timer and
/// other clocks of the real world are not simulated. A loop that polls must call
/// KeStallExecutionProcessor, yield() or another function with a scheduling point, else it never
/// ends.
class NT_API sim_machine final : public machine {
public:
    struct options {
        /// Number of processors that run DPCs. A processor costs nothing before its first DPC.
        std::uint32_t processors = 2;
        /// Maximum number of scheduling points and waits of one run.
        std::uint64_t step_limit = 200'000;
        /// Maximum virtual time of one run, in units of 100 ns: 24 hours.
        std::uint64_t time_limit = 24ull * 3600 * 10'000'000;
        /// Time in units of 100 ns (10 s) for which a run continues after the end of the last
        /// spawned actor with the periodic timers, and with the waits with a time-out of other
        /// threads. Timers without a period still fire, however late.
        std::uint64_t drain_time = 10ull * 10'000'000;
        /// In half of the runs an actor is delayed once in so many scheduling points (by 100 ns to
        /// 13 s; at DISPATCH_LEVEL, or while an actor at that level spins for a lock, by 100 ms at
        /// most), and timers are late with that probability: timers fire while actors could run. 0:
        /// never. An exhaustive search has no delays. No delay is drawn after the drain time of a
        /// run, nor after end_delays().
        std::uint32_t delays = 64;
        /// True: detail::platform::should_inject draws faults (see swarm). False: it returns false.
        bool faults = false;
        /// True: event_log() is written. False: only its hash is kept.
        bool log = false;
    };

    struct result {
        sim_outcome outcome = sim_outcome::finished;
        /// For a run that did not finish: the reason, what each actor waits for and since when,
        /// then the texts of the state dumpers.
        std::string report;
        std::uint64_t steps = 0;
        /// Units of 100 ns.
        std::uint64_t time = 0;

        explicit operator bool() const { return outcome == sim_outcome::finished; }
    };

    /// `source` is not owned and must outlive this.
    explicit sim_machine(choices& source);
    sim_machine(choices& source, const options& chosen);
    /// Ends the library's threads when the last run finished. The remains of a run that did not
    /// finish are not destroyed: its stacks and their contents are dropped.
    ~sim_machine() override;

    /// Adds an actor: a processor of its own at PASSIVE_LEVEL that runs a copy of `body` on a stack
    /// of 256 KiB. It starts with run(), or at once when the caller is inside the run.
    template <class Callable>
    void spawn(std::string_view name, Callable&& body) {
        using copy = std::decay_t<Callable>;
        spawn_actor(
            name, [](void* held) { (*static_cast<copy*>(held))(); },
            new copy(std::forward<Callable>(body)),
            [](void* held) { delete static_cast<copy*>(held); });
    }

    /// Runs all spawned actors until they have ended, no DPC, work item or handler of context() is
    /// left to run, and no timer is due (see drain_time). System threads that wait for ever do not
    /// prolong the run. The caller may call it again after more actors were spawned; after a run
    /// that did not finish it only returns that run's result. A bug check during the run ends it,
    /// unless a thread of this machine installed a handler (KeSetBugCheckHandler).
    const result& run();

    /// The result of the last run.
    const result& last() const;

    /// Lets another actor run, if one can.
    void yield();

    /// Ends the delays of this machine: delayed actors continue, late timers are due at their own
    /// time, and no delay is drawn from here on, in later runs neither. For the end of a test,
    /// whose final checks expect that what is to happen has happened.
    void end_delays();
    /// The time in units of 100 ns by which actors and timers were delayed so far, summed over all
    /// of them. An operation takes at most this much longer than its own bound, which so holds in
    /// every run.
    std::uint64_t delayed_time() const noexcept;

    /// The name of the calling actor, as given to spawn.
    std::string_view actor_name() const;

    /// Writes a line to the event log, in the calling actor's name. The text must not hold an
    /// address or anything else that the choices do not determine.
    void note(std::string_view text);

    /// The event log, one event a line: step, time, actor, the operation about to happen, its
    /// object.
    const std::string& event_log() const;
    /// The hash of all events without their objects; also computed when the log is not written.
    std::uint64_t event_hash() const;
    choices& source() const;

    /// Adds `dump(text, context)` to every report. A dumper can't be removed: it must live as long
    /// as the machine.
    void add_state_dumper(void (*dump)(std::string& text, void* context), void* context);
    /// The text that the dumpers would add to a report now.
    std::string dumped_state() const;

    /// Returns the io_context; the first call creates it. Its handlers run one at a time, on an
    /// actor of their own. Threads outside the simulation must not post to it.
    boost::asio::io_context& context() override;
    bool simulated() const noexcept override { return true; }

    std::uint64_t interrupt_time() override;
    /// Starts at 2020-01-01 and advances as interrupt_time() does.
    std::uint64_t system_time() override;
    /// Sets the clock, as NTP or an operator does. KeQuerySystemTime returns `now` from here on;
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
    bool record_choice(const char* what, bool choice) override;
    bool should_inject(const char* site) override;
    void name_object(const void* object, const char* kind) override;
    const char* replay_line() override;
    bool on_bug_check(const BUG_CHECK_REPORT& report) override;
    detail::bug_check_callback* own_bug_check_callback() override;

private:
    friend class sim::explored_run;
    void spawn_actor(std::string_view name, void (*body)(void*), void* held, void (*drop)(void*));

    std::unique_ptr<sim::simulation> simulation_;
};

} // namespace irpverbs::dispatch
