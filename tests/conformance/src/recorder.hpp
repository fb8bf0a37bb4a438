// Records up-calls in their order.
#pragma once

#include "world.hpp"

namespace irpverbs::conformance {

class recorder {
public:
    struct up_call {
        UCHAR port;           // 0: of the CA, or of a completion queue
        IB_ASYNC_EVENT event; // IB_AE_NONE: a completion event or a datagram
        KIRQL level;
    };

    recorder();
    recorder(const recorder&) = delete;
    recorder& operator=(const recorder&) = delete;

    /// Dispatch tables; their Context is the recorder.
    static const IB_CA_DISPATCH ca_calls;
    static const IB_CQ_DISPATCH cq_calls;
    static const IB_MAD_DISPATCH mad_calls;

    /// Waits until there are `count` up-calls; throws `abandoned` when they do not arrive.
    std::vector<up_call> wait_for(std::size_t count);
    std::size_t count() { return all().size(); }
    std::vector<up_call> all();
    /// Makes every later up-call a failure.
    void close() { closed_.store(true); }
    /// True when no up-call is running.
    bool idle() const { return running_.load() == 0; }

    /// Called inside each up-call, before it is recorded; set before the first up-call.
    std::function<void()> inside;

private:
    void note(UCHAR port, IB_ASYNC_EVENT event);

    KSPIN_LOCK lock_;
    std::vector<up_call> heard_; // guarded by lock_
    KEVENT more_;
    std::atomic<int> running_{0};
    std::atomic<bool> closed_{false};
};

} // namespace irpverbs::conformance
