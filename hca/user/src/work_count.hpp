// Counts of the work requests in a queue of the daemon, by which the client knows without a call
// that the queue has room.
#pragma once

#include <ci/completion.h>

#include <boost/intrusive/set.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>

namespace irpverbs::hca_user {

/// A receive queue, of a queue pair or shared: each work request generates a completion. One thread
/// at a time adds work requests, and one removes completions.
class receive_count {
public:
    bool has_room(ULONG depth) const {
        return !uncertain_.load(std::memory_order_relaxed) &&
               posted_ - completed_.load(std::memory_order_acquire) < depth;
    }
    void add() { ++posted_; }
    /// The last ones were not posted.
    void undo(ULONG count) { posted_ -= count; }
    /// All were posted to a queue of `depth`: older ones than that have completed, also those whose
    /// completion failed.
    void confirm(ULONG depth) {
        std::uint32_t completed = completed_.load(std::memory_order_acquire);
        while (posted_ - completed > depth &&
               !completed_.compare_exchange_weak(completed, posted_ - depth)) {
        }
    }
    void complete() { completed_.fetch_add(1, std::memory_order_release); }
    /// The number is not known any more. There is no room from now on.
    void give_up() { uncertain_.store(true, std::memory_order_relaxed); }
    bool is_empty() const { return posted_ == completed_.load(std::memory_order_acquire); }

private:
    std::uint32_t posted_ = 0;
    std::atomic<std::uint32_t> completed_{0};
    std::atomic<bool> uncertain_{false};
};

/// A send queue. A completion frees the place of its work request, and those of the unsignaled ones
/// before it. The threads are as above.
class send_count {
public:
    /// False: there is no memory.
    bool allocate(ULONG depth) {
        while (mask_ < 2 * std::uint64_t{depth})
            mask_ = 2 * mask_ + 1;
        positions_.reset(new (std::nothrow) std::uint32_t[mask_ + std::size_t{1}]);
        return positions_ != nullptr;
    }
    bool has_room(ULONG depth) const {
        return !uncertain_.load(std::memory_order_relaxed) &&
               posted_ - retired_.load(std::memory_order_acquire) < depth;
    }
    void add(bool signaled) {
        ++posted_;
        if (!signaled) return;
        const std::uint32_t end = end_.load(std::memory_order_relaxed);
        if (end - first_.load(std::memory_order_acquire) > mask_) {
            give_up();
            return;
        }
        positions_[end & mask_] = posted_;
        end_.store(end + 1, std::memory_order_release);
    }
    /// The last ones were not posted.
    void undo(ULONG count) {
        posted_ -= count;
        std::uint32_t end = end_.load(std::memory_order_relaxed);
        const std::uint32_t first = first_.load(std::memory_order_acquire);
        while (end != first &&
               static_cast<std::int32_t>(positions_[(end - 1) & mask_] - posted_) > 0)
            --end;
        end_.store(end, std::memory_order_release);
    }
    void complete() {
        const std::uint32_t first = first_.load(std::memory_order_relaxed);
        if (first == end_.load(std::memory_order_acquire)) return;
        retired_.store(positions_[first & mask_], std::memory_order_release);
        first_.store(first + 1, std::memory_order_release);
    }
    /// The numbers are not known any more: unsignaled work requests may have failed, or a reset has
    /// dropped some. There is no room from now on.
    void give_up() { uncertain_.store(true, std::memory_order_relaxed); }
    bool is_empty() const { return posted_ == retired_.load(std::memory_order_acquire); }

private:
    std::uint32_t mask_ = 0;
    std::unique_ptr<std::uint32_t[]> positions_; // of signaled work requests without a completion
    std::uint32_t posted_ = 0;
    std::atomic<std::uint32_t> retired_{0};
    std::atomic<std::uint32_t> first_{0}; // in positions_, free-running as the next
    std::atomic<std::uint32_t> end_{0};
    std::atomic<bool> uncertain_{false};
};

/// The queues of a queue pair.
struct qp_counts : boost::intrusive::set_base_hook<> {
    explicit qp_counts(ULONG its_number) : number(its_number) {}

    const ULONG number;
    send_count sends;
    receive_count own_receives;
    receive_count* shared_receives = nullptr; // of its shared receive queue

    /// A completion was removed. That of a failure is none of a known queue.
    void complete(const IB_WC& entry) {
        if (entry.Status != IB_WC_SUCCESS)
            give_up();
        else if (entry.Opcode < IB_WC_RECEIVE)
            sends.complete();
        else
            (shared_receives != nullptr ? *shared_receives : own_receives).complete();
    }
    /// The queue pair was reset: completions of what was in its queues may come, or not.
    void reset() {
        if (!sends.is_empty() || !own_receives.is_empty()) give_up();
    }

private:
    void give_up() {
        sends.give_up();
        own_receives.give_up();
    }
};

} // namespace irpverbs::hca_user
