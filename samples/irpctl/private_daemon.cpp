#include "private_daemon.hpp"

#include "failure.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace irpctl {

namespace {

namespace fs = std::filesystem;

// irpverbsd, seen from irpctl's folder: after an install, and in a build tree.
constexpr std::array<const char*, 2> places{"irpverbsd", "../irpverbsd/irpverbsd"};

std::string find_daemon() {
    const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
    for (const char* const place : places) {
        const fs::path file = (own / place).lexically_normal();
        if (!fs::is_directory(file) && access(file.c_str(), X_OK) == 0) return file;
    }
    throw failure("there is no irpverbsd beside this irpctl; --hca software: runs a program "
                  "without it");
}

failure failed_call(const char* call) {
    return failure(fmt::format("{}: {}", call, std::strerror(errno)));
}

// The daemon is in a process group of its own, so that Ctrl-C reaches the program alone, and ends
// with irpctl, also if that is killed.
[[noreturn]] void become(const std::string& program, std::array<const char*, 6> words, int output,
                         pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || dup2(output, STDOUT_FILENO) == -1) _exit(1);
    execv(program.c_str(), const_cast<char* const*>(words.data()));
    _exit(1);
}

} // namespace

private_daemon::private_daemon(const std::string& uri) {
    const std::string program = find_daemon();
    try {
        start(program, uri);
        wait_until_it_serves();
    } catch (...) {
        stop();
        throw;
    }
}

private_daemon::~private_daemon() { stop(); }

void private_daemon::start(const std::string& program, const std::string& uri) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw failed_call("pipe");
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ == 0)
        become(
            program,
            {program.c_str(), "--hca", uri.c_str(), "--socket", folder_.socket().c_str(), nullptr},
            ends[1], parent);
    output_ = ends[0];
    close(ends[1]);
    if (process_ == -1) throw failed_call("fork");
}

// Its only line of output says that it serves. Its messages go to standard error.
void private_daemon::wait_until_it_serves() {
    for (char byte = 0; byte != '\n';) {
        const ssize_t got = read(output_, &byte, 1);
        if (got == 0) throw failure("irpverbsd ended before the program could start");
        if (got == -1 && errno != EINTR) throw failed_call("irpverbsd");
    }
}

void private_daemon::stop() {
    if (process_ != -1) {
        kill(process_, SIGTERM);
        while (waitpid(process_, nullptr, 0) == -1 && errno == EINTR) {
        }
    }
    if (output_ != -1) close(output_);
}

} // namespace irpctl
