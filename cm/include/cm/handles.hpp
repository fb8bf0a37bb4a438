/// The objects of communication management that close themselves.
#pragma once

#include <ci/async.hpp>
#include <cm/cm.h>
#include <cm/private_data.hpp>

#include <utility>

namespace irpverbs::cm {

namespace detail {

struct binding;

} // namespace detail

/// The communication manager of a port; `open` makes it. It is moved, not copied, and converts to
/// the IB_CM* that every verb takes. It keeps its channel adapter. The destructor closes it
/// asynchronously, after its listeners and connections. IRQL: <= DISPATCH_LEVEL, as for all handles
/// here.
class manager : public ci::detail::object_handle<IB_CM, CmClose> {
public:
    manager() noexcept = default;

private:
    friend struct ci::detail::access;
    using object_handle::object_handle;
};

/// A connection; `connect` and listener::next make it. The destructor closes it asynchronously:
/// CmCloseConnection. It keeps its manager and its queue pair.
class connection : public ci::detail::object_handle<IB_CM_CONNECTION, CmCloseConnection> {
public:
    connection() noexcept = default;

    /// The next event: void(error_code, ib_cm_event_t), as CmGetEvent.
    template <class Token = boost::asio::deferred_t>
    auto next_event(Token&& token = {}) const;

private:
    friend struct ci::detail::access;
    friend struct detail::binding;
    using object_handle::object_handle;
    const std::shared_ptr<ci::detail::closing_handle>& open_handle() const { return held(); }
};

/// A connection that a peer has requested, until it is accepted or rejected.
struct incoming {
    connection link;
    ib_cm_request_t request{};
};

/// A peer's request for a datagram service; listener::next_resolution makes it. The destructor
/// closes it, which rejects a request without response: CmCloseUdRequest.
class ud_request : public ci::detail::object_handle<IB_CM_UD_REQUEST, CmCloseUdRequest> {
public:
    ud_request() noexcept = default;

private:
    friend struct ci::detail::access;
    using object_handle::object_handle;
};

/// A request for a datagram service with what it says.
struct incoming_resolution {
    ud_request link;
    ib_cm_ud_request_t request{};
};

/// A service; `listen` makes it. The destructor closes it asynchronously.
class listener : public ci::detail::object_handle<IB_CM_LISTENER, CmCloseListener> {
public:
    listener() noexcept = default;

    /// The next request: void(error_code, incoming), as CmGetRequest.
    template <class Token = boost::asio::deferred_t>
    auto next(Token&& token = {}) const;

    /// The next request of a service of datagrams: void(error_code, incoming_resolution), as
    /// CmGetUdRequest.
    template <class Token = boost::asio::deferred_t>
    auto next_resolution(Token&& token = {}) const;

private:
    friend struct ci::detail::access;
    using object_handle::object_handle;
};

} // namespace irpverbs::cm
