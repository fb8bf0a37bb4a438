// A completion queue.
#pragma once

#include "child_object.hpp"

namespace irpverbs::ci {

struct cq_object final : child_object<cq_object, HCA_CQ, ca_object> {
    static constexpr const char* name = "cq";
    static constexpr unsigned completion_channel = 0;
    static constexpr unsigned async_channel = 1;
    static constexpr unsigned channel_count = 2;
    static SIZE_T extension_size(const HCA_DEVICE& of) { return of.CqExtensionSize; }

    explicit cq_object(event_channel* channels) : child_object(channels) {}
    void set_up(const create_parameters& wanted, event_channel* channels);
    void tear_down();

    direct_poll poll{shared.Direct};

private:
    void call_up(unsigned channel, IB_ASYNC_EVENT event) override;
};

} // namespace irpverbs::ci
