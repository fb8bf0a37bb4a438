// Fatal signals inside runs: the line that repeats the run is printed before the process dies.
#pragma once

#include <dispatch/testing/choices.hpp>

#include <memory>
#include <string>

namespace irpverbs::dispatch::sim {

/// While an object of this class exists, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT and SIGVTALRM
/// (the limit of processor time in a child process) inside a run print the signal, the line that
/// repeats the run and the call stack to stderr. The handler that the program had set runs
/// afterwards, or the process dies. A sanitizer that ends the process prints the line, too.
class fatal_signals {
public:
    fatal_signals();
    ~fatal_signals();
    fatal_signals(const fatal_signals&) = delete;
    fatal_signals& operator=(const fatal_signals&) = delete;

    /// Files for the remains of a run that dies; -1: none.
    struct files {
        int decisions = -1; // numbers of 32 bits: the preemptions, then the trace
        int log = -1;       // the event log
    };
    static void keep_in(const files& descriptors);

    /// A run of the calling thread.
    class run {
    public:
        explicit run(const choices& source);
        ~run();
        /// The event log of the run under way; null: none.
        static void show_log(const std::string* log);
        run(const run&) = delete;
        run& operator=(const run&) = delete;

    private:
        const choices* outer_;
    };

private:
    class alternate_stack;
    std::unique_ptr<alternate_stack> stack_;
};

} // namespace irpverbs::dispatch::sim
