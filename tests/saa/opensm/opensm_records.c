#include "opensm_layout.h"

#include <stdlib.h>
#include <string.h>

#include <iba/ib_types.h>

/* By OpenSM's functions where it has one for a field. */
#define ELEMENT(field, index, bits) (from->of(from, field, index, bits))
#define BITS(field, bits) ELEMENT(field, 0, bits)
#define BYTE(field) ((uint8_t)BITS(field, 8))
#define NET16(field) cl_hton16((uint16_t)BITS(field, 16))
#define NET32(field) cl_hton32((uint32_t)BITS(field, 32))
#define NET64(field) cl_hton64(BITS(field, 64))
#define BYTES(field, member)                                                                       \
    for (unsigned i = 0; i < sizeof(member); ++i)                                                  \
    (member)[i] = (uint8_t)ELEMENT(field, i, 8)

static ib_gid_t gid(opensm_values* from, const char* field) {
    ib_gid_t made;
    made.unicast.prefix = cl_hton64(ELEMENT(field, 0, 64));
    made.unicast.interface_id = cl_hton64(ELEMENT(field, 1, 64));
    return made;
}

static size_t give(uint8_t* wire, const void* record, size_t size) {
    memcpy(wire, record, size);
    return size;
}

static size_t path_record(opensm_values* from, uint8_t* wire) {
    ib_path_rec_t record;
    ib_gid_t dgid = gid(from, "DGID");
    ib_gid_t sgid = gid(from, "SGID");
    ib_path_rec_init_local(&record, &dgid, &sgid, NET16("DLID"), NET16("SLID"),
                           BITS("Reversible", 1) << 7 | BITS("NumbPath", 7), NET16("P_Key"),
                           BITS("SL", 4), BITS("QoSClass", 12), BITS("MtuSelector", 2),
                           BITS("Mtu", 6), BITS("RateSelector", 2), BITS("Rate", 6),
                           BITS("PacketLifeTimeSelector", 2), BITS("PacketLifeTime", 6),
                           BYTE("Preference"));
    record.service_id = NET64("ServiceID");
    record.hop_flow_raw = cl_hton32(
        (uint32_t)(BITS("RawTraffic", 1) << 31 | BITS("FlowLabel", 20) << 8 | BITS("HopLimit", 8)));
    record.tclass = BYTE("TClass");
    return give(wire, &record, sizeof record);
}

static size_t multipath_record(opensm_values* from, uint8_t* wire) {
    ib_multipath_rec_t record = {0};
    record.hop_flow_raw = cl_hton32(
        (uint32_t)(BITS("RawTraffic", 1) << 31 | BITS("FlowLabel", 20) << 8 | BITS("HopLimit", 8)));
    record.tclass = BYTE("TClass");
    record.num_path = (uint8_t)(BITS("Reversible", 1) << 7 | BITS("NumbPath", 7));
    record.pkey = NET16("P_Key");
    ib_multipath_rec_set_sl(&record, BITS("SL", 4));
    ib_multipath_rec_set_qos_class(&record, BITS("QoSClass", 12));
    record.mtu = (uint8_t)(BITS("MtuSelector", 2) << 6 | BITS("Mtu", 6));
    record.rate = (uint8_t)(BITS("RateSelector", 2) << 6 | BITS("Rate", 6));
    record.pkt_life = (uint8_t)(BITS("PacketLifeTimeSelector", 2) << 6 | BITS("PacketLifeTime", 6));
    record.service_id_8msb = BYTE("ServiceID_hi");
    record.independence = (uint8_t)(BITS("IndependenceSelector", 2) << 6);
    record.sgid_count = BYTE("SGIDCount");
    record.dgid_count = BYTE("DGIDCount");
    const uint64_t low = BITS("ServiceID_lo", 56);
    for (int i = 0; i < 7; ++i)
        record.service_id_56lsb[i] = (uint8_t)(low >> (48 - 8 * i));
    return give(wire, &record, offsetof(ib_multipath_rec_t, gids));
}

