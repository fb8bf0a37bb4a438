#include "queue_eventfd.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

namespace irpverbs::irp {

queue_eventfd::~queue_eventfd() {
    if (descriptor_ >= 0) close(descriptor_);
}

int queue_eventfd::open(KQUEUE& queue) {
    int seen = descriptor_.load(std::memory_order_acquire);
    if (seen >= 0) return seen;
    const int fresh = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fresh < 0) return -1;
    if (!descriptor_.compare_exchange_strong(seen, fresh, std::memory_order_acq_rel)) {
        close(fresh);
        return seen;
    }
    if (KeReadStateQueue(&queue) > 0) make_readable(fresh);
    return fresh;
}

void queue_eventfd::make_readable(int descriptor) { eventfd_write(descriptor, 1); }

// The read may consume the notification of an entry inserted after the first check, hence the
// second check.
void queue_eventfd::clear_open_if_empty(int descriptor, KQUEUE& queue) {
    if (KeReadStateQueue(&queue) > 0) return;
    eventfd_t rings = 0;
    eventfd_read(descriptor, &rings);
    if (KeReadStateQueue(&queue) > 0) make_readable(descriptor);
}

} // namespace irpverbs::irp
