// GIDs of peers as text: two GUIDs, or on Ethernet an IP address.
#pragma once

#include "guid.hpp"

#include <boost/asio/ip/address.hpp>

namespace irpctl {

inline std::optional<ib_gid_t> gid_of_address(const std::string& text) {
    namespace ip = boost::asio::ip;
    boost::system::error_code wrong;
    const ip::address address = ip::make_address(text, wrong);
    if (wrong) return std::nullopt;
    const ip::address_v6 mapped =
        address.is_v4() ? ip::make_address_v6(ip::v4_mapped, address.to_v4()) : address.to_v6();
    const ip::address_v6::bytes_type bytes = mapped.to_bytes();
    const auto half = [&](std::size_t at) {
        ib_guid_t made = 0;
        for (std::size_t i = 0; i < 8; ++i)
            made = made << 8 | bytes[at + i];
        return made;
    };
    return ib_gid_t{half(0), half(8)};
}

/// Parses an IP address, or PREFIX:GUID.
inline std::optional<ib_gid_t> gid_from(const std::string& text) {
    if (const auto address = gid_of_address(text)) return address;
    const auto colon = text.find(':');
    if (colon == text.npos) return std::nullopt;
    const auto prefix = guid_from(text.substr(0, colon));
    const auto guid = guid_from(text.substr(colon + 1));
    if (!prefix || !guid) return std::nullopt;
    return ib_gid_t{*prefix, *guid};
}

/// The IP address of a GID.
inline std::string address_text(const ib_gid_t& gid) {
    namespace ip = boost::asio::ip;
    ip::address_v6::bytes_type bytes{};
    for (std::size_t i = 0; i < 8; ++i) {
        bytes[i] = static_cast<unsigned char>(gid.gid_prefix >> (56 - 8 * i));
        bytes[8 + i] = static_cast<unsigned char>(gid.gid_guid >> (56 - 8 * i));
    }
    const ip::address_v6 made(bytes);
    return made.is_v4_mapped() ? ip::make_address_v4(ip::v4_mapped, made).to_string()
                               : made.to_string();
}

} // namespace irpctl
