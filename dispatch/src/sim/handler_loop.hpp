// An ordinary io_context as an actor of a simulated run.
#pragma once

#include "asio_handlers.hpp"
#include "scheduler.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

namespace irpverbs::dispatch::sim {

class handler_loop {
public:
    handler_loop(machine& owner, scheduler& schedule)
        : machine_(owner), schedule_(schedule), alive_(context_.get_executor()) {
        schedule.add("context", role::library, {&handler_loop::run, this, nullptr});
    }

    boost::asio::io_context& context() { return context_; }

    /// Main lets the actor end. Handlers that are left are destroyed with the context.
    void close() {
        closing_ = true;
        schedule_.let_others_run();
    }
    /// Of a run that did not finish: it may be in the middle of a handler.
    void give_up() {
        if (polling_) forget_handlers_in(outer_);
    }

private:
    // Nobody tells when a handler is posted, so it looks again whenever somebody else has run.
    static void run(void* self) {
        handler_loop& loop = *static_cast<handler_loop*>(self);
        const machine::scope here(loop.machine_);
        while (!loop.closing_) {
            if (loop.poll())
                loop.schedule_.step(detail::point::user, nullptr);
            else
                loop.schedule_.await_progress();
        }
    }

    bool poll() {
        outer_ = innermost_handler();
        polling_ = true;
        const bool ran = context_.poll_one() != 0;
        polling_ = false;
        return ran;
    }

    machine& machine_;
    scheduler& schedule_;
    bool closing_ = false;
    bool polling_ = false;
    running_handlers::context* outer_ = nullptr;
    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> alive_;
};

} // namespace irpverbs::dispatch::sim
