// An observer of the datagrams of a device.
#pragma once

#include <ci/mad.h>

#include <atomic>

namespace irpverbs::ci {

/// Calls run at IRQL <= DISPATCH_LEVEL, on several processors at once.
class mad_tap {
public:
    virtual void sent(const IB_MAD_AGENT& by, const IB_MAD_SEND& what) = 0;
    virtual void received(const IB_MAD_AGENT& by, const IB_MAD_RECEIVED& what) = 0;
    virtual ~mad_tap() = default;
};

/// The place of an observer in a device.
class mad_tap_place {
public:
    mad_tap_place() {
        ExInitializeRundownProtection(&users_);
        ExWaitForRundownProtectionRelease(&users_);
    }
    mad_tap_place(const mad_tap_place&) = delete;
    mad_tap_place& operator=(const mad_tap_place&) = delete;

    /// Returns false if the device has an observer.
    bool put(mad_tap& fresh) {
        mad_tap* none = nullptr;
        if (!tap_.compare_exchange_strong(none, &fresh)) return false;
        ExReInitializeRundownProtection(&users_);
        return true;
    }
    /// The observer is not called after this returns. IRQL: PASSIVE_LEVEL.
    void take_away() {
        ExWaitForRundownProtectionRelease(&users_);
        tap_ = nullptr;
    }

    template <class What>
    void show(void (mad_tap::*passage)(const IB_MAD_AGENT&, const What&), const IB_MAD_AGENT& by,
              const What& what) {
        if (tap_.load(std::memory_order_relaxed) == nullptr) [[likely]]
            return;
        if (!ExAcquireRundownProtection(&users_)) return;
        (tap_.load()->*passage)(by, what);
        ExReleaseRundownProtection(&users_);
    }

private:
    std::atomic<mad_tap*> tap_{nullptr};
    EX_RUNDOWN_REF users_;
};

} // namespace irpverbs::ci