static size_t service_record(opensm_values* from, uint8_t* wire) {
    ib_service_record_t record = {0};
    record.service_id = NET64("ServiceID");
    record.service_gid = gid(from, "ServiceGID");
    record.service_pkey = NET16("ServiceP_Key");
    record.service_lease = NET32("ServiceLease");
    const ib_gid_t key = gid(from, "ServiceKey");
    memcpy(record.service_key, &key, sizeof record.service_key);
    BYTES("ServiceName", record.service_name);
    BYTES("ServiceData8", record.service_data8);
    for (unsigned i = 0; i < 8; ++i)
        record.service_data16[i] = cl_hton16((uint16_t)ELEMENT("ServiceData16", i, 16));
    for (unsigned i = 0; i < 4; ++i)
        record.service_data32[i] = cl_hton32((uint32_t)ELEMENT("ServiceData32", i, 32));
    for (unsigned i = 0; i < 2; ++i)
        record.service_data64[i] = cl_hton64(ELEMENT("ServiceData64", i, 64));
    return give(wire, &record, sizeof record);
}

static size_t mcmember_record(opensm_values* from, uint8_t* wire) {
    ib_member_rec_t record = {0};
    record.mgid = gid(from, "MGID");
    record.port_gid = gid(from, "PortGID");
    record.qkey = NET32("Q_Key");
    record.mlid = NET16("MLID");
    record.mtu = (uint8_t)(BITS("MTUSelector", 2) << 6 | BITS("MTU", 6));
    record.tclass = BYTE("TClass");
    record.pkey = NET16("P_Key");
    record.rate = (uint8_t)(BITS("RateSelector", 2) << 6 | BITS("Rate", 6));
    record.pkt_life = (uint8_t)(BITS("PacketLifeTimeSelector", 2) << 6 | BITS("PacketLifeTime", 6));
    record.sl_flow_hop =
        ib_member_set_sl_flow_hop(BITS("SL", 4), BITS("FlowLabel", 20), BITS("HopLimit", 8));
    record.scope_state = ib_member_set_scope_state(BITS("Scope", 4), 0);
    ib_member_set_join_state(&record, BITS("JoinState", 4));
    return give(wire, &record, offsetof(ib_member_rec_t, pad));
}

static size_t node_record(opensm_values* from, uint8_t* wire) {
    ib_node_record_t record = {0};
    ib_node_info_t* info = &record.node_info;
    record.lid = NET16("LID");
    info->base_version = BYTE("BaseVersion");
    info->class_version = BYTE("ClassVersion");
    info->node_type = BYTE("NodeType");
    info->num_ports = BYTE("NumPorts");
    info->sys_guid = NET64("SystemImageGUID");
    info->node_guid = NET64("NodeGUID");
    info->port_guid = NET64("PortGUID");
    info->partition_cap = NET16("PartitionCap");
    info->device_id = NET16("DeviceID");
    info->revision = NET32("Revision");
    info->port_num_vendor_id =
        cl_hton32((uint32_t)(BITS("LocalPortNum", 8) << 24 | BITS("VendorID", 24)));
    BYTES("NodeDescription", record.node_desc.description);
    return give(wire, &record, offsetof(ib_node_record_t, pad));
}

static void link_of_port(opensm_values* from, ib_port_info_t* info) {
    info->link_width_enabled = BYTE("LinkWidthEnabled");
    info->link_width_supported = BYTE("LinkWidthSupported");
    info->link_width_active = BYTE("LinkWidthActive");
    ib_port_info_set_port_state(info, BITS("PortState", 4));
    ib_port_info_set_link_speed_sup(BITS("LinkSpeedSupported", 4), info);
    ib_port_info_set_port_phys_state(BITS("PortPhysicalState", 4), info);
    ib_port_info_set_link_down_def_state(info, BITS("LinkDownDefaultState", 4));
    info->link_speed = (uint8_t)(BITS("LinkSpeedActive", 4) << IB_PORT_LINK_SPEED_SHIFT);
    ib_port_info_set_link_speed_enabled(info, BITS("LinkSpeedEnabled", 4));
    info->link_speed_ext =
        (uint8_t)(BITS("LinkSpeedExtActive", 4) << 4 | BITS("LinkSpeedExtSupported", 4));
    ib_port_info_set_link_speed_ext_enabled(info, BITS("LinkSpeedExtEnabled", 5));
    info->link_rt_latency = cl_hton32((uint32_t)BITS("LinkRoundTripLatency", 24));
    info->max_credit_hint = NET16("MaxCreditHint");
}

