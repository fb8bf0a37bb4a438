/// Attributes that own their block, and access to the parts of a block behind the fixed part.
#pragma once

#include <ci/attributes.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace irpverbs::ci {

/// The ports of a CA and the tables of a port, in the same block, which must be whole and outlive
/// the span.
inline std::span<const IB_PORT_ATTR> ports(const IB_CA_ATTR& ca) noexcept {
    return {IbCaPort(&ca, 1), ca.PortCount};
}
inline std::span<const ib_gid_t> gids(const IB_PORT_ATTR& port) noexcept {
    return {IbPortGid(&port, 0), port.GidCount};
}
inline std::span<const ib_pkey_t> pkeys(const IB_PORT_ATTR& port) noexcept {
    return {static_cast<const ib_pkey_t*>(static_cast<const void*>(
                reinterpret_cast<const std::byte*>(&port) + port.PKeyOffset)),
            port.PKeyCount};
}

/// NodeDescription without the NULs at its end. Lives as long as `ca`.
inline std::string_view node_description(const IB_CA_ATTR& ca) noexcept {
    const std::string_view all(reinterpret_cast<const char*>(ca.NodeDescription),
                               sizeof(ca.NodeDescription));
    return all.substr(0, all.find('\0'));
}

/// A whole block of attributes, as a value; empty when the query failed.
template <class Attr>
class attribute_block {
public:
    attribute_block() noexcept = default;
    /// Takes the `bytes` that a query wrote.
    explicit attribute_block(std::vector<std::byte> bytes) noexcept : bytes_(std::move(bytes)) {}

    bool empty() const noexcept { return bytes_.empty(); }

    /// The block is not empty.
    const Attr& operator*() const noexcept { return *operator->(); }
    const Attr* operator->() const noexcept {
        return static_cast<const Attr*>(static_cast<const void*>(bytes_.data()));
    }

private:
    std::vector<std::byte> bytes_;
};

using ca_attributes = attribute_block<IB_CA_ATTR>;
using port_attributes = attribute_block<IB_PORT_ATTR>;
using cq_attributes = attribute_block<IB_CQ_ATTR>;

} // namespace irpverbs::ci
