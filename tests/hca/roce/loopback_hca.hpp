// HCAs of "roce:" on addresses of the loopback interface: their packets are real UDP packets of
// this machine. No privilege is needed.
#pragma once

#include "loopback_address.hpp"

#include <hca/hca.h>

#include <gtest/gtest.h>

#include <string>

namespace irpverbs::testing {

inline NTSTATUS try_attach(const std::string& uri, std::string& message) {
    char text[200] = "";
    ULONG count = 0;
    const NTSTATUS status = HcaAttachEx(uri.c_str(), &count, text, sizeof(text));
    message = text;
    return status;
}

/// An HCA of an address until the end of the scope.
class roce_hca {
public:
    explicit roce_hca(const loopback_address& address, const std::string& options = "")
        : uri_(address.uri() + options) {
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
