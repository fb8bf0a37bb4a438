// A completion queue.
#pragma once

#include "child_object.hpp"
#include "transfers.hpp"
#include "turn_queue.hpp"

namespace irpverbs::ci {

struct cq_object final : child_object<cq_object, HCA_CQ, ca_object> {
    static constexpr const char* name = "cq";
    static constexpr unsigned completion_channel = 0;
    static constexpr unsigned async_channel = 1;
    static constexpr unsigned channel_count = 2;
    static SIZE_T extension_size(const HCA_DEVICE& of) { return of.CqExtensionSize; }

    explicit cq_object(event_channel* channels) : child_object(channels) {}
    void set_up(const create_parameters& wanted, event_channel* channels);
    void tear_down();

    /// Makes this a transfer queue: completions are those of `work`. STATUS_INVALID_DEVICE_STATE:
    /// they are the client's.
    NTSTATUS begin_transfers();
    bool has_transfers() const { return has_transfers_.load(std::memory_order_acquire); }

    direct_poll poll{shared.Direct};
    transfers work{shared};

    turn_queue* turns() override { return &turns_; } // of CiResizeCq

private:
    turn_queue turns_;
    std::atomic<bool> has_transfers_{false};
    event_channel* channels_ = nullptr;

    void call_up(unsigned channel, IB_ASYNC_EVENT event) override;
};

} // namespace irpverbs::ci
