// An observer of the datagrams of a device.
#pragma once

#include <ci/mad.h>

#include <atomic>

namespace irpverbs::ci {

/// Calls run at IRQL <= DISPATCH_LEVEL, on several processors at once.
class mad_observer {
public:
    virtual void sent(const IB_MAD_AGENT& by, const IB_MAD_SEND& what) = 0;
    virtual void received(const IB_MAD_AGENT& by, const IB_MAD_RECEIVED& what) = 0;
    virtual ~mad_observer() = default;
};

/// The place of an observer in a device.
class mad_observer_slot {
public:
    mad_observer_slot() {
        ExInitializeRundownProtection(&references_);
        ExWaitForRundownProtectionRelease(&references_);
    }
    mad_observer_slot(const mad_observer_slot&) = delete;
    mad_observer_slot& operator=(const mad_observer_slot&) = delete;

    /// Returns false if the device has an observer.
    bool attach(mad_observer& fresh) {
        mad_observer* none = nullptr;
        if (!observer_.compare_exchange_strong(none, &fresh)) return false;
        ExReInitializeRundownProtection(&references_);
        return true;
    }
    /// The observer is not called after this returns. IRQL: PASSIVE_LEVEL.
    void detach() {
        ExWaitForRundownProtectionRelease(&references_);
        observer_ = nullptr;
    }

    template <class What>
    void notify(void (mad_observer::*event)(const IB_MAD_AGENT&, const What&),
                const IB_MAD_AGENT& by, const What& what) {
        if (observer_.load(std::memory_order_relaxed) == nullptr) [[likely]]
            return;
        if (!ExAcquireRundownProtection(&references_)) return;
        (observer_.load()->*event)(by, what);
        ExReleaseRundownProtection(&references_);
    }

private:
    std::atomic<mad_observer*> observer_{nullptr};
    EX_RUNDOWN_REF references_;
};

} // namespace irpverbs::ci
