// The events of one subscriber, in order and bounded.
#pragma once

#include <events/subnet_event.hpp>

#include <dispatch/work_item.h>

#include <array>

namespace irpverbs::saa {

struct callback_frame;
struct session;

class event_queue {
public:
    static constexpr std::size_t capacity = 256;

    event_queue(session& of, const ibmf_saa_subnet_event_args_t& to);
    event_queue(const event_queue&) = delete;
    event_queue& operator=(const event_queue&) = delete;

    /// Under the port's lock.
    void push(const subnet_event& event);

private:
    static void drain(void* self);
    bool next_call(subnet_event& next, callback_frame& frame, bool called);
    bool pop(subnet_event& next);
    void start();

    session& of_;
    const ibmf_saa_subnet_event_args_t to_;
    WORK_QUEUE_ITEM item_;
    // Guarded by the port's lock:
    std::array<subnet_event, capacity> ring_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    bool losing_ = false; // full once, and not yet empty: what comes is lost
    bool draining_ = false;
};

} // namespace irpverbs::saa
