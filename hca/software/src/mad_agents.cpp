#include "mad_agents.hpp"

#include "adapter.hpp"
#include "key_checks.hpp"
#include "qp_table.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace irpverbs::hca_software {

namespace {

/// HCA_MAD_AGENT.Extension
struct agent_extension {
    ULONG number;     // the high half of the TransactionIDs of its requests
    IB_MAD_KEYS keys; // keys of its own QP; guarded by the fabric's lock
};

agent_extension& extension_of(const HCA_MAD_AGENT& agent) {
    return *static_cast<agent_extension*>(agent.Extension);
}

constexpr ib_qpn_t last_qp_number = first_qp_number - 1; // queue pairs of verbs have the others

bool has_own_qp(const HCA_MAD_AGENT& agent) { return agent.Agent.Attr.QpKind != IB_MAD_QP_SHARED; }

bool same_kind(const IB_MAD_AGENT_ATTR& one, const IB_MAD_AGENT_ATTR& other) {
    return one.PortNumber == other.PortNumber && one.ManagementClass == other.ManagementClass &&
           one.ClassVersion == other.ClassVersion && std::ranges::equal(one.Oui, other.Oui);
}

bool manages_connections(const IB_MAD_AGENT_ATTR& agent) {
    return agent.QpKind == IB_MAD_QP_SHARED && agent.ManagementClass == class_connections &&
           agent.ClassVersion == connections_version &&
           (agent.MethodMask[0] >> method_send & 1) != 0;
}

// SA access of each process subscribes for itself.
bool receives_reports(const IB_MAD_AGENT_ATTR& agent) {
    return agent.QpKind == IB_MAD_QP_SHARED && agent.ManagementClass == class_administration &&
           agent.MethodMask[0] == 1u << method_report;
}

bool share_a_method(const IB_MAD_AGENT_ATTR& one, const IB_MAD_AGENT_ATTR& other) {
    for (std::size_t i = 0; i < std::size(one.MethodMask); ++i)
        if ((one.MethodMask[i] & other.MethodMask[i]) != 0) return true;
    return false;
}

bool is_of_any_oui(const IB_MAD_AGENT_ATTR& agent) {
    return IbClassHasOui(agent.ManagementClass) &&
           std::ranges::all_of(agent.Oui, [](UCHAR each) { return each == 0; });
}

bool receives(const IB_MAD_AGENT_ATTR& agent, const mad_header& mad) {
    if (agent.ManagementClass != mad.management_class()) return false;
    if (agent.ClassVersion != mad.class_version()) return false;
    if (IbClassHasOui(agent.ManagementClass) && !is_of_any_oui(agent) &&
        !std::ranges::equal(agent.Oui, std::span(mad.bytes + oui_offset, 3)))
        return false;
    return (agent.MethodMask[mad.method() / 32] >> mad.method() % 32 & 1) != 0;
}

// Both classes of subnet management are sent by an agent of either: OpenSM sends its LID-routed
// SMPs by the agent of the directed-route ones.
bool sends_class(const HCA_MAD_AGENT& agent, UCHAR management_class) {
    const UCHAR own = agent.Agent.Attr.ManagementClass;
    return own == management_class || (on_qp0(own) && on_qp0(management_class));
}

bool expects_response(const HCA_MAD_AGENT& agent, const mad_header& mad) {
    return sends_class(agent, mad.management_class()) &&
           extension_of(agent).number == mad.transaction() >> 32;
}

// Returns the index of the GID in the receiving port's table, or 0.
UCHAR gid_index(const port& at, const ib_gid_t& gid) {
    const auto place = std::ranges::find(at.gids, gid);
    return place == at.gids.end() ? UCHAR{0} : static_cast<UCHAR>(place - at.gids.begin());
}

// `keys`: those of the agent's own QP that received the datagram, or null.
IB_MAD_ADDRESS address_of(const packet& what, const IB_MAD_KEYS* keys) {
    const port& at = *what.at;
    IB_MAD_ADDRESS from{};
    from.Lid = what.from;
    from.ServiceLevel = what.service_level;
    if (at.has(what.to)) from.PathBits = static_cast<UCHAR>(what.to - at.lid);
    const auto entry = keys != nullptr ? find_membership(at, keys->PKey) : find_pkey(at, what.pkey);
    from.PKeyIndex = static_cast<USHORT>(entry.value_or(0));
    from.Qp = what.from_qp;
    if (!what.is_smp()) from.QKey = keys != nullptr ? keys->QKey : IB_QP1_QKEY;
    if (!what.global) return from;
    from.Flags = IB_MAD_GRH;
    from.Gid = what.route.from;
    from.FlowLabel = what.route.flow_label;
    from.GidIndex = gid_index(at, what.route.to);
    from.HopLimit = what.route.hop_limit;
    from.TrafficClass = what.route.traffic_class;
    return from;
}

bool valid_route(const port& from, const IB_MAD_ADDRESS& to) {
    if ((to.Flags & IB_MAD_GRH) == 0) return from.ethernet == nullptr;
    return to.GidIndex < from.gids.size();
}

bool valid_shared(const HCA_MAD_AGENT& agent, const port& from, const IB_MAD_SEND& what) {
    return sends_class(agent, static_cast<const UCHAR*>(what.Data)[1]) &&
           what.To.PKeyIndex < from.pkeys.size();
}

bool valid_own(const HCA_MAD_AGENT& agent, const port& from, const IB_MAD_SEND& what) {
    return what.To.Qp != 0 && what.Length <= bytes_of_mtu(from) &&
           find_membership(from, extension_of(agent).keys.PKey).has_value();
}

/// The queue pair that sends a datagram.
struct sender {
    ib_qpn_t qp;
    std::size_t pkey_index;
    ib_qkey_t qkey;
};

sender sender_of(const HCA_MAD_AGENT& agent, const port& from, const IB_MAD_SEND& what) {
    if (!has_own_qp(agent))
        return {on_qp0(agent.Agent.Attr.ManagementClass) ? 0u : 1u, what.To.PKeyIndex, IB_QP1_QKEY};
    const IB_MAD_KEYS& keys = extension_of(agent).keys;
    return {agent.Agent.Attr.Qp, *find_membership(from, keys.PKey), keys.QKey};
}

void address(packet& what, const port& from, const IB_MAD_ADDRESS& to, const sender& by) {
    const auto bits = static_cast<ib_lid_t>(to.PathBits & ((1u << from.lmc) - 1));
    what.from =
        to.Lid == IB_LID_PERMISSIVE ? IB_LID_PERMISSIVE : static_cast<ib_lid_t>(from.lid | bits);
    what.to = to.Lid;
    what.service_level = to.ServiceLevel & 0xF;
    what.pkey = from.pkeys[by.pkey_index];
    what.from_qp = by.qp;
    what.to_qp = to.Qp;
    // A Q_Key with the highest bit set stands for that of the queue pair. Source: IBA 10.2.5.
    what.qkey = (to.QKey & 0x80000000) != 0 ? by.qkey : to.QKey;
    what.global = (to.Flags & IB_MAD_GRH) != 0;
    if (!what.global) return;
    what.route.from = from.gids[to.GidIndex];
    what.route.to = to.Gid;
    what.route.flow_label = to.FlowLabel & 0xFFFFF;
    what.route.hop_limit = to.HopLimit;
    what.route.traffic_class = to.TrafficClass;
}

// Copies the content; QPs for MADs pad it to the size of a MAD. Returns false if there is no
// memory.
bool write_payload(packet& what, const HCA_MAD_AGENT& by, const IB_MAD_SEND& from) try {
    const auto* bytes = static_cast<const UCHAR*>(from.Data);
    if (by.Agent.Attr.QpKind == IB_MAD_QP_OWN_RAW && from.Length != IB_MAD_SIZE)
        what.payload = std::make_shared<const std::vector<UCHAR>>(bytes, bytes + from.Length);
    else
        std::fill(std::copy_n(bytes, from.Length, what.mad.begin()), what.mad.end(), UCHAR{0});
    return true;
} catch (const std::bad_alloc&) {
    return false;
}

mad_agents& agents_of(const HCA_MAD_AGENT* agent) {
    return adapter::of(agent->Ca->Device).agents();
}

port& port_of(const HCA_MAD_AGENT* agent) {
    return *adapter::of(agent->Ca->Device).find_port(agent->Agent.Attr.PortNumber);
}

} // namespace

