// Asynchronous events, which a program reads from its context.
#pragma once

#include "event_queue.hpp"
#include <verbs/library.h>

#include <ci/events.h>

#include <array>
#include <cstddef>

namespace irpverbs::verbs {

/// The events of one object: Count successive codes of IB_ASYNC_EVENT.
template <std::size_t Count>
class async_sources {
public:
    /// The first code, and the object in ibv_async_event.element.
    void initialise(IB_ASYNC_EVENT first, void* owner) {
        first_ = first;
        for (std::size_t i = 0; i < Count; ++i) {
            sources_[i].owner = owner;
            sources_[i].code = static_cast<int>(first + i);
        }
    }
    /// An event has occurred. IRQL: <= DISPATCH_LEVEL.
    void add_to(event_queue& queue, IB_ASYNC_EVENT event) {
        const auto index = static_cast<std::size_t>(event - first_);
        if (index < Count) queue.add(sources_[index]);
    }
    /// As event_queue::remove.
    ULONG remove_from(event_queue& queue) { return queue.remove(sources_); }

private:
    IB_ASYNC_EVENT first_ = IB_AE_NONE;
    std::array<event_source, Count> sources_;
};

/// Takes an event for the library: 1, 0, or -1 with errno EIO, as irpverbs_ibv_take_cq_event.
int take(event_queue& from, event_queue::event& into);

/// Waits until the program has acknowledged the events of an object that it has taken. `mutex`,
/// `cond` and `acknowledged` are the object's.
void await_acknowledgements(pthread_mutex_t& mutex, pthread_cond_t& cond,
                            const std::uint32_t& acknowledged, ULONG taken);

} // namespace irpverbs::verbs
