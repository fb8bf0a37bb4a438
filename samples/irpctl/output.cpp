#include "output.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/src.hpp> // Boost.JSON itself: headers are all it needs

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

namespace irpctl {

namespace json = boost::json;

namespace {

// Names that others have given stay as they are.
std::string label(std::string_view key) {
    std::string text(key);
    if (std::any_of(text.begin(), text.end(), [](char each) { return each >= 'A' && each <= 'Z'; }))
        return text;
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
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

void print_line(const std::string& text) {
    fmt::print("{}\n", text);
    std::fflush(stdout);
}

void print_json(const json::value& what) { print_line(json::serialize(what)); }

void print_row(const std::vector<column>& columns, const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i)
        line += fmt::format("{:<{}}  ", cells[i], columns[i].width);
    line.erase(line.find_last_not_of(' ') + 1);
    print_line(line);
}

void print_table(std::vector<column> columns, const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::string> headings;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        headings.push_back(columns[i].heading);
        columns[i].width = std::max(columns[i].width, columns[i].heading.size());
        for (const std::vector<std::string>& row : rows)
            columns[i].width = std::max(columns[i].width, row[i].size());
    }
    print_row(columns, headings);
    for (const std::vector<std::string>& row : rows)
        print_row(columns, row);
}

void print_members(const json::object& what) {
    std::size_t width = 0;
    for (const auto& member : what)
        width = std::max(width, member.key().size());
    for (const auto& member : what)
        if (!is_table(member.value()))
            fmt::print("  {:<{}}  {}\n", label(member.key()), width, text_of(member.value()));
}

} // namespace irpctl
