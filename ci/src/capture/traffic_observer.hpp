// An observer of the datagrams and packets of a device.
#pragma once

#include <ci/mad.h>
#include <ci/support/captures.hpp>

#include <atomic>
#include <cstdint>
#include <span>

namespace irpverbs::ci {

/// Calls run at IRQL <= DISPATCH_LEVEL, on several processors at once.
class traffic_observer {
public:
    virtual void sent(const IB_MAD_AGENT& by, const IB_MAD_SEND& what) = 0;
    virtual void received(const IB_MAD_AGENT& by, const IB_MAD_RECEIVED& what) = 0;
    /// A packet of a queue pair, sent or received at a port.
    virtual void passed(UCHAR port, std::span<const std::uint8_t> packet) = 0;
    virtual ~traffic_observer() = default;
};

/// The place of an observer in a device.
class traffic_observer_slot {
public:
    traffic_observer_slot() {
        ExInitializeRundownProtection(&references_);
        ExWaitForRundownProtectionRelease(&references_);
    }
    traffic_observer_slot(const traffic_observer_slot&) = delete;
    traffic_observer_slot& operator=(const traffic_observer_slot&) = delete;

    /// Returns false if the device has an observer.
    bool attach(traffic_observer& fresh) {
        traffic_observer* none = nullptr;
        if (!observer_.compare_exchange_strong(none, &fresh)) return false;
        ++captured_devices;
        ExReInitializeRundownProtection(&references_);
        return true;
    }
    /// The observer is not called after this returns. IRQL: PASSIVE_LEVEL.
    void detach() {
        ExWaitForRundownProtectionRelease(&references_);
        observer_ = nullptr;
        --captured_devices;
    }

    bool exists() const { return observer_.load(std::memory_order_relaxed) != nullptr; }

    template <class... Parameters, class... Arguments>
    void notify(void (traffic_observer::*event)(Parameters...), const Arguments&... arguments) {
        if (!exists()) [[likely]]
            return;
        if (!ExAcquireRundownProtection(&references_)) return;
        (observer_.load()->*event)(arguments...);
        ExReleaseRundownProtection(&references_);
    }

private:
    std::atomic<traffic_observer*> observer_{nullptr};
    EX_RUNDOWN_REF references_;
};

} // namespace irpverbs::ci
