/// Async wrappers of the transfers.
#pragma once

#include <ci/data_path.h>
#include <ci/detail/transfer_call.hpp>

namespace irpverbs::ci {

/// CiTransfer: void(error_code, IB_WC). The segments that `request` points at stay the caller's,
/// and valid until completion, as does the memory that they name.
template <class Token = boost::asio::deferred_t>
auto transfer(IB_QP* qp, const ib_send_wr_t& request, Token&& token = {}) {
    return irp::detail::initiate(detail::transfer_call{qp, request}, std::forward<Token>(token));
}

/// CiTransferRecv, as transfer.
template <class Token = boost::asio::deferred_t>
auto transfer_recv(IB_QP* qp, const ib_recv_wr_t& request, Token&& token = {}) {
    return irp::detail::initiate(detail::transfer_call{qp, request}, std::forward<Token>(token));
}

} // namespace irpverbs::ci
