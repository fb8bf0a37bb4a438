// Settings of end ports, compared with what this manager wrote: some ports with each light sweep,
// in turn. A late Set of an earlier master can undo a newer one, and nothing else shows it.
#pragma once

#include <model/subnet.hpp>
#include <smp_batch.hpp>

#include <functional>

namespace irpverbs::subnet_manager {

/// Runs in tasks of the channel's queue.
class port_audit {
public:
    /// Reads the next ports of `net` as part of `batch`, and calls `differs` for a port with other
    /// settings, which the next heavy sweep writes. `net` must outlive the batch.
    void read_next(smp_batch& batch, const subnet& net, const std::function<void()>& differs);

private:
    ib_guid_t next_ = 0; // the ports are read in the order of their GUIDs
};

} // namespace irpverbs::subnet_manager
