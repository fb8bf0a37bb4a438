#include "sma.hpp"

#include "directed_route.hpp"

#include <algorithm>
#include <array>

namespace irpverbs::hca_software {

namespace {

struct attribute {
    USHORT id;
    attribute_handler handle;
    bool may_set;
};

// Source: IBA 14.2.5.
constexpr std::array attributes{
    attribute{notice_id, notice, true},
    attribute{0x0010, node_description, false},
    attribute{0x0011, node_info, false},
    attribute{0x0012, switch_info, true},
    attribute{0x0014, guid_info, true},
    attribute{0x0015, port_info, true},
    attribute{0x0016, pkey_table, true},
    attribute{0x0017, sl_to_vl_table, true},
    attribute{0x0018, vl_arbitration_table, true},
    attribute{0x0019, linear_forwarding_table, true},
    attribute{0x001B, multicast_forwarding_table, true},
    attribute{sm_info_id, sm_info, false},
    attribute{0x0030, vendor_diagnostics, false},
    attribute{0x0031, led_info, true},
};

constexpr std::size_t mkey_offset = 24;
constexpr machine_time second = 1'000'000 * microsecond;

std::uint64_t mkey_of(const packet& smp) { return load<8>(&smp.mad[mkey_offset]); }

// At the end of the lease the key becomes readable, so another subnet manager can take over the
// port. Source: IBA 14.2.4.2.
void end_lease_when_over(mkey_guard& guard) {
    if (guard.lease_ends == 0 || KeQueryInterruptTime() < guard.lease_ends) return;
    guard.lease_ends = 0;
    guard.protect = 0;
}

void note_violation(mkey_guard& guard) {
    if (guard.violations != 0xFFFF) ++guard.violations;
    if (guard.lease_ends == 0 && guard.lease != 0)
        guard.lease_ends = KeQueryInterruptTime() + guard.lease * second;
}

USHORT handle(fabric& where, packet& smp, const mad_header& header) {
    if (header.class_version() != 1) return status_bad_version;
    const auto which = std::ranges::find(attributes, header.attribute(), &attribute::id);
    const bool set = header.method() == method_set;
    if (which == attributes.end() || (set && !which->may_set)) return status_bad_attribute;
    node& here = *smp.at->owner;
    const std::uint64_t mkey = here.end_port(*smp.at).mkey.key;
    const bool knows = mkey == 0 || mkey == mkey_of(smp);
    return which->handle(
        {where, here, *smp.at, header.modifier(), attribute_of(smp.mad), set, knows});
}

} // namespace

bool allowed_by_mkey(fabric& where, packet& smp) {
    port& at = smp.at->owner->end_port(*smp.at);
    end_lease_when_over(at.mkey);
    if (at.mkey.key == 0) return true;
    if (at.mkey.key == mkey_of(smp)) {
        at.mkey.lease_ends = 0;
        return true;
    }
    const bool reads = header_of(smp.mad).method() == method_get;
    if (reads && at.mkey.protect < mkey_guard::guards_reading) return true;
    note_violation(at.mkey);
    where.raise_bad_mkey(at, smp);
    return false;
}

bool respond_to_smp(fabric& where, packet& smp) {
    mad_header header = header_of(smp.mad);
    if (header.attribute() != sm_info_id && !allowed_by_mkey(where, smp)) return false;
    const USHORT status = handle(where, smp, header);
    if (header.method() == method_set) where.routes_changed();
    header.set_method(method_get_response);
    header.set_status(status);
    if (header.management_class() == class_directed) set_direction(smp.mad);
    return true;
}

} // namespace irpverbs::hca_software
