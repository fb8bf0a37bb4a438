// The path to the destination of an active id.
#include "guarded.hpp"

#include <saa/queries.hpp>
#include <verbs/objects.hpp>

#include <cstdlib>

namespace irpverbs::rdmacm {

namespace {

/// The query for the path from a port to an address.
saa::query_template<sa_path_record_t> path_to(const ip_endpoint& to, const port_identity& from) {
    saa::path_criteria criteria;
    criteria.sgid = from.gids.front();
    if (to.is_loopback())
        criteria.dgid = criteria.sgid;
    else if (to.lid() == 0)
        criteria.dgid = to.gid();
    auto wanted = saa::path_template(criteria);
    if (to.lid() != 0) {
        wanted.record.DLID = to.lid();
        wanted.components |= SA_PR_COMPMASK_DLID;
    }
    return wanted;
}

// Binds an id without a device to the first port that may reach the destination, with an address of
// its family.
int bind_for(cm_id& id, const ip_endpoint& to) {
    if (id.at != nullptr) return may_reach(*id.at, to) ? 0 : ENETUNREACH;
    local_port* const port = find_port_to(to);
    if (port == nullptr) return ENETUNREACH;
    const auto own = identity_of(*port).own(to.family);
    if (!own) return EADDRNOTAVAIL;
    ip_endpoint address = to.is_loopback() ? to : *own;
    address.port = id.is_bound() ? id.source().port : 0;
    if (!id.is_bound()) {
        if (const int error = bind(id, address, false); error != 0) return error;
    } else {
        id.set_source(address);
    }
    if (id.at == nullptr || !to.is_loopback()) id.bind_to(*port);
    return 0;
}

// A group needs no path: joining it finds the way.
int resolve_group(cm_id& id, const ip_endpoint& to) {
    id.set_destination(to);
    id.resolved = std::make_unique<queued_event>();
    id.report_address();
    return 0;
}

// An address of loopback names the port itself, unless the port is on the loopback interface.
bool names_itself(const ip_endpoint& address, const local_port& port) {
    return address.is_loopback() && !identity_of(port).own(address.family)->is_loopback();
}

// The source is the path's, unless the program has chosen one.
void choose_source(cm_id& id, bool is_chosen) {
    ip_endpoint source = id.source();
    if (is_chosen && !source.is_any() && !names_itself(source, *id.at)) {
        id.path.SGID = source.gid();
        return;
    }
    const std::uint16_t port = source.port;
    source = from_gid(id.path.SGID);
    source.port = port;
    id.set_source(source);
}

int resolve_on_ethernet(cm_id& id, const ip_endpoint& to, bool has_source) {
    if (const int error = open_manager(*id.at); error != 0) return error;
    id.set_destination(to);
    id.resolved = std::make_unique<queued_event>();
    const ib_gid_t address =
        names_itself(to, *id.at) ? identity_of(*id.at).own(to.family)->gid() : to.gid();
    if (!NT_SUCCESS(CmQueryEthernetPath(id.at->cm, &address, &id.path))) {
        id.report_no_address();
        return 0;
    }
    choose_source(id, has_source);
    id.report_path();
    return 0;
}

int resolve(cm_id& id, const ip_endpoint& to) {
    const bool has_source = id.is_bound();
    if (const int error = bind_for(id, to); error != 0) return error;
    if (to.is_multicast()) return resolve_group(id, to);
    if (is_ethernet(*id.at)) return resolve_on_ethernet(id, to, has_source);
    if (const int error = open_session(*id.at); error != 0) return error;
    const port_identity from = identity_of(*id.at);
    auto wanted = path_to(to, from);
    id.set_destination(to);
    id.resolved = std::make_unique<queued_event>();
    id.access = {};
    const ibmf_saa_access_args_t args{SA_PATHRECORD_ATTRID,
                                      IBMF_SAA_RETRIEVE,
                                      wanted.components,
                                      &wanted.record,
                                      sizeof(wanted.record),
                                      nullptr,
                                      nullptr};
    const bool started = id.resolve.start(
        [&](IRP* irp) { saa::detail::start_access(irp, id.access, id.at->sa, args, 0); });
    return started ? 0 : EINVAL;
}

int bind_and_resolve(cm_id& id, const std::optional<ip_endpoint>& from, const ip_endpoint& to) {
    if (from && !id.is_bound()) {
        if (const int error = bind(id, *from, from->port != 0); error != 0) return error;
    }
    return resolve(id, to);
}

// The numbers of ibv_sa_path_rec are in network byte order.
ibv_sa_path_rec as_libibverbs(const sa_path_record_t& from) {
    ibv_sa_path_rec made{};
    made.dgid = verbs::as_libibverbs(from.DGID);
    made.sgid = verbs::as_libibverbs(from.SGID);
    made.dlid = htobe16(from.DLID);
    made.slid = htobe16(from.SLID);
    made.raw_traffic = from.RawTraffic;
    made.flow_label = htobe32(from.FlowLabel);
    made.hop_limit = from.HopLimit;
    made.traffic_class = from.TClass;
    made.reversible = from.Reversible;
    made.numb_path = from.NumbPath;
    made.pkey = htobe16(from.P_Key);
    made.sl = from.SL;
    made.mtu_selector = from.MtuSelector;
    made.mtu = from.Mtu;
    made.rate_selector = from.RateSelector;
    made.rate = from.Rate;
    made.packet_life_time_selector = from.PacketLifeTimeSelector;
    made.packet_life_time = from.PacketLifeTime;
    made.preference = from.Preference;
    return made;
}

// A group has no path.
int show_route(cm_id& id) {
    auto event = std::make_unique<queued_event>();
    auto* const shown = static_cast<ibv_sa_path_rec*>(std::malloc(sizeof(ibv_sa_path_rec)));
    if (shown == nullptr) return ENOMEM;
    if (!id.has_path() || !id.advance(progress::address_resolved, progress::route_resolved)) {
        std::free(shown);
        return EINVAL;
    }
    *shown = as_libibverbs(id.path);
    std::free(std::exchange(id.route.path_rec, shown));
    id.route.num_paths = 1;
    id.emit(std::move(event), RDMA_CM_EVENT_ROUTE_RESOLVED);
    return 0;
}

} // namespace

void cm_id::resolve_ended(void* context, NTSTATUS, ULONG_PTR) {
    cm_id& self = *static_cast<cm_id*>(context);
    const saa::detail::record_block& records = self.access.records;
    const bool found =
        self.access.status == IBMF_SUCCESS && records.length >= sizeof(sa_path_record_t);
    if (!found) return self.report_no_address();
    self.path = *static_cast<const sa_path_record_t*>(records.bytes.get());
    self.report_path();
}

void cm_id::report_path() {
    rdma_ib_addr& way = route.addr.addr.ibaddr;
    way.sgid = verbs::as_libibverbs(path.SGID);
    way.dgid = verbs::as_libibverbs(path.DGID);
    way.pkey = htobe16(path.P_Key);
    report_address();
}

void cm_id::report_address() {
    stage = progress::address_resolved;
    emit(std::move(resolved), RDMA_CM_EVENT_ADDR_RESOLVED);
}

// The program may try again.
void cm_id::report_no_address() {
    stage = progress::none;
    emit(std::move(resolved), RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH);
}

} // namespace irpverbs::rdmacm

using namespace irpverbs::rdmacm;

extern "C" {

int irpverbs_rdma_resolve_addr(rdma_cm_id* shown, sockaddr* from, sockaddr* to, int) {
    return guarded([&] {
        cm_id& id = cm_id::of(shown);
        const auto destination = parse(to);
        if (!destination) return EAFNOSUPPORT;
        if (!id.advance(progress::none, progress::resolving_address)) return EINVAL;
        const int error = bind_and_resolve(id, parse(from), *destination);
        if (error != 0) id.stage = progress::none;
        return error;
    });
}

int irpverbs_rdma_resolve_route(rdma_cm_id* id, int) {
    return guarded([&] { return show_route(cm_id::of(id)); });
}

} // extern "C"
