#include "handler_loop.hpp"
#include "intentional_leak.hpp"
#include "machine/machine_state.hpp"
#include "simulation.hpp"

#include <dispatch/testing/schedule.hpp>

#include <dispatch/bugcheck.h>

#include <exception>

namespace irpverbs::dispatch {

namespace sim {

simulation::simulation(sim_machine& owner, choices& source, const sim_machine::options& chosen)
    : schedule(owner, source, chosen), owner_(owner) {}

/// While this object exists, bug checks end the run.
class bug_check_scope {
public:
    explicit bug_check_scope(bool& flag) : flag_(flag), before_(flag) { flag = true; }
    ~bug_check_scope() { flag_ = before_; }
    bug_check_scope(const bug_check_scope&) = delete;
    bug_check_scope& operator=(const bug_check_scope&) = delete;

private:
    bool& flag_;
    bool before_;
};

simulation::~simulation() {
    if (handlers_ == nullptr || schedule.outcome() == sim_outcome::finished) return;
    handlers_->abandon();
    leak_intentionally(std::move(handlers_));
}

void simulation::close() {
    if (handlers_ != nullptr) handlers_->close();
}

boost::asio::io_context& simulation::context() {
    if (handlers_ == nullptr) handlers_ = std::make_unique<handler_loop>(owner_, schedule);
    return handlers_->context();
}

void simulation::start_thread(int processor_number, void (*body)(void*), void* context) {
    const std::string name = processor_number >= 0 ? "processor" + std::to_string(processor_number)
                                                   : "thread" + std::to_string(++threads_);
    schedule.add(name, role::library, {body, context, nullptr});
}

const sim_machine::result& simulation::run() {
    {
        const bug_check_scope here(bug_checks_end_the_run);
        schedule.run();
    }
    store_result();
    if (!last) schedule.abandon_all();
    return last;
}

void simulation::store_result() {
    last.steps = schedule.steps();
    last.time = schedule.time();
    if (last.outcome != sim_outcome::finished) return; // the run has reported a failure already
    last.outcome = schedule.outcome();
    if (!last) last.report = full_report();
}

// The actions that an abandoned run left undone are no finding.
std::string simulation::full_report() {
    std::string text = schedule.report();
    if (schedule.outcome() != sim_outcome::hung && schedule.outcome() != sim_outcome::step_limit)
        return text;
    return text + dumped_state();
}

std::string simulation::dumped_state() const {
    std::string text;
    for (const auto& [dump, context] : dumpers)
        dump(text, context);
    return text;
}

const char* simulation::replay_line() {
    replay_line_ = replay_line_of(schedule.source());
    return replay_line_.empty() ? nullptr : replay_line_.c_str();
}

static std::string text_of(const BUG_CHECK_REPORT& report) {
    std::string text(KeFormatBugCheck(&report, nullptr, 0), '\0');
    KeFormatBugCheck(&report, text.data(), text.size() + 1);
    return text;
}

// The actor that broke the rule stops here without unwinding: it may be in C code or in a noexcept
// function, or hold locks.
bool simulation::on_bug_check(const BUG_CHECK_REPORT& report) {
    if (callback.handler != nullptr) {
        callback.handler(&report, callback.context);
        return true;
    }
    if (!bug_checks_end_the_run) return false;
    std::string kind = std::to_string(report.Code);
    if (report.Rule != nullptr) kind += report.Rule;
    BUG_CHECK_REPORT shown = report;
    if (explored) shown.Replay = nullptr;
    // No string is left on the abandoned stack.
    std::string text = "bug check by " + schedule.running().name + "\n";
    text += text_of(shown);
    schedule.stop(sim_outcome::bug_check, std::move(text), std::move(kind));
}

} // namespace sim

const char* name_of(sim_outcome outcome) {
    switch (outcome) {
    case sim_outcome::finished:
        return "finished";
    case sim_outcome::hung:
        return "hung";
    case sim_outcome::step_limit:
        return "step limit";
    case sim_outcome::bug_check:
        return "bug check";
    case sim_outcome::failed:
        return "failed";
    }
    return "?";
}

sim_machine::sim_machine(choices& source) : sim_machine(source, options{}) {}

sim_machine::sim_machine(choices& source, const options& chosen)
    : machine(chosen.processors),
      simulation_(std::make_unique<sim::simulation>(*this, source, chosen)) {
    detail::instrumentation.fetch_add(detail::simulating_unit, std::memory_order_relaxed);
}

// The objects that packages keep for a machine whose run failed are lost with the run.
static void lose_locals(machine& lost) {
    for (std::size_t i = 0; i < machine::max_locals; ++i)
        if (void* held = lost.local(i).load()) sim::leak_intentionally(held);
}

sim_machine::~sim_machine() {
    sim::scheduler& schedule = simulation_->schedule;
    schedule.stop_choosing();
    try {
        if (schedule.outcome() == sim_outcome::finished && !schedule.unfinished()) {
            stop(false);
            simulation_->close();
        } else {
            lose_locals(*this);
        }
        schedule.abandon_all();
    } catch (...) {
        std::terminate(); // prints the exception, since no caller is left to receive it
    }
    detail::instrumentation.fetch_sub(detail::simulating_unit, std::memory_order_relaxed);
}

void sim_machine::spawn_actor(std::string_view name, void (*body)(void*), void* held,
                              void (*drop)(void*)) {
    simulation_->schedule.add(name, sim::role::spawned, {body, held, drop});
}

const sim_machine::result& sim_machine::run() { return simulation_->run(); }

const sim_machine::result& sim_machine::last() const { return simulation_->last; }

void sim_machine::yield() { simulation_->schedule.yield(); }

void sim_machine::end_delays() { simulation_->schedule.end_delays(); }

std::uint64_t sim_machine::delayed_time() const noexcept {
    return simulation_->schedule.delayed_time();
}

std::string_view sim_machine::actor_name() const { return simulation_->schedule.running().name; }

void sim_machine::note(std::string_view text) { simulation_->schedule.note(text); }

const std::string& sim_machine::event_log() const { return simulation_->schedule.log().text(); }

std::uint64_t sim_machine::event_hash() const { return simulation_->schedule.log().hash(); }

choices& sim_machine::source() const { return simulation_->schedule.source(); }

std::string sim_machine::dumped_state() const { return simulation_->dumped_state(); }

void sim_machine::add_state_dumper(void (*dump)(std::string&, void*), void* context) {
    simulation_->dumpers.emplace_back(dump, context);
}

boost::asio::io_context& sim_machine::context() { return simulation_->context(); }

std::uint64_t sim_machine::interrupt_time() { return simulation_->schedule.time(); }

std::uint64_t sim_machine::system_time() {
    return simulation_->system_time_at_0 + interrupt_time();
}

void sim_machine::set_system_time(std::uint64_t now) {
    simulation_->system_time_at_0 = now - interrupt_time();
    state().wake_all();
}

bool sim_machine::park(detail::processor& self, std::uint64_t deadline) {
    return simulation_->schedule.park(self, deadline);
}

void sim_machine::unpark(detail::processor& target) { simulation_->schedule.unpark(target); }

bool sim_machine::start_thread(int processor_number, void (*body)(void*), void* context) {
    simulation_->start_thread(processor_number, body, context);
    return true;
}

void sim_machine::sched_point(detail::processor&, detail::point kind, const void* object) {
    simulation_->schedule.step(kind, object);
}

void sim_machine::spin(detail::processor&, bool (*blocked)(const void*), const void* context,
                       unsigned) {
    simulation_->schedule.spin(blocked, context);
}

void sim_machine::stall(detail::processor&, std::uint64_t ticks) {
    simulation_->schedule.stall(ticks);
}

std::uint64_t sim_machine::random() { return simulation_->schedule.source().value64(); }

bool sim_machine::fires(const char* what, std::uint32_t one_in) {
    return source().fires(what, one_in);
}

bool sim_machine::record_choice(const char* what, bool choice) {
    return source().record_choice(what, choice);
}

bool sim_machine::should_inject(const char* site) {
    return simulation_->schedule.should_inject(site);
}

void sim_machine::name_object(const void* object, const char* kind) {
    simulation_->schedule.log().name_object(object, kind);
}

const char* sim_machine::replay_line() { return simulation_->replay_line(); }

bool sim_machine::on_bug_check(const BUG_CHECK_REPORT& report) {
    return simulation_->on_bug_check(report);
}

detail::bug_check_callback* sim_machine::own_bug_check_callback() { return &simulation_->callback; }

} // namespace irpverbs::dispatch