/// The data of an up-call.
struct mad_agents::report_data {
    mad_bytes mad;
    shared_payload payload;
    IB_MAD_RECEIVED received{};
};

const SIZE_T mad_agents::extension_size = sizeof(agent_extension);

mad_agents::mad_agents(fabric& where) : fabric_(where), routes_(where.packets()) {
    KeInitializeDpc(&dpc_, report_some, this);
}

bool mad_agents::conflicts(const IB_MAD_AGENT_ATTR& with) const {
    if (manages_connections(with)) return false;
    return std::ranges::any_of(agents_, [&](const HCA_MAD_AGENT* each) {
        const IB_MAD_AGENT_ATTR& other = each->Agent.Attr;
        return same_kind(other, with) && share_a_method(other, with) &&
               !(receives_reports(other) && receives_reports(with));
    });
}

HCA_MAD_AGENT* mad_agents::find_qp(const port& at, ib_qpn_t qp) {
    const auto place = std::ranges::find_if(agents_, [&](const HCA_MAD_AGENT* each) {
        const IB_MAD_AGENT_ATTR& attr = each->Agent.Attr;
        return has_own_qp(*each) && attr.PortNumber == at.number && attr.Qp == qp;
    });
    return place == agents_.end() ? nullptr : *place;
}

// Numbers count up, so a datagram to a freed QP does not reach another one.
ib_qpn_t mad_agents::next_qp() {
    const auto used = [&](const HCA_MAD_AGENT* each) { return each->Agent.Attr.Qp == last_qp_; };
    do
        last_qp_ = last_qp_ == last_qp_number ? 2 : last_qp_ + 1;
    while (std::ranges::any_of(agents_, used));
    return last_qp_;
}

