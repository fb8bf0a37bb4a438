#include "plug_and_play.hpp"

#include <dispatch/thread.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace irpverbs::irp {
namespace {

// Keeps the notifications until the system thread has delivered them: the machine drops its own
// reference before its last work items have run.
struct delivery {
    WORK_QUEUE_ITEM item{};
    std::shared_ptr<notifications> what;
};

} // namespace

void* notifications::add(std::shared_ptr<registration> made) {
    ExInitializeRundownProtection(&made->calls);
    const std::lock_guard guard(lock_);
    registered_.push_back(std::move(made));
    return registered_.back().get();
}

bool notifications::remove(void* entry, bool wait) {
    std::shared_ptr<registration> removed;
    bool is_caller = false;
    {
        const std::lock_guard guard(lock_);
        const auto found = std::find_if(registered_.begin(), registered_.end(),
                                        [entry](const auto& each) { return each.get() == entry; });
        if (found == registered_.end()) return false;
        removed = std::move(*found);
        registered_.erase(found);
        const auto& callers = removed->callers;
        is_caller =
            std::find(callers.begin(), callers.end(), KeGetCurrentThread()) != callers.end();
    }
    if (wait && !is_caller) ExWaitForRundownProtectionRelease(&removed->calls);
    return true;
}

bool notifications::has_any_of(const DRIVER_OBJECT& driver) {
    const std::lock_guard guard(lock_);
    return std::any_of(registered_.begin(), registered_.end(),
                       [&](const auto& each) { return each->driver == &driver; });
}

void notifications::announce(event what) {
    auto carrier = std::make_unique<delivery>();
    carrier->what = shared_from_this();
    {
        const std::lock_guard guard(lock_);
        events_.push_back(std::move(what));
        if (std::exchange(delivering_, true)) return;
    }
    ExInitializeWorkItem(&carrier->item, deliver, carrier.get());
    ExQueueWorkItem(&carrier.release()->item, DelayedWorkQueue);
}

void notifications::deliver(void* carrier) {
    const std::unique_ptr<delivery> held(static_cast<delivery*>(carrier));
    while (held->what->deliver_next()) {
    }
}

// Callbacks that were registered after the event receive it too. False: there is no event.
bool notifications::deliver_next() {
    event next{};
    std::vector<std::shared_ptr<registration>> receivers;
    {
        const std::lock_guard guard(lock_);
        delivering_ = !events_.empty();
        if (!delivering_) return false;
        next = std::move(events_.front());
        events_.pop_front();
        std::copy_if(registered_.begin(), registered_.end(), std::back_inserter(receivers),
                     [&](const auto& each) {
                         return each->category == EventCategoryDeviceInterfaceChange &&
                                each->type == next.type;
                     });
    }
    for (const auto& each : receivers)
        call(*each, next);
    return true;
}

void notifications::call(registration& which, event& what) {
    if (!ExAcquireRundownProtection(&which.calls)) return;
    const KTHREAD* const self = KeGetCurrentThread();
    {
        const std::lock_guard guard(lock_);
        which.callers.push_back(self);
    }
    UNICODE_STRING link = string_of(what.link);
    DEVICE_INTERFACE_CHANGE_NOTIFICATION text{1, sizeof text,
                                              what.arrival ? GUID_DEVICE_INTERFACE_ARRIVAL
                                                           : GUID_DEVICE_INTERFACE_REMOVAL,
                                              what.type, &link};
    which.callback(&text, which.context);
    {
        const std::lock_guard guard(lock_);
        which.callers.erase(std::find(which.callers.begin(), which.callers.end(), self));
    }
    ExReleaseRundownProtection(&which.calls);
}

} // namespace irpverbs::irp
