// Nodes and their ports: their properties and settings. Guarded by the fabric's lock.
#pragma once

#include "faults.hpp"
#include "port_samples.hpp"

#include <ci/driver.h>
#include <hca/software.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace irpverbs::hca_software {

struct node;
class adapter;
namespace roce {
class ethernet_port;
}

/// The last datagram that passed a link. Routes are computed ahead of time, so a datagram that is
/// computed later may have entered earlier.
struct fifo_delay {
    machine_time entered = 0;
    machine_time left = 0;

    /// Returns the time at which a datagram leaves that would leave at `leaving` without earlier
    /// datagrams.
    machine_time apply(machine_time entering, machine_time leaving) {
        if (entering < entered) return leaving;
        entered = entering;
        left = std::max(left, leaving);
        return left;
    }
};

/// The protection of a port against other subnet managers. Source: IBA 14.2.4.
struct mkey_guard {
    std::uint64_t key = 0; // 0: no protection
    UCHAR protect = 0;
    USHORT lease = 0;            // seconds; 0: unlimited
    machine_time lease_ends = 0; // 0: the lease does not run out
    USHORT violations = 0;

    static constexpr UCHAR guards_reading = 2;
};

/// Maps SLs to VLs, 4 bits each.
using sl_to_vl_map = std::array<UCHAR, 8>;
inline constexpr sl_to_vl_map default_sl_to_vl{0x01, 0x23, 0x45, 0x67, 0x01, 0x23, 0x45, 0x67};

struct vl_arbitration {
    static constexpr std::size_t blocks = 4;
    std::array<std::array<UCHAR, 64>, blocks> block{};
};

/// The settings of a switch by a subnet manager, except its tables.
struct switch_routing {
    USHORT linear_top = 0;
    USHORT multicast_top = 0;
    UCHAR default_port = 0;
    UCHAR default_primary = 0;
    UCHAR default_not_primary = 0;
    UCHAR life_time = 0;
    bool state_changed = false; // the state of one of its ports has changed
};

struct port {
    static constexpr UCHAR max_gids = 32;
    static constexpr UCHAR max_pkeys = 32;

    node* owner = nullptr;
    UCHAR number = 0;
    port* peer = nullptr; // the port at the other end of the cable, or null
    bool plugged = true;  // false: the cable is broken
    bool enabled = true;  // false: shut down
    IB_PORT_STATE state = IB_PORT_DOWN;
    IB_PORT_PHYSICAL_STATE physical = IB_PORT_PHYS_POLLING;
    ib_guid_t guid = 0;
    ib_sn_prefix_t prefix = IB_DEFAULT_GID_PREFIX;
    ib_lid_t lid = 0;
    UCHAR lmc = 0;
    ib_lid_t sm_lid = 0;
    UCHAR sm_sl = 0;
    UCHAR subnet_timeout = 18;
    UCHAR init_type = 0;       // requested by clients
    UCHAR init_type_reply = 0; // the subnet manager's reply
    USHORT width = IB_LINK_WIDTH_4X;
    USHORT speed = IB_LINK_SPEED_QDR;
    USHORT enabled_widths = 0;
    USHORT enabled_speeds = 0;
    USHORT active_width = IB_LINK_WIDTH_1X;
    USHORT active_speed = IB_LINK_SPEED_SDR;
    UCHAR mtu = IB_MTU_4096;
    UCHAR vls = 4; // operational: VL0 to VL7
    UCHAR down_default = IB_PORT_PHYS_POLLING;
    UCHAR vl_high_limit = 0;
    UCHAR stall_and_life = 0;
    UCHAR error_thresholds = 0;
    UCHAR pkey_trap_suppression = 0;
    bool led = false;
    bool notice_toggle = false; // changes with each cleared notice
    bool managed = false;       // a subnet manager has set it up and receives its traps
    bool in_subnet = false;     // bring_up() has configured it
    UCHAR unqueued_events = 0;  // without memory: bits from IB_AE_PORT_ACTIVE on
    mkey_guard mkey;
    std::unique_ptr<vl_arbitration> arbitration; // null: not yet set
    ULONG capabilities = 0;
    USHORT qkey_violations = 0;
    USHORT pkey_violations = 0;
    HCA_SOFTWARE_COUNTERS counters{};
    std::vector<ib_pkey_t> pkeys{IB_PKEY_DEFAULT_FULL};
    std::vector<ib_gid_t> gids; // [0] is made of prefix and guid
    std::vector<std::pair<ULONG, const HCA_CA*>> capability_holders; // capability bit, holder

    std::shared_ptr<link_faults> faults; // faults of its cable; null: none
    bool enforces_outbound = false;      // switch: enforces partitions, also for forwarded packets
    bool enforces_inbound = false;
    fifo_delay fifo;
    std::unique_ptr<roce::ethernet_port> ethernet; // null: InfiniBand

    bool linked() const;
    void set_prefix(ib_sn_prefix_t to) {
        prefix = to;
        for (ib_gid_t& each : gids)
            each.gid_prefix = to;
    }
    /// True if `which` is one of its 2^lmc LIDs.
    bool has(ib_lid_t which) const { return lid != 0 && (which >> lmc) == (lid >> lmc); }
};

/// The maximum content of a datagram on this port, in bytes.
inline std::size_t bytes_of_mtu(const port& of) { return std::size_t{128} << of.mtu; }

struct node {
    IB_NODE_TYPE type = IB_NODE_CA;
    std::string id;
    std::string description;
    ib_guid_t guid = 0;
    ib_guid_t system_image_guid = 0;
    ULONG vendor_id = 0;
    ULONG device_id = 0;
    std::deque<port> ports;                  // [0]: port 0 of a switch
    std::vector<UCHAR> forwarding;           // switch: LID to port; no_port: dropped
    std::vector<USHORT> multicasting;        // switch: a mask of ports for each MLID
    switch_routing routing;                  // switch
    std::map<USHORT, sl_to_vl_map> sl_to_vl; // port in * 256 + port out; absent: the default
    port_samples samples;
    std::unique_ptr<adapter> attached; // channel adapter

    static constexpr UCHAR no_port = 255;
    static constexpr unsigned ports_per_mask = 16;

    bool switches() const { return type == IB_NODE_SWITCH; }
    /// The port with the LIDs and keys for datagrams that arrive at `in`.
    port& end_port(port& in) { return switches() ? ports[0] : in; }
    /// The number of words of `multicasting` per MLID.
    std::size_t masks() const { return (ports.size() + ports_per_mask - 1) / ports_per_mask; }
};

} // namespace irpverbs::hca_software
