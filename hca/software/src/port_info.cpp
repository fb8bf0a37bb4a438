// PortInfo: the attribute by which a subnet manager reads and configures a port.
#include "link.hpp"
#include "sma.hpp"

#include <algorithm>

namespace irpverbs::hca_software {

namespace {

constexpr UCHAR no_change = 0;
constexpr UCHAR any_width = 0xFF;
constexpr UCHAR any_speed = 0x0F;
constexpr UCHAR vl_capability = 4; // VL0 to VL7
constexpr UCHAR arbitration_entries = 8;
constexpr UCHAR guid_capacity = port::max_gids;
constexpr USHORT base_speeds = IB_LINK_SPEED_SDR | IB_LINK_SPEED_DDR | IB_LINK_SPEED_QDR;

enum physical_request : UCHAR { request_sleep = 1, request_polling = 2, request_disabled = 3 };

UCHAR high(UCHAR byte) { return byte >> 4; }
UCHAR low(UCHAR byte) { return byte & 0xF; }
UCHAR pack(unsigned high_half, unsigned low_half) {
    return static_cast<UCHAR>(high_half << 4 | (low_half & 0xF));
}

// The writable fields of a PortInfo, by name. Source: IBA 14.2.5.6.
struct requested_port_info {
    explicit requested_port_info(const UCHAR* data)
        : mkey(load<8>(data)), prefix(load<8>(data + 8)), lid(load16(data + 16)),
          sm_lid(load16(data + 18)), lease(load16(data + 26)), widths(data[29]),
          state(low(data[32])), physical(high(data[33])), down_default(low(data[33])),
          protect(data[34] >> 6), lmc(data[34] & 7), speeds(low(data[35])), mtu(high(data[36])),
          sm_sl(low(data[36])), high_limit(data[38]), init_type_reply(high(data[41])),
          stall_and_life(data[42]), vls(high(data[43])), enforces_inbound((data[43] & 8) != 0),
          enforces_outbound((data[43] & 4) != 0), mkey_violations(load16(data + 44)),
          pkey_violations(load16(data + 46)), qkey_violations(load16(data + 48)),
          reregister((data[51] & 0x80) != 0), trap_suppression((data[51] >> 5) & 3),
          timeout(data[51] & 0x1F), errors(data[53]), extended_speeds(data[63] & 0x1F) {}

