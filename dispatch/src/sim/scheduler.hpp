// The scheduler chooses the actor that runs next, and keeps the virtual time. It runs on the stack
// of the actor that yields the thread.
#pragma once

#include "event_log.hpp"
#include "fiber.hpp"

#include <dispatch/sim_machine.hpp>
#include <dispatch/support/processor.hpp>
#include <dispatch/support/verify.hpp>
#include <dispatch/testing/choices.hpp>
#include <dispatch/testing/swarm.hpp>

#include <memory>
#include <string>
#include <vector>

namespace irpverbs::dispatch::sim {

class scheduler;

/// A job that an actor runs, and the function that frees it afterwards.
struct job {
    void (*body)(void*) = nullptr;
    void* held = nullptr;
    void (*drop)(void*) = nullptr;
};

enum class role : std::uint8_t { main, spawned, library };

enum class state : std::uint8_t {
    running_others, // main, inside run()
    ready,          // running, or able to run
    parked,         // until unpark or the deadline
    spinning,       // until its predicate turns false
    stalled,        // until the deadline
    delayed,        // until the deadline, in the middle of an operation
    idle,           // until another event has happened
    ended,
};

struct actor {
    actor_id id;
    role part;
    state now = state::ready;
    bool timed_out = false;
    std::uint64_t deadline = detail::no_deadline;
    std::uint64_t due = detail::no_deadline; // the deadline without a delay
    bool (*blocked)(const void*) = nullptr;
    const void* blocked_context = nullptr;
    detail::processor* current = nullptr; // value of detail::current while it runs
    fiber* stack = nullptr;               // null before its first turn
    scheduler* owner;
    job work = {};
    std::string name = {};
    // The actor's last scheduling point, for reports.
    detail::point at = detail::point::user;
    const void* object = nullptr;
    std::uint64_t since = 0;
};

class scheduler {
public:
    scheduler(machine& owner, choices& source, const sim_machine::options& limits);
    ~scheduler();

    /// Adds an actor. It is ready at once, except that an actor which main spawns before run()
    /// waits for run().
    actor& add(std::string_view name, role part, job work);

    // Functions for main.
    void run();
    /// Runs the other actors until none of them has anything left to do.
    void let_others_run();
    /// Ends all actors that have not finished; none of them runs again.
    void abandon_all();
    bool unfinished() const { return spawned_left_ != 0; }
    /// From now on every decision is the plain one, and none is drawn.
    void stop_choosing() { choosing_ = false; }

    // Functions for the running actor.
    void step(detail::point kind, const void* object);
    bool park(detail::processor& self, std::uint64_t deadline);
    void unpark(detail::processor& target);
    void spin(bool (*blocked)(const void*), const void* context);
    void stall(std::uint64_t ticks);
    void yield();
    /// Ends the delays for good, also those of actors that are delayed now.
    void end_delays();
    /// The time by which actors were delayed so far.
    std::uint64_t delayed_time() const;
    /// Blocks until another actor has taken a step. Only one actor may wait in this function at a
    /// time.
    void await_progress();
    /// Ends the run with that outcome. On main it calls the function of on_abort, which does not
    /// return; without such a function it throws the reason.
    [[noreturn]] void stop(sim_outcome outcome, std::string reason, std::string kind = {});
    bool should_inject(const char* site);
    void note(std::string_view text);

    actor& running() { return *running_; }
    bool on_main() const { return running_ == &main_; }
    std::uint64_t time() const { return time_; }
    std::uint64_t steps() const { return steps_; }
    choices& source() { return source_; }
    event_log& log() { return log_; }
    sim_outcome outcome() const { return outcome_; }
    /// The reason, and for a run that hung or made too many steps where each actor waits.
    std::string report();
    /// The outcome and the broken rule, without the parts that differ from run to run.
    std::string failure_kind() const;

    /// When a run doesn't finish, main calls `way`, which never returns. Null: main continues.
    void on_abort(void (*way)(void*), void* context) {
        abort_ = way;
        abort_context_ = context;
    }

private:
    static fiber& run_actor(void* which);
    fiber& finish_actor(actor& self);
    void count_step();
    bool may_delay() const;
    void maybe_delay();
    bool at_dispatch() const;
    void shorten_delays();
    std::uint64_t heavy_tail();
    std::uint64_t overdue(const actor& which) const;

    void block(state why, std::uint64_t deadline);
    void block(state why, std::uint64_t deadline, std::uint64_t due);
    void wake(actor& sleeper);
    void add_ready(actor_id id);
    actor& next(bool yielded);
    actor& make_running(std::size_t place);
    void transfer(actor& to);
    void prepare(actor& to);
    void wake_spinners();
    bool pass_time();
    void note_poll();
    bool may_pass_to(std::uint64_t due);
    void fail(sim_outcome outcome, std::string reason, std::string kind = {});
    [[noreturn]] void main_is_stuck();
    [[noreturn]] void abort_run();
    bool timers_left() const;
    void describe(std::string& text, actor& which);
    /// The call stack of an actor that is not running; empty for one that never ran.
    detail::call_stack stack_of(actor& which);
    void deliver_stack(fiber& own);

    machine& machine_;
    choices& source_;
    sim_machine::options limits_;
    swarm faults_;
    event_log log_;
    std::uint64_t time_ = 0;
    std::uint64_t steps_ = 0;
    std::uint64_t drained_at_ = 0; // when the last spawned actor ended
    fiber thread_;
    actor main_;
    actor* running_ = &main_;
    actor* watcher_ = nullptr; // the actor that awaits progress
    bool progress_ = false;
    bool choosing_ = true;
    bool delaying_ = false;
    bool delays_ended_ = false;
    bool timed_out_ = false;           // the time limit was reached
    std::uint32_t delayed_actors_ = 0; // number of actors in state::delayed
    std::uint32_t polls_ = 0;          // since time passed last, while an actor was delayed
    std::uint64_t delayed_ = 0;        // sum of the delays of actors that are not delayed any more
    std::uint32_t steps_in_a_row_ = 0;
    std::size_t spawned_left_ = 0;
    std::vector<std::unique_ptr<actor>> actors_;
    /// [0] is the running actor; the rest are the other ready ones, by id.
    std::vector<actor_id> ready_;
    std::vector<actor*> waiting_for_run_;
    std::vector<actor*> spinners_;
    std::vector<actor*> sleepers_; // actors that have a deadline
    sim_outcome outcome_ = sim_outcome::finished;
    std::string reason_;
    std::string kind_;
    fiber* stack_reader_ = nullptr; // not null: actors are resumed for their call stack alone
    detail::call_stack read_stack_;
    detail::call_stack main_stack_; // of a wait of main that can't end
    void (*abort_)(void*) = nullptr;
    void* abort_context_ = nullptr;
};

} // namespace irpverbs::dispatch::sim
