#include "outgoing.hpp"

#include <ci/mad.h>

namespace irpverbs::cm::engine {

datagram_address datagram_address::along(const sa_path_record_t& path) {
    datagram_address to;
    to.local = {.ia_local_lid = path.SLID,
                .ia_remote_lid = path.DLID,
                .ia_remote_qno = 1,
                .ia_p_key = path.P_Key,
                .ia_q_key = IB_QP1_QKEY,
                .ia_service_level = static_cast<std::uint8_t>(path.SL & 0xF)};
    to.has_global = path.HopLimit > 1;
    to.global = {path.SGID, path.DGID, path.FlowLabel, path.TClass, path.HopLimit};
    return to;
}

} // namespace irpverbs::cm::engine
