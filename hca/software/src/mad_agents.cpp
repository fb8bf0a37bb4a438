#include "mad_agents.hpp"

#include "adapter.hpp"
#include "admission.hpp"

#include <algorithm>

namespace irpverbs::hca_software {

namespace {

/// HCA_MAD_AGENT.Extension
struct agent_part {
    ULONG number; // the high half of its requests' TransactionIDs
};

agent_part& part_of(const HCA_MAD_AGENT& agent) {
    return *static_cast<agent_part*>(agent.Extension);
}

bool same_kind(const IB_MAD_AGENT_ATTR& one, const IB_MAD_AGENT_ATTR& other) {
    return one.PortNumber == other.PortNumber && one.ManagementClass == other.ManagementClass &&
           one.ClassVersion == other.ClassVersion && std::ranges::equal(one.Oui, other.Oui);
}

bool share_a_method(const IB_MAD_AGENT_ATTR& one, const IB_MAD_AGENT_ATTR& other) {
    for (std::size_t i = 0; i < std::size(one.MethodMask); ++i)
        if ((one.MethodMask[i] & other.MethodMask[i]) != 0) return true;
    return false;
}

bool receives(const IB_MAD_AGENT_ATTR& agent, const mad_header& mad) {
    if (agent.ManagementClass != mad.management_class()) return false;
    if (agent.ClassVersion != mad.class_version()) return false;
    if (has_oui(agent.ManagementClass) &&
        !std::ranges::equal(agent.Oui, std::span(mad.bytes + oui_offset, 3)))
        return false;
    return (agent.MethodMask[mad.method() / 32] >> mad.method() % 32 & 1) != 0;
}

bool asked(const HCA_MAD_AGENT& agent, const mad_header& mad) {
    return agent.Agent.Attr.ManagementClass == mad.management_class() &&
           part_of(agent).number == mad.transaction() >> 32;
}

// Of the receiving port: where it sits in the table, if anywhere.
UCHAR gid_index(const port& at, const ib_gid_t& gid) {
    const auto same = [&](const ib_gid_t& each) {
        return each.gid_prefix == gid.gid_prefix && each.gid_guid == gid.gid_guid;
    };
    const auto place = std::ranges::find_if(at.gids, same);
    return place == at.gids.end() ? UCHAR{0} : static_cast<UCHAR>(place - at.gids.begin());
}

IB_MAD_ADDRESS address_of(const packet& what) {
    const port& at = *what.at;
    IB_MAD_ADDRESS from{};
    from.Lid = what.from;
    from.ServiceLevel = what.service_level;
    if (at.has(what.to)) from.PathBits = static_cast<UCHAR>(what.to - at.lid);
    from.PKeyIndex = static_cast<USHORT>(find_pkey(at, what.pkey).value_or(0));
    from.Qp = what.from_qp;
    if (!what.managing()) from.QKey = IB_QP1_QKEY;
    if (!what.global) return from;
    from.Flags = IB_MAD_GRH;
    from.Gid = what.route.from;
    from.FlowLabel = what.route.flow_label;
    from.GidIndex = gid_index(at, what.route.to);
    from.HopLimit = what.route.hop_limit;
    from.TrafficClass = what.route.traffic_class;
    return from;
}

bool valid(const port& from, const IB_MAD_ADDRESS& to) {
    const bool global = (to.Flags & IB_MAD_GRH) != 0;
    return to.PKeyIndex < from.pkeys.size() && (!global || to.GidIndex < from.gids.size());
}

// A Q_Key with the highest bit set stands for the queue pair's own. Source: IBA 10.2.5.
ib_qkey_t qkey_sent(ib_qkey_t asked_for) {
    return (asked_for & 0x80000000) != 0 ? IB_QP1_QKEY : asked_for;
}

void address(packet& what, const port& from, const IB_MAD_ADDRESS& to) {
    const auto bits = static_cast<ib_lid_t>(to.PathBits & ((1u << from.lmc) - 1));
    what.from =
        to.Lid == IB_LID_PERMISSIVE ? IB_LID_PERMISSIVE : static_cast<ib_lid_t>(from.lid | bits);
    what.to = to.Lid;
    what.service_level = to.ServiceLevel & 0xF;
    what.pkey = from.pkeys[to.PKeyIndex];
    what.to_qp = to.Qp;
    what.qkey = qkey_sent(to.QKey);
    what.global = (to.Flags & IB_MAD_GRH) != 0;
    if (!what.global) return;
    what.route.from = from.gids[to.GidIndex];
    what.route.to = to.Gid;
    what.route.flow_label = to.FlowLabel & 0xFFFFF;
    what.route.hop_limit = to.HopLimit;
    what.route.traffic_class = to.TrafficClass;
}

mad_agents& agents_of(const HCA_MAD_AGENT* agent) {
    return adapter::of(agent->Ca->Device).agents();
}

} // namespace

const SIZE_T mad_agents::extension_size = sizeof(agent_part);

mad_agents::mad_agents(fabric& where) : fabric_(where) {
    KeInitializeDpc(&dpc_, report_some, this);
}

bool mad_agents::conflicts(const IB_MAD_AGENT_ATTR& with) const {
    return std::ranges::any_of(agents_, [&](const HCA_MAD_AGENT* each) {
        return same_kind(each->Agent.Attr, with) && share_a_method(each->Agent.Attr, with);
    });
}

NTSTATUS mad_agents::add(HCA_MAD_AGENT& agent) {
    const IB_MAD_AGENT_ATTR& attr = agent.Agent.Attr;
    if (attr.Rmpp != IB_MAD_RMPP_BY_CLIENT) return STATUS_NOT_SUPPORTED;
    return fabric_.look([&] {
        if (conflicts(attr)) return STATUS_SHARING_VIOLATION;
        part_of(agent).number = fabric_.next_number();
        agents_.push_back(&agent);
        return STATUS_SUCCESS;
    });
}

NTSTATUS mad_agents::remove(HCA_MAD_AGENT& agent, IRP* irp) {
    return fabric_.look([&] {
        std::erase(agents_, &agent);
        if (called_ != &agent) return STATUS_SUCCESS;
        IoMarkIrpPending(irp);
        remover_ = irp;
        return STATUS_PENDING;
    });
}

NTSTATUS mad_agents::send(const HCA_MAD_AGENT& agent, port& from, const IB_MAD_SEND& what) {
    const auto* bytes = static_cast<const UCHAR*>(what.Data);
    if (bytes[1] != agent.Agent.Attr.ManagementClass || !valid(from, what.To))
        return STATUS_INVALID_PARAMETER;
    packet* sent = fabric_.packets().take();
    if (sent == nullptr) { // as if it had been lost
        ++from.counters.TransmitDiscards;
        return STATUS_SUCCESS;
    }
    address(*sent, from, what.To);
    sent->from_qp = on_qp0(bytes[1]) ? 0 : 1;
    std::fill(std::copy_n(bytes, what.Length, sent->mad.begin()), sent->mad.end(), UCHAR{0});
    mad_header header = header_of(sent->mad);
    if (!header.answers()) {
        const auto own = static_cast<ULONG>(header.transaction());
        header.set_transaction(std::uint64_t{part_of(agent).number} << 32 | own);
    }
    fabric_.send(from, sent);
    return STATUS_SUCCESS;
}

HCA_MAD_AGENT* mad_agents::find_taker(packet& what) {
    const mad_header mad = header_of(what.mad);
    const auto place = std::ranges::find_if(agents_, [&](const HCA_MAD_AGENT* each) {
        if (each->Agent.Attr.PortNumber != what.at->number) return false;
        return mad.answers() ? asked(*each, mad) : receives(each->Agent.Attr, mad);
    });
    return place == agents_.end() ? nullptr : *place;
}

void mad_agents::deliver(packet* what) {
    arrived_.push(what);
    if (delivering_) return;
    delivering_ = true;
    KeInsertQueueDpc(&dpc_, nullptr, nullptr);
}

// What has come for agents that are gone is dropped. Null: no more.
HCA_MAD_AGENT* mad_agents::next_report(mad_bytes& data, IB_MAD_RECEIVED& received) {
    return fabric_.look([&] {
        while (packet* what = arrived_.pop()) {
            called_ = find_taker(*what);
            if (called_ != nullptr) {
                data = what->mad;
                received = {address_of(*what), data.data(), IB_MAD_SIZE};
            }
            fabric_.packets().give(what);
            if (called_ != nullptr) return called_;
        }
        delivering_ = false;
        return called_;
    });
}

IRP* mad_agents::end_report() {
    return fabric_.look([&] {
        called_ = nullptr;
        return std::exchange(remover_, nullptr);
    });
}

void mad_agents::report(unsigned turns) {
    mad_bytes data;
    IB_MAD_RECEIVED received{};
    for (unsigned turn = 0; turn < turns; ++turn) {
        HCA_MAD_AGENT* agent = next_report(data, received);
        if (agent == nullptr) return;
        HcaReportMad(agent, &received);
        if (IRP* removed = end_report()) HcaComplete(removed, STATUS_SUCCESS, 0);
    }
    KeInsertQueueDpc(&dpc_, nullptr, nullptr); // others want to run, too
}

void mad_agents::report_some(KDPC*, void* context, void*, void*) {
    static_cast<mad_agents*>(context)->report(most_a_turn);
}

NTSTATUS register_mad_agent(HCA_MAD_AGENT* agent, PIRP) { return agents_of(agent).add(*agent); }

NTSTATUS deregister_mad_agent(HCA_MAD_AGENT* agent, PIRP irp) {
    return agents_of(agent).remove(*agent, irp);
}

NTSTATUS send_mad(HCA_MAD_AGENT* agent, const IB_MAD_SEND* send, PIRP) {
    adapter& self = adapter::of(agent->Ca->Device);
    port& from = *self.find_port(agent->Agent.Attr.PortNumber);
    return self.where().change([&] { return self.agents().send(*agent, from, *send); });
}

} // namespace irpverbs::hca_software
