// XRC domains.
#pragma once

#include "child_object.hpp"

namespace irpverbs::ci {

struct xrcd_object final : child_object<xrcd_object, HCA_XRCD, ca_object> {
    static constexpr const char* name = "xrcd";
    static constexpr unsigned channel_count = 0;
    static SIZE_T extension_size(const HCA_DEVICE& of) { return of.XrcdExtensionSize; }

    explicit xrcd_object(event_channel* channels) : child_object(channels) {}
    void set_up(const create_parameters&, event_channel*) {}
};

} // namespace irpverbs::ci
