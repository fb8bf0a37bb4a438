// The subnet management agent of every node: what a subnet manager reads and writes.
#pragma once

#include "fabric.hpp"

namespace irpverbs::hca_software {

/// A Get or Set of an attribute.
struct attribute_access {
    fabric& where;
    node& here;
    port& in; // where the SMP came in
    ULONG modifier;
    attribute_bytes data; // what is set; when done, what it is then
    bool set;
    bool knows_mkey; // or there is none

    port& end_port() const { return here.end_port(in); }
};

/// Status of the answer (mad_status). A Set that fails changes nothing.
using attribute_handler = USHORT (*)(const attribute_access& with);

USHORT notice(const attribute_access& with);
USHORT node_description(const attribute_access& with);
USHORT node_info(const attribute_access& with);
USHORT switch_info(const attribute_access& with);
USHORT guid_info(const attribute_access& with);
USHORT port_info(const attribute_access& with);
USHORT pkey_table(const attribute_access& with);
USHORT sl_to_vl_table(const attribute_access& with);
USHORT vl_arbitration_table(const attribute_access& with);
USHORT linear_forwarding_table(const attribute_access& with);
USHORT multicast_forwarding_table(const attribute_access& with);
USHORT sm_info(const attribute_access& with);
USHORT vendor_diagnostics(const attribute_access& with);
USHORT led_info(const attribute_access& with);

inline constexpr USHORT sm_info_id = 0x0020;

/// A request has come to the node. True: it holds the answer now; false: none is due.
bool answer_smp(fabric& where, packet& smp);

/// The M_Key in the SMP lets it do what it asks for. When not, the violation is counted, and told
/// by a trap. Source: IBA 14.2.4.
bool allowed_by_mkey(fabric& where, packet& smp);

} // namespace irpverbs::hca_software
