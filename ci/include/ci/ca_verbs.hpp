/// Async wrappers of the verbs of channel adapters and ports.
#pragma once

#include <ci/channel_adapter.hpp>
#include <ci/detail/query.hpp>

namespace irpverbs::ci {

/// CiOpenCa: void(error_code, channel_adapter).
template <class Token = boost::asio::deferred_t>
auto open_ca(DEVICE_OBJECT* fdo, VOID* context, const IB_CA_DISPATCH& up_calls,
             Token&& token = {}) {
    return detail::open<channel_adapter>(
        fdo != nullptr ? fdo->StackSize : CCHAR{1}, {},
        [=](IRP* irp) { CiOpenCa(fdo, context, &up_calls, nullptr, irp); },
        std::forward<Token>(token));
}
template <class Token = boost::asio::deferred_t>
auto open_ca(DEVICE_OBJECT* fdo, Token&& token = {}) {
    return open_ca(fdo, nullptr, IB_CA_DISPATCH{}, std::forward<Token>(token));
}

/// CiCloseCa: channel_adapter::async_close.
template <class Token = boost::asio::deferred_t>
auto close_ca(channel_adapter& ca, Token&& token = {}) {
    return ca.async_close(std::forward<Token>(token));
}

/// CiGetCaFatalEvent: void(error_code).
template <class Token = boost::asio::deferred_t>
auto get_ca_fatal_event(IB_CA* ca, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiGetCaFatalEvent(ca, irp); },
                              std::forward<Token>(token));
}

/// CiGetCaPortEvent: void(error_code, IB_ASYNC_EVENT).
template <class Token = boost::asio::deferred_t>
auto get_ca_port_event(IB_CA* ca, UCHAR port, Token&& token = {}) {
    return detail::call<IB_ASYNC_EVENT>([=](IRP* irp) { CiGetCaPortEvent(ca, port, irp); },
                                        std::forward<Token>(token));
}

/// CiQueryCa: void(error_code, ca_attributes), the whole block.
template <class Token = boost::asio::deferred_t>
auto query_ca(IB_CA* ca, Token&& token = {}) {
    return detail::query_attributes<IB_CA_ATTR>(
        detail::usual_tables,
        [=](SIZE_T size, IB_CA_ATTR* attr, IRP* irp) { CiQueryCa(ca, size, attr, irp); },
        std::forward<Token>(token));
}

/// CiQueryPort: void(error_code, port_attributes), the whole block.
template <class Token = boost::asio::deferred_t>
auto query_port(IB_CA* ca, UCHAR port, Token&& token = {}) {
    return detail::query_attributes<IB_PORT_ATTR>(
        detail::usual_tables,
        [=](SIZE_T size, IB_PORT_ATTR* attr, IRP* irp) { CiQueryPort(ca, port, size, attr, irp); },
        std::forward<Token>(token));
}

/// CiModifyCa: void(error_code).
template <class Token = boost::asio::deferred_t>
auto modify_ca(IB_CA* ca, ULONG flags, const IB_MODIFY_CA& change, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiModifyCa(ca, flags, &change, irp); },
                              std::forward<Token>(token));
}

/// CiModifyPort: void(error_code).
template <class Token = boost::asio::deferred_t>
auto modify_port(IB_CA* ca, UCHAR port, ULONG flags, const IB_MODIFY_PORT& change,
                 Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiModifyPort(ca, port, flags, &change, irp); },
                              std::forward<Token>(token));
}

} // namespace irpverbs::ci
