// The calls that transfer.
#pragma once

#include <ci/data_path.h>
#include <ci/detail/verb.hpp>
#include <ci/registered_buffer.hpp>

#include <cstring>
#include <limits>

namespace irpverbs::ci::detail {

inline void send_transfer(IB_QP* qp, const ib_send_wr_t& request, IB_WC& completion, IRP* irp) {
    CiTransfer(qp, &request, &completion, irp);
}
inline void send_transfer(IB_QP* qp, const ib_recv_wr_t& request, IB_WC& completion, IRP* irp) {
    CiTransferRecv(qp, &request, &completion, irp);
}

/// A transfer of the caller's segments.
template <class Request>
struct transfer_call {
    IB_QP* qp;
    Request request;
    IB_WC completion{};

    CCHAR stack_size() const { return 1; }
    void start(IRP* irp) { send_transfer(qp, request, completion, irp); }
    IB_WC result(ULONG_PTR) && { return completion; }
};
template <class Request>
transfer_call(IB_QP*, Request) -> transfer_call<Request>;

/// A transfer of one buffer, which it holds until completion. `Result`: void, IB_WC, or ULONGLONG:
/// the number that the transfer stored in the buffer.
template <class Request, class Result>
struct buffer_transfer {
    IB_QP* qp;
    Request request;
    registered_buffer buffer;
    ib_local_ds_t segment{};
    IB_WC completion{};

    CCHAR stack_size() const { return 1; }
    void start(IRP* irp) {
        const std::span<std::byte> bytes = buffer.bytes();
        if (bytes.size() > std::numeric_limits<ULONG>::max()) {
            fail_unsent(irp, STATUS_INVALID_PARAMETER);
            return;
        }
        segment = {reinterpret_cast<ULONG_PTR>(bytes.data()), static_cast<ULONG>(bytes.size()),
                   buffer.lkey()};
        request.ds_array = &segment;
        request.num_ds = bytes.empty() ? 0 : 1;
        send_transfer(qp, request, completion, irp);
    }
    Result result(ULONG_PTR transferred) && {
        if constexpr (std::is_same_v<Result, IB_WC>) {
            return completion;
        } else if constexpr (!std::is_void_v<Result>) {
            Result number{};
            if (transferred == sizeof(number))
                std::memcpy(&number, buffer.bytes().data(), sizeof(number));
            return number;
        }
    }
};

template <class Result, class Request, class Token>
auto start_transfer(IB_QP* qp, const Request& request, registered_buffer buffer, Token&& token) {
    return irp::detail::initiate(buffer_transfer<Request, Result>{qp, request, std::move(buffer)},
                                 std::forward<Token>(token));
}

} // namespace irpverbs::ci::detail
