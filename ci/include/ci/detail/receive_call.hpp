// A call that receives a datagram, repeated when the datagram is longer than the buffer.
#pragma once

#include <ci/detail/retry_on_overflow.hpp>
#include <ci/mad.h>

namespace irpverbs::ci {

/// A datagram, or a whole message when the driver does RMPP, as a value.
struct received_mad {
    IB_MAD_ADDRESS from{};
    std::vector<std::byte> data; ///< empty when none was received
    ULONG lost = 0;              ///< datagrams dropped since the previous one (IB_MAD_RECEIVE.Lost)
};

namespace detail {

/// `verb(IB_MAD_RECEIVE*, IRP*)` calls the verb.
template <class Verb>
class receive_call final : public retry_on_overflow {
public:
    explicit receive_call(Verb verb) noexcept
        : retry_on_overflow(how, IB_MAD_SIZE), verb_(std::move(verb)) {}

    received_mad result(ULONG_PTR information) && {
        if (information == 0 || information > buffer_.size()) return {};
        buffer_.resize(information);
        return {received_.From, std::move(buffer_), received_.Lost};
    }

private:
    static void send(retry_on_overflow& base, IRP* irp) {
        auto& self = static_cast<receive_call&>(base);
        self.received_ = {};
        self.received_.Data = self.buffer_.data();
        self.received_.Size = static_cast<ULONG>(self.buffer_.size());
        self.verb_(&self.received_, irp);
    }
    static SIZE_T length(const retry_on_overflow& base) {
        return static_cast<const receive_call&>(base).received_.Length;
    }
    static constexpr steps how{send, length};

    Verb verb_;
    IB_MAD_RECEIVE received_{};
};

template <class Verb, class Token>
auto receive(Verb verb, Token&& token) {
    return irp::detail::initiate(receive_call<Verb>(std::move(verb)), std::forward<Token>(token));
}

} // namespace detail
} // namespace irpverbs::ci
