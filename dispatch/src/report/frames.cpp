#include "frames.hpp"

#include "symbols.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <vector>

namespace irpverbs::dispatch::detail {
namespace {

// Optimisation decides which of these functions have a frame, so they are recognised by name.
constexpr std::array<std::string_view, 11> machinery{
    "irpverbs::dispatch::detail::",
    "irpverbs::dispatch::sim::",
    "irpverbs::dispatch::sim_machine::",
    "irpverbs::dispatch::machine::",
    "irpverbs::dispatch::explore",
    "irpverbs::irp::verify::",
    "drive::world::",
    "drive::play",
    "boost::context::",
    "make_fcontext",
    "__restore_rt",
};

// The function's name with its named namespaces, without parameters.
std::string name_in(std::string_view frame) {
    constexpr std::string_view unnamed = "(anonymous namespace)::";
    std::string name(frame);
    for (std::size_t at = name.find(unnamed); at != name.npos; at = name.find(unnamed))
        name.erase(at, unnamed.size());
    return name.substr(0, name.find_first_of("(["));
}

bool is_machinery(std::string_view frame) {
    const std::string name = name_in(frame);
    return std::any_of(machinery.begin(), machinery.end(), [&name](std::string_view each) {
        return name.find(each) != std::string_view::npos;
    });
}

std::vector<std::string> names_of(std::span<void* const> frames) {
    std::vector<std::string> names;
    std::transform(frames.begin(), frames.end(), std::back_inserter(names), describe_address);
    return names;
}

std::string lines(std::span<const std::string> names) {
    std::string text;
    for (const std::string& each : names)
        text += "  " + each + "\n";
    return text;
}

std::span<const std::string> without_machinery(std::span<const std::string> names) {
    while (!names.empty() && is_machinery(names.front()))
        names = names.subspan(1);
    while (!names.empty() && is_machinery(names.back()))
        names = names.first(names.size() - 1);
    return names;
}

} // namespace

std::string describe_frames(std::span<void* const> frames) {
    return lines(without_machinery(names_of(frames)));
}

std::string describe_frames_or_all(std::span<void* const> frames) {
    const std::vector<std::string> names = names_of(frames);
    const std::span<const std::string> some = without_machinery(names);
    return lines(some.empty() ? names : some);
}

} // namespace irpverbs::dispatch::detail