    std::uint64_t mkey;
    ib_sn_prefix_t prefix;
    ib_lid_t lid, sm_lid;
    USHORT lease;
    UCHAR widths, state, physical, down_default, protect, lmc, speeds, mtu, sm_sl, high_limit;
    UCHAR init_type_reply, stall_and_life, vls;
    bool enforces_inbound, enforces_outbound;
    USHORT mkey_violations, pkey_violations, qkey_violations;
    bool reregister;
    UCHAR trap_suppression, timeout, errors, extended_speeds;
};

bool is_subset(unsigned part, unsigned of) { return (part & ~of) == 0; }

bool is_valid_transition(const port& at, UCHAR state) {
    switch (state) {
    case IB_PORT_NO_STATE_CHANGE:
    case IB_PORT_DOWN:
        return true;
    case IB_PORT_ARMED:
        return at.state == IB_PORT_INIT || at.state == IB_PORT_ARMED;
    case IB_PORT_ACTIVE:
        return at.state == IB_PORT_ARMED || at.state == IB_PORT_ACTIVE;
    default:
        return false;
    }
}

bool link_valid(const port& at, const requested_port_info& request) {
    const bool widths =
        request.widths == any_width || is_subset(request.widths, supported_widths(at));
    const bool speeds =
        request.speeds == any_speed || is_subset(request.speeds, supported_speeds(at));
    const bool extended = request.extended_speeds == 0x1F ||
                          is_subset(request.extended_speeds, supported_speeds(at) >> 8);
    return widths && speeds && extended && request.mtu <= IB_MTU_4096 &&
           request.vls <= vl_capability && request.physical <= request_disabled &&
           request.down_default <= request_polling;
}

bool valid(const port& at, bool has_lid, const requested_port_info& request) {
    if (!link_valid(at, request)) return false;
    if (at.number != 0 && !is_valid_transition(at, request.state)) return false;
    if (!has_lid) return true;
    if (request.lid >= IB_LID_MULTICAST_FIRST || request.sm_lid >= IB_LID_MULTICAST_FIRST)
        return false;
    return at.number != 0 || request.lmc == 0; // a switch has one LID
}

void apply_lids(fabric& where, port& at, const requested_port_info& request) {
    const bool moved = at.lid != request.lid || at.lmc != request.lmc;
    const bool other_sm = at.sm_lid != request.sm_lid || at.sm_sl != request.sm_sl;
    const bool other_prefix = at.prefix != request.prefix;
    at.lid = request.lid;
    at.lmc = request.lmc;
    at.sm_lid = request.sm_lid;
    at.sm_sl = request.sm_sl;
    at.set_prefix(request.prefix);
    if (moved) where.raise(at, IB_AE_LID_CHANGE);
    if (other_sm) where.raise(at, IB_AE_SM_CHANGE);
    if (other_prefix) where.raise(at, IB_AE_GID_CHANGE);
    if (request.reregister) where.raise(at, IB_AE_CLIENT_REREGISTER);
}

void apply_keys(port& at, const requested_port_info& request) {
    at.mkey.key = request.mkey;
    at.mkey.protect = request.protect;
    at.mkey.lease = request.lease;
    at.mkey.violations = request.mkey_violations;
    at.mkey.lease_ends = 0;
    at.subnet_timeout = request.timeout;
    at.pkey_trap_suppression = request.trap_suppression;
    at.init_type_reply = request.init_type_reply;
    at.managed = true;
}

void apply_speeds(port& at, const requested_port_info& request) {
    const USHORT supported = supported_speeds(at);
    unsigned base = at.enabled_speeds & 0x00FFu;
    unsigned extended = at.enabled_speeds & 0xFF00u;
    if (request.speeds == any_speed)
        base = supported & 0x00FFu;
    else if (request.speeds != no_change)
        base = request.speeds;
    if (request.extended_speeds == 0x1F)
        extended = supported & 0xFF00u;
    else if (request.extended_speeds != no_change)
        extended = request.extended_speeds * 0x100u;
    at.enabled_speeds = static_cast<USHORT>(base | extended);
}

void apply_link(port& at, const requested_port_info& request) {
    if (request.widths == any_width)
        at.enabled_widths = supported_widths(at);
    else if (request.widths != no_change)
        at.enabled_widths = request.widths;
    apply_speeds(at, request);
    if (request.down_default != no_change) at.down_default = request.down_default;
    if (request.mtu != no_change) at.mtu = request.mtu;
    if (request.vls != no_change) at.vls = request.vls;
    at.vl_high_limit = request.high_limit;
    at.stall_and_life = request.stall_and_life;
    at.error_thresholds = request.errors;
    at.pkey_violations = request.pkey_violations;
    at.qkey_violations = request.qkey_violations;
}

void apply_state(fabric& where, port& at, const requested_port_info& request) {
    // A link that is up begins again where it polls, which is how ibportstate resets it.
    const bool down = request.physical == request_disabled ||
                      (request.physical == request_polling && at.linked());
    if (down) where.enable(at, false);
    if (request.physical != no_change && request.physical != request_disabled)
        where.enable(at, true);
    if (request.state != no_change && request.state != at.state)
        where.set_state(at, static_cast<IB_PORT_STATE>(request.state));
}

bool set_port_info(const attribute_access& with, port& at) {
    const requested_port_info request(with.data.data());
    const bool of_switch = with.here.switches();
    const bool has_lid = !of_switch || at.number == 0;
    if (!valid(at, has_lid, request)) return false;
    if (has_lid) {
        apply_keys(at, request);
        apply_lids(with.where, at, request);
    }
    apply_link(at, request);
    if (of_switch && at.number != 0) {
        at.enforces_inbound = request.enforces_inbound;
        at.enforces_outbound = request.enforces_outbound;
    }
    if (at.number != 0) apply_state(with.where, at, request);
    return true;
}

void write_identity(const attribute_access& with, const port& at) {
    UCHAR* data = with.data.data();
    const bool shows_mkey = with.set || with.knows_mkey || at.mkey.protect == 0;
    store<8>(data, shows_mkey ? at.mkey.key : 0);
    store<8>(data + 8, at.prefix);
    store<2>(data + 16, at.lid);
    store<2>(data + 18, at.sm_lid);
    store<4>(data + 20, at.capabilities);
    store<2>(data + 26, at.mkey.lease);
    data[28] = with.in.number;
    store<2>(data + 44, at.mkey.violations);
    store<2>(data + 46, at.pkey_violations);
    store<2>(data + 48, at.qkey_violations);
    data[50] = guid_capacity;
    data[51] = static_cast<UCHAR>(at.pkey_trap_suppression << 5 | at.subnet_timeout);
    data[52] = response_time;
}

void write_link(const attribute_access& with, const port& at) {
    UCHAR* data = with.data.data();
    const USHORT supported = supported_speeds(at);
    const bool extended = at.active_speed > 0xFF;
    data[29] = static_cast<UCHAR>(at.enabled_widths);
    data[30] = static_cast<UCHAR>(supported_widths(at));
    data[31] = static_cast<UCHAR>(at.active_width);
    data[32] = pack(supported & base_speeds, at.state);
    data[33] = pack(at.physical, at.down_default);
    data[34] = static_cast<UCHAR>(at.mkey.protect << 6 | at.lmc);
    data[35] = pack(extended ? unsigned{IB_LINK_SPEED_QDR} : at.active_speed,
                    at.enabled_speeds & base_speeds);
    data[36] = pack(at.mtu, at.sm_sl);
    data[37] = pack(vl_capability, at.init_type);
    data[38] = at.vl_high_limit;
    data[39] = data[40] = arbitration_entries;
    data[41] = pack(at.init_type_reply, IB_MTU_4096);
    data[42] = at.stall_and_life;
    data[43] = pack(at.vls, (at.enforces_inbound ? 8u : 0u) | (at.enforces_outbound ? 4u : 0u));
    data[53] = at.error_thresholds;
    data[62] = pack(at.active_speed >> 8, supported >> 8);
    data[63] = static_cast<UCHAR>(at.enabled_speeds >> 8);
}

} // namespace

USHORT port_info(const attribute_access& with) {
    constexpr ULONG extended_speeds_known = 0x80000000; // of the manager, without effect
    const ULONG number = with.modifier & ~extended_speeds_known;
    if (number >= with.here.ports.size()) return status_bad_field;
    port& at = number == 0 && !with.here.switches() ? with.in : with.here.ports[number];
    const bool reregister = with.set && (with.data[51] & 0x80) != 0;
    if (with.set && !set_port_info(with, at)) return status_bad_field;
    std::ranges::fill(with.data, UCHAR{0});
    write_identity(with, at);
    write_link(with, at);
    if (reregister) with.data[51] |= 0x80;
    return status_ok;
}

} // namespace irpverbs::hca_software
