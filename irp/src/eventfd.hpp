// A descriptor that is readable while a KQUEUE holds entries.
#pragma once

#include <dispatch/queue.h>

#include <atomic>

namespace irpverbs::irp {

/// Opened on demand; it costs nothing before that.
class queue_descriptor {
public:
    queue_descriptor() = default;
    queue_descriptor(const queue_descriptor&) = delete;
    queue_descriptor& operator=(const queue_descriptor&) = delete;
    ~queue_descriptor();

    /// Returns the descriptor, or -1 when the process has no more descriptors.
    int open(KQUEUE& queue);

    /// Called after an insertion into an empty queue.
    void ring() {
        // A write, not a load: either this sees the descriptor, or open() sees the entry.
        const int descriptor = descriptor_.fetch_add(0, std::memory_order_acq_rel);
        if (descriptor >= 0) make_readable(descriptor);
    }

    /// Called after a removal, and after one that found no entry.
    void settle(KQUEUE& queue) {
        const int descriptor = descriptor_.load(std::memory_order_relaxed);
        if (descriptor >= 0) settle_open(descriptor, queue);
    }

private:
    static void make_readable(int descriptor);
    static void settle_open(int descriptor, KQUEUE& queue);

    std::atomic<int> descriptor_{-1};
};

} // namespace irpverbs::irp
