// The lock of the package. Connections are made thousands of times a second at most, and each
// critical section is a few instructions, so one lock guards all ids and channels of the process.
#pragma once

#include <dispatch/support/spin_lock.hpp>

namespace irpverbs::rdmacm {

inline constinit KSPIN_LOCK state_lock_word = 0;

/// Holds the lock. IRQL: <= DISPATCH_LEVEL.
class state_lock {
public:
    state_lock() : guard_(state_lock_word) {}

private:
    const dispatch::detail::spin_guard guard_;
};

} // namespace irpverbs::rdmacm
