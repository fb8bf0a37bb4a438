// A client of the daemon, on a machine of its own.
#pragma once

#include "test_daemon.hpp"

#include <support/verbs.hpp>

namespace irpverbs::testing {

class client {
public:
    explicit client(std::string uri = {}) : uri_(std::move(uri)) {
        if (uri_.empty()) return;
        std::array<char, 512> message{};
        EXPECT_EQ(HcaAttachEx(uri_.c_str(), nullptr, message.data(), message.size()),
                  STATUS_SUCCESS)
            << message.data();
    }
    ~client() {
        if (uri_.empty()) return;
        EXPECT_EQ(HcaDetach(uri_.c_str()), STATUS_SUCCESS);
    }
    client(const client&) = delete;
    client& operator=(const client&) = delete;

private:
    std::string uri_;
    dispatch::asio_machine machine_{{.processors = 2}};
    const dispatch::machine::scope inside_{machine_};
};

/// The first HCA of the machine.
inline DEVICE_OBJECT* first_hca() {
    ib_guid_t guid = 0;
    ULONG count = 1;
    HcaEnumerate(&guid, &count);
    return HcaFromGuid(guid);
}

/// The first HCA of the client's machine, open.
class opened_ca {
public:
    opened_ca() {
        ULONG count = 1;
        HcaEnumerate(&guid_, &count);
        verb_call open(
            [&](IRP* irp) { return CiOpenCa(HcaFromGuid(guid_), nullptr, nullptr, nullptr, irp); });
        EXPECT_EQ(open.status(), STATUS_SUCCESS);
        ca_ = open.object<IB_CA>();
    }
    ~opened_ca() {
        verb_call close([&](IRP* irp) { return CiCloseCa(ca_, nullptr, irp); });
        EXPECT_EQ(close.status(), STATUS_SUCCESS);
    }
    opened_ca(const opened_ca&) = delete;
    opened_ca& operator=(const opened_ca&) = delete;

    IB_CA* get() const { return ca_; }
    ib_guid_t guid() const { return guid_; }

private:
    ib_guid_t guid_ = 0;
    IB_CA* ca_ = nullptr;
};

} // namespace irpverbs::testing
