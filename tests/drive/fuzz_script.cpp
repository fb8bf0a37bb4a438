// The input is a script of irpverbs-drive: it is parsed, or refused with the name of the file and a
// line that the file has.
#include <drive/script.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace {

constexpr std::string_view name = "s:";

void require(bool rule) {
    if (!rule) std::abort();
}

void check_error(std::string_view text, std::string_view error) {
    require(error.starts_with(name));
    int line = 0;
    const char* const begin = error.data() + name.size();
    const auto read = std::from_chars(begin, error.data() + error.size(), line);
    require(read.ec == std::errc() && line > 0 && line <= 1 + std::ranges::count(text, '\n'));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    try {
        drive::parse_script(text, "s");
    } catch (const drive::script_error& wrong) {
        check_error(text, wrong.what());
    }
    return 0;
}
