#include "opensm_layout.h"

#include <stdlib.h>
#include <string.h>

#include <iba/ib_types.h>

size_t opensm_path_record(uint8_t* wire) {
    ib_path_rec_t record;
    ib_gid_t dgid, sgid;
    dgid.unicast.prefix = cl_hton64(0xfe80000000000000);
    dgid.unicast.interface_id = cl_hton64(0x0002c90300001234);
    sgid.unicast.prefix = cl_hton64(0xfe80000000000000);
    sgid.unicast.interface_id = cl_hton64(0x0002c90300005678);
    ib_path_rec_init_local(&record, &dgid, &sgid, cl_hton16(0x0102), cl_hton16(0x0304), 0x85,
                           cl_hton16(0x8001), 11, 0xabc, 2, 4, 1, 16, 3, 18, 77);
    record.service_id = cl_hton64(0x1122334455667788);
    record.hop_flow_raw = cl_hton32(0x80000000u | 0xfedcb << 8 | 64);
    record.tclass = 9;
    memcpy(wire, &record, 64);
    return 64;
}

size_t opensm_port_info(uint8_t* wire) {
    ib_port_info_t info;
    memset(&info, 0, sizeof info);
    ib_port_info_set_m_key(&info, cl_hton64(0x0123456789abcdef));
    info.base_lid = cl_hton16(0x11);
    ib_port_info_set_port_state(&info, 4);
    ib_port_info_set_link_speed_sup(7, &info);
    ib_port_info_set_port_phys_state(5, &info);
    ib_port_info_set_link_down_def_state(&info, 2);
    ib_port_info_set_mpb(&info, 1);
    ib_port_info_set_lmc(&info, 3);
    ib_port_info_set_link_speed_enabled(&info, 6);
    ib_port_info_set_neighbor_mtu(&info, 5);
    ib_port_info_set_master_smsl(&info, 9);
    ib_port_info_set_op_vls(&info, 4);
    ib_port_info_set_hoq_lifetime(&info, 18);
    ib_port_info_set_vl_stall_count(&info, 7);
    ib_port_info_set_client_rereg(&info, 1);
    ib_port_info_set_mcast_pkey_trap_suppress(&info, 2);
    ib_port_info_set_timeout(&info, 17);
    ib_port_info_set_phy_and_overrun_err_thd(&info, 10, 12);
    ib_port_info_set_link_speed_ext_enabled(&info, 21);
    memcpy(wire, &info, 64);
    return 64;
}

size_t opensm_mcmember_record(uint8_t* wire) {
    ib_member_rec_t record;
    memset(&record, 0, sizeof record);
    record.qkey = cl_hton32(0x80010000);
    record.mlid = cl_hton16(0xc001);
    record.mtu = 2 << 6 | 4;
    record.sl_flow_hop = ib_member_set_sl_flow_hop(5, 0x54321, 33);
    record.scope_state = ib_member_set_scope_state(2, 4);
    ib_member_set_join_state(&record, 1);
    memcpy(wire, &record, 52);
    return 52;
}

size_t opensm_inform_info(uint8_t* wire) {
    ib_inform_info_t info;
    memset(&info, 0, sizeof info);
    info.lid_range_begin = cl_hton16(0xffff);
    info.is_generic = 1;
    info.subscribe = 1;
    info.trap_type = cl_hton16(3);
    info.g_or_v.generic.trap_num = cl_hton16(64);
    info.g_or_v.generic.qpn_resp_time_val = cl_hton32(19);
    ib_inform_info_set_qpn(&info, cl_hton32(0x00abcdef));
    info.g_or_v.generic.node_type_lsb = cl_hton16(4);
    memcpy(wire, &info, 36);
    return 36;
}
