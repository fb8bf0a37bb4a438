#include "configuration.hpp"

#include <algorithm>

namespace irpverbs::subnet_manager {

namespace {

constexpr std::uint8_t subnet_timeout = 18; // 1 s
constexpr std::uint8_t life_time = 18;      // of a packet in a switch
constexpr std::uint32_t can_reregister = 0x02000000;
constexpr std::size_t keys_per_block = 32;
constexpr std::uint8_t inbound_and_outbound = 0xC; // of PartitionChecks
constexpr ib_pkey_t full_member = 0x8000;

sm_pkey_table_t block_of(std::span<const ib_pkey_t> keys, std::size_t number) {
    return pkey_block(keys, static_cast<std::uint16_t>(number));
}

std::size_t blocks_of(std::size_t keys) { return (keys + keys_per_block - 1) / keys_per_block; }

// The modifier of a port's own P_KeyTable is the block; that of a switch's external port includes
// the port.
std::uint32_t modifier_of(port_ref at, bool is_outer, std::size_t block) {
    return (is_outer ? std::uint32_t{at.port} << 16 : 0u) | static_cast<std::uint32_t>(block);
}

} // namespace

bool same_settings(const sm_portinfo_t& a, const sm_portinfo_t& b) {
    const auto settings_of = [](const sm_portinfo_t& info) {
        return std::tuple(info.GidPrefix, info.LID, info.LMC, info.MasterSMLID, info.MasterSMSL,
                          info.SubnetTimeOut, info.NeighborMTU, info.OperationalVLs,
                          info.PartitionChecks);
    };
    return settings_of(a) == settings_of(b);
}

template <class Visit>
void configuration::for_each_port(const Visit& visit) {
    for (node_index node = 0; node < of_.nodes.nodes().size(); ++node)
        for (std::size_t port = 0; port < of_.nodes[node].ports.size(); ++port)
            visit(port_ref{node, static_cast<std::uint8_t>(port)});
}

void configuration::run(std::function<void()> done) {
    invalidate_restarted();
    write_tables();
    batch_.when_done([this, done = std::move(done)] {
        set_up_ports();
        batch_.when_done([this, done] {
            activate_ports();
            batch_.when_done([this, done] {
                check_states();
                done();
            });
        });
    });
}

// A port without its assigned LID has restarted.
void configuration::invalidate_restarted() {
    std::vector<ib_guid_t> present;
    for (const port_ref end : of_.nodes.end_ports()) {
        const subnet_port& port = of_.nodes.at(end);
        present.push_back(port.guid);
        if (port.info.LID != of_.lids.of(port.guid).base) programmed_.invalidate(port.guid);
    }
    std::ranges::sort(present);
    programmed_.invalidate_except(present);
}

bool configuration::has_lid(port_ref at) const {
    return at.port == 0 || !of_.nodes[at.node].is_switch();
}

template <class Host>
void configuration::write_block(port_ref at, const programmed_state::block& which,
                                const Host& host) {
    tables_.write(at.node, which,
                  set_smp(of_.route_to(at), std::get<1>(which), std::get<2>(which), host));
}

void configuration::write_tables() {
    for (node_index node = 0; node < of_.nodes.nodes().size(); ++node)
        if (of_.nodes[node].is_switch() && of_.nodes.at({node, 0}).was_read) write_switch(node);
    for (const port_ref end : of_.nodes.end_ports())
        write_keys(end);
    for_each_port([this](port_ref at) {
        if (can_enforce(at)) write_enforcement(at);
    });
}

// Writes the table before LinearFDBTop, since the switch ignores entries above it.
void configuration::write_switch(node_index at) {
    const subnet_node& node = of_.nodes[at];
    const directed_route& route = of_.route_to({at, 0});
    for (std::size_t i = 0; i < of_.tables.blocks(at); ++i) {
        const auto number = static_cast<std::uint16_t>(i);
        write_block({at, 0}, {node.ports[0].guid, sm_linear_table, number},
                    of_.tables.block(at, number));
    }
    sm_switchinfo_t info = node.switch_info;
    const ib_lid_t top = of_.lids.top();
    if (info.LinearFDBTop == top && info.LifeTimeValue == life_time) return;
    info.LinearFDBTop = top;
    info.LifeTimeValue = life_time;
    batch_.send(set_smp(route, sm_switch_info, 0, info), [this, at](const smp_response& response) {
        const auto now = unpack<sm_switchinfo_t>(response.data);
        if (response.success() && now)
            of_.nodes.set_switch(at, *now);
        else
            incomplete_ = true;
    });
}

void configuration::write_keys(port_ref end) {
    const std::size_t capacity =
        std::max<std::size_t>(of_.nodes[end.node].info.PartitionCap, std::size_t{1});
    const std::vector<ib_pkey_t> keys = of_.keys_of(end);
    if (keys.size() > capacity) incomplete_ = true;
    write_key_table(end, keys, capacity);
}

// Writes all blocks: a port boots with the default partition's key, and an earlier manager may have
// left more keys than this one assigns.
void configuration::write_key_table(port_ref at, std::span<const ib_pkey_t> keys,
                                    std::size_t capacity) {
    const std::span<const ib_pkey_t> taken = keys.first(std::min(keys.size(), capacity));
    const bool is_outer = !has_lid(at);
    const ib_guid_t guid = of_.nodes.at(is_outer ? port_ref{at.node, 0} : at).guid;
    for (std::size_t i = 0; i < blocks_of(capacity); ++i)
        write_block(at, {guid, sm_pkey_table, modifier_of(at, is_outer, i)}, block_of(taken, i));
}

// Returns the keys of the host behind a switch's port, each with full membership, so that the
// switch never drops a packet between two limited members. The end ports check that one of them is
// a full member.
std::vector<ib_pkey_t> configuration::permitted_keys(port_ref at) const {
    std::vector<ib_pkey_t> keys = of_.keys_of(of_.nodes.at(at).peer);
    for (ib_pkey_t& each : keys)
        each |= full_member;
    return keys;
}

// The switch enforces partitions only toward hosts, and only with whole tables, as in OpenSM.
// Source: IBA 14.2.5.4 (SwitchInfo).
bool configuration::can_enforce(port_ref at) const {
    const port_ref host = of_.nodes.at(at).peer;
    if (has_lid(at) || !host.valid() || of_.nodes[host.node].is_switch()) return false;
    const sm_switchinfo_t& can = of_.nodes[at.node].switch_info;
    return (can.PartitionChecks & inbound_and_outbound) == inbound_and_outbound &&
           of_.keys_of(host).size() <= can.PartitionEnforcementCap;
}

void configuration::write_enforcement(port_ref at) {
    write_key_table(at, permitted_keys(at), of_.nodes[at.node].switch_info.PartitionEnforcementCap);
}

// The enforcement starts after the whole table is written.
bool configuration::enforces(port_ref at) const {
    if (!can_enforce(at)) return false;
    const std::vector<ib_pkey_t> keys = permitted_keys(at);
    const ib_guid_t guid = of_.nodes.at({at.node, 0}).guid;
    for (std::size_t i = 0; i < blocks_of(of_.nodes[at.node].switch_info.PartitionEnforcementCap);
         ++i) {
        smp_data wanted{};
        pack(block_of(keys, i), wanted);
        if (!programmed_.holds({guid, sm_pkey_table, modifier_of(at, true, i)}, wanted))
            return false;
    }
    return true;
}

void configuration::set_port(port_ref at, const sm_portinfo_t& info, bool is_new) {
    const std::uint32_t number = at.port;
    batch_.send(set_smp(of_.route_to(at), sm_port_info, number, info),
                [this, at, is_new](const smp_response& response) {
                    const auto now = unpack<sm_portinfo_t>(response.data);
                    if (!response.success() || !now) return void(incomplete_ = true);
                    of_.nodes.set_port(at, *now);
                    if (is_new) programmed_.known_ports.insert(of_.nodes.at(at).guid);
                });
}

// Returns the PortInfo as read, except for the manager's own settings; 0 leaves states, widths and
// speeds unchanged.
sm_portinfo_t configuration::wanted(port_ref at) const {
    const subnet_port& port = of_.nodes.at(at);
    sm_portinfo_t info = port.info;
    info.PortState = info.PortPhysicalState = info.LinkDownDefaultState = 0;
    info.LinkWidthEnabled = info.LinkSpeedEnabled = info.LinkSpeedExtEnabled = 0;
    info.ClientReregister = 0;
    if (port.peer.valid()) {
        const sm_portinfo_t& far = of_.nodes.at(port.peer).info;
        info.NeighborMTU = std::min(info.MTUCap, far.MTUCap);
        info.OperationalVLs = std::min(info.VLCap, far.VLCap);
    }
    if (!has_lid(at)) {
        info.PartitionChecks &= static_cast<std::uint8_t>(~inbound_and_outbound);
        if (enforces(at)) info.PartitionChecks |= inbound_and_outbound;
        return info;
    }
    const lid_range lids = of_.lids.of(port.guid);
    info.M_Key = 0;
    info.M_KeyProtectBits = 0;
    info.M_KeyLeasePeriod = 0;
    info.GidPrefix = of_.settings.prefix;
    info.LID = lids.base;
    info.LMC = lids.lmc;
    info.MasterSMLID = of_.manager_lid();
    info.MasterSMSL = 0;
    info.SubnetTimeOut = subnet_timeout;
    return info;
}

// When one end of a link restarts, the other restarts, too. An active far end was therefore read
// before the restart.
bool configuration::was_read_before(port_ref other_end) const {
    return of_.nodes.at(other_end).info.PortState == IB_PORT_ACTIVE;
}

// A port is set up with a LID, and with the values that it and its neighbor have reported. The
// sweep is incomplete when one is missing.
bool configuration::can_set_up(port_ref at) const {
    const subnet_port& port = of_.nodes.at(at);
    const bool of_switch = of_.nodes[at.node].is_switch();
    if (!port.was_read) return false;
    if (has_lid(at) && of_.lids.of(port.guid).base == 0) return false;
    return port.peer.valid() ? of_.nodes.at(port.peer).was_read : of_switch && at.port == 0;
}

void configuration::set_up_ports() {
    for_each_port([this](port_ref at) {
        if (can_set_up(at)) set_up(at);
    });
}

// A port that this manager sees for the first time receives ClientReregister, so that its clients
// subscribe again, and this manager's LID, the destination of its traps.
void configuration::set_up(port_ref at) {
    const subnet_port& port = of_.nodes.at(at);
    sm_portinfo_t info = wanted(at);
    const bool is_new = has_lid(at) && !programmed_.known_ports.contains(port.guid);
    const bool arms = at.port != 0 && port.info.PortState == IB_PORT_INIT;
    if (!is_new && !arms && same_settings(info, port.info)) return;
    if (arms) info.PortState = IB_PORT_ARMED;
    if (arms && was_read_before(port.peer)) incomplete_ = true;
    if (is_new && (info.CapabilityMask & can_reregister) != 0) info.ClientReregister = 1;
    set_port(at, info, is_new);
}

// A link may restart after the discovery read its ports, while another manager clears the change
// bit that a light sweep looks for.
void configuration::check_states() {
    for_each_port([this](port_ref at) {
        if (at.port != 0 && can_set_up(at) && of_.nodes.at(at).info.PortState != IB_PORT_ACTIVE)
            incomplete_ = true;
    });
}

void configuration::activate_ports() {
    for_each_port([this](port_ref at) {
        if (at.port == 0 || !can_set_up(at)) return;
        if (of_.nodes.at(at).info.PortState != IB_PORT_ARMED) return;
        sm_portinfo_t info = wanted(at);
        info.PortState = IB_PORT_ACTIVE;
        set_port(at, info, false);
    });
}

} // namespace irpverbs::subnet_manager
