/// A queue pair that destroys itself, and its transfers.
#pragma once

#include <ci/detail/object_handle.hpp>
#include <ci/detail/transfer_call.hpp>
#include <ci/event_stream.hpp>

#include <optional>

namespace irpverbs::ci {

namespace detail {

inline NTSTATUS close_qp(IB_QP* qp, IRP* irp) { return CiDestroyQp(qp, nullptr, irp); }

} // namespace detail

/// Options of a send or of a write with immediate data.
struct send_options {
    bool fence = false;     ///< begins after earlier reads and atomics
    bool solicited = false; ///< the peer's completion is solicited
    std::optional<ib_net32_t> immediate = std::nullopt;
    std::optional<ULONG> invalidate =
        std::nullopt; ///< of a send: the peer's key; no immediate data
};

/// create_qp makes it. It is moved, not copied, converts to the IB_QP* that every verb takes, and
/// keeps its protection domain and completion queues. The destructor destroys the queue pair
/// asynchronously, as the destructor of a channel_adapter closes the adapter. IRQL: <=
/// DISPATCH_LEVEL.
class queue_pair : public detail::object_handle<IB_QP, detail::close_qp> {
public:
    queue_pair() noexcept = default;

    /// The handle is not empty.
    ib_qpn_t number() const noexcept { return static_cast<IB_QP*>(*this)->Num; }

    /// Events of the queue pair.
    event_stream<IB_ASYNC_EVENT> async_events() const noexcept {
        return {held(),
                [](void* qp, UCHAR, IRP* irp) {
                    return CiGetQpAsyncEvent(static_cast<IB_QP*>(qp), irp);
                },
                0};
    }

    // Transfers, each an IRP: CiTransfer and CiTransferRecv say with which statuses they complete.
    // The handle is not empty. A buffer is lent until completion, also after its deadline or a
    // cancellation, which flushes the queue pair. The completion queues become transfer queues.

    /// void(error_code). An empty buffer sends a message without data.
    template <class Token = boost::asio::deferred_t>
    auto send(registered_buffer from, const send_options& options = {}, Token&& token = {}) const {
        return detail::start_transfer<void>(*this, request_of(WR_SEND, options), std::move(from),
                                            std::forward<Token>(token));
    }
    /// Sends an unreliable datagram: void(error_code).
    template <class Token = boost::asio::deferred_t>
    auto send_to(const ib_send_ud_t& to, registered_buffer from, const send_options& options = {},
                 Token&& token = {}) const {
        ib_send_wr_t request = request_of(WR_SEND, options);
        request.dgrm.ud = to;
        return detail::start_transfer<void>(*this, request, std::move(from),
                                            std::forward<Token>(token));
    }
    /// Receives a message: void(error_code, IB_WC), whose ByteCount is the message's length.
    template <class Token = boost::asio::deferred_t>
    auto recv(registered_buffer into, Token&& token = {}) const {
        return detail::start_transfer<IB_WC>(*this, ib_recv_wr_t{}, std::move(into),
                                             std::forward<Token>(token));
    }
    /// Writes into the peer's memory: void(error_code).
    template <class Token = boost::asio::deferred_t>
    auto write(registered_buffer from, const remote_buffer& to, const send_options& options = {},
               Token&& token = {}) const {
        return detail::start_transfer<void>(*this, request_of(WR_RDMA_WRITE, options, to),
                                            std::move(from), std::forward<Token>(token));
    }
    /// Reads the peer's memory: void(error_code).
    template <class Token = boost::asio::deferred_t>
    auto read(registered_buffer into, const remote_buffer& from, Token&& token = {}) const {
        return detail::start_transfer<void>(*this, request_of(WR_RDMA_READ, {}, from),
                                            std::move(into), std::forward<Token>(token));
    }
    /// Adds to 8 bytes of the peer's memory, aligned to 8: void(error_code, ULONGLONG), the number
    /// before. `result` is a buffer of 8 bytes.
    template <class Token = boost::asio::deferred_t>
    auto fetch_add(registered_buffer result, const remote_buffer& at, ULONGLONG addend,
                   Token&& token = {}) const {
        ib_send_wr_t request = request_of(WR_FETCH_ADD, {}, at);
        request.remote_ops.atomic1 = addend;
        return detail::start_transfer<ULONGLONG>(*this, request, std::move(result),
                                                 std::forward<Token>(token));
    }
    /// Stores `desired` in 8 bytes of the peer's memory if they equal `expected`, as fetch_add.
    template <class Token = boost::asio::deferred_t>
    auto compare_swap(registered_buffer result, const remote_buffer& at, ULONGLONG expected,
                      ULONGLONG desired, Token&& token = {}) const {
        ib_send_wr_t request = request_of(WR_COMPARE_SWAP, {}, at);
        request.remote_ops.atomic1 = expected;
        request.remote_ops.atomic2 = desired;
        return detail::start_transfer<ULONGLONG>(*this, request, std::move(result),
                                                 std::forward<Token>(token));
    }
    /// Writes 8 bytes of the peer's memory, aligned to 8, at once: void(error_code).
    template <class Token = boost::asio::deferred_t>
    auto atomic_write(const remote_buffer& to, ULONGLONG value, Token&& token = {}) const {
        ib_send_wr_t request = request_of(WR_ATOMIC_WRITE, {}, to);
        request.remote_ops.atomic1 = value;
        return detail::start_transfer<void>(*this, request, registered_buffer{},
                                            std::forward<Token>(token));
    }

private:
    friend struct detail::access;
    using object_handle::object_handle;

    static ib_send_wr_t request_of(ib_wr_type_t type, const send_options& options,
                                   const remote_buffer& at = {}) {
        ib_send_wr_t request{};
        request.wr_type = type;
        if (options.fence) request.send_opt |= IB_SEND_OPT_FENCE;
        if (options.solicited) request.send_opt |= IB_SEND_OPT_SOLICITED;
        if (options.immediate) {
            request.send_opt |= IB_SEND_OPT_IMMEDIATE;
            request.immediate_data = *options.immediate;
        }
        if (options.invalidate) {
            request.send_opt |= IB_SEND_OPT_INVALIDATE;
            request.invalidate_rkey = *options.invalidate;
        }
        request.remote_ops.vaddr = at.address;
        request.remote_ops.rkey = at.rkey;
        return request;
    }
};

} // namespace irpverbs::ci
