#include "scheduler.hpp"

#include "intentional_leak.hpp"

#include <dispatch/support/verify.hpp>

#include <algorithm>
#include <exception>
#include <stdexcept>

namespace irpverbs::dispatch::sim {

constexpr actor_id main_id = 0;
constexpr std::uint32_t max_steps_in_a_row = 1000;
constexpr std::uint32_t most_polls = 16;
constexpr std::uint64_t longest_at_dispatch = 1'000'000; // 100 ms

scheduler::scheduler(machine& owner, choices& source, const sim_machine::options& limits)
    : machine_(owner), source_(source), limits_(limits), faults_(source), log_(limits.log),
      main_{.id = main_id, .part = role::main, .stack = &thread_, .owner = this, .name = "main"} {
    ready_.reserve(8);
    ready_.push_back(main_id);
    actors_.reserve(8);
}

scheduler::~scheduler() { abandon_all(); }

void scheduler::abandon_all() {
    for (const std::unique_ptr<actor>& each : actors_) {
        if (each->now == state::ended) continue;
        const bool begun = each->stack != nullptr;
        const bool droppable = each->work.drop != nullptr;
        if (begun) each->stack->abandon();
        // The stack of an actor that has begun and can't be dropped holds its data.
        if (begun == droppable) leak_intentionally(each->work);
        if (!begun && droppable) each->work.drop(each->work.held);
        each->now = state::ended;
    }
    spinners_.clear();
    sleepers_.clear();
    waiting_for_run_.clear();
    watcher_ = nullptr;
    ready_.assign(1, main_id);
    spawned_left_ = 0;
}

actor& scheduler::add(std::string_view name, role part, job work) {
    const actor_id id = static_cast<actor_id>(actors_.size()) + 1;
    actors_.push_back(std::make_unique<actor>(
        actor{.id = id, .part = part, .owner = this, .work = work, .name = std::string(name)}));
    actor& added = *actors_.back();
    if (part == role::spawned) ++spawned_left_;
    if (part == role::spawned && on_main())
        waiting_for_run_.push_back(&added);
    else
        ready_.push_back(id); // the highest id so far
    return added;
}

fiber& scheduler::run_actor(void* which) {
    actor& self = *static_cast<actor*>(which);
    scheduler& owner = *self.owner;
    try {
        if (self.part == role::spawned) {
            const machine::scope here(owner.machine_);
            self.work.body(self.work.held);
        } else {
            self.work.body(self.work.held);
        }
    } catch (const std::exception& error) {
        owner.fail(sim_outcome::failed, self.name + " ended by an exception: " + error.what(),
                   error.what());
    } catch (...) {
        owner.fail(sim_outcome::failed,
                   self.name + " ended by an exception that is no std::exception");
    }
    if (self.work.drop != nullptr) self.work.drop(self.work.held);
    return owner.finish_actor(self);
}

fiber& scheduler::finish_actor(actor& self) {
    self.now = state::ended;
    self.stack = nullptr;
    progress_ = true;
    log_.step(self.id, detail::point::user, time_);
    log_.write_line(steps_, time_, self.name, "ends");
    if (self.part == role::spawned && --spawned_left_ == 0) drained_at_ = time_;
    actor& chosen = next(false);
    prepare(chosen);
    return *chosen.stack;
}

void scheduler::fail(sim_outcome outcome, std::string reason, std::string kind) {
    if (outcome_ != sim_outcome::finished) return;
    outcome_ = outcome;
    kind_ = std::move(kind);
    reason_ = std::move(reason);
}

void scheduler::abort_run() {
    abort_(abort_context_);
    std::terminate(); // abort_ abandons this stack and does not return
}

// A run may end while timers with a period are set, and while threads wait.
bool scheduler::timers_left() const { return machine_.has_one_shot_timers(); }

void scheduler::stop(sim_outcome outcome, std::string reason, std::string kind) {
    if (on_main() && abort_ == nullptr) throw std::runtime_error(reason);
    fail(outcome, std::move(reason), std::move(kind));
    if (on_main()) abort_run();
    running_->now = state::stalled; // for ever
    transfer(main_);
    std::terminate(); // main abandons this stack
}

void scheduler::run() {
    if (outcome_ != sim_outcome::finished) return;
    if (limits_.delays == 0 && detail::enabled(detail::check::delays))
        limits_.delays = detail::settings.delay_one_in;
    delaying_ =
        !delays_ended_ && limits_.delays != 0 && source_.fires_by_chance("delays in this run", 2);
    for (actor* each : waiting_for_run_) {
        each->since = time_;
        wake(*each);
    }
    waiting_for_run_.clear();
    let_others_run();
    if (spawned_left_ != 0)
        fail(sim_outcome::hung, timed_out_ ? "the time limit came" : "nothing can happen any more");
    if (outcome_ != sim_outcome::finished && abort_ != nullptr) abort_run();
}

void scheduler::let_others_run() {
    progress_ = true;
    block(state::running_others, detail::no_deadline);
    main_.now = state::ready;
}

void scheduler::main_is_stuck() {
    main_.now = state::ready;
    main_stack_ = detail::capture_stack();
    if (outcome_ == sim_outcome::finished)
        fail(sim_outcome::hung, "the thread outside the run waits for what can't happen");
    if (abort_ != nullptr) abort_run();
    throw std::runtime_error(report());
}

// --- scheduling points ---------------------------------------------------------------------------

void scheduler::count_step() {
    ++steps_;
    if (running_ != watcher_) progress_ = true;
    // Delays of seconds let a timer of a ms fire thousands of times: they alone reach no limit.
    if (steps_ == limits_.step_limit / 2) end_delays();
    if (steps_ > limits_.step_limit && !on_main())
        stop(sim_outcome::step_limit, "the step limit came");
}

void scheduler::step(detail::point kind, const void* object) {
    if (on_main()) return;
    count_step();
    actor& me = *running_;
    me.at = kind;
    me.object = object;
    me.since = time_;
    log_.step(me.id, kind, time_);
    if (log_.written()) log_.write_step(steps_, time_, me.name, kind, object);
    if (may_delay()) maybe_delay();
    // An actor that polls without a yield must not keep the others from running, whatever its
    // priority.
    const bool polls = ++steps_in_a_row_ % max_steps_in_a_row == 0;
    if (polls) note_poll();
    actor& chosen = next(polls);
    if (&chosen != &me) transfer(chosen);
}

// Actors that poll for a delayed one would else keep time from passing, and that one delayed.
void scheduler::note_poll() {
    if (delayed_actors_ == 0 || ++polls_ < most_polls) return;
    polls_ = 0;
    pass_time();
}

void scheduler::yield() {
    if (on_main()) return;
    count_step();
    note_poll();
    actor& chosen = next(true);
    if (&chosen != running_) transfer(chosen);
}

// After a run's drain time only late timers and delayed actors keep it going: further delays would
// prolong it without end.
bool scheduler::may_delay() const {
    return delaying_ && (spawned_left_ != 0 || time_ <= drained_at_ + limits_.drain_time);
}

void scheduler::maybe_delay() {
    if (!source_.fires("delay", limits_.delays)) return;
    // A processor that runs a DPC or holds a spin lock is never interrupted for long; the library's
    // own locks may be held below DISPATCH_LEVEL.
    const bool brief = at_dispatch() || !spinners_.empty();
    const std::uint64_t drawn = heavy_tail();
    ++delayed_actors_;
    source_.count_preemption();
    block(state::delayed, time_ + (brief ? std::min(drawn, longest_at_dispatch) : drawn), time_);
}

bool scheduler::at_dispatch() const {
    return detail::current != nullptr && detail::current->irql >= DISPATCH_LEVEL;
}

// A delayed actor may hold the lock that an actor at DISPATCH_LEVEL spins for.
void scheduler::shorten_delays() {
    for (actor* each : sleepers_)
        if (each->now == state::delayed)
            each->deadline = std::min(each->deadline, time_ + longest_at_dispatch);
}

// Draws a delay; each doubling is as likely as the one before.
std::uint64_t scheduler::heavy_tail() { return std::uint64_t{1} << source_.pick(28, "delay size"); }

// The time since the actor could have run.
std::uint64_t scheduler::overdue(const actor& which) const {
    return time_ > which.due ? time_ - which.due : 0;
}

void scheduler::end_delays() {
    delaying_ = false;
    delays_ended_ = true;
    const std::vector<actor*> asleep = sleepers_; // wake() removes from the member
    for (actor* each : asleep) {
        if (each->due > time_) {
            each->deadline = each->due;
            continue;
        }
        each->timed_out = true;
        wake(*each);
    }
}

std::uint64_t scheduler::delayed_time() const {
    std::uint64_t sum = delayed_;
    for (const actor* each : sleepers_)
        sum += overdue(*each);
    return sum;
}

bool scheduler::should_inject(const char* site) { return limits_.faults && faults_.fires(site, 4); }

void scheduler::note(std::string_view text) { log_.note(steps_, time_, running_->name, text); }

// --- waiting -------------------------------------------------------------------------------------

static bool consume_token(detail::processor& self) {
    return self.parking.exchange(0, std::memory_order_relaxed) != 0;
}

bool scheduler::park(detail::processor& self, std::uint64_t deadline) {
    self.actor = running_;
    if (consume_token(self)) return true;
    if (deadline <= time_) {
        yield();
        return consume_token(self);
    }
    if (should_inject("park.wakes_for_no_reason")) return true;
    const std::uint64_t due = deadline;
    if (may_delay() && deadline != detail::no_deadline && source_.fires("late", limits_.delays))
        deadline += heavy_tail();
    actor& me = *running_;
    block(state::parked, deadline, due);
    if (me.now != state::ready) main_is_stuck();
    return !me.timed_out || consume_token(self);
}

void scheduler::unpark(detail::processor& target) {
    actor* sleeper = static_cast<actor*>(target.actor);
    if (sleeper != nullptr && sleeper->now == state::parked)
        wake(*sleeper);
    else
        target.parking.store(1, std::memory_order_relaxed);
}

void scheduler::spin(bool (*blocked)(const void*), const void* context) {
    if (!blocked(context)) return;
    actor& me = *running_;
    me.blocked = blocked;
    me.blocked_context = context;
    spinners_.push_back(&me);
    if (at_dispatch()) shorten_delays();
    block(state::spinning, detail::no_deadline);
    if (me.now != state::ready) main_is_stuck();
}

void scheduler::stall(std::uint64_t ticks) {
    if (ticks == 0) return yield();
    block(state::stalled, time_ + ticks);
    if (running_->now != state::ready) main_is_stuck();
}

void scheduler::await_progress() {
    watcher_ = running_;
    progress_ = false;
    block(state::idle, detail::no_deadline);
}

void scheduler::block(state why, std::uint64_t deadline) { block(why, deadline, deadline); }

void scheduler::block(state why, std::uint64_t deadline, std::uint64_t due) {
    actor& me = *running_;
    count_step();
    me.now = why;
    me.since = time_;
    me.timed_out = false;
    me.deadline = deadline;
    me.due = due;
    if (deadline != detail::no_deadline) sleepers_.push_back(&me);
    actor& chosen = next(false);
    if (&chosen != &me) transfer(chosen);
}

void scheduler::wake(actor& sleeper) {
    if (sleeper.now == state::delayed) --delayed_actors_;
    sleeper.now = state::ready;
    if (sleeper.deadline != detail::no_deadline) {
        delayed_ += overdue(sleeper);
        sleepers_.erase(std::find(sleepers_.begin(), sleepers_.end(), &sleeper));
        sleeper.deadline = detail::no_deadline;
    }
    if (&sleeper != running_) add_ready(sleeper.id); // an actor in block() still stands at [0]
}

void scheduler::add_ready(actor_id id) {
    ready_.insert(std::upper_bound(ready_.begin() + 1, ready_.end(), id), id);
}

void scheduler::wake_spinners() {
    for (std::size_t i = 0; i < spinners_.size();) {
        actor& each = *spinners_[i];
        if (each.blocked(each.blocked_context)) {
            ++i;
            continue;
        }
        spinners_.erase(spinners_.begin() + static_cast<std::ptrdiff_t>(i));
        wake(each);
    }
}

// --- the next actor -----------------------------------------------------------------------------

actor& scheduler::next(bool yielded) {
    if (outcome_ != sim_outcome::finished) return main_;
    for (;;) {
        if (!spinners_.empty()) wake_spinners();
        if (watcher_ != nullptr && watcher_->now == state::idle && progress_) wake(*watcher_);
        const bool current_runnable = running_->now == state::ready;
        const std::size_t first = current_runnable ? 0 : 1;
        if (ready_.size() > first) {
            if (!choosing_) return make_running(first);
            const std::span<const actor_id> runnable(ready_.data() + first, ready_.size() - first);
            return make_running(first + source_.pick_actor(runnable, current_runnable, yielded));
        }
        if (!pass_time()) return main_;
    }
}

// Makes the actor at `place` the running one.
actor& scheduler::make_running(std::size_t place) {
    if (place == 0) return *running_;
    const actor_id chosen = ready_[place];
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(place));
    if (running_->now == state::ready) add_ready(running_->id);
    return chosen == main_id ? main_ : *actors_[chosen - 1];
}

