#include "peers.hpp"

#include <infiniband/umad_sa.h>
#include <infiniband/umad_sm.h>
#include <infiniband/umad_types.h>

#include <cstring>
#include <endian.h>

irpverbs::ibmf::peers::fields irpverbs::ibmf::peers::umad_fields(const std::uint8_t* mad) {
    umad_sa_packet sa;
    umad_smp smp;
    umad_vendor_packet vendor;
    std::memcpy(&sa, mad, sizeof sa);
    std::memcpy(&smp, mad, sizeof smp);
    std::memcpy(&vendor, mad, sizeof vendor);
    std::uint64_t sm_key;
    std::memcpy(&sm_key, sa.sm_key, sizeof sm_key);
    return {
        {"base_version", sa.mad_hdr.base_version},
        {"class", sa.mad_hdr.mgmt_class},
        {"class_version", sa.mad_hdr.class_version},
        {"method", sa.mad_hdr.method},
        {"status", be16toh(sa.mad_hdr.status)},
        {"class_specific", be16toh(sa.mad_hdr.class_specific)},
        {"tid", be64toh(sa.mad_hdr.tid)},
        {"attribute", be16toh(sa.mad_hdr.attr_id)},
        {"modifier", be32toh(sa.mad_hdr.attr_mod)},
        {"rmpp_version", sa.rmpp_hdr.rmpp_version},
        {"rmpp_type", sa.rmpp_hdr.rmpp_type},
        {"rmpp_time_and_flags", sa.rmpp_hdr.rmpp_rtime_flags},
        {"rmpp_status", sa.rmpp_hdr.rmpp_status},
        {"segment", be32toh(sa.rmpp_hdr.seg_num)},
        {"length_or_window", be32toh(sa.rmpp_hdr.paylen_newwin)},
        {"sm_key", be64toh(sm_key)},
        {"attribute_offset", be16toh(sa.attr_offset)},
        {"component_mask", be64toh(sa.comp_mask)},
        {"sa_data", sa.data[0]},
        {"m_key", be64toh(smp.mkey)},
        {"dr_slid", be16toh(smp.dr_slid)},
        {"dr_dlid", be16toh(smp.dr_dlid)},
        {"hop_pointer", smp.hop_ptr},
        {"hop_count", smp.hop_cnt},
        {"smp_data", smp.data[0]},
        {"initial_path", smp.initial_path[0]},
        {"return_path", smp.return_path[0]},
        {"oui",
         static_cast<std::uint64_t>(vendor.oui[0] << 16 | vendor.oui[1] << 8 | vendor.oui[2])},
        {"vendor_data", vendor.data[0]},
    };
}
