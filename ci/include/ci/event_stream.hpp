/// Events of an object, one after the other.
#pragma once

#include <ci/detail/closing_handle.hpp>

namespace irpverbs::ci {

/// A loop of `co_await events.next()` loses no event: an event between two calls is latched, equal
/// events once. The stream is a value; streams of one object and port compete for its events. It
/// may outlive the object and be used while the object is closed.
template <class Event>
class event_stream {
public:
    /// A stream without object: next() completes with STATUS_FILE_CLOSED.
    event_stream() noexcept = default;

    /// The next event: void(error_code, Event), or void(error_code) for one kind of event.
    /// STATUS_CANCELLED: also when the object is closed during the call. STATUS_FILE_CLOSED: the
    /// object was closed before. On cancellation or deadline an event that exists wins, so none is
    /// lost. IRQL: <= DISPATCH_LEVEL.
    template <class Token = boost::asio::deferred_t>
    auto next(Token&& token = {}) const {
        return detail::call<Event>(
            [from = source_, verb = verb_, port = port_](IRP* irp) {
                if (const std::shared_ptr<detail::closing_handle> held = from.lock())
                    verb(held->object(), port, irp);
                else
                    detail::fail_unsent(irp, STATUS_FILE_CLOSED);
            },
            std::forward<Token>(token));
    }

private:
    friend class channel_adapter;
    friend class completion_queue;
    friend class queue_pair;
    friend class shared_receive_queue;
    using waiting_verb = NTSTATUS (*)(void* object, UCHAR port, IRP* irp);

    event_stream(std::weak_ptr<detail::closing_handle> source, waiting_verb verb,
                 UCHAR port) noexcept
        : source_(std::move(source)), verb_(verb), port_(port) {}

    std::weak_ptr<detail::closing_handle> source_;
    waiting_verb verb_ = nullptr;
    UCHAR port_ = 0;
};

} // namespace irpverbs::ci
