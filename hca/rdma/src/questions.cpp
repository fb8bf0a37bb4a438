#include "questions.hpp"

#include <mutex>
#include <utility>

namespace irpverbs::hca_rdma {

bool questions::ask(std::uint32_t transaction) {
    const std::lock_guard guard(lock_);
    return asked_[transaction].under_way++ != 0;
}

// False: none is left.
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

bool questions::hold(std::uint32_t transaction, std::span<const UCHAR> what) {
    message copy(what.begin(), what.end());
    const std::lock_guard guard(lock_);
    if (!drop_one(transaction)) return false;
    asked_.at(transaction).held.swap(copy);
    return true;
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

} // namespace irpverbs::hca_rdma
