// The queue handles of in-stack queued spin locks that are in use on one machine. A handle is the
// entry of its user in the lock's queue from the request to the release.
#pragma once

#include "lock_registry.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <map>
#include <optional>

namespace irpverbs::dispatch::detail {

class queue_handles {
public:
    static queue_handles& of(processor& self);

    /// Begins a use. Returns the use of the handle that has not ended, if there is one; then that
    /// use remains.
    std::optional<lock_holder> begin(const void* handle, const lock_holder& by);
    void end(const void* handle);

private:
    raw_spin_lock guard_;
    std::map<const void*, lock_holder> in_use_; // guarded by guard_
};

} // namespace irpverbs::dispatch::detail
