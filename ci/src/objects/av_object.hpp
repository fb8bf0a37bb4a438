// Address vectors.
#pragma once

#include "memory_objects.hpp"

namespace irpverbs::ci {

struct av_object final : child_object<av_object, HCA_AV, pd_object> {
    static constexpr const char* name = "av";
    static constexpr unsigned channel_count = 0;
    static SIZE_T extension_size(const HCA_DEVICE& of) { return of.AvExtensionSize; }

    explicit av_object(event_channel* channels) : child_object(channels) {}
    void set_up(const create_parameters& wanted, event_channel*) {
        shared.Av.Attr = *static_cast<const ib_av_attr_t*>(wanted.attributes);
    }
};

} // namespace irpverbs::ci
