// Reads a line of a topology file from left to right.
#pragma once

#include "topology.hpp"

#include <cstdint>
#include <initializer_list>

namespace irpverbs::hca_software {

class line_reader {
public:
    line_reader(std::string_view text, std::string_view name, unsigned number)
        : rest_(text), name_(name), number_(number) {}

    unsigned number() const { return number_; }
    [[noreturn]] void fail(const std::string& what) const {
        throw topology_error(name_, number_, what);
    }

    bool at_end() {
        skip_blanks();
        return rest_.empty();
    }
    /// Skips `word` and returns true if the line continues with it.
    bool accept(std::string_view word);
    bool starts_with(std::string_view word) {
        skip_blanks();
        return rest_.starts_with(word);
    }
    void expect(std::string_view word);
    /// Reads a decimal number, or a hexadecimal one after 0x or if base is 16.
    std::uint64_t expect_number(const char* what, std::uint64_t most, int base = 10);
    std::string expect_quoted(const char* what);
    /// Reads a GUID in parentheses, "(8f10403961355)", if there is one.
    std::optional<ib_guid_t> accept_guid();
    /// Reads up to the next blank.
    std::string_view word();
    /// Reads up to the first of these marks, or to the end; removes the blanks around the text.
    std::string_view read_until(std::initializer_list<std::string_view> marks);

private:
    void skip_blanks();

    std::string_view rest_;
    std::string_view name_;
    unsigned number_;
};

} // namespace irpverbs::hca_software
