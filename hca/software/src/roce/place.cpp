#include "place.hpp"

#include "interface.hpp"

#include <algorithm>
#include <string_view>

namespace irpverbs::hca_software::roce {

namespace {

bool parse_addresses(std::string_view list, std::vector<ib_gid_t>& into, std::string& problem) {
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        const std::string text(list.substr(begin, end - begin));
        const std::optional<ib_gid_t> address = gid_of_text(text);
        if (!address) {
            problem = "'" + text + "': expected an IP address";
            return false;
        }
        into.push_back(*address);
        begin = end + 1;
    }
    return true;
}

} // namespace

std::optional<place> parse_place(const std::string& whole, std::string& problem) {
    constexpr std::string_view with_addresses = "?tap=";
    constexpr std::string_view checked = "?checked";
    std::string_view text = whole;
    place made;
    made.checked = text.ends_with(checked);
    if (made.checked) text.remove_suffix(checked.size());
    const std::size_t mark = std::min(text.find('?'), text.size());
    const std::string_view option = text.substr(mark);
    made.name = text.substr(0, mark);
    if (option.empty()) return made;
    if (option == "?raw") {
        made.how = form::raw;
        return made;
    }
    made.how = form::tap;
    if (option == "?tap") return made;
    if (!option.starts_with(with_addresses)) {
        problem = std::string(option) + ": expected ?raw, ?tap, ?tap=ADDRESS,... or ?checked";
        return std::nullopt;
    }
    if (!parse_addresses(option.substr(with_addresses.size()), made.addresses, problem))
        return std::nullopt;
    return made;
}

} // namespace irpverbs::hca_software::roce
