/// Async wrappers of the verbs of reliable datagrams: each completes STATUS_NOT_SUPPORTED.
#pragma once

#include <ci/detail/verb.hpp>
#include <ci/reliable_datagram.h>

namespace irpverbs::ci {

/// CiAllocateRdd: void(error_code).
template <class Token = boost::asio::deferred_t>
auto allocate_rdd(IB_CA* ca, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiAllocateRdd(ca, nullptr, irp); },
                              std::forward<Token>(token));
}

/// CiDeallocateRdd: void(error_code).
template <class Token = boost::asio::deferred_t>
auto deallocate_rdd(IB_RDD* rdd, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiDeallocateRdd(rdd, nullptr, irp); },
                              std::forward<Token>(token));
}

/// CiCreateEec: void(error_code).
template <class Token = boost::asio::deferred_t>
auto create_eec(IB_RDD* rdd, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiCreateEec(rdd, nullptr, irp); },
                              std::forward<Token>(token));
}

/// CiModifyEec: void(error_code).
template <class Token = boost::asio::deferred_t>
auto modify_eec(IB_EEC* eec, const void* change, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiModifyEec(eec, change, nullptr, irp); },
                              std::forward<Token>(token));
}

/// CiQueryEec: void(error_code).
template <class Token = boost::asio::deferred_t>
auto query_eec(IB_EEC* eec, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiQueryEec(eec, 0, nullptr, nullptr, irp); },
                              std::forward<Token>(token));
}

/// CiDestroyEec: void(error_code).
template <class Token = boost::asio::deferred_t>
auto destroy_eec(IB_EEC* eec, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiDestroyEec(eec, nullptr, irp); },
                              std::forward<Token>(token));
}

} // namespace irpverbs::ci
