/// Async wrappers of the verbs for management datagrams.
#pragma once

#include <ci/channel_adapter.hpp>
#include <ci/mad_agent.hpp>

namespace irpverbs::ci {

/// CiRegisterMadAgent: void(error_code, mad_agent). `ca` stays open at least until completion.
template <class Token = boost::asio::deferred_t>
auto register_mad_agent(const channel_adapter& ca, const IB_MAD_AGENT_ATTR& attr, VOID* context,
                        const IB_MAD_DISPATCH& up_calls, Token&& token = {}) {
    return detail::open<mad_agent>(
        1, {detail::access::held(ca)},
        [=, ca = static_cast<IB_CA*>(ca)](IRP* irp) {
            CiRegisterMadAgent(ca, &attr, context, &up_calls, irp);
        },
        std::forward<Token>(token));
}
template <class Token = boost::asio::deferred_t>
auto register_mad_agent(const channel_adapter& ca, const IB_MAD_AGENT_ATTR& attr,
                        Token&& token = {}) {
    return register_mad_agent(ca, attr, nullptr, IB_MAD_DISPATCH{}, std::forward<Token>(token));
}

/// CiDeregisterMadAgent: mad_agent::async_close.
template <class Token = boost::asio::deferred_t>
auto deregister_mad_agent(mad_agent& agent, Token&& token = {}) {
    return agent.async_close(std::forward<Token>(token));
}

/// CiModifyMadAgent: void(error_code).
template <class Token = boost::asio::deferred_t>
auto modify_mad_agent(IB_MAD_AGENT* agent, const IB_MAD_KEYS& keys, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiModifyMadAgent(agent, &keys, irp); },
                              std::forward<Token>(token));
}

/// CiSendMad: void(error_code). The memory that send.Data names must live until completion.
template <class Token = boost::asio::deferred_t>
auto send_mad(IB_MAD_AGENT* agent, const IB_MAD_SEND& send, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiSendMad(agent, &send, irp); },
                              std::forward<Token>(token));
}

/// CiGetMad: void(error_code, received_mad), the whole message.
template <class Token = boost::asio::deferred_t>
auto get_mad(IB_MAD_AGENT* agent, Token&& token = {}) {
    return detail::receive(
        [=](IB_MAD_RECEIVE* received, IRP* irp) { CiGetMad(agent, received, irp); },
        std::forward<Token>(token));
}

} // namespace irpverbs::ci
