// An open device.
#pragma once

#include "async_events.hpp"
#include "device.hpp"
#include "event_queue.hpp"

#include <vector>

namespace irpverbs::verbs {

/// The structure of which the program sees the end, ibv_context.
struct open_device : verbs_context {
    open_device() : verbs_context{} { shown()->cmd_fd = -1; }
    ~open_device();
    open_device(const open_device&) = delete;
    open_device& operator=(const open_device&) = delete;

    IB_CA* ca = nullptr;
    event_queue events; // behind async_fd
    async_sources<1> failure;
    std::vector<async_sources<7>> ports; // from port 1
    IB_CA_ATTR limits{};

    static open_device& of(ibv_context* shown) {
        return *static_cast<open_device*>(verbs_get_ctx(shown));
    }
    ibv_context* shown() { return &(this->context); }
};

/// Fills the tables of functions that the inline functions of the header call.
void fill_tables(open_device& made);

} // namespace irpverbs::verbs
