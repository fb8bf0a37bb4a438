#include "fabric_uri.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace irpverbs::hca_software {

namespace {

// A fault is configured as 1/N, which is coarse above the maximum.
constexpr double max_probability = 0.5;
constexpr double max_once_in = 0xFFFFFFFF;

// Real timers deliver at once what is due within a tick of theirs, 0.8 ms.
constexpr ULONG reordering_time = 5000; // microseconds

struct fault_option {
    std::string_view name;
    ULONG HCA_SOFTWARE_FAULTS::*once_in;
};
constexpr std::array<fault_option, 3> fault_options{{
    {"loss", &HCA_SOFTWARE_FAULTS::LossOnceIn},
    {"duplication", &HCA_SOFTWARE_FAULTS::DuplicationOnceIn},
    {"reordering", &HCA_SOFTWARE_FAULTS::ReorderingOnceIn},
}};

[[noreturn]] void fail(std::string_view option, const char* expected) {
    throw uri_error('?' + std::string(option) + ": expected " + expected);
}

bool parse_number(std::string_view text, double& number) {
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, number);
    return problem == std::errc() && stop == end;
}

// The N of the probability 1/N.
ULONG once_in(std::string_view option, std::string_view value) {
    double probability = -1;
    // The comparison is false for NaN.
    if (!parse_number(value, probability) || !(probability >= 0 && probability <= max_probability))
        fail(option, "a probability from 0 to 0.5");
    if (probability == 0) return 0;
    return static_cast<ULONG>(std::llround(std::min(1 / probability, max_once_in)));
}

void apply(std::string_view option, fabric_uri& made) {
    if (option == "static") return; // for programs that would run a subnet manager
    if (option == "unmanaged") {
        made.configured = false;
        return;
    }
    if (option == "checked") {
        made.checked = true;
        return;
    }
    const std::size_t mark = std::min(option.find('='), option.size());
    const auto known =
        std::ranges::find(fault_options, option.substr(0, mark), &fault_option::name);
    if (known == fault_options.end() || mark == option.size())
        fail(option, "?unmanaged, ?static, ?checked, ?loss=, ?duplication= or ?reordering=");
    made.faults.*known->once_in = once_in(option, option.substr(mark + 1));
}

} // namespace

fabric_uri parse_fabric_uri(std::string_view text) {
    std::size_t mark = std::min(text.find('?'), text.size());
    fabric_uri made;
    made.file = text.substr(0, mark);
    made.faults.ReorderingTime = reordering_time;
    while (mark != text.size()) {
        text.remove_prefix(mark + 1);
        mark = std::min(text.find('?'), text.size());
        apply(text.substr(0, mark), made);
    }
    return made;
}

} // namespace irpverbs::hca_software
