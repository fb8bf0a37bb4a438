#include "straight_path.hpp"

#include "adapter.hpp"
#include "key_checks.hpp"
#include "queue_pair.hpp"

#include <utility>

namespace irpverbs::hca_software {

namespace {

// One thread at a time adds.
void add(std::atomic<ULONGLONG>& to, ULONGLONG what) {
    to.store(to.load(std::memory_order_relaxed) + what, std::memory_order_relaxed);
}

ULONGLONG added(const std::atomic<ULONGLONG>& in, ULONGLONG& counted) {
    const ULONGLONG now = in.load(std::memory_order_relaxed);
    return now - std::exchange(counted, now);
}

/// A packet of a connection on its way from a port, with which routes are found.
datagram first_packet(const port& from, const queue_pair& by) {
    datagram made;
    made.from = static_cast<ib_lid_t>(from.lid | by.attr.primary_av.path_bits);
    made.to = by.attr.primary_av.dlid;
    made.pkey = from.pkeys[by.attr.pkey_index];
    made.from_qp = by.attr.num;
    made.to_qp = by.attr.dest_num;
    made.global = by.attr.primary_av.grh_valid != FALSE;
    return made;
}

port& own_port(const queue_pair& of) { return *of.hca.find_port(of.attr.primary_port); }

// True if the queue pair accepts the packets of a peer with the P_Key and the LIDs of `first`.
bool is_end_of(const queue_pair& at, const port& arrival, const datagram& first) {
    const ib_av_attr_t& way = at.attr.primary_av;
    return arrival.number == at.attr.primary_port && first.from == way.dlid &&
           first.to == (arrival.lid | way.path_bits) &&
           share_partition(arrival.pkeys[at.attr.pkey_index], first.pkey);
}

} // namespace

void straight_route::count(ULONGLONG packets, ULONGLONG words) const {
    words += packets * route_words;
    for (std::size_t i = 0; i < count_; ++i)
        count_link(*out_[i], packets, words);
}

void straight_path::add(const transport::straight_traffic& passed) {
    hca_software::add(requests_, passed.requests);
    hca_software::add(request_words_, passed.request_words);
    hca_software::add(responses_, passed.responses);
    hca_software::add(response_words_, passed.response_words);
}

void straight_path::count() {
    forth.count(added(requests_, counted_.requests), added(request_words_, counted_.request_words));
    back.count(added(responses_, counted_.responses),
               added(response_words_, counted_.response_words));
}

queue_pair* queue_pair::straight_peer() {
    if (straight.examined != hca.owner_fabric().routes()) [[unlikely]]
        examine_path();
    return straight.to;
}

// A peer that does not expect this connection yet is asked again with the next post.
void queue_pair::examine_path() {
    fabric& where = hca.owner_fabric();
    leave_path();
    straight.examined = where.routes();
    if (attr.qp_type == IB_QPT_XRC_INI) return; // it has packets only
    adapter* at = where.with_lock([&]() -> adapter* {
        port& from = own_port(*this);
        const datagram first = first_packet(from, *this);
        const bool found = where.find_route(from, first, straight.forth);
        if (straight.forth.is_sampled) straight.examined = 0;
        if (!found || straight.forth.is_sampled) return nullptr;
        return straight.forth.end->owner->attached.get();
    });
    if (at == nullptr) return;
    queue_pair* peer = at->traffic().hold(attr.dest_num);
    if (peer == nullptr || !peer->joins(*this)) straight.examined = 0;
    if (peer != nullptr) at->traffic().release(*peer);
}

// The caller holds the requester's lock of `by`.
bool queue_pair::joins(queue_pair& by) {
    const dispatch::detail::spin_guard guard(receive_lock);
    if (source != nullptr || engine.state() == IB_QPS_RESET || engine.state() == IB_QPS_INIT)
        return false;
    fabric& where = hca.owner_fabric();
    return where.with_lock([&] {
        port& own = own_port(*this);
        port& other = own_port(by);
        const datagram first = first_packet(own, *this);
        if (!transport::straight_through::connects(by.engine, engine) ||
            !is_end_of(*this, *by.straight.forth.end, first_packet(other, by)) ||
            !where.find_route(own, first, by.straight.back) || by.straight.back.is_sampled ||
            !is_end_of(by, *by.straight.back.end, first))
            return false;
        source = &by;
        by.straight.to = this;
        by.straight.revision_of_peer = revision;
        where.add(by.straight);
        return true;
    });
}

void queue_pair::leave_path() {
    queue_pair* peer = std::exchange(straight.to, nullptr);
    if (peer == nullptr) return;
    {
        const dispatch::detail::spin_guard guard(peer->receive_lock);
        peer->source = nullptr;
    }
    hca.owner_fabric().with_lock([&] { hca.owner_fabric().remove(straight); });
}

void queue_pair::end_straight() {
    {
        const dispatch::detail::spin_guard guard(send_lock);
        leave_path();
        straight.examined = 0;
    }
    queue_pair* from = nullptr;
    {
        const dispatch::detail::spin_guard guard(receive_lock);
        from = source;
        if (from != nullptr) from->hca.traffic().hold(*from);
    }
    if (from == nullptr) return;
    {
        const dispatch::detail::spin_guard guard(from->send_lock);
        if (from->straight.to == this) from->leave_path();
        from->straight.examined = 0;
    }
    from->hca.traffic().release(*from);
}

// In tests a choice decides which way a work request takes.
ib_send_wr_t* queue_pair::pass_straight(ib_send_wr_t* list) {
    if (engine.state() != IB_QPS_RTS) return list;
    queue_pair* peer = straight_peer();
    if (peer == nullptr || HcaIsCaptured(hca.device()) || HcaIsCaptured(peer->hca.device()))
        return list;
    if (!hca.owner_fabric().passes_straight()) return list;
    transport::straight_traffic traffic;
    {
        const dispatch::detail::spin_guard guard(peer->receive_lock);
        if (peer->revision == straight.revision_of_peer)
            list = engine.pass_straight(list, peer->engine, traffic);
        else
            straight.examined = 0;
    }
    straight.add(traffic);
    peer->request_reports();
    return list;
}

} // namespace irpverbs::hca_software
