#include "child_program.hpp"

#include "failure.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace irpctl {

namespace {

// Blocked from before the program starts, so that none is lost.
class held_signals {
public:
    held_signals() {
        sigemptyset(&held_);
        for (const int each : {SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT})
            sigaddset(&held_, each);
        sigprocmask(SIG_BLOCK, &held_, &before_);
    }
    ~held_signals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
    held_signals(const held_signals&) = delete;
    held_signals& operator=(const held_signals&) = delete;

    const sigset_t& before() const { return before_; }
    siginfo_t wait() const {
        siginfo_t got{};
        while (sigwaitinfo(&held_, &got) == -1) {
        }
        return got;
    }

private:
    sigset_t held_{};
    sigset_t before_{};
};

pid_t start(const std::string& file, std::vector<std::string>& words, const sigset_t& mask) {
    std::vector<char*> pointers;
    for (std::string& each : words)
        pointers.push_back(each.data());
    pointers.push_back(nullptr);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE); // which irpctl ignores
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &mask);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t child = -1;
    const int error =
        posix_spawn(&child, file.c_str(), nullptr, &attributes, pointers.data(), environ);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) throw failure(fmt::format("{}: {}", file, std::strerror(error)));
    return child;
}

// The terminal sends its signals to the program too.
bool is_of_terminal(const siginfo_t& got) { return got.si_code == SI_KERNEL; }

} // namespace

int run_child(const std::string& file, std::vector<std::string> words) {
    const held_signals signals;
    const pid_t child = start(file, words, signals.before());
    for (;;) {
        const siginfo_t got = signals.wait();
        if (got.si_signo != SIGCHLD) {
            if (!is_of_terminal(got)) kill(child, got.si_signo);
            continue;
        }
        int status = 0;
        if (waitpid(child, &status, WNOHANG) != child) continue; // another child, or it is stopped
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
}

} // namespace irpctl
