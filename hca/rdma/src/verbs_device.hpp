// Devices in libibverbs' list, before one is opened.
#pragma once

#include "verbs_library.hpp"

#include <ci/ib_types.h>

#include <string>
#include <vector>

namespace irpverbs::hca_rdma {

struct verbs_device {
    std::string name;
    std::string file; // libibverbs opens it
    ib_guid_t guid;

    bool operator==(const verbs_device& other) const = default;
};

/// Returns an errno; 0: `found` has all devices, or none if the kernel has no verbs.
int find_devices(const verbs_library& verbs, std::vector<verbs_device>& found);

/// False if the device is not in libibverbs' list. It may leave the list long before it is gone:
/// the removal by a driver that can't leave an open device behind waits for the close of the last
/// context, and no event reports that.
bool is_listed(const verbs_library& verbs, const verbs_device& device);

/// An open device; the destructor closes it.
class open_device {
public:
    open_device(const verbs_library& verbs, const verbs_device& device);
    ~open_device();
    open_device(const open_device&) = delete;
    open_device& operator=(const open_device&) = delete;

    /// An errno; 0: the device is open.
    int error() const { return error_; }
    ibv_context* get() const { return context_; }

private:
    const verbs_library& verbs_;
    ibv_context* context_ = nullptr;
    int error_;
};

} // namespace irpverbs::hca_rdma
