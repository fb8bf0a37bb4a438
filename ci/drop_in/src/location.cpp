#include "location.hpp"

#include <ci/support/seq_socket.hpp>

namespace irpverbs::drop_in {

location parse_location(std::string_view text) {
    constexpr std::string_view key = "?host=";
    const std::size_t begin = text.rfind(key);
    if (begin == std::string_view::npos) return {std::string(text), {}};
    const std::size_t end = text.find('?', begin + 1);
    std::string_view names = text.substr(begin + key.size(), end - begin - key.size());
    location parsed{std::string(text.substr(0, begin)), {}};
    if (end != std::string_view::npos) parsed.uri += text.substr(end);
    while (!names.empty()) {
        const std::size_t comma = names.find(',');
        if (comma != 0) parsed.hosts.emplace_back(names.substr(0, comma));
        names.remove_prefix(comma == std::string_view::npos ? names.size() : comma + 1);
    }
    // The driver attaches the HCAs of one host alone: a daemon may have thousands.
    if (parsed.hosts.size() == 1 && parsed.uri.starts_with("user:") &&
        parsed.uri.find('?') == std::string::npos)
        parsed.uri += std::string(key) + parsed.hosts.front();
    return parsed;
}

std::string socket_of(std::string_view uri) {
    constexpr std::string_view scheme = "user:";
    if (!uri.starts_with(scheme)) return {};
    const std::string_view path = uri.substr(scheme.size(), uri.find('?') - scheme.size());
    return path.empty() ? ci::detail::default_socket() : std::string(path);
}

} // namespace irpverbs::drop_in
