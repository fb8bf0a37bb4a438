// The common buffers of a client that this process has mapped.
#pragma once

#include "quota.hpp"

#include <ci/support/shared_memory.hpp>
#include <irp/wdm.h>

#include <memory>
#include <sys/types.h>
#include <vector>

namespace irpverbs::ual {

/// A common buffer. Its client may change the bytes at any time, but not their number.
struct mapped_buffer {
    dev_t device = 0; // the device and number of the file
    ino_t number = 0;
    charged_share charge;
    ci::detail::shared_memory memory;
};

/// Each buffer is mapped once, as long as a region of the connection has memory in it.
class mapped_buffers {
public:
    explicit mapped_buffers(share_of_quota& from) : charged_(from) {}

    /// Maps the buffer of this descriptor. STATUS_SUCCESS: `found` is the buffer, or null if there
    /// is no room for it. STATUS_INVALID_PARAMETER: it is none. STATUS_INSUFFICIENT_RESOURCES.
    /// Called by one thread; the buffers may end on any. IRQL: PASSIVE_LEVEL.
    NTSTATUS map(const ci::detail::unique_descriptor& file,
                 std::shared_ptr<const mapped_buffer>& found);

private:
    std::shared_ptr<const mapped_buffer> find(dev_t device, ino_t number);

    share_of_quota& charged_; // in MiB
    std::vector<std::weak_ptr<const mapped_buffer>> all_;
};

} // namespace irpverbs::ual
