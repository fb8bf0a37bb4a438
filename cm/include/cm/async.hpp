/// Connections in C++: an async wrapper for every verb of cm/cm.h. The wrappers of services of
/// unreliable datagrams are in cm/datagram_services.hpp, which is included here.
///
/// Asynchronous calls have a completion token of Asio as their last parameter, by default one for
/// `co_await`. Handlers, executors, memory, cancellation slots and deadlines (irp::within) are as
/// in irp::call. A wrapper copies its parameters; handles that it gets by reference stay at least
/// until completion.
#pragma once

#include <cm/detail/calls.hpp>
#include <dispatch/status.hpp>

namespace irpverbs::cm {

/// CmOpen: void(error_code, manager).
template <class Token = boost::asio::deferred_t>
auto open(const ci::channel_adapter& ca, UCHAR number = 1, ULONG flags = 0, Token&& token = {}) {
    return ci::detail::open<manager>(
        1, {detail::access::held(ca)},
        [=, ca = static_cast<IB_CA*>(ca)](IRP* irp) { CmOpen(ca, number, flags, irp); },
        std::forward<Token>(token));
}

/// CmClose: manager::async_close.
template <class Token = boost::asio::deferred_t>
auto close(manager& of, Token&& token = {}) {
    return of.async_close(std::forward<Token>(token));
}

/// A service. With `compared`, only requests whose private data have these bytes at `offset`.
struct listen_options {
    ib_svc_id_t svc_id = 0;
    ULONG backlog = 0;
    private_data compared{};
    UCHAR offset = 0;
    bool datagrams = false; // IB_CM_LISTEN_DATAGRAMS
};

/// CmListen: void(error_code, listener).
template <class Token = boost::asio::deferred_t>
auto listen(const manager& at, const listen_options& wanted, Token&& token = {}) {
    return ci::detail::open<listener>(
        1, {detail::access::held(at)},
        [cm = static_cast<IB_CM*>(at), wanted](IRP* irp) {
            const ib_cm_listen_t parameters{wanted.svc_id,
                                            wanted.backlog,
                                            wanted.compared.length(),
                                            wanted.offset,
                                            wanted.compared.data(),
                                            wanted.datagrams ? IB_CM_LISTEN_DATAGRAMS : 0};
            CmListen(cm, &parameters, irp);
        },
        std::forward<Token>(token));
}
template <class Token = boost::asio::deferred_t>
auto listen(const manager& at, ib_svc_id_t svc_id, Token&& token = {}) {
    return listen(at, listen_options{svc_id}, std::forward<Token>(token));
}

/// CmCloseListener: listener::async_close.
template <class Token = boost::asio::deferred_t>
auto close_listener(listener& of, Token&& token = {}) {
    return of.async_close(std::forward<Token>(token));
}

/// CmGetRequest: void(error_code, incoming); listener::next.
template <class Token = boost::asio::deferred_t>
auto get_request(const listener& from, Token&& token = {}) {
    const auto send = [of = static_cast<IB_CM_LISTENER*>(from)](ib_cm_request_t& into, IRP* irp) {
        CmGetRequest(of, &into, irp);
    };
    return irp::detail::initiate(
        detail::object_call<incoming, ib_cm_request_t, decltype(send)>{{detail::access::held(from)},
                                                                       send},
        std::forward<Token>(token));
}

/// CmInitializeConnect.
inline ib_cm_connect_t initialize_connect() noexcept {
    ib_cm_connect_t made;
    CmInitializeConnect(&made);
    return made;
}

/// The parameters of `connect`. The members below replace the pointers, which are not used. The
/// connection is established at once, unless flags are without IB_CM_ESTABLISH.
struct connect_options : ib_cm_connect_t {
    connect_options() noexcept : ib_cm_connect_t(initialize_connect()) { flags = IB_CM_ESTABLISH; }
    connect_options(ib_svc_id_t id, const ib_gid_t& to) noexcept : connect_options() {
        svc_id = id;
        dest_gid = to;
    }

    std::optional<sa_path_record_t> path{};
    std::optional<sa_path_record_t> alternate_path{};
    std::optional<ib_cm_ip_t> ip{};
    private_data data{};
};

/// A connection with the response of the peer. If the call fails, only the response is valid.
struct connected {
    connection link;
    ib_cm_reply_t reply{};
};

/// CmConnect: void(error_code, connected). The connection keeps the queue pair.
template <class Token = boost::asio::deferred_t>
auto connect(const manager& at, const ci::queue_pair& qp, const connect_options& wanted,
             Token&& token = {}) {
    const auto send = [cm = static_cast<IB_CM*>(at), of = static_cast<IB_QP*>(qp),
                       wanted](ib_cm_reply_t& into, IRP* irp) {
        ib_cm_connect_t parameters = wanted;
        parameters.h_qp = of;
        parameters.p_primary_path = wanted.path ? &*wanted.path : nullptr;
        parameters.p_alt_path = wanted.alternate_path ? &*wanted.alternate_path : nullptr;
        parameters.p_ip = wanted.ip ? &*wanted.ip : nullptr;
        parameters.p_pdata = wanted.data.data();
        parameters.pdata_length = wanted.data.length();
        CmConnect(cm, &parameters, &into, irp);
    };
    return irp::detail::initiate(
        detail::object_call<connected, ib_cm_reply_t, decltype(send)>{
            {detail::access::held(at), detail::access::held(qp)}, send},
        std::forward<Token>(token));
}

/// CmCompleteConnect: void(error_code).
template <class Token = boost::asio::deferred_t>
auto complete_connect(IB_CM_CONNECTION* link, const private_data& data = {}, Token&& token = {}) {
    return ci::detail::call<void>(
        [=](IRP* irp) {
            CmCompleteConnect(link, data.data(), static_cast<ULONG>(data.size()), irp);
        },
        std::forward<Token>(token));
}

/// CmInitializeAccept.
inline ib_cm_accept_t initialize_accept() noexcept {
    ib_cm_accept_t made;
    CmInitializeAccept(&made);
    return made;
}

/// The parameters of `accept`. `data` replaces the pointer, which is not used.
struct accept_options : ib_cm_accept_t {
    accept_options() noexcept : ib_cm_accept_t(initialize_accept()) {}
    accept_options(const private_data& given) noexcept : accept_options() { data = given; }

