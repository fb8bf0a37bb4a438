// Posts. Work requests that the daemon will certainly post are put into a ring; the others, and
// the bindings of windows, are calls of the daemon, which returns how many of a list were posted.
#include "connection.hpp"
#include "provider/data_path.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <algorithm>
#include <array>

namespace irpverbs::hca_user {

using ci::crossing::post_writer;
using ci::wire::work;
using dispatch::detail::spin_guard;

namespace {

template <class Work>
Work* advance(Work* list, ULONG count) {
    while (count-- != 0)
        list = list->p_next;
    return list;
}

// The memory of a work request beyond the granted limits is not read. A queue for which no segments
// were requested may have one.
bool has_segments(ULONG count, ULONG granted) { return count <= std::max(granted, ULONG{1}); }

bool has_inline(const ib_send_wr_t& what) { return (what.send_opt & IB_SEND_OPT_INLINE) != 0; }

/// The send queue of a queue pair.
struct send_queue {
    static constexpr work kind = work::send;

    connection& via() const { return connection_of(HCA_MN_CREATE_QP, &qp); }
    std::uint64_t handle() const { return object().handle; }
    user_object& object() const { return user_object::of(HCA_MN_CREATE_QP, &qp); }
    bool is_of_datagrams() const { return qp.Create.qp_type == IB_QPT_UNRELIABLE_DGRM; }

    bool add(post_writer& to, const ib_send_wr_t& what) const {
        if (ci::crossing::has_data(what.wr_type) && !has_segments(what.num_ds, qp.Qp.SqSge))
            return false;
        return ci::crossing::inline_length(what) <= std::max(qp.Qp.SqMaxInline, ULONG{1}) &&
               to.add(what, is_of_datagrams(), via());
    }

    bool is_certain(const ib_send_wr_t& what) const {
        constexpr ib_send_opt_t known = IB_SEND_OPT_IMMEDIATE | IB_SEND_OPT_FENCE |
                                        IB_SEND_OPT_SIGNALED | IB_SEND_OPT_SOLICITED |
                                        IB_SEND_OPT_INLINE;
        return object().counts != nullptr && object().counts->sends.has_room(qp.Qp.SqDepth) &&
               has_state() && has_type(what) && (what.send_opt & ~known) == 0 &&
               what.num_ds <= qp.Qp.SqSge &&
               (!has_inline(what) || ci::crossing::inline_length(what) <= qp.Qp.SqMaxInline);
    }

    void count(const ib_send_wr_t& what) const {
        if (object().counts == nullptr) return;
        const bool signaled =
            (what.send_opt & IB_SEND_OPT_SIGNALED) != 0 || qp.Create.sq_signaled != FALSE;
        object().counts->sends.add(signaled);
    }
    /// The last of those that were counted were not posted, or all were.
    void settle(ULONG unposted) const {
        if (object().counts != nullptr && unposted != 0) object().counts->sends.undo(unposted);
    }

    HCA_QP& qp;

private:
    // A queue pair enters and leaves the other states by a verb.
    bool has_state() const {
        return (HcaQpState(&qp) & (IB_QPS_RTS | IB_QPS_SQD | IB_QPS_SQERR | IB_QPS_ERROR)) != 0;
    }
    bool has_type(const ib_send_wr_t& what) const {
        const bool sends = what.wr_type == WR_SEND;
        const bool writes = what.wr_type == WR_RDMA_WRITE;
        switch (qp.Create.qp_type) {
        case IB_QPT_RELIABLE_CONN:
            return sends || writes || what.wr_type == WR_RDMA_READ ||
                   what.wr_type == WR_COMPARE_SWAP || what.wr_type == WR_FETCH_ADD;
        case IB_QPT_UNRELIABLE_CONN:
            return sends || writes;
        case IB_QPT_UNRELIABLE_DGRM:
            return sends && what.dgrm.ud.h_av != nullptr &&
                   via().handle_of(HCA_MN_CREATE_AV, what.dgrm.ud.h_av) != 0;
        default:
            return false;
        }
    }
};

/// The receive queue of a queue pair.
struct receive_queue {
    static constexpr work kind = work::receive;

    connection& via() const { return connection_of(HCA_MN_CREATE_QP, &qp); }
    std::uint64_t handle() const { return object().handle; }
    user_object& object() const { return user_object::of(HCA_MN_CREATE_QP, &qp); }

    bool add(post_writer& to, const ib_recv_wr_t& what) const {
        return has_segments(what.num_ds, qp.Qp.RqSge) && to.add(what);
    }
    bool is_certain(const ib_recv_wr_t& what) const {
        return object().counts != nullptr &&
               object().counts->own_receives.has_room(qp.Qp.RqDepth) &&
               HcaQpState(&qp) != IB_QPS_RESET && what.num_ds <= qp.Qp.RqSge;
    }
    void count(const ib_recv_wr_t&) const {
        if (object().counts != nullptr) object().counts->own_receives.add();
    }
    void settle(ULONG unposted) const {
        if (object().counts == nullptr) return;
        object().counts->own_receives.undo(unposted);
        if (unposted == 0) object().counts->own_receives.confirm(qp.Qp.RqDepth);
    }

    HCA_QP& qp;
};

struct shared_receive_queue {
    static constexpr work kind = work::shared_receive;

    connection& via() const { return connection_of(HCA_MN_CREATE_SRQ, &srq); }
    std::uint64_t handle() const { return object().handle; }
    user_object& object() const { return user_object::of(HCA_MN_CREATE_SRQ, &srq); }

