// The parts of a sim_machine.
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
    /// Ends the actor that runs handlers. Only after a run that finished.
    void close();
    /// Returns the report; of a run that hung or made too many steps, with the texts of the
    /// dumpers.
    std::string full_report();
    std::string dumped_state() const;
    /// Stores the result of the run in `last`.
    void store_result();
    /// Passes the report to the machine's own handler, or ends the run with it. False: the machine
    /// has no handler, and no run is in progress.
    bool on_bug_check(const BUG_CHECK_REPORT& report);

    scheduler schedule;
    sim_machine::result last;
    detail::bug_check_callback callback; // installed by a thread of the machine
    bool bug_checks_end_the_run = false;
    bool explored = false; // a campaign prints the line that repeats the run
    std::uint64_t system_time_at_0 = 132'223'104'000'000'000; // 2020-01-01
    std::vector<std::pair<void (*)(std::string&, void*), void*>> dumpers;

private:
    sim_machine& owner_;
    std::unique_ptr<handler_loop> handlers_; // null until first requested
    std::uint32_t threads_ = 0;
    std::string replay_line_;
};

} // namespace irpverbs::dispatch::sim
