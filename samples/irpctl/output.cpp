#include "output.hpp"

#include "failure.hpp"

#include <dispatch/support/safe_text.hpp>

#include <boost/json/serialize.hpp>
#include <boost/json/src.hpp> // Boost.JSON itself: headers are all it needs

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>

namespace irpctl {

namespace json = boost::json;
using irpverbs::dispatch::printable;
using irpverbs::dispatch::printable_json;

namespace {

// Names with capitals come from a specification and stay unchanged.
std::string label(std::string_view key) {
    std::string text(key);
    if (std::any_of(text.begin(), text.end(), [](char each) { return each >= 'A' && each <= 'Z'; }))
        return text;
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
}

// Returns the columns on a terminal, as fmt pads them: a string has at least as many bytes as
// columns.
std::size_t width_of(const std::string& text) {
    return 2 * text.size() - fmt::format("{:<{}}", text, text.size()).size();
}

bool is_table(const json::value& what) {
    return what.is_array() && !what.get_array().empty() && what.get_array()[0].is_object();
}

} // namespace

std::string text_of(const json::value& what) {
    if (what.is_string()) return std::string(what.get_string());
    if (what.is_double()) return fmt::format("{:.3f}", what.get_double());
    if (!what.is_array()) return json::serialize(what);
    std::string text;
    for (const json::value& each : what.get_array())
        text += (text.empty() ? "" : ", ") + text_of(each);
    return text.empty() ? "-" : text;
}

void finish_output() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        throw failure(fmt::format("standard output: {}; the output is incomplete",
                                  std::strerror(errno != 0 ? errno : EIO)));
}

void write_out(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    finish_output();
}

void print_line(const std::string& text) { write_out(printable(text) + '\n'); }

void print_json(const json::value& what) {
    write_out(printable_json(json::serialize(what)) + '\n');
}

void print_row(const std::vector<column>& columns, const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i)
        line += fmt::format("{:<{}}  ", printable(cells[i]), columns[i].width);
    line.erase(line.find_last_not_of(' ') + 1);
    print_line(line);
}

void print_table(std::vector<column> columns, const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::string> headings;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        headings.push_back(columns[i].heading);
        columns[i].width = std::max(columns[i].width, columns[i].heading.size());
        for (const std::vector<std::string>& row : rows)
            columns[i].width = std::max(columns[i].width, width_of(printable(row[i])));
    }
    print_row(columns, headings);
    for (const std::vector<std::string>& row : rows)
        print_row(columns, row);
}

void print_members(const json::object& what) {
    std::size_t width = 0;
    for (const auto& member : what)
        width = std::max(width, member.key().size());
    for (const auto& member : what) {
        if (is_table(member.value())) continue;
        const std::string value = text_of(member.value());
        print_line(value.empty() ? fmt::format("  {}", label(member.key()))
                                 : fmt::format("  {:<{}}  {}", label(member.key()), width, value));
    }
}

} // namespace irpctl
