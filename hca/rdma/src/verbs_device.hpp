// Devices that libibverbs knows, before one is opened.
#pragma once

#include "verbs_library.hpp"

#include <ci/ib_types.h>

#include <string>
#include <vector>

namespace irpverbs::hca_rdma {

struct verbs_device {
    std::string name;
    std::string file; // which libibverbs opens
    ib_guid_t guid;

    bool operator==(const verbs_device& other) const = default;
};

/// An errno; 0: `found` are those that there are, none where the kernel has no verbs.
int find_devices(const verbs_library& verbs, std::vector<verbs_device>& found);

/// The device is not known any more, which may be told long before it is gone: while a context is
/// open a driver that can't leave it behind waits for its close, and nothing else shows that.
bool is_listed(const verbs_library& verbs, const verbs_device& device);

/// An open device; its end closes it.
class open_device {
public:
    open_device(const verbs_library& verbs, const verbs_device& device);
    ~open_device();
    open_device(const open_device&) = delete;
    open_device& operator=(const open_device&) = delete;

    /// An errno; 0: it is open.
    int error() const { return error_; }
    ibv_context* get() const { return context_; }

private:
    const verbs_library& verbs_;
    ibv_context* context_ = nullptr;
    int error_;
};

} // namespace irpverbs::hca_rdma
