// A program that ptrace(2) kills at the n-th of its points.
#pragma once

#include "child_program.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <thread>

namespace irpverbs::testing {

class traced_program {
public:
    enum class points {
        system_calls, // each entry of a system call, and each exit, of all of its threads
        instructions  // of its first thread, between its signals SIGUSR1 and SIGUSR2
    };

    /// `at`: the number of the point where it is killed, from 1 on; 0: it is not.
    traced_program(std::vector<std::string> words, points which, long at)
        : program_(std::move(words)), which_(which), at_(at), tracer_([this] { trace(); }) {}
    ~traced_program() { wait(); }
    traced_program(const traced_program&) = delete;
    traced_program& operator=(const traced_program&) = delete;

    const child_program& program() const { return program_; }
    bool has_ended() const { return ended_.load(); }
    /// Waits for its end, and returns its status.
    int wait() {
        if (tracer_.joinable()) tracer_.join();
        return status_;
    }
    /// The points that it reached.
    long reached() const { return reached_; }

private:
    static constexpr int of_system_call = SIGTRAP | 0x80;

    void trace() {
        const pid_t first = program_.start(true);
        waitpid(first, &status_, 0);
        ptrace(PTRACE_SETOPTIONS, first, nullptr,
               PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
        resume(first, 0);
        for (;;) {
            int status = 0;
            const pid_t thread = waitpid(-1, &status, __WALL | __WNOTHREAD);
            if (thread < 0) break;
            if (WIFSTOPPED(status)) {
                on_stop(thread, status);
            } else if (thread == first) {
                status_ = status;
                break;
            }
        }
        ended_.store(true);
    }

    void on_stop(pid_t thread, int status) {
        const int signal = WSTOPSIG(status);
        const bool is_first = thread == program_.pid();
        const bool is_event = status >> 16 != 0;
        if (is_first && signal == SIGUSR1) steps_ = which_ == points::instructions;
        if (is_first && signal == SIGUSR2) steps_ = false;
        const bool is_step = signal == SIGTRAP && !is_event && is_first && steps_;
        if ((signal == of_system_call || is_step) && ++reached_ == at_) {
            program_.send_signal(SIGKILL);
            return;
        }
        const bool is_own = signal == of_system_call || signal == SIGTRAP || signal == SIGUSR1 ||
                            signal == SIGUSR2 || signal == SIGSTOP; // the last: of a new thread
        resume(thread, is_own ? 0 : signal);
    }

    // A thread that was killed in the meantime stays so.
    void resume(pid_t thread, int signal) const {
        const bool steps = steps_ && thread == program_.pid();
        const auto how = which_ == points::system_calls ? PTRACE_SYSCALL
                         : steps                        ? PTRACE_SINGLESTEP
                                                        : PTRACE_CONT;
        ptrace(how, thread, nullptr, signal);
    }

    child_program program_;
    const points which_;
    const long at_;
    bool steps_ = false; // of the tracer, as the next two
    long reached_ = 0;
    int status_ = 0;
    std::atomic<bool> ended_{false};
    std::thread tracer_;
};

/// Calls `kill_at` for points of about equal distances: IRPVERBS_KILL_POINTS of them, or `usual`.
/// Returns how many.
template <class Kill>
long sweep_points(long all, long usual, const Kill& kill_at) {
    const char* const chosen = std::getenv("IRPVERBS_KILL_POINTS");
    const long count = chosen != nullptr ? std::max(std::atol(chosen), 1L) : usual;
    std::minstd_rand random(1);
    for (long i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
        const long first = 1 + all * i / count;
        const long behind = 1 + all * (i + 1) / count;
        kill_at(first + static_cast<long>(random()) % std::max(behind - first, 1L));
    }
    return count;
}

} // namespace irpverbs::testing
