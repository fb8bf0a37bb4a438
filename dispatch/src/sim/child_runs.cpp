#include "child_runs.hpp"

#include "fatal_signals.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace irpverbs::dispatch::sim {

namespace {

constexpr std::size_t most_output = 64 * 1024; // bytes of a dying child's report

std::uint32_t limit_in_ms = 0; // of this child

[[noreturn]] void throw_errno(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

/// A file in memory, which a child inherits.
class memory_file {
public:
    explicit memory_file(const char* name) : descriptor_(memfd_create(name, MFD_CLOEXEC)) {
        if (descriptor_ < 0) throw_errno("memfd_create");
    }
    ~memory_file() { close(descriptor_); }
    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;

    int descriptor() const { return descriptor_; }

    void append(const void* bytes, std::size_t size) const {
        const char* from = static_cast<const char*>(bytes);
        while (size != 0) {
            const ssize_t written = write(descriptor_, from, size);
            if (written <= 0) throw_errno("write");
            from += written;
            size -= static_cast<std::size_t>(written);
        }
    }
    void append_number(std::uint64_t value) const { append(&value, sizeof value); }
    void append_text(const std::string& text) const {
        append_number(text.size());
        append(text.data(), text.size());
    }

    std::string contents() const {
        std::string text(static_cast<std::size_t>(lseek(descriptor_, 0, SEEK_END)), '\0');
        const ssize_t got = pread(descriptor_, text.data(), text.size(), 0);
        text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return text;
    }

private:
    int descriptor_;
};

/// The contents of a file that a child completed.
class reader {
public:
    explicit reader(std::string bytes) : bytes_(std::move(bytes)) {}

    std::uint64_t number() {
        std::uint64_t value = 0;
        bytes_.copy(reinterpret_cast<char*>(&value), sizeof value, position_);
        position_ += sizeof value;
        return value;
    }
    std::string text() {
        const auto size = static_cast<std::size_t>(number());
        std::string value = bytes_.substr(position_, size);
        position_ += size;
        return value;
    }

private:
    std::string bytes_;
    std::size_t position_ = 0;
};

void write_result(const memory_file& file, const run_result& run) {
    file.append_number(run.failure ? 1 : 0);
    file.append_text(run.failure.value_or(""));
    file.append_text(run.kind);
    file.append_number(run.hash);
    file.append_number(run.fingerprint);
    file.append_number(run.actor_decisions);
    file.append_number(run.preemptions);
    file.append_text(run.log);
    file.append_text(run.decisions);
    file.append_text(std::string(reinterpret_cast<const char*>(run.trace.data()),
                                 run.trace.size() * sizeof(std::uint32_t)));
}

std::vector<std::uint32_t> trace_in(const std::string& bytes) {
    std::vector<std::uint32_t> trace(bytes.size() / sizeof(std::uint32_t));
    if (!trace.empty()) std::memcpy(trace.data(), bytes.data(), trace.size() * sizeof trace[0]);
    return trace;
}

run_result read_result(std::string bytes) {
    reader from(std::move(bytes));
    run_result run;
    const bool failed = from.number() != 0;
    std::string failure = from.text();
    if (failed) run.failure = std::move(failure);
    run.kind = from.text();
    run.hash = from.number();
    run.fingerprint = from.number();
    run.actor_decisions = from.number();
    run.preemptions = static_cast<std::uint32_t>(from.number());
    run.log = from.text();
    run.decisions = from.text();
    run.trace = trace_in(from.text());
    return run;
}

// A loop without a scheduling point never returns to the simulator.
void limit_processor_time() {
    itimerval limit{};
    limit.it_value.tv_sec = limit_in_ms / 1000;
    limit.it_value.tv_usec = suseconds_t{limit_in_ms % 1000} * 1000;
    setitimer(ITIMER_VIRTUAL, &limit, nullptr);
}

template <class Work>
int status_of_child(int standard_error, const Work& work) {
    std::fflush(nullptr); // the child flushes its copies, too
    const pid_t child = fork();
    if (child < 0) throw_errno("fork");
    if (child == 0) {
        dup2(standard_error, STDERR_FILENO);
        try {
            work();
        } catch (...) {
            _exit(1);
        }
        std::fflush(nullptr);
        _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

// The error that a sanitizer names, without addresses: "AddressSanitizer: heap-use-after-free".
std::string sanitizer_error(const std::string& output) {
    const std::size_t error = output.find("ERROR: ");
    if (error != output.npos && output.find("Sanitizer", error) != output.npos) {
        const std::size_t begin = error + std::strlen("ERROR: ");
        return output.substr(begin, output.find(" on ", begin) - begin);
    }
    const std::size_t undefined = output.find("runtime error: ");
    return undefined == output.npos
               ? ""
               : output.substr(undefined, output.find('\n', undefined) - undefined);
}

std::string kind_of_death(int status, const std::string& output) {
    if (std::string error = sanitizer_error(output); !error.empty()) return error;
    if (!WIFSIGNALED(status)) return "exit with status " + std::to_string(WEXITSTATUS(status));
    if (WTERMSIG(status) == SIGVTALRM) return endless_loop;
    return std::string("fatal signal SIG") + sigabbrev_np(WTERMSIG(status));
}

// The campaign prints the line that repeats the run.
void remove_replay_line(std::string& output) {
    const std::size_t begin = output.find("replay: ");
    if (begin != output.npos) output.erase(begin, output.find('\n', begin) + 1 - begin);
}

// The meaning of the decisions is lost with the child.
std::string numbered(const std::vector<std::uint32_t>& trace) {
    std::string text;
    for (std::size_t i = 0; i < trace.size(); ++i)
        if (trace[i] != 0)
            text += '#' + std::to_string(i + 1) + ": " + std::to_string(trace[i]) + '\n';
    return text;
}

run_result death(int status, std::string output, const std::string& decisions, std::string log) {
    run_result run;
    run.kind = kind_of_death(status, output);
    if (output.size() > most_output) output.resize(most_output);
    remove_replay_line(output);
    run.failure = "the run ended its process: " + run.kind + '\n' + output;
    run.trace = trace_in(decisions);
    if (!run.trace.empty()) {
        run.preemptions = run.trace.front();
        run.trace.erase(run.trace.begin());
    }
    run.decisions = numbered(run.trace);
    run.log = std::move(log);
    return run;
}

} // namespace

run_result run_in_child(std::uint32_t limit_ms, const std::function<run_result()>& make) {
    const memory_file result("result");
    const memory_file decisions("decisions");
    const memory_file log("log");
    const memory_file output("stderr");
    const int status = status_of_child(output.descriptor(), [&] {
        limit_in_ms = limit_ms;
        limit_processor_time();
        fatal_signals::keep_in({decisions.descriptor(), log.descriptor()});
        const run_result run = make();
        write_result(result, run);
    });
    std::string bytes = result.contents();
    if (status != 0 || bytes.empty())
        return death(status, output.contents(), decisions.contents(), log.contents());
    std::fputs(output.contents().c_str(), stderr);
    return read_result(std::move(bytes));
}

passed_runs::passed_runs(std::size_t most) : most_(most) {
    void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw_errno("mmap");
    shared_ = new (memory) shared{};
}

passed_runs::~passed_runs() { munmap(shared_, bytes()); }

void passed_runs::add(std::uint64_t hash) {
    shared_->hashes[shared_->count++] = hash;
    if (shared_->count % 64 == 0) limit_processor_time();
}

} // namespace irpverbs::dispatch::sim
