#include "membership.hpp"

#include "guarded.hpp"

#include <verbs/library.h>
#include <verbs/objects.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

namespace irpverbs::rdmacm {

namespace {

constexpr std::uint16_t ipv4_signature = 0x401B;
constexpr std::uint16_t ipv6_signature = 0x601B;
constexpr std::uint16_t assigned_signature = 0xA01B; // an MGID that an SA has chosen
constexpr std::uint32_t multicast_qp = 0xFF'FFFF;
constexpr std::uint8_t hop_limit_on_ethernet = 64; // as rdma_cm has it

/// The number of the process's ids in each group of each port: the SA knows ports only.
struct group_table {
    using key = std::tuple<const local_port*, std::uint64_t, std::uint64_t>;

    std::mutex lock;
    std::map<key, unsigned> members;
};

group_table& all_groups() {
    static auto* const only = new group_table; // programs may use ids while they exit
    return *only;
}

group_table::key key_of(const local_port& port, const ib_gid_t& group) {
    return {&port, group.gid_prefix, group.gid_guid};
}

void count_member(const local_port& port, const ib_gid_t& group) {
    const std::lock_guard guard(all_groups().lock);
    ++all_groups().members[key_of(port, group)];
}

// Returns whether it was the last one.
bool discount_member(const local_port& port, const ib_gid_t& group) {
    const std::lock_guard guard(all_groups().lock);
    auto& members = all_groups().members;
    const auto place = members.find(key_of(port, group));
    if (place == members.end() || --place->second != 0) return false;
    members.erase(place);
    return true;
}

ib_pkey_t first_pkey(const local_port& port) {
    __be16 key = 0;
    irpverbs_ibv_query_pkey(port.device->context, port.number, 0, &key);
    return be16toh(key);
}

ibv_ah_attr way_to(const sa_mcmember_record_t& group, std::uint8_t port, std::uint8_t own_gid) {
    ibv_ah_attr made{};
    made.dlid = group.MLID;
    made.sl = group.SL;
    made.static_rate = group.Rate;
    made.port_num = port;
    made.is_global = 1;
    made.grh.sgid_index = own_gid;
    made.grh.dgid = verbs::as_libibverbs(group.MGID);
    made.grh.flow_label = group.FlowLabel;
    made.grh.hop_limit = group.HopLimit;
    made.grh.traffic_class = group.TClass;
    return made;
}

} // namespace

ib_gid_t group_of(const ip_endpoint& address, ib_pkey_t p_key, rdma_port_space ps) {
    if (address.is_any()) return {};
    const ib_gid_t own = address.gid();
    const bool is_ipv4 = address.family == AF_INET;
    if (!is_ipv4 && static_cast<std::uint16_t>(own.gid_prefix >> 32) == assigned_signature)
        return own;
    std::uint16_t signature = is_ipv4 ? ipv4_signature : ipv6_signature;
    if (ps == RDMA_PS_UDP) signature = static_cast<std::uint16_t>((signature & 0xFF00) | 1);
    const std::uint64_t link_local = std::uint64_t{0xFF12} << 48;
    const std::uint64_t rest = is_ipv4 ? 0 : own.gid_prefix & 0xFFFF;
    return {link_local | std::uint64_t{signature} << 32 | std::uint64_t{p_key} << 16 | rest,
            is_ipv4 ? own.gid_guid & 0x0FFF'FFFF : own.gid_guid};
}

void membership::begin(const ib_gid_t& group) {
    event_ = std::make_unique<queued_event>();
    record_.MGID = counted_ = group;
    record_.Q_Key = IB_CM_UDP_QKEY;
    count_member(*owner.at, counted_);
}

int membership::join(std::uint8_t join_state) {
    const local_port& port = *owner.at;
    if (!access_.reserve(saa::detail::request_stack_size())) return ENOMEM;
    record_.P_Key = first_pkey(port);
    begin(group_of(address, record_.P_Key, owner.ps));
    record_.PortGID = identity_of(port).gids.front();
    record_.JoinState = join_state;
    std::uint64_t components = SA_MC_COMPMASK_PORTGID | SA_MC_COMPMASK_PKEY | SA_MC_COMPMASK_QKEY |
                               SA_MC_COMPMASK_JOINSTATE | SA_MC_COMPMASK_SL |
                               SA_MC_COMPMASK_FLOWLABEL | SA_MC_COMPMASK_TCLASS;
    if (!address.is_any()) components |= SA_MC_COMPMASK_MGID;
    request(IBMF_SAA_UPDATE, components);
    return 0;
}

void membership::join_on_ethernet(std::uint8_t join_state) {
    begin(address.gid());
    record_.HopLimit = hop_limit_on_ethernet;
    record_.JoinState = join_state;
    set_joined();
    cm_id::emit(owner, event_);
}

void membership::request(ibmf_saa_access_type_t type, std::uint64_t components) {
    result_ = {};
    const ibmf_saa_access_args_t args{SA_MCMEMBERRECORD_ATTRID, type,    components, &record_,
                                      sizeof(record_),          nullptr, nullptr};
    access_.start(
        [&](IRP* irp) { saa::detail::start_access(irp, result_, owner.at->sa, args, 0); });
}

// The end of leaving needs no report.
void membership::ended(void* context, NTSTATUS status, ULONG_PTR) {
    membership& self = *static_cast<membership*>(context);
    if (self.event_ != nullptr && status != STATUS_CANCELLED) self.report();
}

void membership::report() {
    if (result_.status == IBMF_SUCCESS && result_.records.length >= sizeof(record_)) {
        record_ = *static_cast<const sa_mcmember_record_t*>(result_.records.bytes.get());
        is_member_ = true;
        set_joined();
    } else {
        set_event(RDMA_CM_EVENT_MULTICAST_ERROR, -EINVAL);
    }
    cm_id::emit(owner, event_);
}

void membership::set_event(rdma_cm_event_type type, int status) {
    event_->id = owner.shown();
    event_->joined = this;
    event_->param.ud.private_data = context;
    event_->status = status;
    event_->event = type;
}

void membership::set_joined() {
    set_event(RDMA_CM_EVENT_MULTICAST_JOIN, 0);
    event_->param.ud.qp_num = multicast_qp;
    event_->param.ud.qkey = record_.Q_Key;
    event_->param.ud.ah_attr = way_to(record_, owner.at->number, own_gid_index());
}

// A fabric's groups are reached from the first GID; a group of IP from the id's own address.
std::uint8_t membership::own_gid_index() const {
    if (is_member_) return 0;
    const port_identity port = identity_of(*owner.at);
    const ip_endpoint bound = owner.source();
    const auto own = bound.is_any() ? port.own(address.family) : bound;
    if (!own) return 0;
    const auto place = std::ranges::find(port.gids, own->gid());
    return place != port.gids.end() ? static_cast<std::uint8_t>(place - port.gids.begin()) : 0;
}

int membership::attach() {
    if (owner.qp == nullptr || (record_.JoinState & SA_MC_JOIN_FULL) == 0) return 0;
    const ibv_gid group = verbs::as_libibverbs(record_.MGID);
    const int error = irpverbs_ibv_attach_mcast(owner.qp, &group, record_.MLID);
    is_attached_ = error == 0;
    return error;
}

void membership::leave() {
    if (std::exchange(has_left, true)) return;
    cancel();
    const ibv_gid group = verbs::as_libibverbs(record_.MGID);
    if (std::exchange(is_attached_, false) && owner.qp != nullptr)
        irpverbs_ibv_detach_mcast(owner.qp, &group, record_.MLID);
    const bool is_last = discount_member(*owner.at, counted_) || address.is_any();
    if (is_member_ && is_last)
        request(IBMF_SAA_DELETE,
                SA_MC_COMPMASK_MGID | SA_MC_COMPMASK_PORTGID | SA_MC_COMPMASK_JOINSTATE);
}

// The kernel attaches nothing: the library does, on the program's thread.
void finish_join(queued_event& event) {
    const int error = event.joined->attach();
    if (error == 0) return;
    event.event = RDMA_CM_EVENT_MULTICAST_ERROR;
    event.status = -error;
}

} // namespace irpverbs::rdmacm

using namespace irpverbs::rdmacm;

namespace {

int join(cm_id& id, const sockaddr* address, std::uint8_t join_state, void* context) {
    const auto group = parse(address);
    if (!group) return EAFNOSUPPORT;
    if (id.at == nullptr || !id.is_datagram()) return EINVAL;
    const auto add = [&]() -> membership& {
        return *id.groups.emplace_back(std::make_unique<membership>(id, *group, context));
    };
    if (is_ethernet(*id.at)) {
        if (!group->is_multicast()) return EINVAL;
        add().join_on_ethernet(join_state);
        return 0;
    }
    if (const int error = open_session(*id.at); error != 0) return error;
    return add().join(join_state);
}

int leave(cm_id& id, const sockaddr* address) {
    const auto group = parse(address);
    if (!group) return EAFNOSUPPORT;
    const auto place = std::ranges::find_if(id.groups, [&](const auto& each) {
        return !each->has_left && each->address.same_address(*group);
    });
    if (place == id.groups.end()) return EADDRNOTAVAIL;
    (*place)->leave();
    return 0;
}

constexpr std::uint32_t known_attributes =
    RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

} // namespace

extern "C" {

int irpverbs_rdma_join_multicast(rdma_cm_id* id, sockaddr* address, void* context) {
    return guarded([&] { return join(cm_id::of(id), address, SA_MC_JOIN_FULL, context); });
}

int irpverbs_rdma_join_multicast_ex(rdma_cm_id* id, rdma_cm_join_mc_attr_ex* attr, void* context) {
    return guarded([&] {
        if ((attr->comp_mask & ~known_attributes) != 0 ||
            (attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_ADDRESS) == 0)
            return EINVAL;
        const std::uint32_t flag = (attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS) != 0
                                       ? attr->join_flags
                                       : std::uint32_t{RDMA_MC_JOIN_FLAG_FULLMEMBER};
        if (flag >= RDMA_MC_JOIN_FLAG_RESERVED) return EINVAL;
        return join(cm_id::of(id), attr->addr,
                    flag == RDMA_MC_JOIN_FLAG_FULLMEMBER ? SA_MC_JOIN_FULL
                                                         : SA_MC_JOIN_SEND_ONLY_FULL,
                    context);
    });
}

int irpverbs_rdma_leave_multicast(rdma_cm_id* id, sockaddr* address) {
    return guarded([&] { return leave(cm_id::of(id), address); });
}

} // extern "C"
