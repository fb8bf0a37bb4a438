// A line of a topology file, read from left to right.
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
    /// True, and past it, when the line goes on with `word`.
    bool accept(std::string_view word);
    bool sees(std::string_view word) {
        skip_blanks();
        return rest_.starts_with(word);
    }
    void expect(std::string_view word);
    /// Decimal; or hexadecimal after 0x, or when base is 16.
    std::uint64_t expect_number(const char* what, std::uint64_t most, int base = 10);
    std::string expect_quoted(const char* what);
    /// "(8f10403961355)": a GUID, when there is one.
    std::optional<ib_guid_t> accept_guid();
    /// Up to the next blank.
    std::string_view word();
    /// Up to the first of these, or to the end; without the blanks around it.
    std::string_view before(std::initializer_list<std::string_view> marks);

private:
    void skip_blanks();

    std::string_view rest_;
    std::string_view name_;
    unsigned number_;
};

} // namespace irpverbs::hca_software
