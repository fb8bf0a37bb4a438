// A client of the MAD service on a port of a software HCA, for tests.
#pragma once

#include <support/verbs.hpp>

#include <hca/software.h>

#include <array>
#include <memory>

namespace irpverbs::testing {

inline constexpr UCHAR get_method = 1;
inline constexpr UCHAR set_method = 2;
inline constexpr UCHAR send_method = 3;
inline constexpr UCHAR trap_method = 5;

struct mad : std::array<UCHAR, IB_MAD_SIZE> {
    mad() : std::array<UCHAR, IB_MAD_SIZE>{} {}
    mad(UCHAR management_class, UCHAR method, USHORT attribute, ULONG modifier = 0) : mad() {
        at(0) = 1;
        at(1) = management_class;
        at(2) = 1;
        at(3) = method;
        put<2>(16, attribute);
        put<4>(20, modifier);
    }

    template <std::size_t Size>
    std::uint64_t get(std::size_t offset) const {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < Size; ++i)
            value = value << 8 | at(offset + i);
        return value;
    }
    template <std::size_t Size>
    mad& put(std::size_t offset, std::uint64_t value) {
        for (std::size_t i = Size; i-- != 0; value >>= 8)
            at(offset + i) = static_cast<UCHAR>(value);
        return *this;
    }

    UCHAR method() const { return at(3); }
    USHORT status() const { return static_cast<USHORT>(get<2>(4) & 0x7FFF); }
    ULONG own_transaction() const { return static_cast<ULONG>(get<4>(12)); }
    mad& with_transaction(ULONG low) { return put<4>(12, low); }
    mad& as_response() {
        at(3) |= 0x80;
        return *this;
    }
};

struct received_mad {
    mad data;
    IB_MAD_ADDRESS from{};
};

inline constexpr UCHAR performance_class = 4;
inline constexpr UCHAR vendor_class = 0x0A; // without OUI

inline IB_MAD_AGENT_ATTR agent_of(UCHAR management_class, std::initializer_list<UCHAR> methods = {},
                                  UCHAR port = 1) {
    IB_MAD_AGENT_ATTR attr{};
    attr.PortNumber = port;
    attr.ManagementClass = management_class;
    attr.ClassVersion = 1;
    for (const UCHAR method : methods)
        attr.MethodMask[method / 32] |= 1u << method % 32;
    return attr;
}

inline IB_MAD_ADDRESS to_lid(ib_lid_t lid) {
    IB_MAD_ADDRESS to{};
    to.Lid = lid;
    to.Qp = 1;
    to.QKey = IB_QP1_QKEY;
    return to;
}

inline IB_MAD_ADDRESS to_subnet(ib_lid_t lid = IB_LID_PERMISSIVE) {
    IB_MAD_ADDRESS to{};
    to.Lid = lid;
    return to;
}

class mad_client {
public:
    mad_client(IB_CA* ca, const IB_MAD_AGENT_ATTR& attr) {
        verb_call make(
            [&](IRP* irp) { return CiRegisterMadAgent(ca, &attr, nullptr, nullptr, irp); });
        EXPECT_STREQ(name_of(make.status()), "STATUS_SUCCESS");
        agent_ = make.object<IB_MAD_AGENT>();
    }
    ~mad_client() {
        EXPECT_EQ(verb_call([&](IRP* irp) { return CiDeregisterMadAgent(agent_, irp); }).status(),
                  STATUS_SUCCESS);
    }
    mad_client(const mad_client&) = delete;
    mad_client& operator=(const mad_client&) = delete;

    IB_MAD_AGENT* agent() const { return agent_; }

    NTSTATUS send(const IB_MAD_ADDRESS& to, const mad& what, ULONG length = IB_MAD_SIZE,
                  ULONG response_timeout = 0) {
        IB_MAD_SEND sent{};
        sent.To = to;
        sent.Data = what.data();
        sent.Length = length;
        sent.ResponseTimeout = response_timeout;
        return verb_call([&](IRP* irp) { return CiSendMad(agent_, &sent, irp); }).status();
    }
    /// Waits for the next datagram.
    received_mad receive() {
        received_mad got;
        IB_MAD_RECEIVE into{};
        into.Data = got.data.data();
        into.Size = IB_MAD_SIZE;
        verb_call get([&](IRP* irp) { return CiGetMad(agent_, &into, irp); });
        EXPECT_STREQ(name_of(get.status()), "STATUS_SUCCESS");
        got.from = into.From;
        return got;
    }
    /// Sends a request and waits for the response.
    received_mad ask(const IB_MAD_ADDRESS& to, const mad& what) {
        EXPECT_EQ(send(to, what), STATUS_SUCCESS);
        return receive();
    }

private:
    IB_MAD_AGENT* agent_ = nullptr;
};

/// An open CA that is closed at the end of the scope.
class open_hca {
public:
    explicit open_hca(DEVICE_OBJECT* fdo) : ca_(open_ca(fdo)) {}
    ~open_hca() { EXPECT_EQ(close_ca(ca_), STATUS_SUCCESS); }
    open_hca(const open_hca&) = delete;
    open_hca& operator=(const open_hca&) = delete;

    operator IB_CA*() const { return ca_; }
    ib_lid_t lid(UCHAR port = 1) const { return port_block(ca_, port)->Lid; }

private:
    IB_CA* ca_;
};

} // namespace irpverbs::testing
