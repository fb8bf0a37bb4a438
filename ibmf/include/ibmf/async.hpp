/// The C++ interface of IBMF: one function for each call of the C headers.
///
/// msg_transport and the calls that may block take a completion token of Asio as their last
/// parameter. The default token is for `co_await`. These functions complete with an error_code of
/// dispatch::status_category and the IBMF_ status. A call that may block runs in a work item.
/// Handlers, executors, memory, cancellation slots and deadlines (irp::within) work as in
/// irp::call.
///
/// Cancellation completes a call with STATUS_CANCELLED or STATUS_IO_TIMEOUT, and with
/// IBMF_TRANS_FAILURE. A transport can be cancelled at any time. A blocking call that registers,
/// allocates or modifies can be cancelled until its work item calls it; such calls run one after
/// the other. unregister, tear_down_async_cb and free_qp are not cancelled.
///
/// The other functions return the IBMF_ status. A function copies its arguments by value; messages
/// and their buffers stay the caller's and must live until the completion.
#pragma once

#include <ibmf/ibmf_extras.h>
#include <ibmf/support/requests.hpp>
#include <ibmf/utils.hpp>
#include <irp/support/async_operation.hpp>
#include <irp/within.hpp>

#include <boost/asio/deferred.hpp>

#include <span>
#include <utility>

namespace irpverbs::ibmf {

namespace detail {

inline int status_in(ULONG_PTR information) { return static_cast<int>(information); }

/// A transport. The message has the result.
struct transport_request {
    transport_arguments given;

    CCHAR stack_size() const { return request_stack_size(); }
    void start(IRP* irp) { start_transport(irp, given); }
    int result(ULONG_PTR information) && { return status_in(information); }
};

/// `body()` makes the call. `body.result(status)`, if there is one, makes the result that the
/// handler receives.
template <class Body>
struct blocking_request : blocking_call {
    blocking_request(Body its_body, bool its_uncancellable)
        : blocking_call{run_body, its_uncancellable}, body(std::move(its_body)) {}

    CCHAR stack_size() const { return request_stack_size(); }
    void start(IRP* to) { start_blocking(to, *this); }
    auto result(ULONG_PTR information) && {
        const bool cancelled = !ran && information == 0;
        const int status = cancelled ? IBMF_TRANS_FAILURE : status_in(information);
        if constexpr (requires { std::move(body).result(0); })
            return std::move(body).result(status);
        else
            return status;
    }

    Body body;

private:
    static int run_body(blocking_call& self) { return static_cast<blocking_request&>(self).body(); }
};

template <class Body, class Token>
auto run_blocking(Body body, Token&& token) {
    return irp::detail::initiate(blocking_request<Body>(std::move(body), false),
                                 std::forward<Token>(token));
}

template <class Body, class Token>
auto run_uncancellable(Body body, Token&& token) {
    return irp::detail::initiate(blocking_request<Body>(std::move(body), true),
                                 std::forward<Token>(token));
}

} // namespace detail

/// The result of register_.
struct registered {
    int status = IBMF_FAILURE;
    ibmf_handle_t handle = nullptr;
    ibmf_impl_caps_t features{};
};

namespace detail {

/// `call(info, given)` registers the client.
template <class Call>
struct registering {
    Call call;
    ibmf_register_info_t info;
    registered given{};

