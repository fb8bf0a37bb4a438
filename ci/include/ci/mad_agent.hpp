/// An agent for management datagrams that deregisters itself.
#pragma once

#include <ci/detail/object_handle.hpp>
#include <ci/detail/receive_call.hpp>

namespace irpverbs::ci {

/// The datagrams of an agent, one after the other. The stream is a value, which may outlive the
/// agent and be used while the agent is closed.
class mad_stream {
public:
    /// A stream without agent: next() completes with STATUS_FILE_CLOSED.
    mad_stream() noexcept = default;

    /// Receives a datagram as get_mad does. STATUS_CANCELLED: also when the agent is closed during
    /// the call. STATUS_FILE_CLOSED: the agent was closed before.
    template <class Token = boost::asio::deferred_t>
    auto next(Token&& token = {}) const {
        return detail::receive(
            [from = source_](IB_MAD_RECEIVE* received, IRP* irp) {
                if (const std::shared_ptr<detail::closing_handle> held = from.lock())
                    CiGetMad(static_cast<IB_MAD_AGENT*>(held->object()), received, irp);
                else
                    detail::fail_unsent(irp, STATUS_FILE_CLOSED);
            },
            std::forward<Token>(token));
    }

private:
    friend class mad_agent;
    explicit mad_stream(std::weak_ptr<detail::closing_handle> source) noexcept
        : source_(std::move(source)) {}

    std::weak_ptr<detail::closing_handle> source_;
};

namespace detail {

inline NTSTATUS close_mad_agent(IB_MAD_AGENT* agent, IRP* irp) {
    return CiDeregisterMadAgent(agent, irp);
}

} // namespace detail

/// register_mad_agent makes it. It is moved, not copied, converts to the IB_MAD_AGENT* that the
/// verbs take, and keeps its channel adapter open. The destructor deregisters the agent
/// asynchronously, as the destructor of a channel_adapter closes the adapter. IRQL: <=
/// DISPATCH_LEVEL.
class mad_agent : public detail::object_handle<IB_MAD_AGENT, detail::close_mad_agent> {
public:
    mad_agent() noexcept = default;

    /// The datagrams that the agent receives.
    mad_stream datagrams() const noexcept { return mad_stream(held()); }

private:
    friend struct detail::access;
    using object_handle::object_handle;
};

} // namespace irpverbs::ci
