// All that a sim_machine is made of.
#pragma once

#include "scheduler.hpp"

#include <utility>
#include <vector>

namespace irpverbs::dispatch::sim {

class handler_loop;

class simulation {
public:
    simulation(sim_machine& owner, choices& source, const sim_machine::options& chosen);
    ~simulation();

    const sim_machine::result& run();
    boost::asio::io_context& context();
    void start_thread(int processor_number, void (*body)(void*), void* context);
    const char* replay_line();
    /// Ends the actor that runs handlers, after a run that finished.
    void close();
    /// The report, with what the dumpers say.
    std::string full_report() const;
    /// Fills last in.
    void conclude();

    scheduler schedule;
    sim_machine::result last;
    std::vector<std::pair<void (*)(std::string&, void*), void*>> dumpers;

private:
    sim_machine& owner_;
    std::unique_ptr<handler_loop> handlers_; // null until asked for
    std::uint32_t threads_ = 0;
    std::string replay_line_;
};

/// While it lives, a bug check ends the run of the machine the calling thread is in; not when the
/// program has a handler of its own.
class bug_check_trap {
public:
    explicit bug_check_trap(scheduler& schedule);
    ~bug_check_trap();
    bug_check_trap(const bug_check_trap&) = delete;
    bug_check_trap& operator=(const bug_check_trap&) = delete;

private:
    bool installed_;
};

} // namespace irpverbs::dispatch::sim
