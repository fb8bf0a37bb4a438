// Events, and the channels that programs read them from.
#pragma once

#include <rdmacm/library.h>

#include <drop_in/readiness.hpp>

#include <boost/intrusive/list.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace irpverbs::rdmacm {

struct cm_id;
struct membership;

/// An event as the program sees it, with its private data. Events are allocated before the
/// operation whose end they report.
struct queued_event : rdma_cm_event, boost::intrusive::list_base_hook<> {
    queued_event() : rdma_cm_event{} {}

    cm_id* counted_by = nullptr;  // rdma_destroy_id of it waits for the acknowledgement
    membership* joined = nullptr; // of RDMA_CM_EVENT_MULTICAST_*
    std::array<std::uint8_t, 256> private_data{};

    static queued_event& of(rdma_cm_event* shown) { return *static_cast<queued_event*>(shown); }

    /// Copies private data: a field of a message, which has no length of its own.
    void set_private_data(std::span<const std::uint8_t> field);
    void set_datagram_data(std::span<const std::uint8_t> field);
};

using event_ptr = std::unique_ptr<queued_event>;

using channel_hook =
    boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>,
                                     boost::intrusive::tag<struct channel_tag>>;

/// Its descriptor is readable while it has events, and from the end of all devices on.
struct event_channel : rdma_event_channel, channel_hook {
    event_channel() : rdma_event_channel{-1} {}
    ~event_channel(); // acquires the lock
    event_channel(const event_channel&) = delete;
    event_channel& operator=(const event_channel&) = delete;

    static event_channel& of(rdma_event_channel* shown) {
        return *static_cast<event_channel*>(shown);
    }

    /// Opens the descriptor. False: errno has the cause. It acquires the lock.
    bool open();

    // The caller of these holds the lock.
    void add(event_ptr event);
    /// Ends the channels of the process: its devices are gone, and no more events come.
    static void end_all();
    enum class outcome { taken, none, ended };
    /// Takes the oldest event. The program has read the descriptor. Ended: there is none, and the
    /// channels have ended.
    outcome take(event_ptr& into);
    /// Removes the events that an id counts.
    std::vector<event_ptr> remove(const cm_id& counted_by);

    drop_in::readiness ready;
    boost::intrusive::list<queued_event> events;
};

} // namespace irpverbs::rdmacm
