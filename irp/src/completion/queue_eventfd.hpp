// A descriptor that is readable while a KQUEUE holds entries.
#pragma once

#include <dispatch/queue.h>

#include <atomic>

namespace irpverbs::irp {

/// Opened on demand; it costs nothing before that.
class queue_eventfd {
public:
    queue_eventfd() = default;
    queue_eventfd(const queue_eventfd&) = delete;
    queue_eventfd& operator=(const queue_eventfd&) = delete;
    ~queue_eventfd();

    /// Returns the descriptor, or -1 when the process has no more descriptors.
    int open(KQUEUE& queue);

    /// Called after an insertion into an empty queue.
    void signal() {
        // A write, not a load: either this sees the descriptor, or open() sees the entry.
        const int descriptor = descriptor_.fetch_add(0, std::memory_order_acq_rel);
        if (descriptor >= 0) make_readable(descriptor);
    }

    /// Called after a removal, and after one that found no entry.
    void clear_if_empty(KQUEUE& queue) {
        const int descriptor = descriptor_.load(std::memory_order_relaxed);
        if (descriptor >= 0) clear_open_if_empty(descriptor, queue);
    }

private:
    static void make_readable(int descriptor);
    static void clear_open_if_empty(int descriptor, KQUEUE& queue);

    std::atomic<int> descriptor_{-1};
};

} // namespace irpverbs::irp
