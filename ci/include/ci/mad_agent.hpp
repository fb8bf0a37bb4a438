/// An agent for management datagrams that deregisters itself.
#pragma once

#include <ci/detail/owned.hpp>
#include <ci/detail/receipt.hpp>

namespace irpverbs::ci {

/// Datagrams of an agent, one after the other; a value, which may outlive the agent and be used
/// while that is closed, as an event_stream.
class mad_stream {
public:
    /// Of no agent: next() completes with STATUS_FILE_CLOSED.
    mad_stream() noexcept = default;

    /// As get_mad. STATUS_CANCELLED: also when the agent is closed meanwhile. STATUS_FILE_CLOSED:
    /// it was.
    template <class Token = boost::asio::deferred_t>
    auto next(Token&& token = {}) const {
        return detail::receive(
            [from = source_](IB_MAD_RECEIVE* received, IRP* irp) {
                if (const std::shared_ptr<detail::owned> held = from.lock())
                    CiGetMad(static_cast<IB_MAD_AGENT*>(held->object()), received, irp);
                else
                    detail::refuse(irp, STATUS_FILE_CLOSED);
            },
            std::forward<Token>(token));
    }

private:
    friend class mad_agent;
    explicit mad_stream(std::weak_ptr<detail::owned> source) noexcept
        : source_(std::move(source)) {}

    std::weak_ptr<detail::owned> source_;
};

/// Made by register_mad_agent. Moved, not copied; converts to the IB_MAD_AGENT* that the verbs
/// take. Keeps its channel adapter open. Its end deregisters the agent as that of a channel_adapter
/// closes the adapter. IRQL: <= DISPATCH_LEVEL.
class mad_agent {
public:
    /// None: converts to null.
    mad_agent() noexcept = default;

    operator IB_MAD_AGENT*() const noexcept {
        return open_ != nullptr ? static_cast<IB_MAD_AGENT*>(open_->object()) : nullptr;
    }

    /// Deregisters the agent, and tells when that is done: void(error_code). From the beginning of
    /// the call there is no agent here any more. Not cancelled once begun.
    /// STATUS_INVALID_PARAMETER: there is none.
    template <class Token = boost::asio::deferred_t>
    auto async_close(Token&& token = {}) {
        return irp::detail::initiate(detail::closing{&open_}, std::forward<Token>(token));
    }

    /// What it receives.
    mad_stream datagrams() const noexcept { return mad_stream(open_); }

private:
    friend struct detail::access;

    explicit mad_agent(std::shared_ptr<detail::owned> open) noexcept : open_(std::move(open)) {}
    static NTSTATUS close(void* agent, IRP* irp) {
        return CiDeregisterMadAgent(static_cast<IB_MAD_AGENT*>(agent), irp);
    }

    std::shared_ptr<detail::owned> open_;
};

} // namespace irpverbs::ci
