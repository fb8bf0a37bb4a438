// The operation that every wrapper of a verb passes to irp::detail::initiate.
#pragma once

#include <ci/ci.h>
#include <ci/support/fail_unsent.hpp>
#include <irp/support/async_operation.hpp>

#include <boost/asio/deferred.hpp>

#include <utility>

namespace irpverbs::ci::detail {

namespace asio = boost::asio;

/// `send(irp)` calls the verb, whose Information is a Result.
template <class Result, class Send>
struct verb {
    Send send;

    CCHAR stack_size() const { return 1; }
    void start(IRP* irp) { send(irp); }
    Result result(ULONG_PTR information) && { return static_cast<Result>(information); }
};

/// Completes with void(error_code, Result), or void(error_code).
template <class Result, class Send, class Token>
auto call(Send send, Token&& token) {
    return irp::detail::initiate(verb<Result, Send>{std::move(send)}, std::forward<Token>(token));
}

} // namespace irpverbs::ci::detail
