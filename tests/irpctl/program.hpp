// irpctl as a process, as its user runs it.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <spawn.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace irpverbs::testing {

struct ended {
    int status = -1; // exit status
    int signal = 0;  // or the signal that killed it
    std::string out;
    std::string err;
};

/// Runs irpctl. The destructor kills a process that is still running.
class program {
public:
    explicit program(std::vector<std::string> arguments) {
        std::string name = IRPCTL;
        std::vector<char*> words{name.data()};
        for (std::string& each : arguments)
            words.push_back(each.data());
        words.push_back(nullptr);
        int ends[2];
        check(pipe2(ends, O_CLOEXEC));
        err_ = check(memfd_create("stderr", MFD_CLOEXEC));
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, err_, STDERR_FILENO);
        const int failed = posix_spawn(&pid_, IRPCTL, &actions, nullptr, words.data(), environ);
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        out_ = fdopen(ends[0], "r");
        if (failed != 0) throw std::system_error(failed, std::generic_category(), IRPCTL);
    }
    ~program() {
        if (pid_ != 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
        std::fclose(out_);
        close(err_);
    }
    program(const program&) = delete;
    program& operator=(const program&) = delete;

    /// Returns the next line of output without its line end; "" when there is none.
    std::string line() {
        std::string text;
        for (int each = std::getc(out_); each != EOF && each != '\n'; each = std::getc(out_))
            text += static_cast<char>(each);
        return text;
    }

    void send(int signal) { check(kill(pid_, signal)); }

    ended wait() {
        ended how;
        for (int each = std::getc(out_); each != EOF; each = std::getc(out_))
            how.out += static_cast<char>(each);
        int status = 0;
        check(waitpid(pid_, &status, 0));
        pid_ = 0;
        if (WIFEXITED(status)) how.status = WEXITSTATUS(status);
        if (WIFSIGNALED(status)) how.signal = WTERMSIG(status);
        how.err.resize(static_cast<std::size_t>(check(lseek(err_, 0, SEEK_END))));
        check(pread(err_, how.err.data(), how.err.size(), 0));
        return how;
    }

private:
    template <class Result>
    static Result check(Result result) {
        if (result < 0) throw std::system_error(errno, std::generic_category());
        return result;
    }

    pid_t pid_ = 0;
    int err_ = -1;
    std::FILE* out_ = nullptr;
};

inline ended run(std::vector<std::string> arguments) {
    return program(std::move(arguments)).wait();
}

/// Returns whether the text is exactly one line.
inline bool is_one_line(const std::string& text) {
    return text.size() > 1 && text.find('\n') == text.size() - 1;
}

} // namespace irpverbs::testing
