/// An agent for management datagrams that deregisters itself.
#pragma once

#include <ci/detail/closing_handle.hpp>
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

/// register_mad_agent makes it. It is moved, not copied, converts to the IB_MAD_AGENT* that the
/// verbs take, and keeps its channel adapter open. The destructor deregisters the agent
/// asynchronously, as the destructor of a channel_adapter closes the adapter. IRQL: <=
/// DISPATCH_LEVEL.
class mad_agent {
public:
    /// An empty agent, which converts to null.
    mad_agent() noexcept = default;

    operator IB_MAD_AGENT*() const noexcept {
        return open_ != nullptr ? static_cast<IB_MAD_AGENT*>(open_->object()) : nullptr;
    }

    /// Deregisters the agent: void(error_code). The object is empty from the beginning of the call.
    /// A deregistration that has begun is not cancelled. STATUS_INVALID_PARAMETER: the object is
    /// empty.
    template <class Token = boost::asio::deferred_t>
    auto async_close(Token&& token = {}) {
        return irp::detail::initiate(detail::close_call{&open_}, std::forward<Token>(token));
    }

    /// The datagrams that the agent receives.
    mad_stream datagrams() const noexcept { return mad_stream(open_); }

private:
    friend struct detail::access;

    explicit mad_agent(std::shared_ptr<detail::closing_handle> open) noexcept
        : open_(std::move(open)) {}
    static NTSTATUS close(void* agent, IRP* irp) {
        return CiDeregisterMadAgent(static_cast<IB_MAD_AGENT*>(agent), irp);
    }

    std::shared_ptr<detail::closing_handle> open_;
};

} // namespace irpverbs::ci
