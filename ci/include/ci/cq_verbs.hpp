/// Async wrappers of the verbs of completion queues.
#pragma once

#include <ci/channel_adapter.hpp>
#include <ci/completion_queue.hpp>
#include <ci/detail/query.hpp>
#include <dispatch/status.hpp>

#include <cstddef>
#include <span>

namespace irpverbs::ci {

/// CiCreateCq: void(error_code, completion_queue). `ca` stays open at least until completion.
template <class Token = boost::asio::deferred_t>
auto create_cq(const channel_adapter& ca, ULONG entries, VOID* context,
               const IB_CQ_DISPATCH& up_calls, Token&& token = {}) {
    return detail::open<completion_queue>(
        1, {detail::access::held(ca)},
        [=, ca = static_cast<IB_CA*>(ca)](IRP* irp) {
            CiCreateCq(ca, entries, context, &up_calls, nullptr, irp);
        },
        std::forward<Token>(token));
}
template <class Token = boost::asio::deferred_t>
auto create_cq(const channel_adapter& ca, ULONG entries, Token&& token = {}) {
    return create_cq(ca, entries, nullptr, IB_CQ_DISPATCH{}, std::forward<Token>(token));
}

/// CiDestroyCq: completion_queue::async_close.
template <class Token = boost::asio::deferred_t>
auto destroy_cq(completion_queue& cq, Token&& token = {}) {
    return cq.async_close(std::forward<Token>(token));
}

/// CiQueryCq: void(error_code, cq_attributes).
template <class Token = boost::asio::deferred_t>
auto query_cq(IB_CQ* cq, Token&& token = {}) {
    return detail::query_attributes<IB_CQ_ATTR>(
        0, [=](SIZE_T size, IB_CQ_ATTR* attr, IRP* irp) { CiQueryCq(cq, size, attr, irp); },
        std::forward<Token>(token));
}

/// CiResizeCq: void(error_code, ULONG), the new size.
template <class Token = boost::asio::deferred_t>
auto resize_cq(IB_CQ* cq, ULONG entries, Token&& token = {}) {
    return detail::call<ULONG>([=](IRP* irp) { CiResizeCq(cq, entries, nullptr, irp); },
                               std::forward<Token>(token));
}

/// CiPollCq: void(error_code, std::size_t), the number of entries at the beginning of `into`, whose
/// memory must live until completion.
template <class Token = boost::asio::deferred_t>
auto poll_cq(IB_CQ* cq, std::span<IB_WC> into, Token&& token = {}) {
    return detail::call<std::size_t>(
        [=](IRP* irp) { CiPollCq(cq, static_cast<ULONG>(into.size()), into.data(), irp); },
        std::forward<Token>(token));
}

/// CiGetCqResults: returns the number of entries at the beginning of `into`; 0 with the status in
/// `error` when it fails.
inline std::size_t get_cq_results(IB_CQ* cq, std::span<IB_WC> into,
                                  boost::system::error_code& error) {
    ULONG taken = 0;
    const NTSTATUS status =
        CiGetCqResults(cq, static_cast<ULONG>(into.size()), into.data(), &taken);
    error = dispatch::make_error_code(status);
    return taken;
}
/// CiGetCqResults, which throws dispatch::status_error when it fails.
inline std::size_t get_cq_results(IB_CQ* cq, std::span<IB_WC> into) {
    ULONG taken = 0;
    const NTSTATUS status =
        CiGetCqResults(cq, static_cast<ULONG>(into.size()), into.data(), &taken);
    if (!NT_SUCCESS(status)) throw dispatch::status_error(status);
    return taken;
}

/// CiArmCq: void(error_code).
template <class Token = boost::asio::deferred_t>
auto arm_cq(IB_CQ* cq, IB_CQ_ARM what, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiArmCq(cq, static_cast<ULONG>(what), irp); },
                              std::forward<Token>(token));
}

/// CiArmCqNow, with the status in `error` when it fails.
inline void arm_cq_now(IB_CQ* cq, IB_CQ_ARM what, boost::system::error_code& error) {
    error = dispatch::make_error_code(CiArmCqNow(cq, static_cast<ULONG>(what)));
}
/// CiArmCqNow, which throws dispatch::status_error when it fails.
inline void arm_cq_now(IB_CQ* cq, IB_CQ_ARM what) {
    const NTSTATUS status = CiArmCqNow(cq, static_cast<ULONG>(what));
    if (!NT_SUCCESS(status)) throw dispatch::status_error(status);
}

/// CiGetCqCompEvent: void(error_code).
template <class Token = boost::asio::deferred_t>
auto get_cq_comp_event(IB_CQ* cq, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiGetCqCompEvent(cq, irp); },
                              std::forward<Token>(token));
}

/// CiGetCqAsyncEvent: void(error_code, IB_ASYNC_EVENT).
template <class Token = boost::asio::deferred_t>
auto get_cq_async_event(IB_CQ* cq, Token&& token = {}) {
    return detail::call<IB_ASYNC_EVENT>([=](IRP* irp) { CiGetCqAsyncEvent(cq, irp); },
                                        std::forward<Token>(token));
}

} // namespace irpverbs::ci
