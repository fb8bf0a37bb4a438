// The devices that the program sees: one for each HCA.
#pragma once

#include <verbs/library.h>

#include <drop_in/devices.hpp>

#include <array>

namespace irpverbs::verbs {

struct device : ibv_device {
    /// The providers' libraries (libmlx5, libefa) compare the pointer behind the public structure
    /// with their own: it is null, and no device is theirs.
    std::array<void*, 128> behind{};
    const drop_in::device* hca = nullptr;
    ib_guid_t guid = 0;
    int index = 0;
};

inline device& of(ibv_device* device_) { return *static_cast<device*>(device_); }

} // namespace irpverbs::verbs
