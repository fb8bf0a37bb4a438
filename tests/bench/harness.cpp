#include "harness.hpp"

#include "quiet.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <thread>

namespace irpverbs::bench {
namespace {

// A second, sleeping thread: glibc and libstdc++ then take their multi-threaded paths, as in a
// user's program with threads.
class sleeping_companion {
public:
    sleeping_companion() : thread_([this] { ended_.wait(false); }) {}
    ~sleeping_companion() {
        ended_ = true;
        ended_.notify_one();
        thread_.join();
    }
    sleeping_companion(const sleeping_companion&) = delete;
    sleeping_companion& operator=(const sleeping_companion&) = delete;

private:
    std::atomic<bool> ended_{false};
    std::thread thread_;
};

class sampler {
public:
    sampler(const std::vector<measurement>& what, const sampling& how)
        : how_(how), gate_(how.patience), operations_(what.size(), 1) {
        for (const auto& each : what)
            result_.push_back({each, {}});
    }

    std::vector<series> take() {
        for (std::size_t index = 0; index < result_.size(); ++index)
            calibrate(index);
        std::vector<std::size_t> order(result_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::mt19937 random(how_.seed);
        for (int round = 0; round < how_.rounds; ++round) {
            std::shuffle(order.begin(), order.end(), random);
            for (std::size_t index : order)
                result_[index].samples.push_back(settled_sample(result_[index].what, index));
            if (how_.progress) std::fprintf(stderr, "round %d of %d\n", round + 1, how_.rounds);
        }
        return std::move(result_);
    }

private:
    // Finds the number of operations that fill a sample, and warms up.
    void calibrate(std::size_t index) {
        const auto& what = result_[index].what;
        if (how_.progress) std::fprintf(stderr, "calibrating %s\n", what.name.c_str());
        const double wanted = how_.milliseconds * 1e6;
        const std::uint64_t least = what.uses == threads::two ? 300 : 1;
        for (std::uint64_t operations = least;;) {
            if (!how_.smoke) gate_.wait(what.uses);
            run attempt(operations, how_.smoke);
            what.body(attempt);
            const double elapsed = attempt.nanoseconds();
            if (elapsed > wanted / 5 || operations > (std::uint64_t{1} << 30)) {
                const double each = elapsed / static_cast<double>(attempt.operations());
                operations_[index] = std::max(least, static_cast<std::uint64_t>(wanted / each));
                return;
            }
            operations *= elapsed < wanted / 50 ? 8 : 2;
        }
    }

    // Repeats a disturbed sample, three times at most.
    sample settled_sample(const measurement& what, std::size_t index) {
        sample taken;
        for (int attempt = 0; attempt < 4; ++attempt) {
            taken = one_sample(what, operations_[index]);
            if (taken.clean || how_.smoke || !gate_.may_wait()) break;
        }
        return taken;
    }

    sample one_sample(const measurement& what, std::uint64_t operations) {
        const bool quiet = how_.smoke || gate_.wait(what.uses);
        const double before = probe_indirect_call();
        const disturbance watch;
        run attempt(operations, how_.smoke);
        what.body(attempt);
        const bool alone = watch.none(what.uses);
        const double after = probe_indirect_call();
        return {attempt.nanoseconds() / static_cast<double>(attempt.operations()),
                (before + after) / 2, quiet && alone};
    }

    const sampling how_;
    quiet_gate gate_;
    std::vector<std::uint64_t> operations_;
    std::vector<series> result_;
};

} // namespace

std::vector<series> take_samples(const std::vector<measurement>& what, const sampling& how) {
    const sleeping_companion companion;
    return sampler(what, how).take();
}

void did_not_work(const char* what) {
    std::fprintf(stderr, "bench: a measurement did not do its work: %s\n", what);
    std::fflush(nullptr);
    std::_Exit(1); // without destructors, since other threads are running
}

} // namespace irpverbs::bench
