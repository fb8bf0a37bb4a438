// The subnet management agent of every node: the attributes that a subnet manager reads and writes.
#pragma once

#include "fabric.hpp"

namespace irpverbs::hca_software {

/// A Get or Set of an attribute.
struct attribute_access {
    fabric& where;
    node& here;
    port& in; // the port at which the SMP arrived
    ULONG modifier;
    attribute_bytes data; // the value to set; on return the present value
    bool set;
    bool knows_mkey; // also true if there is no M_Key

    port& end_port() const { return here.end_port(in); }
};

/// Returns the status of the response (mad_status). A Set that fails changes nothing.
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

/// Processes a request that has arrived at the node. True: `smp` holds the response; false: there
/// is no response.
bool respond_to_smp(fabric& where, packet& smp);

/// True if the M_Key in the SMP permits its request. Otherwise counts the violation and raises a
/// trap. Source: IBA 14.2.4.
bool allowed_by_mkey(fabric& where, packet& smp);

} // namespace irpverbs::hca_software
