/// Services of unreliable datagrams in C++: an async wrapper for every verb of
/// cm/datagram_services.h. The rules of cm/async.hpp apply; a service is listen_options with
/// `datagrams`.
#pragma once

#include <cm/async.hpp>

namespace irpverbs::cm {

/// CmInitializeResolveUd.
inline ib_cm_resolve_ud_t initialize_resolve_ud() noexcept {
    ib_cm_resolve_ud_t made;
    CmInitializeResolveUd(&made);
    return made;
}

/// The parameters of `resolve_ud`. The members below replace the pointers, which are not used.
struct resolve_options : ib_cm_resolve_ud_t {
    resolve_options() noexcept : ib_cm_resolve_ud_t(initialize_resolve_ud()) {}
    resolve_options(ib_svc_id_t id, const ib_gid_t& at) noexcept : resolve_options() {
        svc_id = id;
        dest_gid = at;
    }

    std::optional<sa_path_record_t> path{};
    std::optional<ib_cm_ip_t> ip{};
    private_data data{};
};

/// CmResolveUd: void(error_code, ib_cm_ud_reply_t).
template <class Token = boost::asio::deferred_t>
auto resolve_ud(const manager& at, const resolve_options& wanted, Token&& token = {}) {
    const auto send = [cm = static_cast<IB_CM*>(at), wanted](ib_cm_ud_reply_t& into, IRP* irp) {
        ib_cm_resolve_ud_t parameters = wanted;
        parameters.p_path = wanted.path ? &*wanted.path : nullptr;
        parameters.p_ip = wanted.ip ? &*wanted.ip : nullptr;
        parameters.p_pdata = wanted.data.data();
        parameters.pdata_length = wanted.data.length();
        CmResolveUd(cm, &parameters, &into, irp);
    };
    return irp::detail::initiate(
        detail::data_call<ib_cm_ud_reply_t, decltype(send)>{send, {}, detail::access::held(at)},
        std::forward<Token>(token));
}

/// CmGetUdRequest: void(error_code, incoming_resolution); listener::next_resolution.
template <class Token = boost::asio::deferred_t>
auto get_ud_request(const listener& from, Token&& token = {}) {
    const auto send = [of = static_cast<IB_CM_LISTENER*>(from)](
                          ib_cm_ud_request_t& into, IRP* irp) { CmGetUdRequest(of, &into, irp); };
    return irp::detail::initiate(
        detail::object_call<incoming_resolution, ib_cm_ud_request_t, decltype(send), ud_request>{
            {detail::access::held(from)}, send},
        std::forward<Token>(token));
}

/// CmRespondUd: void(error_code). `with` is IB_CM_SIDR_VALID with the queue pair and its Q_Key, or
/// a status that rejects; its pointers are replaced by `data` and `info`.
template <class Token = boost::asio::deferred_t>
auto respond_ud(IB_CM_UD_REQUEST* to, const ib_cm_ud_response_t& with,
                const private_data& data = {}, const private_data& info = {}, Token&& token = {}) {
    return ci::detail::call<void>(
        [=](IRP* irp) {
            ib_cm_ud_response_t parameters = with;
            parameters.info_length = info.length();
            parameters.pdata_length = data.length();
            parameters.p_info = info.data();
            parameters.p_pdata = data.data();
            CmRespondUd(to, &parameters, irp);
        },
        std::forward<Token>(token));
}

/// CmCloseUdRequest: ud_request::async_close.
template <class Token = boost::asio::deferred_t>
auto close_ud_request(ud_request& of, Token&& token = {}) {
    return of.async_close(std::forward<Token>(token));
}

template <class Token>
auto listener::next_resolution(Token&& token) const {
    return get_ud_request(*this, std::forward<Token>(token));
}

} // namespace irpverbs::cm
