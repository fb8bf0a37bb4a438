/// Async wrappers of the verbs of protection domains and memory regions.
#pragma once

#include <ci/channel_adapter.hpp>
#include <ci/detail/query.hpp>
#include <ci/memory_region.hpp>
#include <ci/protection_domain.hpp>

#include <cstddef>
#include <span>

namespace irpverbs::ci {

using mr_attributes = attribute_block<ib_mr_attr_t>;

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
auto register_mr(const protection_domain& pd, std::span<std::byte> memory, ib_access_t access,
                 Token&& token = {}) {
    return detail::open<memory_region>(
        1, {detail::access::held(pd)},
        [pd = static_cast<IB_PD*>(pd),
         wanted = ib_mr_create_t{memory.data(), memory.size(), access}](IRP* irp) {
            CiRegisterMr(pd, &wanted, nullptr, irp);
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

} // namespace irpverbs::ci
