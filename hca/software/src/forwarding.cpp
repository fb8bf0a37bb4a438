// The route of a datagram: over links, and through switches by their programmed tables. The whole
// route is computed when the datagram is sent; the delays are added up.
#include "directed_route.hpp"
#include "key_checks.hpp"

#include "roce/ethernet_port.hpp"

#include <dispatch/support/faults.hpp>

#include <new>

namespace irpverbs::hca_software {

namespace {

constexpr machine_time link_delay = 5; // 500 ns, including the delay of a switch
constexpr unsigned max_links = 64;     // per route
constexpr unsigned max_copies = 8;
constexpr unsigned max_tree_hops = 1u << 13; // per multicast tree

struct hop {
    port* at; // the port of arrival at a node; on the first hop the sending port
    machine_time when;
    unsigned links = 0;
    unsigned copies = 0; // additional copies
};

enum class verdict { lost, delivered, forwarded };

struct decision {
    verdict what = verdict::lost;
    port* out = nullptr;
};

class packet_walk {
public:
    packet_walk(fabric& where, packet_pool& pool, event_scheduler& scheduler, packet& what)
        : where_(where), pool_(pool), scheduler_(scheduler), what_(what) {}

    void start(port& from);

private:
    void walk(port& from);
    void follow(hop at);
    decision decide(const hop& at);
    decision decide_by_lid(const hop& at, bool first);
    bool traverse(hop& at, port& out);
    bool apply_link_faults(hop& at, port& out);
    void flap(port& out, machine_time when);
    void branch(const hop& at);
    void arrive(const hop& at);

