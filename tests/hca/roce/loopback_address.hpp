// Addresses of the loopback interface for HCAs of "roce:".
#pragma once

#include <ci/ib_types.h>

#include <string>
#include <unistd.h>

namespace irpverbs::testing {

/// One of three addresses of this process on the loopback interface: tests run side by side.
class loopback_address {
public:
    explicit loopback_address(unsigned index)
        : value_(127u << 24 | (static_cast<unsigned>(getpid()) & 0x3FFFFF) << 2 | index) {}

    std::string text() const {
        const auto byte = [&](unsigned shift) { return std::to_string(value_ >> shift & 0xFF); };
        return byte(24) + '.' + byte(16) + '.' + byte(8) + '.' + byte(0);
    }
    std::string uri() const { return "roce:" + text(); }
    ib_gid_t gid() const { return {0, 0xFFFFull << 32 | value_}; }
    ib_guid_t guid() const { return 0x02005EFEull << 32 | value_; }

private:
    ULONG value_;
};

} // namespace irpverbs::testing
