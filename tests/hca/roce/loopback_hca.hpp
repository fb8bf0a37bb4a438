// HCAs of "roce:" on addresses of the loopback interface: their packets are real UDP packets of
// this machine. No privilege is needed.
#pragma once

#include <hca/hca.h>

#include <gtest/gtest.h>

#include <string>
#include <unistd.h>

namespace irpverbs::testing {

inline NTSTATUS try_attach(const std::string& uri, std::string& message) {
    char text[200] = "";
    ULONG count = 0;
    const NTSTATUS status = HcaAttachEx(uri.c_str(), &count, text, sizeof(text));
    message = text;
    return status;
}

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

/// An HCA of an address until the end of the scope.
class roce_hca {
public:
    explicit roce_hca(const loopback_address& address) : uri_(address.uri()) {
        std::string message;
        EXPECT_EQ(try_attach(uri_, message), STATUS_SUCCESS) << message;
    }
    ~roce_hca() { EXPECT_EQ(HcaDetach(uri_.c_str()), STATUS_SUCCESS); }
    roce_hca(const roce_hca&) = delete;
    roce_hca& operator=(const roce_hca&) = delete;

private:
    std::string uri_;
};

} // namespace irpverbs::testing
