// The accesses to registered memory that are under way, for which a deregistration waits.
#pragma once

#include <dispatch/spin_lock.h>

namespace irpverbs::hca_software {

/// An access finds its key and uses the memory under the shared lock. A deregistration that has
/// removed the key acquires the lock exclusively once: no access that found the key is left.
class memory_accesses {
public:
    /// IRQL: DISPATCH_LEVEL.
    class scope {
    public:
        explicit scope(memory_accesses& in) : in_(in) {
            ExAcquireSpinLockSharedAtDpcLevel(&in_.lock_);
        }
        ~scope() { ExReleaseSpinLockSharedFromDpcLevel(&in_.lock_); }
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;

    private:
        memory_accesses& in_;
    };

    /// Waits for the accesses that are under way. IRQL: <= DISPATCH_LEVEL.
    void wait() {
        const KIRQL before = ExAcquireSpinLockExclusive(&lock_);
        ExReleaseSpinLockExclusive(&lock_, before);
    }

private:
    EX_SPIN_LOCK lock_ = 0;
};

} // namespace irpverbs::hca_software
