// The value of IRPVERBS_HCA.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace irpverbs::drop_in {

struct location {
    std::string uri;                // for HcaAttach
    std::vector<std::string> hosts; // empty: that of the first HCA
};

/// Separates "?host=NAME,NAME" from the URI. One host of a daemon stays in it, too.
location parse_location(std::string_view text);

/// The socket of the daemon that a URI names; empty: it names none.
std::string socket_of(std::string_view uri);

} // namespace irpverbs::drop_in
