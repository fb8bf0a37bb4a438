#include "served_receives.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <algorithm>

namespace irpverbs::ual {

using ci::crossing::post_ring;
using dispatch::detail::spin_guard;

void served_receives::open(const post_ring::client_part& of_client, post_ring::daemon_part& own) {
    ring_.emplace(of_client, own, objects_, true);
    open_.store(true, std::memory_order_release);
}

void served_receives::close() {
    const spin_guard guard(lock_);
    open_.store(false, std::memory_order_relaxed);
}

// The look without the lock suffices: an empty ring's receives are posted. Under the lock, the
// messages seen earlier may be posted first; the second look then sees all of the time of the call.
served_receives::result served_receives::post_all() {
    if (!is_open() || !ring_->has_work()) return result::idle;
    const spin_guard guard(lock_);
    result made = result::idle;
    for (int looks = 0; looks < 2 && is_open() && ring_->see(); ++looks)
        while (ring_->has_seen()) {
            made = ring_->post_first();
            if (made != result::worked) return made;
        }
    return made;
}

void served_receives::await_others() { const spin_guard guard(lock_); }

void receives_of_others::add(served_receives& of) {
    const spin_guard guard(lock_);
    all_.push_back(&of);
}

void receives_of_others::remove(served_receives& of) {
    const spin_guard guard(lock_);
    std::erase(all_, &of);
}

// The thread of its own connection ends a client that breaks the protocol.
void receives_of_others::post_all() {
    const spin_guard guard(lock_);
    for (served_receives* const each : all_)
        each->post_all();
}

} // namespace irpverbs::ual
