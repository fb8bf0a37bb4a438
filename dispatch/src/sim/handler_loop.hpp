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

    /// Lets the actor end. Only main calls this. Handlers that have not run are destroyed with the
    /// context.
    void close() {
        closing_ = true;
        schedule_.let_others_run();
    }
    /// Ends the loop of a run that did not finish. The actor may be inside a handler.
    void abandon() {
        if (polling_) unlink_handlers_in(outer_);
    }

private:
    // Asio does not announce that a handler is posted, so the loop polls again whenever another
    // actor has run.
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
