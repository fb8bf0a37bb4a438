#include "attempt.hpp"

#include <exception>

namespace irpverbs::dispatch::sim {

ending attempt::run() {
    detail::processor* const outer = detail::current;
    stack_ = &fiber::start(&attempt::on_own_stack, this);
    caller_.switch_to(*stack_);
    if (escaped_) {
        stack_->abandon();
        simulation& inside = *machine_->simulation_;
        inside.conclude();
        fail(inside.schedule.failure_kind(), inside.last.report);
        take_results();
        machine_.reset();
    }
    detail::current = outer;
    return std::move(ending_);
}

fiber& attempt::on_own_stack(void* self) {
    attempt& own = *static_cast<attempt*>(self);
    own.run_body();
    return own.caller_;
}

void attempt::escape(void* self) {
    attempt& own = *static_cast<attempt*>(self);
    own.escaped_ = true;
    own.stack_->switch_to(own.caller_);
}

void attempt::run_body() {
    detail::current = nullptr;
    machine_.emplace(source_, options_);
    machine_->simulation_->schedule.escape_by(&attempt::escape, this);
    machine_->simulation_->bug_checks_end_the_run = true;
    try {
        const machine::scope here(*machine_);
        if (std::optional<std::string> wrong = program_.body(program_.held, *machine_))
            fail(wrong->substr(0, wrong->find('\n')), std::move(*wrong));
    } catch (const std::exception& error) {
        fail(error.what(), std::string("the body threw: ") + error.what());
    } catch (...) {
        fail("exception", "the body threw what is no std::exception");
    }
    take_results();
    machine_.reset(); // the destructor waits for the library's threads, so it may escape too
}

void attempt::fail(std::string kind, std::string text) {
    if (ending_.failure) return;
    ending_.kind = std::move(kind);
    ending_.failure = std::move(text);
}

void attempt::take_results() {
    ending_.hash = machine_->event_hash();
    ending_.fingerprint = source_.next_draw_fingerprint();
    if (options_.log) ending_.log = machine_->event_log();
}

} // namespace irpverbs::dispatch::sim
