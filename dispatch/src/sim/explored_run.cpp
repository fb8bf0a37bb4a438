#include "explored_run.hpp"

#include "fatal_signals.hpp"

#include <exception>

namespace irpverbs::dispatch::sim {

run_result explored_run::run() {
    detail::processor* const outer = detail::current;
    stack_ = &fiber::start(&explored_run::on_own_stack, this);
    caller_.switch_to(*stack_);
    if (aborted_) {
        stack_->abandon();
        simulation& inside = *machine_->simulation_;
        inside.store_result();
        fail(inside.schedule.failure_kind(), inside.last.report);
        store_results();
        machine_.reset();
    }
    fatal_signals::run::show_log(nullptr);
    detail::current = outer;
    return std::move(result_);
}

fiber& explored_run::on_own_stack(void* self) {
    explored_run& own = *static_cast<explored_run*>(self);
    own.run_body();
    return own.caller_;
}

void explored_run::abort_run(void* self) {
    explored_run& own = *static_cast<explored_run*>(self);
    own.aborted_ = true;
    own.stack_->switch_to(own.caller_);
}

void explored_run::run_body() {
    detail::current = nullptr;
    machine_.emplace(source_, options_);
    machine_->simulation_->schedule.on_abort(&explored_run::abort_run, this);
    machine_->simulation_->bug_checks_end_the_run = true;
    machine_->simulation_->explored = true;
    fatal_signals::run::show_log(&machine_->event_log());
    try {
        const machine::scope here(*machine_);
        if (std::optional<std::string> wrong = program_.body(program_.held, *machine_))
            fail(wrong->substr(0, wrong->find('\n')), std::move(*wrong));
    } catch (const std::exception& error) {
        fail(error.what(), std::string("the body threw: ") + error.what());
    } catch (...) {
        fail("exception", "the body threw what is no std::exception");
    }
    store_results();
    machine_.reset(); // the destructor waits for the library's threads, so it may abort the run too
}

void explored_run::fail(std::string kind, std::string text) {
    if (result_.failure) return;
    result_.kind = std::move(kind);
    result_.failure = std::move(text);
}

void explored_run::store_results() {
    result_.hash = machine_->event_hash();
    result_.fingerprint = source_.next_draw_fingerprint();
    result_.actor_decisions = source_.actor_decisions();
    result_.preemptions = source_.preemptions();
    if (result_.failure) result_.trace = source_.trace();
    if (options_.log) result_.log = machine_->event_log();
}

} // namespace irpverbs::dispatch::sim
