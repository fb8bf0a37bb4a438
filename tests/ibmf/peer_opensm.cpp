#include "peers.hpp"

#define OSM_API
#include <infiniband/iba/ib_types.h>

#include <cstring>

irpverbs::ibmf::peers::fields irpverbs::ibmf::peers::opensm_fields(const std::uint8_t* mad) {
    ib_sa_mad_t sa;
    ib_smp_t smp;
    std::memcpy(&sa, mad, sizeof sa);
    std::memcpy(&smp, mad, sizeof smp);
    return {
        {"base_version", sa.base_ver},
        {"class", sa.mgmt_class},
        {"class_version", sa.class_ver},
        {"method", sa.method},
        {"status", cl_ntoh16(sa.status)},
        {"tid", cl_ntoh64(sa.trans_id)},
        {"attribute", cl_ntoh16(sa.attr_id)},
        {"modifier", cl_ntoh32(sa.attr_mod)},
        {"rmpp_version", sa.rmpp_version},
        {"rmpp_type", sa.rmpp_type},
        {"rmpp_time_and_flags", sa.rmpp_flags},
        {"rmpp_status", sa.rmpp_status},
        {"segment", cl_ntoh32(sa.seg_num)},
        {"length_or_window", cl_ntoh32(sa.paylen_newwin)},
        {"sm_key", cl_ntoh64(sa.sm_key)},
        {"attribute_offset", cl_ntoh16(sa.attr_offset)},
        {"component_mask", cl_ntoh64(sa.comp_mask)},
        {"sa_data", sa.data[0]},
        {"m_key", cl_ntoh64(smp.m_key)},
        {"dr_slid", cl_ntoh16(smp.dr_slid)},
        {"dr_dlid", cl_ntoh16(smp.dr_dlid)},
        {"hop_pointer", smp.hop_ptr},
        {"hop_count", smp.hop_count},
        {"smp_data", smp.data[0]},
        {"initial_path", smp.initial_path[0]},
        {"return_path", smp.return_path[0]},
        {"returning", static_cast<std::uint64_t>(ib_smp_is_d(&smp))},
    };
}