    bool add(post_writer& to, const ib_recv_wr_t& what) const {
        return has_segments(what.num_ds, srq.Srq.MaxSge) && to.add(what);
    }
    bool is_certain(const ib_recv_wr_t& what) const {
        return object().receives != nullptr && object().receives->has_room(srq.Srq.MaxWr) &&
               what.num_ds <= srq.Srq.MaxSge;
    }
    void count(const ib_recv_wr_t&) const {
        if (object().receives != nullptr) object().receives->add();
    }
    void settle(ULONG unposted) const {
        if (object().receives == nullptr) return;
        object().receives->undo(unposted);
        if (unposted == 0) object().receives->confirm(srq.Srq.MaxWr);
    }

    HCA_SRQ& srq;
};

NTSTATUS post_send(void* queue, ib_send_wr_t* list, ib_send_wr_t** failed) {
    const send_queue to{*static_cast<HCA_QP*>(queue)};
    return to.via().post(to, list, failed);
}

NTSTATUS post_receive(void* queue, ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    const receive_queue to{*static_cast<HCA_QP*>(queue)};
    return to.via().post(to, list, failed);
}

NTSTATUS post_shared_receive(void* queue, ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    const shared_receive_queue to{*static_cast<HCA_SRQ*>(queue)};
    return to.via().post(to, list, failed);
}

} // namespace

// Returns the first work request that has to be a call.
template <class Queue, class Work>
Work* connection::post_in_ring(const Queue& queue, Work* list) {
    auto& ring = ci::wire::is_receive(Queue::kind) ? receives_ : sends_;
    if (!ring || failure_.load() != STATUS_SUCCESS) return list;
    while (list != nullptr && queue.is_certain(*list)) {
        const std::span<std::byte> room = ring->room();
        if (room.empty()) return list;
        post_writer made(room, Queue::kind, 0, queue.handle());
        for (; list != nullptr && queue.is_certain(*list) && queue.add(made, *list);
             list = list->p_next)
            queue.count(*list);
        if (made.count() == 0) return list;
        ring->publish(made.finish().size());
        if (ring->must_wake()) ring_bell();
    }
    return list;
}

// A socket without room has messages for which the daemon wakes.
void connection::ring_bell() {
    const ci::wire::header made{ci::wire::kind::bell, 0, {}, 0, 0};
    std::array<iovec, 1> part{{{const_cast<ci::wire::header*>(&made), sizeof(made)}}};
    ci::detail::send_message(control_.get(), part);
}

// A work request that is not even added to an empty message is beyond a limit.
template <class Queue, class Work>
NTSTATUS connection::post_by_call(const Queue& queue, Work*& list) {
    post_writer asked(post_buffer_, Queue::kind, next_id_.fetch_add(1), queue.handle());
    for (Work* each = list; each != nullptr && queue.add(asked, *each); each = each->p_next)
        queue.count(*each);
    if (asked.count() == 0) return STATUS_INVALID_PARAMETER;
    ci::wire::posted made{};
    const NTSTATUS status = call(asked, made);
    queue.settle(asked.count() - made.count);
    list = advance(list, made.count);
    return status;
}

template <class Queue, class Work>
NTSTATUS connection::post(const Queue& queue, Work* list, Work** failed) {
    const spin_guard guard(data_lock_);
    NTSTATUS status = STATUS_SUCCESS;
    list = post_in_ring(queue, list);
    while (list != nullptr && NT_SUCCESS(status))
        status = post_by_call(queue, list);
    if (!NT_SUCCESS(status)) *failed = list;
    return status;
}

NTSTATUS connection::bind(HCA_MW& window, HCA_QP& qp, const ib_bind_wr_t& what, ULONG& rkey) {
    const spin_guard guard(data_lock_);
    const send_queue queue{qp};
    post_writer asked(post_buffer_, work::bind, next_id_.fetch_add(1), queue.handle());
    asked.add(what, &window.Mw, *this);
    ib_send_wr_t counted{};
    counted.send_opt = what.send_opt;
    queue.count(counted);
    ci::wire::posted made{};
    const NTSTATUS status = call(asked, made);
    queue.settle(NT_SUCCESS(status) ? 0 : 1);
    if (NT_SUCCESS(status)) rkey = static_cast<ULONG>(made.rkey);
    return status;
}

void begin_posts(HCA_QP& qp) {
    const uvp_interface_t* const by = connection_of(HCA_MN_CREATE_QP, &qp).provider();
    qp.Posts.Queue = &qp;
    HcaSetQpPosts(&qp, by != nullptr && by->post_send != nullptr ? provided::post_send : post_send,
                  by != nullptr && by->post_recv != nullptr ? provided::post_receive
                                                            : post_receive);
}

void begin_posts(HCA_SRQ& srq) {
    const uvp_interface_t* const by = connection_of(HCA_MN_CREATE_SRQ, &srq).provider();
    srq.Post.Queue = &srq;
    HcaSetSrqPost(&srq, by != nullptr && by->post_srq_recv != nullptr
                            ? provided::post_shared_receive
                            : post_shared_receive);
}

NTSTATUS bind_mw(HCA_MW* window, HCA_QP* qp, const ib_bind_wr_t* what, ULONG* rkey) {
    connection& via = connection_of(HCA_MN_ALLOCATE_MW, window);
    if (via.provider() != nullptr && via.provider()->bind_mw != nullptr)
        return provided::bind_mw(*via.provider(), window, qp, what, rkey);
    return via.bind(*window, *qp, *what, *rkey);
}

} // namespace irpverbs::hca_user