bool scheduler::pass_time() {
    if (sleepers_.empty()) return false;
    std::uint64_t due = detail::no_deadline;
    for (const actor* each : sleepers_)
        due = std::min(due, each->deadline);
    if (!may_pass_to(due)) return false;
    time_ = due;
    progress_ = true;
    for (std::size_t i = 0; i < sleepers_.size();) {
        actor& each = *sleepers_[i];
        if (each.deadline > due) {
            ++i;
            continue;
        }
        each.timed_out = true;
        wake(each);
    }
    return true;
}

bool scheduler::may_pass_to(std::uint64_t due) {
    if (due > limits_.time_limit) {
        timed_out_ = true;
        return false;
    }
    if (main_.now != state::running_others || spawned_left_ != 0) return true;
    if (due <= drained_at_ + limits_.drain_time) return true;
    return delayed_actors_ != 0 || timers_left();
}

void scheduler::prepare(actor& to) {
    running_ = &to;
    steps_in_a_row_ = 0;
    ready_[0] = to.id;
    if (to.stack == nullptr) {
        to.stack = &fiber::start(&scheduler::run_actor, &to);
        log_.write_line(steps_, time_, to.name, "starts");
    }
    detail::current = to.current;
}

void scheduler::transfer(actor& to) {
    actor& from = *running_;
    from.current = detail::current;
    prepare(to);
    from.stack->switch_to(*to.stack);
    while (stack_reader_ != nullptr)
        deliver_stack(*from.stack);
}

void scheduler::deliver_stack(fiber& own) {
    read_stack_ = detail::capture_stack();
    own.switch_to(*stack_reader_);
}

detail::call_stack scheduler::stack_of(actor& which) {
    if (&which == &main_) return main_stack_;
    if (which.stack == nullptr || &which == running_) return {};
    fiber here;
    stack_reader_ = &here;
    here.switch_to(*which.stack);
    stack_reader_ = nullptr;
    return read_stack_;
}

} // namespace irpverbs::dispatch::sim
