#include "outstanding_requests.hpp"

#include <dispatch/support/faults.hpp>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>
#include <utility>

namespace irpverbs::hca_rdma {

namespace {

constexpr std::size_t min_purge_threshold = 64;

// The kernel makes up to four tries, and may send other requests first. A request that is removed
// too early is refused when it is repeated.
ULONGLONG time_of(std::uint32_t timeout) {
    constexpr ULONGLONG millisecond = 10'000;
    return (ULONGLONG{timeout} * 8 + 1000) * millisecond;
}

} // namespace

int outstanding_requests::begin(std::uint32_t transaction, std::uint32_t timeout, bool& again) try {
    if (dispatch::detail::fault_point("rdma.request")) throw std::bad_alloc();
    const ULONGLONG now = KeQueryInterruptTime();
    again = insert(transaction, now, now + time_of(timeout));
    return 0;
} catch (const std::bad_alloc&) {
    return ENOMEM;
}

bool outstanding_requests::insert(std::uint32_t transaction, ULONGLONG now, ULONGLONG until) {
    const std::lock_guard guard(lock_);
    remove_expired(now);
    entry& found = find_or_insert(transaction);
    if (found.until <= now) found = {};
    found.until = std::max(found.until, until);
    return found.in_flight++ != 0;
}

// Needs no memory while requests end as fast as others begin.
outstanding_requests::entry& outstanding_requests::find_or_insert(std::uint32_t transaction) {
    const auto known = requests_.find(transaction);
    if (known != requests_.end()) return known->second;
    if (spare_.empty()) return requests_[transaction];
    spare_.key() = transaction;
    spare_.mapped() = {};
    return requests_.insert(std::move(spare_)).position->second;
}

void outstanding_requests::remove_expired(ULONGLONG now) {
    if (requests_.size() < purge_threshold_) return;
    std::erase_if(requests_, [&](const auto& each) { return each.second.until <= now; });
    purge_threshold_ = std::max(min_purge_threshold, 2 * requests_.size());
}

// Returns false if none is left.
bool outstanding_requests::drop_one(std::uint32_t transaction) {
    const auto place = requests_.find(transaction);
    if (place == requests_.end()) return false;
    if (--place->second.in_flight != 0) return true;
    spare_ = requests_.extract(place);
    return false;
}

void outstanding_requests::remove(std::uint32_t transaction) {
    const std::lock_guard guard(lock_);
    drop_one(transaction);
}

int outstanding_requests::hold(std::uint32_t transaction, std::span<const UCHAR> what) try {
    if (dispatch::detail::fault_point("rdma.held_request")) throw std::bad_alloc();
    message copy(what.begin(), what.end());
    const std::lock_guard guard(lock_);
    if (!drop_one(transaction)) return EINVAL;
    requests_.at(transaction).held.swap(copy);
    return 0;
} catch (const std::bad_alloc&) {
    remove(transaction);
    return ENOMEM;
}

void outstanding_requests::on_response(std::uint32_t transaction) {
    const std::lock_guard guard(lock_);
    if (drop_one(transaction)) requests_.at(transaction).held.clear();
}

outstanding_requests::message outstanding_requests::on_timeout(std::uint32_t transaction) {
    const std::lock_guard guard(lock_);
    const auto place = requests_.find(transaction);
    if (place == requests_.end()) return {};
    message again = std::exchange(place->second.held, {});
    drop_one(transaction);
    return again;
}

std::size_t outstanding_requests::size() {
    const std::lock_guard guard(lock_);
    return requests_.size();
}

} // namespace irpverbs::hca_rdma
