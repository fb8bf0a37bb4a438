#include "interruption.hpp"

#include <atomic>
#include <csignal>

namespace irpverbs::conformance {

namespace {

std::atomic<int> came{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler writes it");

void note(int signal) { came.store(signal); }

} // namespace

void catch_interruptions() {
    struct sigaction action = {};
    action.sa_handler = note;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    for (const int signal : {SIGINT, SIGTERM})
        sigaction(signal, &action, nullptr);
}

int interruption() noexcept { return came.load(); }

} // namespace irpverbs::conformance
