#include "line_reader.hpp"

#include <charconv>

namespace irpverbs::hca_software {

namespace {
constexpr std::string_view blanks = " \t\r";
}

void line_reader::skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks), rest_.size()));
}

bool line_reader::accept(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
}

void line_reader::expect(std::string_view word) {
    if (!accept(word))
        fail("expected '" + std::string(word) + "'" +
             (rest_.empty() ? " before the end of the line"
                            : " before '" + std::string(rest_.substr(0, 24)) + "'"));
}

std::uint64_t line_reader::expect_number(const char* what, std::uint64_t most, int base) {
    if (accept("0x")) base = 16;
    skip_blanks();
    std::uint64_t value = 0;
    const auto [end, problem] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (problem != std::errc() || value > most)
        fail(std::string("expected ") + what + ", at most " + std::to_string(most));
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
}

std::string line_reader::expect_quoted(const char* what) {
    if (!accept("\"")) fail(std::string("expected ") + what + " in quotes");
    const std::size_t end = rest_.find('"');
    if (end == std::string_view::npos)
        fail(std::string("the quotes around ") + what + " don't end");
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
}

std::optional<ib_guid_t> line_reader::accept_guid() {
    if (!accept("(")) return std::nullopt;
    const ib_guid_t guid = expect_number("a GUID", ~ib_guid_t{0}, 16);
    expect(")");
    return guid;
}

std::string_view line_reader::word() {
    skip_blanks();
    const std::string_view found = rest_.substr(0, rest_.find_first_of(blanks));
    rest_.remove_prefix(found.size());
    return found;
}

std::string_view line_reader::read_until(std::initializer_list<std::string_view> marks) {
    skip_blanks();
    std::size_t length = rest_.size();
    for (const std::string_view mark : marks)
        length = std::min(length, rest_.find(mark));
    const std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return found.substr(0, found.find_last_not_of(blanks) + 1);
}

} // namespace irpverbs::hca_software
