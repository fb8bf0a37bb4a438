// Callbacks for device interfaces that come and go.
#pragma once

#include <irp/device_interface.h>

#include <dispatch/rundown.h>
#include <dispatch/support/scheduled_spin.hpp>
#include <dispatch/work_item.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace irpverbs::irp {

/// Distinct threads may call all members but the destructor; they may throw std::bad_alloc. IRQL:
/// PASSIVE_LEVEL.
class notifications : public std::enable_shared_from_this<notifications> {
public:
    struct registration {
        IO_NOTIFICATION_EVENT_CATEGORY category;
        GUID type;
        const DRIVER_OBJECT* driver;
        PDRIVER_NOTIFICATION_CALLBACK_ROUTINE callback;
        void* context;
        EX_RUNDOWN_REF calls{};
        std::vector<const KTHREAD*> callers{}; // guarded by notifications::lock_
    };
    struct event {
        GUID type;
        bool arrival;
        std::u16string link;
    };

    /// Adds the registration; returns what remove() takes.
    void* add(std::shared_ptr<registration> made);
    /// Removes the registration; with `wait`, also awaits its calls, unless the caller is one.
    /// False: there is no such registration.
    bool remove(void* entry, bool wait);
    bool has_any_of(const DRIVER_OBJECT& driver);

    /// A system thread calls the callbacks of the type, in the order of the events.
    void announce(event what);
    /// Calls the callback of that registration now, as announce() makes it be called.
    void call(registration& which, event& what);

private:
    static void deliver(void* delivery);
    bool deliver_next();

    dispatch::detail::scheduled_spin lock_;
    std::vector<std::shared_ptr<registration>> registered_; // guarded by lock_
    std::deque<event> events_;                              // guarded by lock_
    bool delivering_ = false;                               // guarded by lock_
};

} // namespace irpverbs::irp