NTSTATUS mad_agents::add(HCA_MAD_AGENT& agent, const port& at) {
    IB_MAD_AGENT_ATTR& attr = agent.Agent.Attr;
    if (attr.Rmpp != IB_MAD_RMPP_BY_CLIENT) return STATUS_NOT_SUPPORTED;
    if (at.ethernet != nullptr && on_qp0(attr.ManagementClass)) return STATUS_NOT_SUPPORTED;
    return fabric_.with_lock([&] {
        if (!has_own_qp(agent)) {
            if (conflicts(attr)) return STATUS_SHARING_VIOLATION;
        } else {
            if (!find_membership(at, attr.Keys.PKey)) return STATUS_INVALID_PARAMETER;
            attr.Qp = next_qp();
            extension_of(agent).keys = attr.Keys;
        }
        extension_of(agent).number = fabric_.next_number();
        managers_.reserve(agents_.size() + 1);
        agents_.push_back(&agent);
        return STATUS_SUCCESS;
    });
}

NTSTATUS mad_agents::modify(HCA_MAD_AGENT& agent, const port& at, const IB_MAD_KEYS& keys) {
    return fabric_.with_lock([&] {
        if (!find_membership(at, keys.PKey)) return STATUS_INVALID_PARAMETER;
        extension_of(agent).keys = keys;
        return STATUS_SUCCESS;
    });
}

NTSTATUS mad_agents::remove(HCA_MAD_AGENT& agent, port& at, IRP* irp) {
    const auto send_to = [&](const IB_MAD_ADDRESS& to, mad_bytes mad) {
        send_valid(agent, at, {to, mad.data(), IB_MAD_SIZE, 0});
    };
    routes_.remove(agent, managers_of(at.number), send_to, [&](packet* each) { deliver(each); });
    std::erase(agents_, &agent);
    if (active_agent_ != &agent) return STATUS_SUCCESS;
    IoMarkIrpPending(irp);
    pending_removal_ = irp;
    return STATUS_PENDING;
}

