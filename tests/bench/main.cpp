#include "measurements.hpp"
#include "options.hpp"
#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <regex>
#include <thread>

namespace bench = irpverbs::bench;

namespace {

std::vector<bench::measurement> chosen(const bench::catalog& all, const std::string& filter) {
    const std::regex pattern(filter);
    std::vector<bench::measurement> wanted;
    for (const auto& each : all.all())
        if (std::regex_search(each.name, pattern)) wanted.push_back(each);
    return wanted;
}

void drop_two_thread_measurements(std::vector<bench::measurement>& wanted) {
    const auto dropped = std::erase_if(
        wanted, [](const bench::measurement& each) { return each.uses == bench::threads::two; });
    if (dropped) std::cerr << "one processor only: no two-thread measurements\n";
}

int measure(const bench::options& given) {
    bench::catalog all;
    bench::add_peers(all);
    bench::add_ours(all);
    auto wanted = chosen(all, given.filter);
    if (wanted.empty()) {
        std::cerr << "--filter: no measurement has such a name; try --list\n";
        return 2;
    }
    if (given.list) {
        for (const auto& each : wanted)
            std::printf("%-34s %s\n", each.name.c_str(), each.text.c_str());
        return 0;
    }
    if (std::thread::hardware_concurrency() < 2) drop_two_thread_measurements(wanted);
    const auto results = bench::take_samples(wanted, given.how);
    const auto verdicts = bench::judge(results);
    (given.json ? bench::print_json : bench::print_tables)(std::cout, results, verdicts);
    return std::any_of(verdicts.begin(), verdicts.end(), [](const bench::verdict& each) {
        return each.what == bench::outcome::failed;
    });
}

} // namespace

int main(int count, char** words) {
    const bench::options given = bench::parse(count, words);
    if (!given.error.empty()) {
        std::cerr << given.error << '\n';
        return 2;
    }
    if (given.help) {
        std::cout << bench::usage;
        return 0;
    }
    try {
        return measure(given);
    } catch (const std::regex_error& error) {
        std::cerr << "--filter: " << error.what() << '\n';
        return 2;
    }
}
