// Takes samples of many measurements in one process, in rounds of random order, each sample
// beside a speed probe. docs/decisions/bench-harness.md says why it is not Google Benchmark.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace irpverbs::bench {

// Brackets the timed part of each sample; the exact program counts instructions with it.
struct observer {
    virtual void begin() = 0;
    virtual void end() = 0;

protected:
    ~observer() = default;
};

// One sample. The body of a measurement prepares, calls start(), performs operations() operations,
// calls stop(), and cleans up. The times of several start/stop pairs are added.
class run {
public:
    run(std::uint64_t operations, bool smoke, observer* watcher = nullptr)
        : operations_(operations), smoke_(smoke), watcher_(watcher) {}

    std::uint64_t operations() const { return operations_; }

    // Rounds the number of operations up to whole batches, and returns it.
    std::uint64_t in_batches_of(std::uint64_t batch) {
        return operations_ = (operations_ + batch - 1) / batch * batch;
    }
    // For bodies whose number of operations is determined otherwise.
    void did(std::uint64_t operations) { operations_ = operations; }

    // `full`, limited to 2,000 in a smoke run.
    std::size_t population(std::size_t full) const { return smoke_ && full > 2000 ? 2000 : full; }

    void start() {
        if (watcher_) watcher_->begin();
        started_ = clock::now();
    }
    void stop() {
        elapsed_ += clock::now() - started_;
        if (watcher_) watcher_->end();
    }
    double nanoseconds() const {
        return std::chrono::duration<double, std::nano>(elapsed_).count();
    }

private:
    using clock = std::chrono::steady_clock;
    std::uint64_t operations_;
    bool smoke_;
    observer* watcher_;
    clock::time_point started_{};
    clock::duration elapsed_{};
};

enum class threads { one, two };

struct measurement {
    std::string name; // group/measurement, e.g. asio/post_poll_one
    std::string text; // one line that describes one operation
    std::function<void(run&)> body;
    threads uses = threads::one;
};

class catalog {
public:
    void add(std::string name, std::string text, std::function<void(run&)> body,
             threads uses = threads::one) {
        all_.push_back({std::move(name), std::move(text), std::move(body), uses});
    }
    const std::vector<measurement>& all() const { return all_; }

private:
    std::vector<measurement> all_;
};

struct sample {
    double nanoseconds = 0; // per operation
    double call = 0;        // nanoseconds of one indirect call, probed beside this sample
    bool clean = false;     // the kernel's counters show no other program running during it
};

struct series {
    measurement what;
    std::vector<sample> samples; // one a round, in the order of the rounds
};

struct sampling {
    int rounds = 11;
    double milliseconds = 20; // per sample
    double patience = 600;    // seconds of waiting for a quiet machine, in the whole run
    unsigned seed = 12345;    // for the order within the rounds
    bool smoke = false;       // tiny, no waiting
    bool progress = false;    // on stderr
};

// Calibrates, then takes `rounds` samples of each; returns them in the order of `what`.
std::vector<series> take_samples(const std::vector<measurement>& what, const sampling& how);

// Makes the compiler believe that the value is needed and that memory may have changed.
template <class T>
inline void keep(const T& value) {
    if constexpr (std::is_scalar_v<T>)
        asm volatile("" : : "r"(value) : "memory");
    else
        asm volatile("" : : "m"(value) : "memory");
}
inline void clobber_memory() { asm volatile("" : : : "memory"); }

// Ends the program, since the body did not perform the operations that it was to measure.
[[noreturn]] void did_not_work(const char* what);
inline void expect(bool truth, const char* what) {
    if (!truth) [[unlikely]]
        did_not_work(what);
}

// Marks functions that the compiler must not inline or analyse, as if in another library. Clang has
// no noipa, but all marked functions are called through pointers that it cannot follow.
#if defined(__clang__)
#define BENCH_OPAQUE __attribute__((noinline))
#else
#define BENCH_OPAQUE __attribute__((noinline, noipa))
#endif

} // namespace irpverbs::bench
