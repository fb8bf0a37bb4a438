#include "measurements.hpp"
#include "program.hpp"

#include <iostream>
#include <thread>

namespace bench = irpverbs::bench;

namespace {

const char* const about =
    "usage: irpverbs_bench [options]\n"
    "Measures this library beside its alternatives, in one process and one run,\n"
    "and checks the bars. Exit status: 0, 1 when a bar failed, 2 when misused.\n";

void drop_two_thread_measurements(std::vector<bench::measurement>& wanted) {
    const auto dropped = std::erase_if(
        wanted, [](const bench::measurement& each) { return each.uses == bench::threads::two; });
    if (dropped) std::cerr << "one processor only: no two-thread measurements\n";
}

int measure(const bench::options& given) {
    bench::catalog all;
    bench::add_peers(all);
    bench::add_ours(all);
    auto wanted = bench::chosen(all, given);
    if (wanted.empty()) return 2;
    if (!given.list && std::thread::hardware_concurrency() < 2)
        drop_two_thread_measurements(wanted);
    return bench::measure_and_judge(wanted, given, bench::bars);
}

} // namespace

int main(int count, char** words) { return bench::run_program(count, words, about, measure); }
