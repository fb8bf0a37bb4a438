#include "serial_queue.hpp"

#include <dispatch/support/work_item.hpp>

#include <mutex>

namespace irpverbs::subnet_manager {

serial_queue::serial_queue(std::function<void()> failed) : failed_(std::move(failed)) {
    InitializeListHead(&waiting_);
}

void serial_queue::post(task& what) {
    {
        const std::lock_guard guard(lock_);
        InsertTailList(&waiting_, &what.entry);
        if (busy_ != nullptr) return;
        busy_ = shared_from_this();
    }
    ExInitializeWorkItem(&item_, work, this);
    ExQueueWorkItem(&item_, DelayedWorkQueue);
}

serial_queue::task* serial_queue::next() {
    const std::lock_guard guard(lock_);
    if (IsListEmpty(&waiting_)) return nullptr;
    return CONTAINING_RECORD(RemoveHeadList(&waiting_), task, entry);
}

// A lack of memory fails one task, not the process.
void serial_queue::run(task& due) {
    try {
        due.run(due);
    } catch (const std::exception&) {
        if (failed_) failed_();
    }
}

// Queues the work item again after a task when other work items wait, so that they do not wait for
// all tasks of this queue.
void serial_queue::work(void* context) {
    auto& self = *static_cast<serial_queue*>(context);
    for (;;) {
        while (task* const due = self.next()) {
            self.run(*due);
            if (dispatch::detail::work_items_queued())
                return ExQueueWorkItem(&self.item_, DelayedWorkQueue);
        }
        std::shared_ptr<serial_queue> last;
        const std::lock_guard guard(self.lock_);
        if (!IsListEmpty(&self.waiting_)) continue;
        last = std::move(self.busy_); // released after the guard
        return;
    }
}

} // namespace irpverbs::subnet_manager
