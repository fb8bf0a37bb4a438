// Parts of tests that need a process of their own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace irpverbs::testing {

/// Runs the body in the child of a fork. Returns whether it returned true.
inline bool in_child(bool (*body)()) {
    const pid_t child = fork();
    if (child == 0) _exit(body() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

} // namespace irpverbs::testing
