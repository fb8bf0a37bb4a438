#include "hardware_address.hpp"

#include "../mad.hpp"

#include <ci/support/ip_gid.hpp>

#include <algorithm>

namespace irpverbs::hca_software::roce {

hardware_address hardware_at(const UCHAR* from) {
    hardware_address made;
    std::copy_n(from, made.size(), made.begin());
    return made;
}

hardware_address hardware_of_group(const ib_gid_t& group) {
    hardware_address made;
    if (ci::is_ipv4(group))
        store<6>(made.data(), 0x01005E000000 | (group.gid_guid & 0x7FFFFF));
    else
        store<6>(made.data(), 0x333300000000 | (group.gid_guid & 0xFFFFFFFF));
    return made;
}

ib_guid_t eui64_of(const hardware_address& address) {
    constexpr std::uint64_t global_bit = std::uint64_t{2} << 56;
    const std::uint64_t bits = load<6>(address.data());
    return ((bits >> 24) << 40 | std::uint64_t{0xFFFE} << 24 | (bits & 0xFFFFFF)) ^ global_bit;
}

} // namespace irpverbs::hca_software::roce