static void lanes_of_port(opensm_values* from, ib_port_info_t* info) {
    ib_port_info_set_neighbor_mtu(info, BITS("NeighborMTU", 4));
    ib_port_info_set_master_smsl(info, BITS("MasterSMSL", 4));
    info->vl_cap = (uint8_t)(BITS("VLCap", 4) << 4 | BITS("InitType", 4));
    info->vl_high_limit = BYTE("VLHighLimit");
    info->vl_arb_high_cap = BYTE("VLArbitrationHighCap");
    info->vl_arb_low_cap = BYTE("VLArbitrationLowCap");
    info->mtu_cap = (uint8_t)(BITS("InitTypeReply", 4) << 4 | BITS("MTUCap", 4));
    ib_port_info_set_hoq_lifetime(info, BITS("HOQLife", 5));
    ib_port_info_set_vl_stall_count(info, BITS("VLStallCount", 3));
    info->vl_enforce = (uint8_t)(BITS("PartitionEnforcementInbound", 1) << 3 |
                                 BITS("PartitionEnforcementOutbound", 1) << 2 |
                                 BITS("FilterRawInbound", 1) << 1 | BITS("FilterRawOutbound", 1));
    ib_port_info_set_op_vls(info, BITS("OperationalVLs", 4));
}

static size_t port_info_record(opensm_values* from, uint8_t* wire) {
    ib_portinfo_record_t record = {0};
    ib_port_info_t* info = &record.port_info;
    record.lid = NET16("EndportLID");
    record.port_num = BYTE("PortNum");
    record.options = BYTE("Options");
    ib_port_info_set_m_key(info, NET64("M_Key"));
    info->subnet_prefix = NET64("GidPrefix");
    info->base_lid = NET16("LID");
    info->master_sm_base_lid = NET16("MasterSMLID");
    info->capability_mask = NET32("CapabilityMask");
    info->diag_code = NET16("DiagCode");
    info->m_key_lease_period = NET16("M_KeyLeasePeriod");
    info->local_port_num = BYTE("LocalPortNum");
    link_of_port(from, info);
    ib_port_info_set_mpb(info, BITS("M_KeyProtectBits", 2));
    ib_port_info_set_lmc(info, BITS("LMC", 3));
    lanes_of_port(from, info);
    info->m_key_violations = NET16("M_KeyViolations");
    info->p_key_violations = NET16("P_KeyViolations");
    info->q_key_violations = NET16("Q_KeyViolations");
    info->guid_cap = BYTE("GUIDCap");
    ib_port_info_set_client_rereg(info, BITS("ClientReregister", 1));
    ib_port_info_set_mcast_pkey_trap_suppress(info, BITS("MulticastPKeyTrapSuppression", 2));
    ib_port_info_set_timeout(info, BITS("SubnetTimeOut", 5));
    info->resp_time_value = (uint8_t)BITS("RespTimeValue", 5);
    ib_port_info_set_phy_and_overrun_err_thd(info, BITS("LocalPhyErrors", 4),
                                             BITS("OverrunErrors", 4));
    info->capability_mask2 = NET16("CapabilityMask2");
    return give(wire, &record, offsetof(ib_portinfo_record_t, pad));
}

static size_t slvl_record(opensm_values* from, uint8_t* wire) {
    ib_slvl_table_record_t record = {0};
    record.lid = NET16("LID");
    record.in_port_num = BYTE("InputPortNum");
    record.out_port_num = BYTE("OutputPortNum");
    for (unsigned sl = 0; sl < IB_MAX_NUM_VLS; ++sl)
        ib_slvl_table_set(&record.slvl_tbl, sl, ELEMENT("SLtoVL", sl, 4));
    return give(wire, &record, sizeof record);
}

static size_t switch_info_record(opensm_values* from, uint8_t* wire) {
    ib_switch_info_record_t record = {0};
    ib_switch_info_t* info = &record.switch_info;
    record.lid = NET16("LID");
    info->lin_cap = NET16("LinearFDBCap");
    info->rand_cap = NET16("RandomFDBCap");
    info->mcast_cap = NET16("MulticastFDBCap");
    info->lin_top = NET16("LinearFDBTop");
    info->def_port = BYTE("DefaultPort");
    info->def_mcast_pri_port = BYTE("DefaultMulticastPrimaryPort");
    info->def_mcast_not_port = BYTE("DefaultMulticastNotPrimaryPort");
    ib_switch_info_set_life_time(info, BITS("LifeTimeValue", 5));
    if (BITS("PortStateChange", 1) != 0) ib_switch_info_state_change_set(info);
    info->lids_per_port = NET16("LIDsPerPort");
    info->enforce_cap = NET16("PartitionEnforcementCap");
    info->flags = (uint8_t)(BITS("EnhancedPort0", 1) << 3); /* as _is_enhanced_port0 reads it */
    info->mcast_top = NET16("MulticastFDBTop");
    return give(wire, &record, sizeof record);
}

