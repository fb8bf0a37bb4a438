// Serializes all work of a subnet manager, so that its parts need no lock.
#pragma once

#include <dispatch/support/scheduled_spin.hpp>
#include <dispatch/work_item.h>

#include <functional>
#include <memory>
#include <new>
#include <utility>

namespace irpverbs::subnet_manager {

/// Runs tasks in order, at PASSIVE_LEVEL, in a work item. References itself until all tasks have
/// run.
class serial_queue : public std::enable_shared_from_this<serial_queue> {
public:
    struct task {
        LIST_ENTRY entry{};
        void (*run)(task& self) = nullptr;
    };

    /// `failed` is called after a task has thrown and left its work incomplete. It must not throw.
    explicit serial_queue(std::function<void()> failed = {});
    serial_queue(const serial_queue&) = delete;
    serial_queue& operator=(const serial_queue&) = delete;

    /// Ownership: the task is the queue's until it runs. IRQL: <= DISPATCH_LEVEL.
    void post(task& what);

    /// Calls `body()` once. Returns false without memory. IRQL: <= DISPATCH_LEVEL.
    template <class Body>
    [[nodiscard]] bool post_call(Body body) {
        auto* made = new (std::nothrow) call<Body>(std::move(body));
        if (made != nullptr) post(*made);
        return made != nullptr;
    }

private:
    template <class Body>
    struct call : task {
        explicit call(Body&& its_body) : body(std::move(its_body)) {
            run = [](task& self) {
                const std::unique_ptr<call> mine(static_cast<call*>(&self));
                mine->body();
            };
        }
        Body body;
    };

    task* next();
    void run(task& due);
    static void work(void* self);

    const std::function<void()> failed_;
    dispatch::detail::scheduled_spin lock_;
    LIST_ENTRY waiting_; // guarded by lock_
    std::shared_ptr<serial_queue>
        busy_; // guarded by lock_: itself while the work item is queued or runs
    WORK_QUEUE_ITEM item_{};
};

} // namespace irpverbs::subnet_manager
