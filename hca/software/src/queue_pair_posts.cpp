// Posts to the queues of a queue pair.
#include "adapter.hpp"
#include "queue_pair.hpp"

#include <ci/support/captures.hpp>
#include <dispatch/support/spin_guard_at_dispatch.hpp>

namespace irpverbs::hca_software {

namespace {

/// An end of a straight path during a post by the processor `self`.
class posting_end {
public:
    posting_end(queue_pair& of, processor& self) : of_(of), self_(self) {}

    transport::queue_pair& engine() const { return of_.engine; }
    registered_memory& memory() const { return of_.memory; }
    // The end that sends has these.
    const transport::straight_terms& terms() const { return *of_.straight.terms; }
    transport::straight_totals& totals() const { return of_.straight.totals; }

    template <class Make>
    void complete_send_by(const Make& make) const {
        of_.complete_send_by(self_, make);
    }
    template <class Make>
    void complete_receive_by(bool solicited, const Make& make) const {
        of_.complete_receive_by(self_, solicited, make);
    }

private:
    queue_pair& of_;
    processor& self_;
};

} // namespace

inline queue_pair* queue_pair::straight_peer() {
    if (straight.examined == hca.owner_fabric().routes()) [[likely]]
        return straight.to;
    return examined_peer();
}

// The caller holds the requester's lock. In tests a choice decides which way a work request takes.
inline ib_send_wr_t* queue_pair::pass_straight(const dispatch::detail::spin_guard& sends,
                                               ib_send_wr_t* list) {
    queue_pair* peer = straight_peer();
    if (peer == nullptr) return list;
    if (ci::is_any_captured() && (HcaIsCaptured(hca.device()) || HcaIsCaptured(peer->hca.device())))
        return list;
    {
        const dispatch::detail::spin_guard_at_dispatch guard(sends, peer->receive_lock);
        if (peer->revision != straight.revision_of_peer) [[unlikely]] {
            straight.examined = 0;
            return list;
        }
        transport::straight_through way(posting_end(*this, sends.self()),
                                        posting_end(*peer, sends.self()));
        list = way.pass(list);
    }
    peer->request_reports();
    return list;
}

// Work requests that have no packets execute under both locks; those behind them may pass straight
// again. The usual work request passes in this function, without a call.
[[gnu::hot, gnu::flatten]] NTSTATUS queue_pair::post(ib_send_wr_t* list, ib_send_wr_t** failed) {
    const reporter at_end(*this);
    const dispatch::detail::spin_guard sends(send_lock);
    for (;;) {
        list = pass_straight(sends, list);
        if (list == nullptr) return STATUS_SUCCESS;
        if (!transport::is_local(list->wr_type)) return post_rest(list, failed);
        if (const NTSTATUS status = post_first(list, failed); !NT_SUCCESS(status)) return status;
        list = list->p_next;
    }
}

[[gnu::noinline]] NTSTATUS queue_pair::post_rest(ib_send_wr_t* rest, ib_send_wr_t** failed) {
    const dispatch::detail::spin_guard receives(receive_lock);
    return engine.post_send(rest, failed);
}

[[gnu::noinline]] NTSTATUS queue_pair::post_first(ib_send_wr_t* list, ib_send_wr_t** failed) {
    ib_send_wr_t first = *list;
    first.p_next = nullptr;
    const dispatch::detail::spin_guard receives(receive_lock);
    const NTSTATUS status = engine.post_send(&first, failed);
    if (!NT_SUCCESS(status)) *failed = list;
    return status;
}

NTSTATUS queue_pair::bind(ULONGLONG wr_id, ib_send_opt_t options,
                          const transport::window_binding& what) {
    ib_send_wr_t made{};
    made.wr_id = wr_id;
    made.wr_type = WR_BIND_MW;
    made.send_opt = options;
    return call([&](transport::queue_pair& its) { return its.post_bind(made, what); });
}

NTSTATUS queue_pair::post(ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    const reporter at_end(*this);
    const dispatch::detail::spin_guard guard(receive_lock);
    return engine.post_receive(list, failed);
}

NTSTATUS post_send(void* queue, ib_send_wr_t* list, ib_send_wr_t** failed) {
    return static_cast<queue_pair*>(queue)->post(list, failed);
}

NTSTATUS post_receive(void* queue, ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    return static_cast<queue_pair*>(queue)->post(list, failed);
}

} // namespace irpverbs::hca_software
