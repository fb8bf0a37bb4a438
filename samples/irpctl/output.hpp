// The commands' writes to standard output. A failed write is a failure. One object is the source of
// both forms: JSON, or text whose labels are its keys.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace irpctl {

/// Writes `text` unchanged and at once. The text must be safe for a terminal.
void write_out(std::string_view text);

/// Throws failure when any write to standard output has failed.
void finish_output();

/// Writes a line at once, as UTF-8 and safe for a terminal.
void print_json(const boost::json::value& what);

/// Writes a line of printable text at once.
void print_line(const std::string& text);

/// The heading of a column, and its least width.
struct column {
    std::string heading;
    std::size_t width = 0;
};

/// Writes columns as wide as their contents, separated by two blanks.
void print_table(std::vector<column> columns, const std::vector<std::vector<std::string>>& rows);

/// Writes a row at once.
void print_row(const std::vector<column>& columns, const std::vector<std::string>& cells);

/// Writes "label  value" for each member, except arrays of objects.
void print_members(const boost::json::object& what);

/// Returns a string unchanged, other values as JSON, arrays with commas.
std::string text_of(const boost::json::value& what);

} // namespace irpctl
