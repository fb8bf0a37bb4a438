#include "address.hpp"

#include "../mad.hpp"

#include "packet.hpp"

#include <algorithm>

namespace irpverbs::hca_software::roce {

namespace {

ib_gid_t mapped(in_addr address) {
    return {0, std::uint64_t{0xFFFF} << 32 | boost::endian::big_to_native(address.s_addr)};
}

} // namespace

socket_address address_of(const ib_gid_t& gid, USHORT port, unsigned scope) {
    socket_address made;
    if (is_ipv4(gid)) {
        auto& to = reinterpret_cast<sockaddr_in&>(made.value);
        made.size = sizeof(to);
        to.sin_family = AF_INET;
        to.sin_port = boost::endian::native_to_big(port);
        to.sin_addr.s_addr = boost::endian::native_to_big(static_cast<ULONG>(gid.gid_guid));
        return made;
    }
    auto& to = reinterpret_cast<sockaddr_in6&>(made.value);
    made.size = sizeof(to);
    to.sin6_family = AF_INET6;
    to.sin6_port = boost::endian::native_to_big(port);
    to.sin6_scope_id = scope;
    store<8>(&to.sin6_addr.s6_addr[0], gid.gid_prefix);
    store<8>(&to.sin6_addr.s6_addr[8], gid.gid_guid);
    return made;
}

ib_gid_t gid_of(const sockaddr& address) {
    if (address.sa_family == AF_INET)
        return mapped(reinterpret_cast<const sockaddr_in&>(address).sin_addr);
    const UCHAR* bytes = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr.s6_addr;
    return {load<8>(bytes), load<8>(bytes + 8)};
}

USHORT port_of(const sockaddr& address) {
    const bool is_version_4 = address.sa_family == AF_INET;
    return boost::endian::big_to_native(
        is_version_4 ? reinterpret_cast<const sockaddr_in&>(address).sin_port
                     : reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
}

} // namespace irpverbs::hca_software::roce
