#include "questions.hpp"

#include <dispatch/detail/faults.hpp>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>
#include <utility>

namespace irpverbs::hca_rdma {

namespace {

constexpr std::size_t least_crowd = 64;

// The kernel makes up to four tries, and may send other requests first. A request that is removed
// too early is refused when it is repeated.
ULONGLONG time_of(std::uint32_t timeout) {
    constexpr ULONGLONG millisecond = 10'000;
    return (ULONGLONG{timeout} * 8 + 1000) * millisecond;
}

} // namespace

int questions::ask(std::uint32_t transaction, std::uint32_t timeout, bool& again) try {
    if (dispatch::detail::fault_point("rdma.question")) throw std::bad_alloc();
    const ULONGLONG now = KeQueryInterruptTime();
    again = note(transaction, now, now + time_of(timeout));
    return 0;
} catch (const std::bad_alloc&) {
    return ENOMEM;
}

bool questions::note(std::uint32_t transaction, ULONGLONG now, ULONGLONG until) {
    const std::lock_guard guard(lock_);
    forget(now);
    question& asked = asked_[transaction];
    if (asked.until <= now) asked = {};
    asked.until = std::max(asked.until, until);
    return asked.under_way++ != 0;
}

void questions::forget(ULONGLONG now) {
    if (asked_.size() < crowd_) return;
    std::erase_if(asked_, [&](const auto& each) { return each.second.until <= now; });
    crowd_ = std::max(least_crowd, 2 * asked_.size());
}

// Returns false if none is left.
bool questions::drop_one(std::uint32_t transaction) {
    const auto place = asked_.find(transaction);
    if (place == asked_.end()) return false;
    if (--place->second.under_way != 0) return true;
    asked_.erase(place);
    return false;
}

void questions::withdraw(std::uint32_t transaction) {
    const std::lock_guard guard(lock_);
    drop_one(transaction);
}

int questions::hold(std::uint32_t transaction, std::span<const UCHAR> what) try {
    if (dispatch::detail::fault_point("rdma.held_question")) throw std::bad_alloc();
    message copy(what.begin(), what.end());
    const std::lock_guard guard(lock_);
    if (!drop_one(transaction)) return EINVAL;
    asked_.at(transaction).held.swap(copy);
    return 0;
} catch (const std::bad_alloc&) {
    withdraw(transaction);
    return ENOMEM;
}

void questions::answered(std::uint32_t transaction) {
    const std::lock_guard guard(lock_);
    if (drop_one(transaction)) asked_.at(transaction).held.clear();
}

questions::message questions::expired(std::uint32_t transaction) {
    const std::lock_guard guard(lock_);
    const auto place = asked_.find(transaction);
    if (place == asked_.end()) return {};
    message again = std::exchange(place->second.held, {});
    drop_one(transaction);
    return again;
}

std::size_t questions::size() {
    const std::lock_guard guard(lock_);
    return asked_.size();
}

} // namespace irpverbs::hca_rdma
