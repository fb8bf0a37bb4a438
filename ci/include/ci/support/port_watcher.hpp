// An HCA that is opened for one of its ports, and the events of that port.
#ifndef IRPVERBS_CI_SUPPORT_PORT_WATCHER_HPP
#define IRPVERBS_CI_SUPPORT_PORT_WATCHER_HPP

#include <ci/support/blocking_verb.hpp>

#include <dispatch/work_item.h>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <atomic>
#include <optional>
#include <utility>

namespace irpverbs::ci::detail {

/// The state of a port after an event of its link; no value for other events.
inline std::optional<IB_PORT_STATE> port_state_after(IB_ASYNC_EVENT event) {
    if (event == IB_AE_PORT_ACTIVE) return IB_PORT_ACTIVE;
    if (event == IB_AE_PORT_ERROR) return IB_PORT_DOWN;
    return std::nullopt;
}

/// Calls its owner, which contains it and has an intrusive reference count:
///   port_event(event)  for each event of the port, in the up-call
///   port_changed()     at PASSIVE_LEVEL, once for all events since its last call began; the owner
///                      is referenced until it returns
///   lifecycle          a lock that is constructed from the owner and held during `port_changed`
///   hca_failed()       in the up-call of the fatal event, if the owner has such a function
///   watches_all_ports  a constant, if the owner has it: port_changed() is called for the events of
///                      the HCA's other ports, too
template <class Owner>
class port_watcher {
public:
    explicit port_watcher(Owner& owner) : owner_(owner) {
        ExInitializeWorkItem(&item_, changed, this);
    }
    port_watcher(const port_watcher&) = delete;
    port_watcher& operator=(const port_watcher&) = delete;

    /// Returns the status of CiOpenCa. IRQL: PASSIVE_LEVEL. The caller of `open` or `close` holds
    /// the owner's `lifecycle` lock.
    NTSTATUS open(DEVICE_OBJECT* fdo, UCHAR number) {
        number_ = number;
        IB_CA_DISPATCH calls{nullptr, event_occurred};
        if constexpr (requires(Owner & owner) { owner.hca_failed(); })
            calls.FatalEvent = [](IB_CA*, void* self) { of(self).owner_.hca_failed(); };
        const verb_result opened =
            call_verb([&](IRP* irp) { return CiOpenCa(fdo, this, &calls, nullptr, irp); });
        if (opened.success()) ca_ = opened.template object<IB_CA>();
        return opened.status;
    }
    /// No call of the owner begins after this. Does nothing while no HCA is open.
    void close() {
        IB_CA* const last = std::exchange(ca_, nullptr);
        if (last != nullptr) call_verb([&](IRP* irp) { return CiCloseCa(last, nullptr, irp); });
    }

    /// Null: no HCA is open.
    IB_CA* ca() const { return ca_; }
    UCHAR number() const { return number_; }
    /// Queries the port of the open HCA, or another one. IRQL: PASSIVE_LEVEL.
    port_block query() const { return query(number_); }
    port_block query(UCHAR which) const { return {ca_, which}; }

private:
    static port_watcher& of(void* self) { return *static_cast<port_watcher*>(self); }

    static void event_occurred(IB_CA*, void* self, UCHAR which, IB_ASYNC_EVENT event) {
        port_watcher& own = of(self);
        if (which == own.number_)
            own.owner_.port_event(event);
        else if constexpr (!requires { Owner::watches_all_ports; })
            return;
        if (own.queued_.exchange(true)) return;
        intrusive_ptr_add_ref(&own.owner_);
        ExQueueWorkItem(&own.item_, DelayedWorkQueue);
    }
    // Events that occur during the wait for the lock queue nothing: at most one thread waits.
    static void changed(void* self) {
        port_watcher& own = of(self);
        const boost::intrusive_ptr<Owner> owner(&own.owner_, false);
        const typename Owner::lifecycle lock(*owner);
        own.queued_.exchange(false);
        if (own.ca_ != nullptr) owner->port_changed();
    }

    Owner& owner_;
    IB_CA* ca_ = nullptr;
    UCHAR number_ = 0;
    WORK_QUEUE_ITEM item_;
    std::atomic<bool> queued_{false}; // port_changed will be called
};

} // namespace irpverbs::ci::detail

#endif
