#include "straight_path.hpp"

#include "adapter.hpp"
#include "key_checks.hpp"
#include "queue_pair.hpp"

#include <utility>

namespace irpverbs::hca_software {

namespace {

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

void straight_path::count() {
    const transport::straight_traffic before =
        std::exchange(counted_, totals.read(terms->is_acknowledged));
    forth.count(counted_.requests - before.requests, counted_.request_words - before.request_words);
    back.count(counted_.responses - before.responses,
               counted_.response_words - before.response_words);
}

queue_pair* queue_pair::examined_peer() {
    const fabric& where = hca.owner_fabric();
    if (straight.examined != where.examination()) examine_path();
    return where.passes_straight() ? straight.to : nullptr;
}

// A peer that does not expect this connection yet is asked again with the next post.
void queue_pair::examine_path() {
    fabric& where = hca.owner_fabric();
    leave_path();
    straight.examined = 0;
    if (engine.state() != IB_QPS_RTS) return;
    straight.examined = where.examination();
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
        if (!by.engine.is_joined_to(engine) ||
            !is_end_of(*this, *by.straight.forth.end, first_packet(other, by)) ||
            !where.find_route(own, first, by.straight.back) || by.straight.back.is_sampled ||
            !is_end_of(by, *by.straight.back.end, first))
            return false;
        source = &by;
        by.straight.to = this;
        by.straight.terms.emplace(by.engine, engine);
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

} // namespace irpverbs::hca_software
