// A queue pair.
#pragma once

#include "cq_object.hpp"
#include "memory_objects.hpp"
#include "transfer_flush.hpp"
#include "turn_queue.hpp"

namespace irpverbs::ci {

/// True if work requests are posted to the queue pair itself.
inline bool has_receive_queue(const ib_qp_create_t& of) {
    return of.h_rq_cq != nullptr && of.h_srq == nullptr;
}

struct qp_object final : child_object<qp_object, HCA_QP, pd_object> {
    static constexpr const char* name = "qp";
    static constexpr unsigned async_channel = 0;
    static constexpr unsigned channel_count = 1;
    static SIZE_T extension_size(const HCA_DEVICE& of) { return of.QpExtensionSize; }
    static used_objects used_by(const create_parameters& wanted);
    used_objects used() const;

    explicit qp_object(event_channel* channels) : child_object(channels) {}
    void set_up(const create_parameters& wanted, event_channel* channels);
    void tear_down();

    qp_posts posts{shared.Posts};
    transfer_flush flush; // for cancelled transfers

    turn_queue* turns() override { return &turns_; } // of CiModifyQp and CiFlushQp
    void on_changed(const parameters& with, NTSTATUS status) override;
    /// Begin a transfer; the reference that the IRP has is dropped when it has begun.
    NTSTATUS start_send(IRP* irp, const ib_send_wr_t& request);
    NTSTATUS start_receive(IRP* irp, const ib_recv_wr_t& request);

private:
    template <class Post, class Request>
    NTSTATUS start(cq_object& completions, IRP* irp, Post post, const Request& request);
    void abandon_transfers();
    void call_up(unsigned channel, IB_ASYNC_EVENT event) override;

    turn_queue turns_;
};

} // namespace irpverbs::ci
