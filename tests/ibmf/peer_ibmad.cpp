#include "peers.hpp"

#include <infiniband/mad.h>

#include <array>
#include <cstring>

irpverbs::ibmf::peers::fields irpverbs::ibmf::peers::ibmad_fields(const std::uint8_t* mad) {
    std::array<std::uint8_t, 256> copy; // the library's functions take no const
    std::memcpy(copy.data(), mad, copy.size());
    const auto field = [&](MAD_FIELDS which) -> std::uint64_t {
        return mad_get_field(copy.data(), 0, which);
    };
    const auto wide = [&](MAD_FIELDS which) { return mad_get_field64(copy.data(), 0, which); };
    return {
        {"base_version", field(IB_MAD_BASEVER_F)},
        {"class", field(IB_MAD_MGMTCLASS_F)},
        {"class_version", field(IB_MAD_CLASSVER_F)},
        {"method", field(IB_MAD_METHOD_F) | field(IB_MAD_RESPONSE_F) << 7},
        {"tid", wide(IB_MAD_TRID_F)},
        {"attribute", field(IB_MAD_ATTRID_F)},
        {"modifier", field(IB_MAD_ATTRMOD_F)},
        {"rmpp_version", field(IB_SA_RMPP_VERS_F)},
        {"rmpp_type", field(IB_SA_RMPP_TYPE_F)},
        {"rmpp_time_and_flags", field(IB_SA_RMPP_RESP_F) << 3 | field(IB_SA_RMPP_FLAGS_F)},
        {"rmpp_status", field(IB_SA_RMPP_STATUS_F)},
        {"segment", field(IB_SA_RMPP_SEGNUM_F)},
        {"length_or_window", field(IB_SA_RMPP_NEWWIN_F)},
        {"sm_key", wide(IB_SA_MKEY_F)},
        {"attribute_offset", field(IB_SA_ATTROFFS_F)},
        {"component_mask", wide(IB_SA_COMPMASK_F)},
        {"m_key", wide(IB_MAD_MKEY_F)},
        {"dr_slid", field(IB_DRSMP_DRSLID_F)},
        {"dr_dlid", field(IB_DRSMP_DRDLID_F)},
        {"hop_pointer", field(IB_DRSMP_HOPPTR_F)},
        {"hop_count", field(IB_DRSMP_HOPCNT_F)},
        {"returning", field(IB_DRSMP_DIRECTION_F)},
        {"oui", field(IB_VEND2_OUI_F)},
    };
}