static size_t linear_record(opensm_values* from, uint8_t* wire) {
    ib_lft_record_t record = {0};
    record.lid = NET16("LID");
    record.block_num = NET16("BlockNum");
    BYTES("PortBlock", record.lft);
    return give(wire, &record, sizeof record);
}

static size_t multicast_record(opensm_values* from, uint8_t* wire) {
    ib_mft_record_t record = {0};
    record.lid = NET16("LID");
    record.position_block_num = cl_hton16(
        (uint16_t)(BITS("Position", 4) << 12 | (BITS("BlockNum", 9) & IB_MCAST_BLOCK_ID_MASK_HO)));
    for (unsigned i = 0; i < IB_MCAST_BLOCK_SIZE; ++i)
        record.mft[i] = cl_hton16((uint16_t)ELEMENT("PortMaskBlock", i, 16));
    return give(wire, &record, sizeof record);
}

static size_t sm_info_record(opensm_values* from, uint8_t* wire) {
    ib_sminfo_record_t record = {0};
    record.lid = NET16("LID");
    record.sm_info.guid = NET64("GUID");
    record.sm_info.sm_key = NET64("SM_Key");
    record.sm_info.act_count = NET32("ActCount");
    record.sm_info.pri_state = (uint8_t)(BITS("Priority", 4) << 4 | BITS("SMState", 4));
    return give(wire, &record, offsetof(ib_sminfo_record_t, pad));
}

static size_t link_record(opensm_values* from, uint8_t* wire) {
    ib_link_record_t record = {0};
    record.from_lid = NET16("FromLID");
    record.from_port_num = BYTE("FromPort");
    record.to_port_num = BYTE("ToPort");
    record.to_lid = NET16("ToLID");
    return give(wire, &record, offsetof(ib_link_record_t, pad));
}

static size_t guid_info_record(opensm_values* from, uint8_t* wire) {
    ib_guidinfo_record_t record = {0};
    record.lid = NET16("LID");
    record.block_num = BYTE("BlockNum");
    for (unsigned i = 0; i < GUID_TABLE_MAX_ENTRIES; ++i)
        record.guid_info.guid[i] = cl_hton64(ELEMENT("GUIDBlocks", i, 64));
    return give(wire, &record, sizeof record);
}

static size_t pkey_record(opensm_values* from, uint8_t* wire) {
    ib_pkey_table_record_t record = {0};
    record.lid = NET16("LID");
    record.block_num = NET16("BlockNum");
    record.port_num = BYTE("PortNum");
    for (unsigned i = 0; i < IB_NUM_PKEY_ELEMENTS_IN_BLOCK; ++i)
        record.pkey_tbl.pkey_entry[i] = cl_hton16((uint16_t)ELEMENT("P_KeyTableBlock", i, 16));
    return give(wire, &record, sizeof record);
}

static size_t vl_arbitration_record(opensm_values* from, uint8_t* wire) {
    ib_vl_arb_table_record_t record = {0};
    record.lid = NET16("LID");
    record.port_num = BYTE("OutputPortNum");
    record.block_num = BYTE("BlockNum");
    for (unsigned i = 0; i < IB_NUM_VL_ARB_ELEMENTS_IN_BLOCK; ++i) {
        record.vl_arb_tbl.vl_entry[i].vl = (uint8_t)ELEMENT("VL", i, 8);
        record.vl_arb_tbl.vl_entry[i].weight = (uint8_t)ELEMENT("Weight", i, 8);
    }
    return give(wire, &record, sizeof record);
}

static void subscribe(opensm_values* from, ib_inform_info_t* info) {
    info->gid = gid(from, "GID");
    info->lid_range_begin = NET16("LIDRangeBegin");
    info->lid_range_end = NET16("LIDRangeEnd");
    info->is_generic = BYTE("IsGeneric");
    info->subscribe = BYTE("Subscribe");
    info->trap_type = NET16("Type");
    info->g_or_v.generic.trap_num = NET16("TrapNumber_DeviceID");
    info->g_or_v.generic.qpn_resp_time_val = cl_hton32((uint32_t)BITS("RespTimeValue", 5));
    ib_inform_info_set_qpn(info, cl_hton32((uint32_t)BITS("QPN", 24)));
    const uint32_t producer = (uint32_t)BITS("ProducerType_VendorID", 24);
    info->g_or_v.generic.node_type_msb = (uint8_t)(producer >> 16);
    info->g_or_v.generic.node_type_lsb = cl_hton16((uint16_t)producer);
}

