#include "replay_mark.hpp"

#include <boost/crc.hpp>

#include <cstdio>
#include <filesystem>
#include <regex>
#include <stdexcept>

namespace drive {

namespace {

constexpr const char* start = "replay:r1.";
constexpr std::uint32_t six_digits = 0xFF'FFFF;

} // namespace

std::string mark_of(const std::string& driver, const std::string& script_text) {
    const std::string identity =
        std::filesystem::path(driver).filename().string() + '\n' + script_text;
    boost::crc_32_type sum;
    sum.process_bytes(identity.data(), identity.size());
    char text[8];
    std::snprintf(text, sizeof text, "%06x", static_cast<unsigned>(sum.checksum() & six_digits));
    return text;
}

void add_mark(irpverbs::dispatch::explore_failure& failure, const std::string& mark) {
    static const std::regex line(std::string(start) + "[A-Za-z0-9_-]+");
    for (std::string* each : {&failure.what, &failure.replay, &failure.found_by, &failure.report})
        *each = std::regex_replace(*each, line, "$&." + mark);
}

std::string without_mark(const std::string& strategy, const std::string& mark, bool required) {
    if (!strategy.starts_with(start)) return strategy;
    const std::size_t dot = strategy.find('.', std::string(start).size());
    if (dot == strategy.npos && !required) return strategy;
    if (dot == strategy.npos || strategy.substr(dot + 1) != mark)
        throw std::invalid_argument("the replay line is that of another driver or script: it does "
                                    "not end in '." +
                                    mark + "'");
    return strategy.substr(0, dot);
}

} // namespace drive
