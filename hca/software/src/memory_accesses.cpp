#include "memory_accesses.hpp"

#include "queue_pair.hpp"

namespace irpverbs::hca_software {

void memory_accesses::add(accessor& which) {
    const dispatch::detail::spin_guard guard(lock_);
    accessors_.push_back(which);
}

void memory_accesses::remove(accessor& which) {
    const dispatch::detail::spin_guard guard(lock_);
    accessors_.erase(accessors_.iterator_to(which));
}

void memory_accesses::wait() {
    const dispatch::detail::spin_guard guard(lock_);
    for (accessor& each : accessors_)
        const queue_pair::both_locks at_once(static_cast<queue_pair&>(each));
}

} // namespace irpverbs::hca_software
