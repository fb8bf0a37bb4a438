#include "quiet.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <sys/resource.h>
#include <thread>

namespace irpverbs::bench {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) {
    return std::chrono::duration<double>(clock::now() - start).count();
}

// Runnable threads, this one included: the fourth word of /proc/loadavg is "running/total".
int runnable() {
    std::ifstream file("/proc/loadavg");
    std::string skipped;
    int running = 1;
    file >> skipped >> skipped >> skipped >> running;
    return file ? running : 1;
}

// A measurement of one thread tolerates one other thread on the second core; one of two threads
// needs both cores.
int tolerated(threads uses) { return uses == threads::two ? 1 : 2; }

// Ticks stolen by the host, over all processors: the eighth number of the first line.
unsigned long long stolen_ticks() {
    std::ifstream file("/proc/stat");
    std::string label;
    unsigned long long ticks = 0;
    file >> label;
    for (int column = 0; column < 8; ++column)
        file >> ticks;
    return file ? ticks : 0;
}

long preemptions() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

BENCH_OPAQUE int probed(void*, void*) { return 3; }

} // namespace

double probe_indirect_call() {
    using function = int (*)(void*, void*);
    constexpr int calls = 40000;
    static function table[4] = {probed, probed, probed, probed};
    function* volatile hidden = table;
    double best = std::numeric_limits<double>::max();
    for (int attempt = 0; attempt < 3; ++attempt) {
        int sum = 0, argument = 0;
        const auto start = clock::now();
        for (int call = 0; call < calls; ++call)
            sum += hidden[3](&argument, &argument);
        const double elapsed = seconds_since(start);
        keep(sum);
        best = std::min(best, elapsed * 1e9 / calls);
    }
    return best;
}

bool quiet_gate::wait(threads uses) {
    constexpr double longest = 4;     // seconds; a machine that is busy so long stays busy
    constexpr double for_free = 0.02; // seconds that are not deducted, the check of a quiet machine
    const auto start = clock::now();
    bool quiet = true;
    for (int in_a_row = 0; in_a_row < 4;) {
        in_a_row = runnable() <= tolerated(uses) ? in_a_row + 1 : 0;
        std::this_thread::sleep_for(std::chrono::microseconds(500));
        if (seconds_since(start) > std::min(longest, max_wait_)) {
            quiet = false;
            break;
        }
    }
    if (seconds_since(start) > for_free) max_wait_ -= seconds_since(start);
    return quiet;
}

disturbance::disturbance() : preempted_(preemptions()), stolen_(stolen_ticks()) {}

bool disturbance::none(threads uses) const {
    const long allowed = uses == threads::two ? 2 : 3;
    return stolen_ticks() == stolen_ && preemptions() - preempted_ <= allowed &&
           runnable() <= tolerated(uses);
}

} // namespace irpverbs::bench
