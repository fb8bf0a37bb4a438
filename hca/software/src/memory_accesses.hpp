// The accesses to registered memory that are under way, for which a deregistration waits.
#pragma once

#include <dispatch/support/spin_lock.hpp>

#include <boost/intrusive/list.hpp>

namespace irpverbs::hca_software {

/// A queue pair finds keys and uses their memory under one of its locks. A deregistration that has
/// removed a key acquires the locks of each queue pair once: no access that found the key is left.
/// So work requests pay nothing for deregistrations, whose cost grows with the HCA's queue pairs.
class memory_accesses {
public:
    /// The base of queue_pair.
    struct accessor : boost::intrusive::list_base_hook<> {};

    memory_accesses() = default;
    memory_accesses(const memory_accesses&) = delete;
    memory_accesses& operator=(const memory_accesses&) = delete;

    void add(accessor& which);
    void remove(accessor& which);
    /// Waits for the accesses that are under way. IRQL: <= DISPATCH_LEVEL.
    void wait();

private:
    KSPIN_LOCK lock_ = 0; // acquired before those of queue pairs
    boost::intrusive::list<accessor, boost::intrusive::constant_time_size<false>> accessors_;
};

} // namespace irpverbs::hca_software