    fabric& where_;
    packet_pool& pool_;
    event_scheduler& scheduler_;
    packet& what_;
    std::vector<hop> branches_;  // not yet followed
    unsigned hops_ = 0;          // number so far
    bool original_used_ = false; // the packet itself was delivered, not a copy
};

UCHAR out_port(const node& here, ib_lid_t to) {
    const bool known = to <= here.routing.linear_top && to < here.forwarding.size();
    return known ? here.forwarding[to] : node::no_port;
}

// The way of a datagram with a LID from a port at which it is; on the first hop the sending port.
// `lost` on a switch: its table has no way.
decision next_by_table(port& here, const datagram& what, bool is_first) {
    if (here.owner->end_port(here).has(what.to)) return {verdict::delivered};
    if (!here.owner->switches()) {
        if (what.is_multicast() && !is_first) return {verdict::delivered};
        return is_first ? decision{verdict::forwarded, &here} : decision{};
    }
    const UCHAR out = out_port(*here.owner, what.to);
    const bool back = !is_first && out == here.number;
    if (out == 0 || out >= here.owner->ports.size() || back) return {};
    return {verdict::forwarded, &here.owner->ports[out]};
}

bool can_pass(const port& out, const datagram& what) {
    if (!out.linked() || what.length() > bytes_of_mtu(out)) return false;
    const IB_PORT_STATE least = what.is_smp() ? IB_PORT_INIT : IB_PORT_ACTIVE;
    return out.state >= least && out.peer->state >= least;
}

void packet_walk::start(port& from) {
    try {
        walk(from);
    } catch (const std::bad_alloc&) { // the branches that are left are lost
    }
    if (!original_used_) pool_.free(&what_);
}

void packet_walk::walk(port& from) {
    branches_.reserve(what_.is_multicast() ? 16 : 0);
    const hop begin{&from, KeQueryInterruptTime()};
    // The sender's port replicates a queue pair's multicast, too. Source: IBA 10.5.2.
    if (what_.is_multicast() && what_.transport_headers != 0) arrive(begin);
    follow(begin);
    while (!branches_.empty()) {
        const hop next = branches_.back();
        branches_.pop_back();
        follow(next);
    }
}

// Follows one branch until the datagram arrives, is lost, or branches.
void packet_walk::follow(hop at) {
    while (at.links < max_links) {
        if (what_.is_multicast() && at.at->owner->switches()) return branch(at);
        const decision next = decide(at);
        if (next.what == verdict::delivered) return arrive(at);
        if (next.what == verdict::lost || !traverse(at, *next.out)) return;
    }
}

decision packet_walk::decide(const hop& at) {
    port& here = *at.at;
    const bool first = at.links == 0;
    if (what_.is_smp() && header_of(what_.mad).management_class() == class_directed &&
        (what_.to == IB_LID_PERMISSIVE || here.owner->end_port(here).has(what_.to))) {
        const directed_step step =
            advance_directed_route(what_.mad, *here.owner, first ? 0 : here.number);
        switch (step.what) {
        case directed_step::discard:
            return {};
        case directed_step::deliver:
            return {verdict::delivered};
        case directed_step::forward:
            what_.from = what_.to = IB_LID_PERMISSIVE;
            if (first && !here.owner->switches() && step.out != here.number) return {};
            return {verdict::forwarded, &here.owner->ports[step.out]};
        case directed_step::route:
            what_.from = here.owner->end_port(here).lid;
            what_.to = step.lid;
            return decide_by_lid(at, true); // sent anew: the way may be the one that it came
        }
    }
    return decide_by_lid(at, first);
}

decision packet_walk::decide_by_lid(const hop& at, bool first) {
    port& here = *at.at;
    if (what_.to == IB_LID_PERMISSIVE) {
        if (!what_.is_smp()) return {};
        return first && here.number != 0 ? decision{verdict::forwarded, &here}
                                         : decision{verdict::delivered};
    }
    const decision next = next_by_table(here, what_, first);
    if (next.what == verdict::lost && here.owner->switches()) ++here.counters.RelayErrors;
    return next;
}

// Sends the datagram over the cable. Returns false if it was lost there.
bool packet_walk::traverse(hop& at, port& out) {
    if (!can_pass(out, what_)) {
        ++out.counters.TransmitDiscards;
        return false;
    }
    if (!passes_outbound(where_, what_, out)) return false;
    count_sent(out, what_);
    if (!apply_link_faults(at, out)) return false;
    port& in = *out.peer;
    count_received(in, what_);
    if (!passes_inbound(where_, what_, in)) return false;
    at.at = &in;
    ++at.links;
    return true;
}

// Without memory for the repair the cable is repaired at once.
void packet_walk::flap(port& out, machine_time when) {
    where_.plug(out, false);
    const machine_time repaired = when + out.faults->configured.FlapTime * microsecond;
    if (!scheduler_.post_cable_repair(repaired, out)) where_.plug(out, true);
}

// Applies the delay and the faults of a link. Returns false if the datagram was lost.
bool packet_walk::apply_link_faults(hop& at, port& out) {
    fault_outcome outcome;
    if (out.faults != nullptr) outcome = choose_faults(*out.faults, at.when);
    if (outcome.flaps) flap(out, at.when);
    if (outcome.corrupted) ++out.peer->counters.ReceiveErrors;
    if (outcome.lost) return false;
    if (outcome.duplicated) at.copies = std::min(at.copies + 1, max_copies);
    const machine_time entered = at.when;
    at.when += link_delay + outcome.delay;
    if (!outcome.reordered) at.when = out.fifo.apply(entered, at.when);
    return true;
}

void packet_walk::branch(const hop& at) {
    if (dispatch::detail::fault_point("hca.software.branch")) throw std::bad_alloc();
    node& here = *at.at->owner;
    const std::size_t first = (what_.to - IB_LID_MULTICAST_FIRST) * here.masks();
    if (first + here.masks() > here.multicasting.size()) return;
    for (port& out : here.ports) {
        const USHORT mask = here.multicasting[first + out.number / node::ports_per_mask];
        if ((mask >> out.number % node::ports_per_mask & 1) == 0 || &out == at.at) continue;
        hop next = at;
        if (out.number == 0)
            arrive(at);
        else if (++hops_ <= max_tree_hops && traverse(next, out))
            branches_.push_back(next);
    }
}

void packet_walk::arrive(const hop& at) {
    for (unsigned i = 0; i <= at.copies; ++i) {
        const bool itself = i == at.copies && !what_.is_multicast();
        packet* arriving = itself ? &what_ : pool_.copy(what_);
        if (arriving == nullptr) {
            at.at->counters.Vl15Dropped += what_.is_smp() ? 1 : 0;
            continue;
        }
        arriving->at = at.at;
        if (scheduler_.post(at.when + link_delay, arriving))
            original_used_ |= itself;
        else if (!itself)
            pool_.free(arriving);
    }
}

bool is_plain(port& out, const datagram& what) {
    return can_pass(out, what) && out.faults == nullptr && may_leave(out, what) &&
           may_enter(*out.peer, what);
}

bool is_sampled(const port& at) {
    const port_samples& samples = at.owner->samples;
    return samples.of == &at && samples.status(KeQueryInterruptTime()) != samples_done;
}

} // namespace

bool fabric::find_route(port& from, const datagram& first, straight_route& route) {
    route = {};
    route.route_words = hca_software::route_words(first);
    port* at = &from;
    for (unsigned links = 0; !first.is_multicast(); ++links) {
        const decision next = next_by_table(*at, first, links == 0);
        route.end = at;
        if (next.what != verdict::forwarded) return next.what == verdict::delivered;
        if (!is_plain(*next.out, first) || !route.add(*next.out)) return false;
        at = next.out->peer;
        route.is_sampled |= is_sampled(*next.out) || is_sampled(*at);
    }
    return false;
}

void fabric::send(port& from, packet* what) {
    if (from.ethernet == nullptr)
        return packet_walk(*this, packets_, scheduler_, *what).start(from);
    count_sent(from, *what);
    from.ethernet->send(*what);
    packets_.free(what);
}

} // namespace irpverbs::hca_software