NTSTATUS mad_agents::send(HCA_MAD_AGENT& agent, port& from, const IB_MAD_SEND& what) {
    const bool own = has_own_qp(agent);
    if (!valid_route(from, what.To) ||
        !(own ? valid_own(agent, from, what) : valid_shared(agent, from, what)))
        return STATUS_INVALID_PARAMETER;
    if (manages_connections(agent.Agent.Attr)) {
        mad_bytes mad{};
        std::memcpy(mad.data(), what.Data, what.Length);
        const connection_routes::decision made =
            routes_.note_sent({agent, what.To, mad.data()}, managers_of(from.number));
        if (made.again != nullptr) deliver(made.again);
        if (!made.is_sent) return STATUS_SUCCESS;
    }
    send_valid(agent, from, what);
    return STATUS_SUCCESS;
}

void mad_agents::send_valid(const HCA_MAD_AGENT& agent, port& from, const IB_MAD_SEND& what) {
    packet* sent = fabric_.packets().allocate();
    if (sent == nullptr || !write_payload(*sent, agent, what)) { // counts as a lost datagram
        if (sent != nullptr) fabric_.packets().free(sent);
        ++from.counters.TransmitDiscards;
        return;
    }
    address(*sent, from, what.To, sender_of(agent, from, what));
    mad_header header = header_of(sent->mad);
    if (!has_own_qp(agent) && !header.is_response()) {
        const auto low = static_cast<ULONG>(header.transaction());
        header.set_transaction(std::uint64_t{extension_of(agent).number} << 32 | low);
    }
    fabric_.send(from, sent);
}

const IB_MAD_KEYS* mad_agents::find_keys(packet& what) {
    if (what.is_multicast() || what.from_qp == 0) return nullptr;
    HCA_MAD_AGENT* owner = find_qp(*what.at, what.to_qp);
    if (owner == nullptr) return nullptr;
    const bool is_mad = what.payload == nullptr && header_of(what.mad).base() == base_version;
    return is_mad || owner->Agent.Attr.QpKind == IB_MAD_QP_OWN_RAW ? &extension_of(*owner).keys
                                                                   : nullptr;
}

connection_routes::managers mad_agents::managers_of(UCHAR port) {
    managers_.clear();
    std::ranges::copy_if(agents_, std::back_inserter(managers_), [&](const HCA_MAD_AGENT* each) {
        return manages_connections(each->Agent.Attr) && each->Agent.Attr.PortNumber == port;
    });
    return managers_;
}

HCA_MAD_AGENT* mad_agents::find_number(ULONG number) const {
    const auto place = std::ranges::find_if(
        agents_, [&](const HCA_MAD_AGENT* each) { return extension_of(*each).number == number; });
    return place == agents_.end() ? nullptr : *place;
}

HCA_MAD_AGENT* mad_agents::find_receiver(packet& what) {
    if (what.for_agent != 0) return find_number(what.for_agent);
    if (what.to_qp > 1) return find_qp(*what.at, what.to_qp);
    const mad_header mad = header_of(what.mad);
    if (mad.management_class() == class_connections && mad.method() == method_send &&
        mad.class_version() == connections_version) {
        const connection_routes::managers all = managers_of(what.at->number);
        return all.empty() ? nullptr : routes_.receiver(what, all);
    }
    HCA_MAD_AGENT* of_any_oui = nullptr;
    for (HCA_MAD_AGENT* each : agents_) {
        const IB_MAD_AGENT_ATTR& attr = each->Agent.Attr;
        if (has_own_qp(*each) || attr.PortNumber != what.at->number) continue;
        if (!(mad.is_response() ? expects_response(*each, mad) : receives(attr, mad))) continue;
        if (mad.is_response() || !is_of_any_oui(attr)) return each;
        of_any_oui = each;
    }
    return of_any_oui;
}