static size_t inform_info(opensm_values* from, uint8_t* wire) {
    ib_inform_info_t info = {0};
    subscribe(from, &info);
    return give(wire, &info, sizeof info);
}

static size_t inform_info_record(opensm_values* from, uint8_t* wire) {
    ib_inform_info_record_t record = {0};
    record.subscriber_gid = gid(from, "SubscriberGID");
    record.subscriber_enum = NET16("Enum");
    subscribe(from, &record.inform_info);
    return give(wire, &record, offsetof(ib_inform_info_record_t, pad));
}

static size_t class_port_info(opensm_values* from, uint8_t* wire) {
    ib_class_port_info_t info = {0};
    info.base_ver = BYTE("BaseVersion");
    info.class_ver = BYTE("ClassVersion");
    info.cap_mask = NET16("CapabilityMask");
    ib_class_set_cap_mask2(&info, (uint32_t)BITS("CapabilityMask2", 27));
    ib_class_set_resp_time_val(&info, BITS("RespTimeValue", 5));
    info.redir_gid = gid(from, "RedirectGID");
    info.redir_tc_sl_fl =
        cl_hton32((uint32_t)(BITS("RedirectTC", 8) << 24 | BITS("RedirectSL", 4) << 20 |
                             BITS("RedirectFL", 20)));
    info.redir_lid = NET16("RedirectLID");
    info.redir_pkey = NET16("RedirectP_Key");
    info.redir_qp = cl_hton32((uint32_t)BITS("RedirectQP", 24));
    info.redir_qkey = NET32("RedirectQ_Key");
    info.trap_gid = gid(from, "TrapGID");
    info.trap_tc_sl_fl = cl_hton32(
        (uint32_t)(BITS("TrapTC", 8) << 24 | BITS("TrapSL", 4) << 20 | BITS("TrapFL", 20)));
    info.trap_lid = NET16("TrapLID");
    info.trap_pkey = NET16("TrapP_Key");
    info.trap_hop_qp = cl_hton32((uint32_t)(BITS("TrapHL", 8) << 24 | BITS("TrapQP", 24)));
    info.trap_qkey = NET32("TrapQ_Key");
    return give(wire, &info, sizeof info);
}

static size_t notice(opensm_values* from, uint8_t* wire) {
    ib_mad_notice_attr_t attr = {0};
    attr.generic_type = (uint8_t)(BITS("IsGeneric", 1) << 7 | BITS("Type", 7));
    ib_notice_set_prod_type_ho(&attr, (uint32_t)BITS("ProducerType_VendorID", 24));
    attr.g_or_v.generic.trap_num = NET16("TrapNumber_DeviceID");
    attr.issuer_lid = NET16("IssuerLID");
    attr.toggle_count =
        cl_hton16((uint16_t)(BITS("NoticeToggle", 1) << 15 | BITS("NoticeCount", 15)));
    BYTES("DataDetails", attr.data_details.raw_data.details);
    attr.issuer_gid = gid(from, "IssuerGID");
    return give(wire, &attr, sizeof attr);
}

const opensm_writer opensm_writers[] = {
    {"PathRecord", path_record},
    {"MultiPathRecord", multipath_record},
    {"ServiceRecord", service_record},
    {"MCMemberRecord", mcmember_record},
    {"NodeRecord", node_record},
    {"PortInfoRecord", port_info_record},
    {"SLtoVLRecord", slvl_record},
    {"SwitchInfoRecord", switch_info_record},
    {"LinearFDBRecord", linear_record},
    {"MulticastFDBRecord", multicast_record},
    {"SMInfoRecord", sm_info_record},
    {"LinkRecord", link_record},
    {"GUIDInfoRecord", guid_info_record},
    {"P_KeyTableRecord", pkey_record},
    {"VLArbitrationRecord", vl_arbitration_record},
    {"InformInfo", inform_info},
    {"InformInfoRecord", inform_info_record},
    {"ClassPortInfo", class_port_info},
    {"Notice", notice},
};
const size_t opensm_writer_count = sizeof opensm_writers / sizeof opensm_writers[0];
