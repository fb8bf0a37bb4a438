// An open device.
#pragma once

#include "async_events.hpp"
#include "device.hpp"
#include "event_queue.hpp"

#include <ci/ci.h>

#include <vector>

namespace irpverbs::verbs {

using context_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<struct context_tag>>;

struct open_device;

/// The call of another interface when the HCA fails.
struct failure_call {
    void (*function)(void*) = nullptr;
    void* argument = nullptr;
};

/// An HCA as it was opened once: for a context, and for those that were imported from it.
struct opened_hca {
    /// Events of a completion channel end when the HCA fails. IRQL: PASSIVE_LEVEL.
    void add_channel(event_queue& events);
    void remove_channel(event_queue& events);

    IB_CA* ca = nullptr;
    IB_CA_ATTR limits{};
    KSPIN_LOCK lock = 0; // guards all below
    /// Each receives the events of the HCA and its ports.
    boost::intrusive::list<open_device, boost::intrusive::base_hook<context_hook>> contexts;
    boost::intrusive::list<event_queue, boost::intrusive::base_hook<event_queue_hook>> channels;
    bool has_failed = false;
    failure_call on_failure;
};

/// The structure of which the program sees the end, ibv_context.
struct open_device : verbs_context, context_hook {
    open_device() : verbs_context{} { shown()->cmd_fd = -1; }
    ~open_device();
    open_device(const open_device&) = delete;
    open_device& operator=(const open_device&) = delete;

    opened_hca* hca = nullptr;
    event_queue events; // behind async_fd
    async_sources<1> failure;
    std::vector<async_sources<7>> ports; // from port 1

    static open_device& of(ibv_context* shown) {
        return *static_cast<open_device*>(verbs_get_ctx(shown));
    }
    ibv_context* shown() { return &(this->context); }
    IB_CA* ca() const { return hca->ca; }
    const IB_CA_ATTR& limits() const { return hca->limits; }
};

/// Fills the tables of functions that the inline functions of the header call.
void fill_tables(open_device& made);

} // namespace irpverbs::verbs
