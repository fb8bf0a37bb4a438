#include "program.hpp"

#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <regex>

namespace irpverbs::bench {

int run_program(int count, char** words, const char* about, int (*measure)(const options&)) {
    const options given = parse(count, words);
    if (!given.error.empty()) {
        std::cerr << given.error << '\n';
        return 2;
    }
    if (given.help) {
        std::cout << about << usage;
        return 0;
    }
    try {
        return measure(given);
    } catch (const std::regex_error& error) {
        std::cerr << "--filter: " << error.what() << '\n';
        return 2;
    }
}

std::vector<measurement> chosen(const catalog& all, const options& given) {
    const std::regex pattern(given.filter);
    std::vector<measurement> wanted;
    for (const auto& each : all.all())
        if (std::regex_search(each.name, pattern)) wanted.push_back(each);
    if (wanted.empty()) std::cerr << "--filter: no measurement has such a name; try --list\n";
    return wanted;
}

int measure_and_judge(const std::vector<measurement>& wanted, const options& given,
                      std::span<const bar> which) {
    if (given.list) {
        for (const auto& each : wanted)
            std::printf("%-34s %s\n", each.name.c_str(), each.text.c_str());
        return 0;
    }
    const auto results = take_samples(wanted, given.how);
    const auto verdicts = judge(results, which);
    (given.json ? print_json : print_tables)(std::cout, results, verdicts);
    return std::any_of(verdicts.begin(), verdicts.end(),
                       [](const verdict& each) { return each.what == outcome::failed; });
}

} // namespace irpverbs::bench