// All agents for reports receive a report, beside the one that receives it anyway.
void mad_agents::share_report(packet& what) {
    const mad_header mad = header_of(what.mad);
    if (what.to_qp != 1 || mad.management_class() != class_administration ||
        mad.method() != method_report)
        return;
    const HCA_MAD_AGENT* const first = find_receiver(what);
    for (const HCA_MAD_AGENT* each : agents_) {
        const IB_MAD_AGENT_ATTR& attr = each->Agent.Attr;
        if (each == first || !receives_reports(attr) || attr.PortNumber != what.at->number ||
            !receives(attr, mad))
            continue;
        packet* const copy = fabric_.packets().copy(what);
        if (copy == nullptr) return;
        copy->for_agent = extension_of(*each).number;
        arrived_.push(copy);
    }
}

void mad_agents::deliver(packet* what) {
    share_report(*what);
    arrived_.push(what);
    if (delivering_) return;
    delivering_ = true;
    KeInsertQueueDpc(&dpc_, nullptr, nullptr);
}

// Drops datagrams for agents that have been deregistered. Null: no more.
HCA_MAD_AGENT* mad_agents::next_report(report_data& data) {
    return fabric_.with_lock([&] {
        while (packet* what = arrived_.pop()) {
            active_agent_ = find_receiver(*what);
            if (active_agent_ != nullptr) {
                if (manages_connections(active_agent_->Agent.Attr))
                    routes_.note_received(*what, *active_agent_,
                                          managers_of(what->at->number).size() == 1);
                data.payload = what->payload;
                if (data.payload == nullptr) data.mad = what->mad;
                data.received = {address_of(*what, has_own_qp(*active_agent_)
                                                       ? &extension_of(*active_agent_).keys
                                                       : nullptr),
                                 data.payload != nullptr ? data.payload->data() : data.mad.data(),
                                 static_cast<ULONG>(what->length())};
            }
            fabric_.packets().free(what);
            if (active_agent_ != nullptr) return active_agent_;
        }
        delivering_ = false;
        return active_agent_;
    });
}

IRP* mad_agents::end_report() {
    return fabric_.with_lock([&] {
        active_agent_ = nullptr;
        return std::exchange(pending_removal_, nullptr);
    });
}

void mad_agents::report(unsigned turns) {
    report_data data;
    for (unsigned turn = 0; turn < turns; ++turn) {
        HCA_MAD_AGENT* agent = next_report(data);
        if (agent == nullptr) return;
        HcaReportMad(agent, &data.received);
        if (IRP* removed = end_report()) HcaComplete(removed, STATUS_SUCCESS, 0);
    }
    KeInsertQueueDpc(&dpc_, nullptr, nullptr); // other DPCs run between
}

void mad_agents::report_some(KDPC*, void* context, void*, void*) {
    static_cast<mad_agents*>(context)->report(max_per_run);
}

NTSTATUS register_mad_agent(HCA_MAD_AGENT* agent, PIRP) {
    return agents_of(agent).add(*agent, port_of(agent));
}

NTSTATUS modify_mad_agent(HCA_MAD_AGENT* agent, const IB_MAD_KEYS* keys, PIRP) {
    return agents_of(agent).modify(*agent, port_of(agent), *keys);
}

NTSTATUS deregister_mad_agent(HCA_MAD_AGENT* agent, PIRP irp) {
    adapter& self = adapter::of(agent->Ca->Device);
    port& at = port_of(agent);
    return self.owner_fabric().change([&] { return self.agents().remove(*agent, at, irp); });
}

NTSTATUS send_mad(HCA_MAD_AGENT* agent, const IB_MAD_SEND* send, PIRP) {
    adapter& self = adapter::of(agent->Ca->Device);
    port& from = port_of(agent);
    return self.owner_fabric().change([&] { return self.agents().send(*agent, from, *send); });
}

} // namespace irpverbs::hca_software
