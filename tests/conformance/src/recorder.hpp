// What up-calls told, in their order.
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

    /// With the recorder as Context.
    static const IB_CA_DISPATCH ca_calls;
    static const IB_CQ_DISPATCH cq_calls;
    static const IB_MAD_DISPATCH mad_calls;

    /// Waits until there are so many; throws `abandoned` when they don't come.
    std::vector<up_call> wait_for(std::size_t count);
    std::size_t count() { return all().size(); }
    std::vector<up_call> all();
    /// From now on an up-call is a mistake.
    void close() { closed_.store(true); }
    /// None runs.
    bool idle() const { return running_.load() == 0; }

    /// Called from inside each up-call, before it is recorded; set before the first.
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
