// Fatal signals inside runs: the line that repeats the run is printed before the process dies.
#pragma once

#include <dispatch/testing/choices.hpp>

#include <memory>

namespace irpverbs::dispatch::sim {

/// While an object of this class exists, SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT inside a run
/// print the signal, the line that repeats the run and the call stack to stderr. The handler that
/// the program had set runs afterwards, or the process dies. A sanitizer that ends the process
/// prints the line, too.
class fatal_signals {
public:
    fatal_signals();
    ~fatal_signals();
    fatal_signals(const fatal_signals&) = delete;
    fatal_signals& operator=(const fatal_signals&) = delete;

    /// A run of the calling thread.
    class run {
    public:
        explicit run(const choices& source);
        ~run();
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
