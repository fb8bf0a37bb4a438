/// Async wrappers of the verbs of address vectors.
#pragma once

#include <ci/address_vector.hpp>
#include <ci/detail/query.hpp>
#include <ci/protection_domain.hpp>

namespace irpverbs::ci {

using av_attributes = attribute_block<ib_av_query_t>;

/// CiCreateAv: void(error_code, address_vector). `pd` stays allocated at least until completion.
template <class Token = boost::asio::deferred_t>
auto create_av(const protection_domain& pd, const ib_av_attr_t& way, Token&& token = {}) {
    return detail::open<address_vector>(
        1, {detail::access::held(pd)},
        [=, pd = static_cast<IB_PD*>(pd)](IRP* irp) { CiCreateAv(pd, &way, nullptr, irp); },
        std::forward<Token>(token));
}

/// CiDestroyAv: address_vector::async_close.
template <class Token = boost::asio::deferred_t>
auto destroy_av(address_vector& av, Token&& token = {}) {
    return av.async_close(std::forward<Token>(token));
}

/// CiModifyAv: void(error_code).
template <class Token = boost::asio::deferred_t>
auto modify_av(IB_AV* av, const ib_av_attr_t& way, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiModifyAv(av, &way, nullptr, irp); },
                              std::forward<Token>(token));
}

/// CiQueryAv: void(error_code, av_attributes).
template <class Token = boost::asio::deferred_t>
auto query_av(IB_AV* av, Token&& token = {}) {
    return detail::query_attributes<ib_av_query_t>(
        0,
        [=](SIZE_T size, ib_av_query_t* attr, IRP* irp) {
            CiQueryAv(av, size, attr, nullptr, irp);
        },
        std::forward<Token>(token));
}

} // namespace irpverbs::ci
