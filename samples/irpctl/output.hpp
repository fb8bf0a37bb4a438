// What commands write to standard output; what can't be written is a failure. An object is the
// source of both forms: as JSON, or as text whose labels are its keys.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace irpctl {

/// Writes `text` unchanged and at once: it is safe for a terminal already.
void write_out(std::string_view text);

/// Throws failure when anything was not written, whoever wrote it.
void finish_output();

/// Writes a line at once: UTF-8, and safe for a terminal, whatever its strings hold.
void print_json(const boost::json::value& what);

/// A line of printable text, at once.
void print_line(const std::string& text);

/// A column: its heading, and the width it has at least.
struct column {
    std::string heading;
    std::size_t width = 0;
};

/// Columns as wide as their contents, two blanks apart.
void print_table(std::vector<column> columns, const std::vector<std::vector<std::string>>& rows);

/// A row, at once.
void print_row(const std::vector<column>& columns, const std::vector<std::string>& cells);

/// "label  value" for each member; arrays of objects are left out.
void print_members(const boost::json::object& what);

/// A string as it is, other values as JSON, arrays with commas.
std::string text_of(const boost::json::value& what);

} // namespace irpctl