    private_data data{};
};

namespace detail {

struct accept_call {
    connection* link;
    std::shared_ptr<closing_handle> qp;
    accept_options wanted;

    CCHAR stack_size() const { return 1; }
    void start(IRP* irp) {
        IB_CM_CONNECTION* const object = *link;
        if (object == nullptr || qp == nullptr) return fail_unsent(irp, STATUS_INVALID_PARAMETER);
        ib_cm_accept_t parameters = wanted;
        parameters.h_qp = static_cast<IB_QP*>(qp->object());
        parameters.p_pdata = wanted.data.data();
        parameters.pdata_length = wanted.data.length();
        if (!binding::bind(*link, std::move(qp)))
            return fail_unsent(irp, STATUS_INSUFFICIENT_RESOURCES);
        CmAccept(object, &parameters, irp);
    }
    void result(ULONG_PTR) && {}
};

} // namespace detail

/// CmAccept: void(error_code). The connection keeps the queue pair from now on.
template <class Token = boost::asio::deferred_t>
auto accept(connection& link, const ci::queue_pair& qp, const accept_options& wanted = {},
            Token&& token = {}) {
    return irp::detail::initiate(detail::accept_call{&link, detail::access::held(qp), wanted},
                                 std::forward<Token>(token));
}

/// CmQueryQpChange. Throws dispatch::status_error.
inline ib_qp_mod_t query_qp_change(IB_CM_CONNECTION* link, ib_qp_state_t state) {
    ib_qp_mod_t change{};
    const NTSTATUS status = CmQueryQpChange(link, state, &change);
    if (!NT_SUCCESS(status)) throw dispatch::status_error(status);
    return change;
}

/// CmNotifyEstablished.
inline void notify_established(IB_CM_CONNECTION* link) { CmNotifyEstablished(link); }

/// CmReject: void(error_code). `info` is the additional information of a reason that has some.
template <class Token = boost::asio::deferred_t>
auto reject(IB_CM_CONNECTION* link, USHORT reason = IB_CM_REJ_CONSUMER_DEFINED,
            const private_data& data = {}, const private_data& info = {}, Token&& token = {}) {
    return ci::detail::call<void>(
        [=](IRP* irp) {
            const ib_cm_reject_t parameters{reason, info.length(), data.length(), info.data(),
                                            data.data()};
            CmReject(link, &parameters, irp);
        },
        std::forward<Token>(token));
}

/// CmDisconnect: void(error_code, bool), true if the peer has confirmed.
template <class Token = boost::asio::deferred_t>
auto disconnect(IB_CM_CONNECTION* link, const private_data& data = {}, Token&& token = {}) {
    return ci::detail::call<bool>(
        [=](IRP* irp) { CmDisconnect(link, data.data(), static_cast<ULONG>(data.size()), irp); },
        std::forward<Token>(token));
}

/// CmGetEvent: void(error_code, ib_cm_event_t); connection::next_event.
template <class Token = boost::asio::deferred_t>
auto get_event(IB_CM_CONNECTION* link, Token&& token = {}) {
    const auto send = [link](ib_cm_event_t& into, IRP* irp) { CmGetEvent(link, &into, irp); };
    return irp::detail::initiate(detail::data_call<ib_cm_event_t, decltype(send)>{send},
                                 std::forward<Token>(token));
}

/// CmLoadPath: void(error_code, ib_cm_path_response_t). If the peer refuses the path, the response
/// is valid, too.
template <class Token = boost::asio::deferred_t>
auto load_path(IB_CM_CONNECTION* link, const sa_path_record_t& path, const private_data& data = {},
               Token&& token = {}) {
    const auto send = [=](ib_cm_path_response_t& into, IRP* irp) {
        CmLoadPath(link, &path, data.data(), static_cast<ULONG>(data.size()), &into, irp);
    };
    return irp::detail::initiate(detail::data_call<ib_cm_path_response_t, decltype(send)>{send},
                                 std::forward<Token>(token));
}

/// CmRespondPath: void(error_code). By default the path is loaded.
template <class Token = boost::asio::deferred_t>
auto respond_path(IB_CM_CONNECTION* link, const ib_cm_path_response_t& response = {},
                  Token&& token = {}) {
    return ci::detail::call<void>([=](IRP* irp) { CmRespondPath(link, &response, irp); },
                                  std::forward<Token>(token));
}

/// CmCloseConnection: connection::async_close.
template <class Token = boost::asio::deferred_t>
auto close_connection(connection& of, Token&& token = {}) {
    return of.async_close(std::forward<Token>(token));
}

/// CmQueryCounters.
inline ib_cm_counters_t query_counters(IB_CM* at) {
    ib_cm_counters_t all{};
    CmQueryCounters(at, &all);
    return all;
}

template <class Token>
auto connection::next_event(Token&& token) const {
    return get_event(*this, std::forward<Token>(token));
}

template <class Token>
auto listener::next(Token&& token) const {
    return get_request(*this, std::forward<Token>(token));
}

} // namespace irpverbs::cm

#include <cm/datagram_services.hpp>
#include <cm/ethernet.hpp>
