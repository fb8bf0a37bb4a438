// Attachments of queue pairs to multicast groups.
#pragma once

#include "qp_object.hpp"

namespace irpverbs::ci {

struct mcast_object final : child_object<mcast_object, HCA_MCAST, qp_object> {
    static constexpr const char* name = "mcast";
    static constexpr unsigned channel_count = 0;
    static SIZE_T extension_size(const HCA_DEVICE& of) { return of.McastExtensionSize; }

    explicit mcast_object(event_channel* channels) : child_object(channels) {}
    void set_up(const create_parameters& wanted, event_channel*) {
        shared.Mcast.Gid = *static_cast<const ib_gid_t*>(wanted.attributes);
        shared.Mcast.Lid = static_cast<ib_lid_t>(wanted.count);
    }
};

} // namespace irpverbs::ci
