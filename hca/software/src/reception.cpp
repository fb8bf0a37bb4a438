// The reception of a datagram at its node: an agent of the node answers it, a client's agent
// receives it, or it is dropped.
#include "adapter.hpp"
#include "key_checks.hpp"
#include "pma.hpp"
#include "sma.hpp"

#include <utility>

namespace irpverbs::hca_software {

namespace {

// Each class has its queue pair, and QP0 accepts neither GRH nor multicasts. Source: IBA 13.4.2,
// 13.5.1.
bool has_valid_qp(packet& what) {
    if (what.payload != nullptr) return false;
    const mad_header mad = header_of(what.mad);
    if (mad.base() != base_version || mad.is_subnet_management() != what.is_smp()) return false;
    return what.is_smp() ? !what.global && !what.is_multicast() : what.to_qp == 1;
}

bool is_request(const mad_header& mad) {
    return mad.method() == method_get || mad.method() == method_set;
}

// The TransactionIDs of the node's own traps have no client's number.
bool represses_own_trap(const mad_header& mad) {
    return mad.method() == method_trap_repress && mad.transaction() >> 32 == 0;
}

// Answers a request of an unknown class. Source: IBA 13.4.7.
void reject(packet& request) {
    mad_header header = header_of(request.mad);
    header.set_method(header.method() | response_bit);
    header.set_status(status_bad_attribute);
}

// Addresses the response: exchanges source and destination, with the P_Key of the port's table.
// Source: IBA 13.5.4.
void swap_addresses(packet& what, const port& at) {
    std::swap(what.from, what.to);
    std::swap(what.from_qp, what.to_qp);
    std::swap(what.route.from, what.route.to);
    if (const auto index = find_pkey(at, what.pkey)) what.pkey = at.pkeys[*index];
}

} // namespace

void fabric::respond(packet* what) {
    port& in = *what->at;
    swap_addresses(*what, in.owner->end_port(in));
    send(in, what);
}

bool fabric::deliver_to_client(packet* what) {
    adapter* attached = what->at->owner->attached.get();
    if (attached == nullptr || !attached->agents().has_receiver(*what)) return false;
    attached->agents().deliver(what);
    return true;
}

// Subnet management: the node itself answers all requests except SMInfo.
void fabric::arrive_smp(packet* what) {
    const mad_header mad = header_of(what->mad);
    const bool own = is_request(mad) && mad.attribute() != sm_info_id;
    if (!own && deliver_to_client(what)) return;
    if (is_request(mad) && respond_to_smp(*this, *what)) return respond(what);
    if (represses_own_trap(mad) && allowed_by_mkey(*this, *what))
        traps_.repress(what->at->owner->end_port(*what->at), static_cast<ULONG>(mad.transaction()));
    packets_.free(what);
}

// Linux, too, rejects requests for connections while no process has a service.
static bool is_refused(packet& what) {
    const mad_header mad = header_of(what.mad);
    return what.at->owner->attached != nullptr && !what.is_multicast() &&
           mad.management_class() == class_connections && mad.method() == method_send &&
           mad.class_version() == connections_version && refuse_without_manager(what.mad);
}

// Other classes: a client's agent has precedence over the node's.
void fabric::arrive_gmp(packet* what) {
    port& at = what->at->owner->end_port(*what->at);
    if (!accepts(*this, at, *what)) return packets_.free(what);
    if (deliver_to_client(what)) return;
    if (is_refused(*what)) return respond(what);
    const mad_header mad = header_of(what->mad);
    if (!is_request(mad) || what->is_multicast()) return packets_.free(what);
    if (mad.management_class() == class_performance) {
        count_straight();
        if (mad.method() == method_set) routes_changed(); // a port may be sampled from now on
        respond_to_performance(*what);
    } else {
        reject(*what);
    }
    respond(what);
}

// An agent's own QP, on an HCA. A datagram without a receiver is dropped silently.
void fabric::arrive_at_agent_qp(packet* what) {
    adapter* attached = what->at->owner->attached.get();
    const IB_MAD_KEYS* keys = attached != nullptr ? attached->agents().find_keys(*what) : nullptr;
    if (keys == nullptr || !accepts(*this, *what->at, *what, keys)) return packets_.free(what);
    attached->agents().deliver(what);
}

void fabric::arrive_at_queue_pair(packet* what) {
    adapter* attached = what->at->owner->attached.get();
    if (attached == nullptr) return packets_.free(what);
    if (what->is_multicast()) {
        attached->traffic().deliver_to_group(*what);
        packets_.free(what);
    } else if (!attached->traffic().deliver(what)) {
        packets_.free(what);
    }
}

// A packet for which the pool has no room is lost.
void fabric::arrive_from_ethernet(port& at, datagram&& what) {
    count_received(at, what);
    packet* taken = packets_.allocate();
    if (taken == nullptr) return;
    static_cast<datagram&>(*taken) = std::move(what);
    taken->at = &at;
    arrive(taken);
}

void fabric::wake(const event_scheduler::event& due) {
    if (adapter* attached = due.at->owner->attached.get())
        attached->traffic().wake(due.woken, due.due);
}

void fabric::arrive(packet* what) {
    const adapter* attached = what->at->owner->attached.get();
    const bool failed = attached != nullptr && HcaIsFailed(attached->device());
    if (!failed && what->transport_headers != 0)
        arrive_at_queue_pair(what);
    else if (!failed && what->to_qp > 1)
        arrive_at_agent_qp(what);
    else if (failed || !has_valid_qp(*what))
        packets_.free(what);
    else if (what->is_smp())
        arrive_smp(what);
    else
        arrive_gmp(what);
}

} // namespace irpverbs::hca_software
