/// Async wrappers of the verbs of protection domains, memory regions and memory windows, and the
/// binding of windows.
#pragma once

#include <ci/channel_adapter.hpp>
#include <ci/detail/query.hpp>
#include <ci/memory_region.hpp>
#include <ci/memory_window.hpp>
#include <ci/protection_domain.hpp>
#include <dispatch/status.hpp>

#include <cstddef>
#include <span>

namespace irpverbs::ci {

using mr_attributes = attribute_block<ib_mr_attr_t>;
using mw_attributes = attribute_block<ib_mw_attr_t>;

/// CiAllocatePd: void(error_code, protection_domain). `ca` stays open at least until completion.
template <class Token = boost::asio::deferred_t>
auto allocate_pd(const channel_adapter& ca, Token&& token = {}) {
    return detail::open<protection_domain>(
        1, {detail::access::held(ca)},
        [ca = static_cast<IB_CA*>(ca)](IRP* irp) { CiAllocatePd(ca, IB_PDT_NORMAL, nullptr, irp); },
        std::forward<Token>(token));
}

/// CiDeallocatePd: protection_domain::async_close.
template <class Token = boost::asio::deferred_t>
auto deallocate_pd(protection_domain& pd, Token&& token = {}) {
    return pd.async_close(std::forward<Token>(token));
}

/// CiRegisterMr: void(error_code, memory_region). `pd` stays allocated at least until completion.
template <class Token = boost::asio::deferred_t>
auto register_mr(const protection_domain& pd, const ib_mr_create_t& wanted, Token&& token = {}) {
    return detail::open<memory_region>(
        1, {detail::access::held(pd)},
        [=, pd = static_cast<IB_PD*>(pd)](IRP* irp) { CiRegisterMr(pd, &wanted, nullptr, irp); },
        std::forward<Token>(token));
}

template <class Token = boost::asio::deferred_t>
auto register_mr(const protection_domain& pd, std::span<std::byte> memory, ib_access_t access,
                 Token&& token = {}) {
    return register_mr(pd, ib_mr_create_t{memory.data(), memory.size(), access, 0},
                       std::forward<Token>(token));
}

/// CiAllocateFrmr: void(error_code, memory_region). `pd` stays allocated at least until completion.
template <class Token = boost::asio::deferred_t>
auto allocate_frmr(const protection_domain& pd, ULONG max_pages, Token&& token = {}) {
    return detail::open<memory_region>(
        1, {detail::access::held(pd)},
        [=, pd = static_cast<IB_PD*>(pd)](IRP* irp) {
            CiAllocateFrmr(pd, max_pages, nullptr, irp);
        },
        std::forward<Token>(token));
}

/// CiRegisterPmr: void(error_code, memory_region). `pd` stays allocated, and the ranges of `wanted`
/// exist, at least until completion.
template <class Token = boost::asio::deferred_t>
auto register_pmr(const protection_domain& pd, const ib_phys_create_t& wanted, Token&& token = {}) {
    return detail::open<memory_region>(
        1, {detail::access::held(pd)},
        [=, pd = static_cast<IB_PD*>(pd)](IRP* irp) { CiRegisterPmr(pd, &wanted, nullptr, irp); },
        std::forward<Token>(token));
}

/// CiModifyPmr: void(error_code). The ranges of `change` exist at least until completion; domains
/// as of modify_mr.
template <class Token = boost::asio::deferred_t>
auto modify_pmr(IB_MR* mr, const ib_phys_mod_t& change, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiModifyPmr(mr, &change, nullptr, irp); },
                              std::forward<Token>(token));
}

/// CiRegisterSmr: void(error_code, memory_region). `pd` and `other` stay at least until completion;
/// the region keeps the other one, so both handles may be dropped in any order.
template <class Token = boost::asio::deferred_t>
auto register_smr(const protection_domain& pd, const memory_region& other, void* address,
                  ib_access_t access, Token&& token = {}) {
    return detail::open<memory_region>(
        1, {detail::access::held(pd), detail::access::held(other)},
        [pd = static_cast<IB_PD*>(pd),
         wanted = ib_smr_create_t{static_cast<IB_MR*>(other), address, access}](IRP* irp) {
            CiRegisterSmr(pd, &wanted, nullptr, irp);
        },
        std::forward<Token>(token));
}

