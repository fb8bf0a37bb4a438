// Runs each measurement a fixed number of times for check-exact. Under callgrind each leaves a
// profile of its timed part under its name; standard output has its operations and allocations.
#include "malloc_count.hpp"
#include "measurements.hpp"

#include <atomic>
#include <cstdio>
#include <dispatch/timer.h>
#include <dispatch/wait.h>
#include <string_view>
#include <thread>
#include <valgrind/callgrind.h>

namespace bench = irpverbs::bench;

namespace {

class exact_observer final : public bench::observer {
public:
    void begin() override {
        before_ = bench::allocations();
        CALLGRIND_START_INSTRUMENTATION;
    }
    void end() override {
        CALLGRIND_STOP_INSTRUMENTATION;
        allocated_ += bench::allocations() - before_;
    }
    std::uint64_t allocated() const { return allocated_; }

private:
    std::uint64_t before_ = 0, allocated_ = 0;
};

void measure(const bench::measurement& what) {
    constexpr std::uint64_t operations = 2000;
    bench::run warm_up(operations, false);
    what.body(warm_up);

    CALLGRIND_ZERO_STATS;
    exact_observer watcher;
    bench::run counted(operations, false, &watcher);
    what.body(counted);
    CALLGRIND_DUMP_STATS_AT(what.name.c_str());
    std::printf("%s %llu %llu\n", what.name.c_str(),
                static_cast<unsigned long long>(counted.operations()),
                static_cast<unsigned long long>(watcher.allocated()));
}

// Starts the timer thread with a first timer and waits for it, since its start would else be
// counted in some measurement.
void start_time_keeper() {
    KTIMER timer;
    KeInitializeTimer(&timer);
    LARGE_INTEGER now{};
    now.QuadPart = -1;
    KeSetTimer(&timer, now, nullptr);
    KeWaitForSingleObject(&timer, Executive, KernelMode, FALSE, nullptr);
}

} // namespace

// A second thread lives during the run, so that no library takes its single-threaded short cuts.
int main(int count, char** names) {
    std::atomic<bool> over{false};
    std::thread companion([&over] { over.wait(false); });
    start_time_keeper();
    bench::catalog all;
    bench::add_limits(all);
    bench::add_standard_library(all);
    bench::add_ours(all);
    for (int at = 1; at < count; ++at)
        for (const auto& each : all.all())
            if (each.name == std::string_view(names[at])) measure(each);
    over = true;
    over.notify_one();
    companion.join();
}
