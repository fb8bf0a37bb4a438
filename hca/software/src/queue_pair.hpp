// Queue pairs of the software HCA: their verbs, their posts, and the surroundings of their engines.
#pragma once

#include "completion_queue.hpp"
#include "memory_accesses.hpp"
#include "qp_traffic.hpp"
#include "registered_memory.hpp"
#include "straight_path.hpp"

#include "transport/queue_pair.hpp"

namespace irpverbs::hca_software {

inline constexpr ULONG max_qp_wrs = 1u << 14;
inline constexpr ULONG max_sges = 32;
inline constexpr ULONG max_inline_data = 1024; // bytes
inline constexpr UCHAR max_reads_of_qp = 16;   // reads and atomics, of either end

class adapter;
using dispatch::detail::processor;

/// HCA_QP.Extension: the owner of an engine. The locks of requesters are acquired before those of
/// responders, and at most one of each.
struct queue_pair final : transport::queue_pair_owner, memory_accesses::accessor {
    /// Holds both locks.
    class both_locks {
    public:
        explicit both_locks(queue_pair& of) : sends_(of.send_lock), receives_(of.receive_lock) {}

    private:
        dispatch::detail::spin_guard sends_;
        dispatch::detail::spin_guard receives_;
    };

    queue_pair(HCA_QP* its, adapter& in);
    ~queue_pair() = default;
    queue_pair(const queue_pair&) = delete;
    queue_pair& operator=(const queue_pair&) = delete;

    static queue_pair& of(HCA_QP* qp) { return *static_cast<queue_pair*>(qp->Extension); }

    /// Calls the engine under both locks. Its completions and events are reported by the traffic.
    template <class Call>
    auto call(const Call& does) {
        const reporter at_end(*this);
        const both_locks guard(*this);
        return does(engine);
    }
    NTSTATUS post(ib_send_wr_t* list, ib_send_wr_t** failed);
    NTSTATUS post(ib_recv_wr_t* list, ib_recv_wr_t** failed);
    /// Binds a window of type 1, as CiBindMw.
    NTSTATUS bind(ULONGLONG wr_id, ib_send_opt_t options, const transport::window_binding& what);
    /// Ends both straight paths, to the peer and from it, after a change or for good.
    void end_straight();

    /// Receives packets and executes what was waiting. Called by the traffic's DPC, as the next.
    void receive(packet_queue& arrived, machine_time woken);
    /// Reports, without locks, what the engine has requested.
    void report_pending();

    // ---- the engine's hooks
    transport::transmission transmit(const transport::packet& what) override;
    std::optional<ib_av_attr_t> find_way(const IB_AV& to) override;
    ULONG datagram_limit(const ib_av_attr_t& way) override;
    transport::shared_receive_queue* find_receives(ULONG number) override;
    machine_time now() override;
    void set_timer(machine_time due) override;
    void complete_send(const IB_WC& entry) override { complete(*sends_to, entry, of_sends); }
    void complete_receive(const IB_WC& entry) override {
        complete(*receives_to, entry, of_receives);
    }
    // A work request has passed straight through; `self` is the calling processor.
    template <class Make>
    void complete_send_by(processor& self, const Make& make) {
        if (!sends_to->try_add(self, make)) [[unlikely]]
            complete_and_report(*sends_to, make(), of_sends);
    }
    template <class Make>
    void complete_receive_by(processor& self, bool solicited, const Make& make) {
        if (solicited || !receives_to->try_add(self, make)) [[unlikely]]
            complete_and_report(*receives_to, make(), of_receives);
    }
    void report(IB_ASYNC_EVENT event) override;
    void migration_changed() override;
    void state_changed(ib_qp_state_t to) override;

    HCA_QP* shared;
    adapter& hca;
    KSPIN_LOCK send_lock = 0;    // of the requester
    KSPIN_LOCK receive_lock = 0; // of the responder
    ib_qp_attr_t attr;           // changed under both; the state is HCA_QP.State, stored under both
    ULONG revision = 0;          // number of changes, changed under both
    registered_memory memory;
    transport::queue_pair engine;
    straight_path straight;       // guarded by send_lock
    queue_pair* source = nullptr; // whose path ends here; guarded by receive_lock
    completion_ring* const sends_to;
    completion_ring* const receives_to;
    cq_reports of_sends = 0;      // guarded by send_lock
    cq_reports of_receives = 0;   // guarded by receive_lock
    machine_time woken_until = 0; // guarded by both, as the next: the time is not earlier
    machine_time timer = 0;       // the time for which the engine's timer is set; 0: none
    machine_time resumes_at = 0;  // nothing is sent until then; 0: packets are sent
    ULONG burst = 0;              // packets since it resumed
    ULONG events = 0;             // bits of IB_ASYNC_EVENT; guarded by receive_lock
    std::atomic<bool> has_reports{false};
    qp_service service;

private:
    /// Requests the service of a queue pair whose call has something to report.
    class reporter {
    public:
        explicit reporter(queue_pair& of) : of_(of) {}
        ~reporter() { of_.request_reports(); }
        reporter(const reporter&) = delete;
        reporter& operator=(const reporter&) = delete;

    private:
        queue_pair& of_;
    };

    void receive(const packet& what);
    void receive_datagram(const packet& what, transport::packet& content);
    void complete(completion_ring& to, const IB_WC& entry, cq_reports& reports) {
        if (completion_ring::is_solicited(entry) ||
            !to.try_add(dispatch::detail::this_processor(), [&] { return entry; }))
            complete_and_report(to, entry, reports);
    }
    void complete_and_report(completion_ring& to, const IB_WC& entry, cq_reports& reports);
    void fail_after_overrun();
    void request_reports() {
        if (has_reports.load(std::memory_order_relaxed)) [[unlikely]]
            request_service();
    }
    void request_service();
    void notify(IB_ASYNC_EVENT event);

    NTSTATUS post_rest(ib_send_wr_t* rest, ib_send_wr_t** failed);
    NTSTATUS post_first(ib_send_wr_t* list, ib_send_wr_t** failed);
    ib_send_wr_t* pass_straight(const dispatch::detail::spin_guard& sends, ib_send_wr_t* list);
    queue_pair* straight_peer();
    queue_pair* examined_peer();
    void examine_path();
    bool joins(queue_pair& by);
    void leave_path();
};

NTSTATUS create_qp(HCA_QP* qp, CI_UDATA* user, PIRP irp);
NTSTATUS destroy_qp(HCA_QP* qp, CI_UDATA* user, PIRP irp);
NTSTATUS modify_qp(HCA_QP* qp, const ib_qp_mod_t* modify, CI_UDATA* user, PIRP irp);
NTSTATUS query_qp(HCA_QP* qp, ib_qp_attr_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp);
NTSTATUS flush_qp(HCA_QP* qp, PIRP irp);

/// PFN_HCA_POST_SEND and PFN_HCA_POST_RECV; `queue` is the queue_pair.
NTSTATUS post_send(void* queue, ib_send_wr_t* list, ib_send_wr_t** failed);
NTSTATUS post_receive(void* queue, ib_recv_wr_t* list, ib_recv_wr_t** failed);

} // namespace irpverbs::hca_software
