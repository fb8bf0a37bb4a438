// A shared receive queue.
#pragma once

#include "memory_objects.hpp"
#include "posts.hpp"
#include "turn_queue.hpp"

namespace irpverbs::ci {

struct srq_object final : child_object<srq_object, HCA_SRQ, pd_object> {
    static constexpr const char* name = "srq";
    static constexpr unsigned async_channel = 0;
    static constexpr unsigned channel_count = 1;
    static SIZE_T extension_size(const HCA_DEVICE& of) { return of.SrqExtensionSize; }

    static used_objects used_by(const create_parameters& wanted);
    used_objects used() const;

    explicit srq_object(event_channel* channels) : child_object(channels) {}
    void set_up(const create_parameters& wanted, event_channel* channels);
    void tear_down();

    srq_post post{shared.Post};

    turn_queue* turns() override { return &turns_; } // of CiModifySrq

private:
    turn_queue turns_;

    void call_up(unsigned channel, IB_ASYNC_EVENT event) override;
};

} // namespace irpverbs::ci