    int operator()() { return call(&info, &given); }
    registered result(int status) && {
        given.status = status;
        return given;
    }
};
template <class Call>
registering(Call, const ibmf_register_info_t&) -> registering<Call>;

} // namespace detail

/// ibmf_register with a completion token: void(error_code, registered). `register` is a keyword of
/// C++.
template <class Token = boost::asio::deferred_t>
auto register_(const ibmf_register_info_t& info, uint_t flags, ibmf_async_event_cb_t event_call,
               void* event_argument, Token&& token = {}) {
    const auto call = [=](ibmf_register_info_t* client_info, registered* given) {
        return ibmf_register(client_info, IBMF_VERSION, flags, event_call, event_argument,
                             &given->handle, &given->features);
    };
    return detail::run_blocking(detail::registering{call, info}, std::forward<Token>(token));
}

/// ibmf_register_oui with a completion token: void(error_code, registered).
template <class Token = boost::asio::deferred_t>
auto register_oui(const ibmf_register_info_t& info, std::uint32_t oui, uint_t flags,
                  ibmf_async_event_cb_t event_call, void* event_argument, Token&& token = {}) {
    const auto call = [=](ibmf_register_info_t* client_info, registered* given) {
        return ibmf_register_oui(client_info, oui, IBMF_VERSION, flags, event_call, event_argument,
                                 &given->handle, &given->features);
    };
    return detail::run_blocking(detail::registering{call, info}, std::forward<Token>(token));
}

/// ibmf_unregister with a completion token: void(error_code, int).
template <class Token = boost::asio::deferred_t>
auto unregister(ibmf_handle_t handle, Token&& token = {}) {
    return detail::run_uncancellable([handle]() mutable { return ibmf_unregister(&handle, 0); },
                                     std::forward<Token>(token));
}

/// ibmf_setup_async_cb.
inline int setup_async_cb(ibmf_handle_t handle, ibmf_qp_handle_t qp, ibmf_msg_cb_t call,
                          void* argument) {
    return ibmf_setup_async_cb(handle, qp, call, argument, 0);
}

/// ibmf_tear_down_async_cb with a completion token: void(error_code, int).
template <class Token = boost::asio::deferred_t>
auto tear_down_async_cb(ibmf_handle_t handle, ibmf_qp_handle_t qp, Token&& token = {}) {
    return detail::run_uncancellable([=] { return ibmf_tear_down_async_cb(handle, qp, 0); },
                                     std::forward<Token>(token));
}

/// ibmf_msg_transport with a completion token: void(error_code, int). The int is a status of the
/// call or of the transaction.
template <class Token = boost::asio::deferred_t>
auto msg_transport(ibmf_handle_t handle, ibmf_qp_handle_t qp, ibmf_msg_t* message,
                   const ibmf_retrans_t& retrans, uint_t flags, Token&& token = {}) {
    return irp::detail::initiate(detail::transport_request{{handle, qp, message, retrans, flags}},
                                 std::forward<Token>(token));
}

/// ibmf_alloc_msg and ibmf_free_msg.
inline int alloc_msg(ibmf_handle_t handle, ibmf_msg_t*& message) {
    return ibmf_alloc_msg(handle, IBMF_ALLOC_NOSLEEP, &message);
}
inline int free_msg(ibmf_handle_t handle, ibmf_msg_t*& message) {
    return ibmf_free_msg(handle, &message);
}

/// The result of alloc_qp.
struct allocated_qp {
    int status = IBMF_FAILURE;
    ibmf_qp_handle_t qp = nullptr;
};

/// ibmf_alloc_qp with a completion token: void(error_code, allocated_qp).
template <class Token = boost::asio::deferred_t>
auto alloc_qp(ibmf_handle_t handle, ib_pkey_t p_key, ib_qkey_t q_key, uint_t flags,
              Token&& token = {}) {
    struct body {
        ibmf_handle_t handle;
        ib_pkey_t p_key;
        ib_qkey_t q_key;
        uint_t flags;
        allocated_qp given{};

        int operator()() { return ibmf_alloc_qp(handle, p_key, q_key, flags, &given.qp); }
        allocated_qp result(int status) && {
            given.status = status;
            return given;
        }
    };
    return detail::run_blocking(body{handle, p_key, q_key, flags}, std::forward<Token>(token));
}

/// The attributes of an alternate QP.
struct qp_attributes {
    uint_t number = 0;
    ib_pkey_t p_key = 0;
    ib_qkey_t q_key = 0;
    uint8_t port = 0;
};

/// ibmf_query_qp.
inline int query_qp(ibmf_handle_t handle, ibmf_qp_handle_t qp, qp_attributes& attributes) {
    return ibmf_query_qp(handle, qp, &attributes.number, &attributes.p_key, &attributes.q_key,
                         &attributes.port, 0);
}

/// ibmf_modify_qp with a completion token: void(error_code, int).
template <class Token = boost::asio::deferred_t>
auto modify_qp(ibmf_handle_t handle, ibmf_qp_handle_t qp, ib_pkey_t p_key, ib_qkey_t q_key,
               Token&& token = {}) {
    return detail::run_blocking([=] { return ibmf_modify_qp(handle, qp, p_key, q_key, 0); },
                                std::forward<Token>(token));
}

/// ibmf_free_qp with a completion token: void(error_code, int).
template <class Token = boost::asio::deferred_t>
auto free_qp(ibmf_handle_t handle, ibmf_qp_handle_t qp, Token&& token = {}) {
    return detail::run_uncancellable([=]() mutable { return ibmf_free_qp(handle, &qp, 0); },
                                     std::forward<Token>(token));
}

/// The calls of ibmf_extras.h.
inline int set_is_sm(ibmf_handle_t handle, bool is_sm) {
    return ibmf_set_is_sm(handle, is_sm ? B_TRUE : B_FALSE);
}
inline int cancel_msg(ibmf_handle_t handle, ibmf_msg_t* message) {
    return ibmf_cancel_msg(handle, message);
}
inline int stream_msg(ibmf_handle_t handle, ibmf_msg_t* message, ibmf_msg_cb_t data_cb,
                      void* data_cb_args) {
    return ibmf_stream_msg(handle, message, data_cb, data_cb_args);
}
inline int read_msg(ibmf_handle_t handle, ibmf_msg_t* message, std::span<std::uint8_t> into,
                    std::size_t& length) {
    length = into.size();
    return ibmf_read_msg(handle, message, into.data(), &length);
}
inline int resume_msg(ibmf_handle_t handle, ibmf_msg_t* message) {
    return ibmf_resume_msg(handle, message);
}
inline int query_transfer(ibmf_handle_t handle, ibmf_msg_t* message,
                          ibmf_transfer_result_t& result) {
    return ibmf_query_transfer(handle, message, &result);
}
inline int query_stats(ibmf_handle_t handle, bool of_port, ibmf_stats_t& stats) {
    return ibmf_query_stats(handle, of_port ? B_TRUE : B_FALSE, &stats);
}
inline int limit_port(ibmf_handle_t handle, uint_t in_flight) {
    return ibmf_limit_port(handle, in_flight);
}

} // namespace irpverbs::ibmf
