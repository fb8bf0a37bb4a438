// The route of a datagram: over links, and through switches by their programmed tables. The whole
// route is computed when the datagram is sent; the delays are added up.
#include "admission.hpp"
#include "directed_route.hpp"

namespace irpverbs::hca_software {

namespace {

constexpr machine_time link_delay = 5; // 500 ns, including the delay of a switch
constexpr unsigned most_links = 64;    // per route
constexpr unsigned most_copies = 8;
constexpr unsigned most_legs = 1u << 13; // per multicast tree

struct leg {
    port* at; // the port of arrival at a node; on the first hop the sending port
    machine_time when;
    unsigned links = 0;
    unsigned copies = 0; // additional copies
};

enum class fate { lost, arrived, leaves };

struct decision {
    fate what = fate::lost;
    port* out = nullptr;
};

class journey {
public:
    journey(fabric& where, packet_stock& stock, wire& arrivals, packet& what)
        : where_(where), stock_(stock), arrivals_(arrivals), what_(what) {}

    void go(port& from);

private:
    void follow(leg at);
    decision decide(const leg& at);
    decision decide_by_lid(const leg& at);
    bool leave(leg& at, port& out);
    bool take_time(leg& at, port& out);
    void branch(const leg& at);
    void arrive(const leg& at);

    fabric& where_;
    packet_stock& stock_;
    wire& arrivals_;
    packet& what_;
    std::vector<leg> branches_; // not yet followed
    unsigned legs_ = 0;         // number so far
    bool kept_ = false;         // the packet itself has arrived, not a copy
};

UCHAR out_port(const node& here, ib_lid_t to) {
    const bool known = to <= here.routing.linear_top && to < here.forwarding.size();
    return known ? here.forwarding[to] : node::no_port;
}

bool passes(const port& out, const datagram& what) {
    if (!out.linked() || what.length() > bytes_of_mtu(out)) return false;
    const IB_PORT_STATE least = what.managing() ? IB_PORT_INIT : IB_PORT_ACTIVE;
    return out.state >= least && out.peer->state >= least;
}

void journey::go(port& from) {
    branches_.reserve(what_.multicast() ? 16 : 0);
    follow({&from, KeQueryInterruptTime()});
    while (!branches_.empty()) {
        const leg next = branches_.back();
        branches_.pop_back();
        follow(next);
    }
    if (!kept_) stock_.give(&what_);
}

// Follows one branch until the datagram arrives, is lost, or branches.
void journey::follow(leg at) {
    while (at.links < most_links) {
        if (what_.multicast() && at.at->owner->switches()) return branch(at);
        const decision next = decide(at);
        if (next.what == fate::arrived) return arrive(at);
        if (next.what == fate::lost || !leave(at, *next.out)) return;
    }
}

decision journey::decide(const leg& at) {
    port& here = *at.at;
    const bool first = at.links == 0;
    if (header_of(what_.mad).management_class() == class_directed && what_.managing() &&
        (what_.to == IB_LID_PERMISSIVE || here.owner->end_port(here).has(what_.to))) {
        const directed_step step =
            take_directed_step(what_.mad, *here.owner, first ? 0 : here.number);
        switch (step.what) {
        case directed_step::discard:
            return {};
        case directed_step::deliver:
            return {fate::arrived};
        case directed_step::leave:
            what_.from = what_.to = IB_LID_PERMISSIVE;
            if (first && !here.owner->switches() && step.out != here.number) return {};
            return {fate::leaves, &here.owner->ports[step.out]};
        case directed_step::route:
            what_.from = here.owner->end_port(here).lid;
            what_.to = step.lid;
            break;
        }
    }
    return decide_by_lid(at);
}

decision journey::decide_by_lid(const leg& at) {
    port& here = *at.at;
    const bool first = at.links == 0;
    if (what_.to == IB_LID_PERMISSIVE) {
        if (!what_.managing()) return {};
        return first && here.number != 0 ? decision{fate::leaves, &here} : decision{fate::arrived};
    }
    if (here.owner->end_port(here).has(what_.to)) return {fate::arrived};
    if (!here.owner->switches()) {
        if (what_.multicast() && !first) return {fate::arrived};
        return first ? decision{fate::leaves, &here} : decision{};
    }
    const UCHAR out = out_port(*here.owner, what_.to);
    const bool back = !first && out == here.number;
    if (out == 0 || out >= here.owner->ports.size() || back) {
        ++here.counters.RelayErrors;
        return {};
    }
    return {fate::leaves, &here.owner->ports[out]};
}

// Sends the datagram over the cable. Returns false if it was lost there.
bool journey::leave(leg& at, port& out) {
    if (!passes(out, what_)) {
        ++out.counters.TransmitDiscards;
        return false;
    }
    if (!may_leave(where_, what_, out)) return false;
    count_sent(out, what_);
    if (!take_time(at, out)) return false;
    port& in = *out.peer;
    count_received(in, what_);
    if (!may_enter(where_, what_, in)) return false;
    at.at = &in;
    ++at.links;
    return true;
}

// Applies the delay and the faults of a link. Returns false if the datagram was lost.
bool journey::take_time(leg& at, port& out) {
    mishap met;
    if (out.faults != nullptr) met = draw_mishap(*out.faults, at.when);
    if (met.flaps) {
        where_.plug(out, false);
        arrivals_.post_mending(at.when + out.faults->wanted.FlapTime * microsecond, out);
    }
    if (met.damaged) ++out.peer->counters.ReceiveErrors;
    if (met.lost) return false;
    if (met.doubled) at.copies = std::min(at.copies + 1, most_copies);
    const machine_time entered = at.when;
    at.when += link_delay + met.late;
    if (!met.overtaken) at.when = out.last_sent.stay_behind(entered, at.when);
    return true;
}

void journey::branch(const leg& at) {
    node& here = *at.at->owner;
    const std::size_t first = (what_.to - IB_LID_MULTICAST_FIRST) * here.masks();
    if (first + here.masks() > here.multicasting.size()) return;
    for (port& out : here.ports) {
        const USHORT mask = here.multicasting[first + out.number / node::ports_a_mask];
        if ((mask >> out.number % node::ports_a_mask & 1) == 0 || &out == at.at) continue;
        leg next = at;
        if (out.number == 0)
            arrive(at);
        else if (++legs_ <= most_legs && leave(next, out))
            branches_.push_back(next);
    }
}

void journey::arrive(const leg& at) {
    for (unsigned i = 0; i <= at.copies; ++i) {
        const bool itself = i == at.copies && !what_.multicast();
        packet* arriving = itself ? &what_ : stock_.copy(what_);
        if (arriving == nullptr) {
            at.at->counters.Vl15Dropped += what_.managing() ? 1 : 0;
            continue;
        }
        kept_ |= itself;
        arriving->at = at.at;
        arrivals_.post(at.when + link_delay, arriving);
    }
}

} // namespace

void fabric::send(port& from, packet* what) { journey(*this, packets_, wire_, *what).go(from); }

} // namespace irpverbs::hca_software
