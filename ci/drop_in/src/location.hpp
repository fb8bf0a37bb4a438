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

/// Separates "?host=NAME,NAME" from the URI.
location parse_location(std::string_view text);

/// True when an HCA of that name belongs to the host: names are "HOST" or "HOST HCA".
bool belongs_to(std::string_view hca, std::string_view host);

} // namespace irpverbs::drop_in
