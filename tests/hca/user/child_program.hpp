// A program that a test runs, with pipes to its input and from its output.
#pragma once

#include <ci/support/seq_socket.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <string>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace irpverbs::testing {

class child_program {
public:
    /// `words`: its path, then its arguments.
    explicit child_program(std::vector<std::string> words) : words_(std::move(words)) {
        std::array<int, 2> in{};
        std::array<int, 2> out{};
        EXPECT_TRUE(pipe2(in.data(), O_CLOEXEC) == 0 && pipe2(out.data(), O_CLOEXEC) == 0);
        its_input_ = ci::detail::unique_descriptor(in[0]);
        input_ = ci::detail::unique_descriptor(in[1]);
        output_ = ci::detail::unique_descriptor(out[0]);
        its_output_ = ci::detail::unique_descriptor(out[1]);
    }

    /// `traced`: the calling thread traces it, and it stops when the program begins.
    pid_t start(bool traced = false) {
        std::vector<char*> arguments;
        for (std::string& each : words_)
            arguments.push_back(each.data());
        arguments.push_back(nullptr);
        pid_ = fork();
        if (pid_ == 0) {
            dup2(its_input_.get(), STDIN_FILENO);
            dup2(its_output_.get(), STDOUT_FILENO);
            if (traced) ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
            execv(arguments[0], arguments.data());
            _exit(127);
        }
        its_output_ = {};
        return pid_;
    }
    pid_t pid() const { return pid_; }
    /// Without effect if it was never started: 0 and -1 are groups.
    void send_signal(int number) const {
        if (pid_ > 0) kill(pid_, number);
    }

    /// Empty: it has ended.
    std::string read_line() const {
        std::string text;
        for (char next = 0; read(output_.get(), &next, 1) == 1 && next != '\n';)
            text += next;
        return text;
    }
    void write_byte(char byte) const { static_cast<void>(write(input_.get(), &byte, 1)); }
    int wait() const {
        int status = 0;
        waitpid(pid_, &status, 0);
        return status;
    }

private:
    std::vector<std::string> words_;
    ci::detail::unique_descriptor its_input_; // kept, so that a write to a dead one is no SIGPIPE
    ci::detail::unique_descriptor input_;
    ci::detail::unique_descriptor output_;
    ci::detail::unique_descriptor its_output_;
    std::atomic<pid_t> pid_{0};
};

inline bool was_killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

} // namespace irpverbs::testing
