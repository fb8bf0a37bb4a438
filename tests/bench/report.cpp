#include "report.hpp"

#include "statistics.hpp"

#include <iomanip>
#include <ostream>
#include <string>

namespace irpverbs::bench {
namespace {

struct summary {
    double nanoseconds, low, high, calls;
    std::size_t clean;
};

summary summarize(const series& each) {
    std::vector<double> time, calls;
    std::size_t clean = 0;
    for (const sample& taken : each.samples) {
        time.push_back(taken.nanoseconds);
        calls.push_back(taken.nanoseconds / taken.call);
        clean += taken.clean;
    }
    return {median(time), quantile(time, 0.25), quantile(time, 0.75), median(calls), clean};
}

std::string_view word(outcome what) {
    switch (what) {
    case outcome::passed:
        return "pass";
    case outcome::impossible:
        return "impossible";
    case outcome::failed:
        return "FAIL";
    case outcome::skipped:
        break;
    }
    return "skipped";
}

void print_measurements(std::ostream& out, const std::vector<series>& results) {
    out << std::left << std::setw(36) << "measurement" << std::right << std::setw(11) << "ns"
        << std::setw(22) << "quartiles" << std::setw(10) << "calls" << std::setw(9) << "clean"
        << '\n';
    for (const series& each : results) {
        if (each.samples.empty()) continue;
        const summary s = summarize(each);
        out << std::left << std::setw(36) << each.what.name << std::right << std::fixed
            << std::setprecision(2) << std::setw(11) << s.nanoseconds << std::setw(11) << s.low
            << std::setw(11) << s.high << std::setw(10) << s.calls << std::setw(6) << s.clean << "/"
            << each.samples.size() << '\n';
    }
}

void print_bars(std::ostream& out, const std::vector<verdict>& verdicts) {
    out << std::left << std::setw(40) << "bar" << std::setw(28) << "against" << std::right
        << std::setw(10) << "measured" << std::setw(11) << "bound"
        << "  verdict\n";
    for (const verdict& each : verdicts) {
        out << std::left << std::setw(40) << each.which->promise << std::setw(28)
            << each.which->against << std::right << std::fixed << std::setprecision(3)
            << std::setw(10);
        if (each.ratio > 0)
            out << each.ratio;
        else
            out << "-";
        out << std::setw(11) << std::setprecision(2) << each.which->bound << "  "
            << word(each.what);
        if (!each.why.empty()) out << " (" << each.why << ")";
        out << '\n';
    }
}

} // namespace

void print_tables(std::ostream& out, const std::vector<series>& results,
                  const std::vector<verdict>& verdicts) {
    print_measurements(out, results);
    out << '\n';
    print_bars(out, verdicts);
}

// All strings are literals of this program, and none needs escaping.
void print_json(std::ostream& out, const std::vector<series>& results,
                const std::vector<verdict>& verdicts) {
    const char* separator = "";
    out << "{\"measurements\": [";
    for (const series& each : results) {
        if (each.samples.empty()) continue;
        const summary s = summarize(each);
        out << separator << "\n  {\"name\": \"" << each.what.name << "\", \"ns\": " << s.nanoseconds
            << ", \"low\": " << s.low << ", \"high\": " << s.high << ", \"calls\": " << s.calls
            << ", \"clean\": " << s.clean << ", \"rounds\": " << each.samples.size() << "}";
        separator = ",";
    }
    separator = "";
    out << "],\n \"bars\": [";
    for (const verdict& each : verdicts) {
        out << separator << "\n  {\"bar\": \"" << each.which->promise << "\", \"measured\": \""
            << each.which->measured << "\", \"against\": \"" << each.which->against
            << "\", \"ratio\": " << each.ratio << ", \"bound\": " << each.which->bound
            << ", \"verdict\": \"" << word(each.what) << "\", \"why\": \"" << each.why << "\"}";
        separator = ",";
    }
    out << "]}\n";
}

} // namespace irpverbs::bench
