#include "fatal_signals.hpp"

#include "verify/hooks.hpp"

#include <dispatch/support/verify.hpp>
#include <dispatch/testing/schedule.hpp>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <span>
#include <string>
#include <ucontext.h>
#include <unistd.h>
#include <utility>
#include <vector>

extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace irpverbs::dispatch::sim {

namespace {

constexpr std::array signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGVTALRM};

// Seconds for the parts of the report that allocate: the heap may be locked or damaged.
constexpr unsigned patience = 10;

thread_local const choices* running = nullptr;
thread_local const std::string* running_log = nullptr;
fatal_signals::files remains; // of a child process

std::mutex installing;
unsigned users = 0; // guarded by installing, as the handlers that the program had
std::array<struct sigaction, signals.size()> former;

void write_text(std::string_view text, int descriptor = STDERR_FILENO) {
    while (!text.empty()) {
        const ssize_t written = write(descriptor, text.data(), text.size());
        if (written <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

void write_numbers(std::span<const std::uint32_t> numbers, int descriptor) {
    write_text({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()}, descriptor);
}

void write_remains_of(const choices& source) {
    if (remains.decisions >= 0) {
        const std::uint32_t preemptions = source.preemptions();
        write_numbers({&preemptions, 1}, remains.decisions);
        write_numbers(source.trace(), remains.decisions);
    }
    if (remains.log >= 0 && running_log != nullptr) write_text(*running_log, remains.log);
}

void write_line_of(const choices& source) {
    choices::line_buffer line;
    write_text("replay: ");
    const std::string_view by_seed = source.line(line);
    if (!by_seed.empty())
        write_text(by_seed);
    else
        write_text(replay_line_of(source));
    write_text("\n");
}

void write_headline(int signal, const void* address) {
    if (signal == SIGVTALRM)
        return write_text("\nno end of a simulated run within its limit of processor time\n");
    std::array<char, 96> text;
    const int length = std::snprintf(text.data(), text.size(),
                                     "\nfatal signal SIG%s at address %p inside a simulated run\n",
                                     sigabbrev_np(signal), address);
    write_text({text.data(), static_cast<std::size_t>(length)});
    const std::uint64_t distance =
        reinterpret_cast<std::uintptr_t>(address) - detail::freed_pattern + 0x8000;
    if (distance < 0x10000) write_text("the address was read from freed memory\n");
}

// True: an address was called that is no code, where an unwinder reads, too; the caller is written.
bool write_caller(int signal, const siginfo_t* info, const void* context) {
    const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
    if (signal != SIGSEGV || info->si_addr != reinterpret_cast<void*>(registers[REG_RIP]))
        return false;
    detail::call_stack caller;
    caller.frames[0] = *reinterpret_cast<void**>(registers[REG_RSP]);
    caller.count = 1;
    write_text("a routine is called there, which is no code:\n");
    write_text(detail::describe(caller));
    return true;
}

void restore_handlers() {
    for (std::size_t i = 0; i < signals.size(); ++i)
        sigaction(signals[i], &former[i], nullptr);
}

// A second fatal signal is not handled here. A signal that a processor's exception caused occurs
// again when this returns, and one that was sent is sent again.
void report(int signal, siginfo_t* info, void* context) {
    restore_handlers();
    if (const choices* source = std::exchange(running, nullptr)) {
        write_headline(signal, info->si_addr);
        write_remains_of(*source);
        alarm(patience);
        write_line_of(*source);
        if (!write_caller(signal, info, context))
            write_text(detail::describe(detail::capture_stack()));
        alarm(0);
    }
    if (info->si_code <= 0 || signal == SIGVTALRM) raise(signal);
}

void report_death() {
    const choices* source = std::exchange(running, nullptr);
    if (source == nullptr) return;
    write_remains_of(*source);
    write_line_of(*source);
}

void install_handlers() {
    struct sigaction action = {};
    action.sa_sigaction = report;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    for (std::size_t i = 0; i < signals.size(); ++i)
        sigaction(signals[i], &action, &former[i]);
    if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(report_death);
}

} // namespace

/// A stack for the handlers of the calling thread, since its own may have overflown. A thread that
/// has one keeps it.
class fatal_signals::alternate_stack {
public:
    alternate_stack() {
        stack_t before{};
        sigaltstack(nullptr, &before);
        if ((before.ss_flags & SS_DISABLE) == 0) return;
        memory_ = std::make_unique_for_overwrite<std::byte[]>(size);
        stack_t made{};
        made.ss_sp = memory_.get();
        made.ss_size = size;
        sigaltstack(&made, nullptr);
    }
    ~alternate_stack() {
        if (memory_ == nullptr) return;
        stack_t none{};
        none.ss_flags = SS_DISABLE;
        sigaltstack(&none, nullptr);
    }
    alternate_stack(const alternate_stack&) = delete;
    alternate_stack& operator=(const alternate_stack&) = delete;

private:
    static constexpr std::size_t size = 256 * 1024; // symbol names need most of it
    std::unique_ptr<std::byte[]> memory_;
};

fatal_signals::fatal_signals() : stack_(std::make_unique<alternate_stack>()) {
    const std::lock_guard guard(installing);
    if (users++ == 0) install_handlers();
}

fatal_signals::~fatal_signals() {
    const std::lock_guard guard(installing);
    if (--users == 0) restore_handlers();
}

void fatal_signals::keep_in(const files& descriptors) { remains = descriptors; }

void fatal_signals::run::show_log(const std::string* log) { running_log = log; }

fatal_signals::run::run(const choices& source) : outer_(std::exchange(running, &source)) {}

fatal_signals::run::~run() { running = outer_; }

} // namespace irpverbs::dispatch::sim