/// CiDeregisterMr: memory_region::async_close.
template <class Token = boost::asio::deferred_t>
auto deregister_mr(memory_region& mr, Token&& token = {}) {
    return mr.async_close(std::forward<Token>(token));
}

/// CiQueryMr: void(error_code, mr_attributes).
template <class Token = boost::asio::deferred_t>
auto query_mr(IB_MR* mr, Token&& token = {}) {
    return detail::query_attributes<ib_mr_attr_t>(
        0,
        [=](SIZE_T size, ib_mr_attr_t* attr, IRP* irp) { CiQueryMr(mr, size, attr, nullptr, irp); },
        std::forward<Token>(token));
}

/// CiModifyMr: void(error_code). The handle of the region keeps its first domain; that of a new
/// domain outlives the region.
template <class Token = boost::asio::deferred_t>
auto modify_mr(IB_MR* mr, const ib_mr_mod_t& change, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiModifyMr(mr, &change, nullptr, irp); },
                              std::forward<Token>(token));
}

/// CiAllocateMw: void(error_code, memory_window). `pd` stays allocated at least until completion.
/// The window ends before the regions to which it is bound: a region is not deregistered before.
template <class Token = boost::asio::deferred_t>
auto allocate_mw(const protection_domain& pd, ib_mw_type_t type, Token&& token = {}) {
    return detail::open<memory_window>(
        1, {detail::access::held(pd)},
        [=, pd = static_cast<IB_PD*>(pd)](IRP* irp) { CiAllocateMw(pd, type, nullptr, irp); },
        std::forward<Token>(token));
}
/// As above; the window keeps `region`, to which it will be bound, so both handles may be dropped
/// in any order.
template <class Token = boost::asio::deferred_t>
auto allocate_mw(const protection_domain& pd, const memory_region& region, ib_mw_type_t type,
                 Token&& token = {}) {
    return detail::open<memory_window>(
        1, {detail::access::held(pd), detail::access::held(region)},
        [=, pd = static_cast<IB_PD*>(pd)](IRP* irp) { CiAllocateMw(pd, type, nullptr, irp); },
        std::forward<Token>(token));
}

/// CiDeallocateMw: memory_window::async_close.
template <class Token = boost::asio::deferred_t>
auto deallocate_mw(memory_window& mw, Token&& token = {}) {
    return mw.async_close(std::forward<Token>(token));
}

/// CiQueryMw: void(error_code, mw_attributes).
template <class Token = boost::asio::deferred_t>
auto query_mw(IB_MW* mw, Token&& token = {}) {
    return detail::query_attributes<ib_mw_attr_t>(
        0,
        [=](SIZE_T size, ib_mw_attr_t* attr, IRP* irp) { CiQueryMw(mw, size, attr, nullptr, irp); },
        std::forward<Token>(token));
}

/// CiBindMw: returns the new key; 0 with the status in `error` when it fails.
inline ULONG bind_mw(IB_MW* mw, IB_QP* qp, const ib_bind_wr_t& what,
                     boost::system::error_code& error) {
    ULONG rkey = 0;
    error = dispatch::make_error_code(CiBindMw(mw, qp, &what, &rkey));
    return error ? 0 : rkey;
}
/// CiBindMw, which throws dispatch::status_error when it fails.
inline ULONG bind_mw(IB_MW* mw, IB_QP* qp, const ib_bind_wr_t& what) {
    ULONG rkey = 0;
    const NTSTATUS status = CiBindMw(mw, qp, &what, &rkey);
    if (!NT_SUCCESS(status)) throw dispatch::status_error(status);
    return rkey;
}

} // namespace irpverbs::ci
