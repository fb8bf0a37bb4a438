// The host that an HCA's name begins with: names are "HOST" or "HOST HCA".
#ifndef IRPVERBS_CI_SUPPORT_HOST_OF_HCA_HPP
#define IRPVERBS_CI_SUPPORT_HOST_OF_HCA_HPP

#include <string_view>

namespace irpverbs::ci {

constexpr bool belongs_to_host(std::string_view hca, std::string_view host) {
    return hca.starts_with(host) && (hca.size() == host.size() || hca[host.size()] == ' ');
}

} // namespace irpverbs::ci

#endif
