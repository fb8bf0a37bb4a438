// The attributes of the changes of a queue pair. Source: IBA 12.9.6, 11.2.5.2.
#include "connection.hpp"

#include "port.hpp"

namespace irpverbs::cm::engine {

bool connection::locate_path() {
    const std::optional<USHORT> key = at->pkey_index(terms.primary.P_Key);
    const std::optional<USHORT> gid = at->gid_index(terms.primary.SGID);
    const port_attributes& port = at->attributes();
    terms.pkey_index = key.value_or(0);
    terms.gid_index = gid.value_or(0);
    terms.path_bits = static_cast<UCHAR>(terms.primary.SLID - port.lid) &
                      static_cast<UCHAR>((1u << port.lmc) - 1);
    return key && gid;
}

ci::init_attributes connection::init_attributes() const {
    return {.port = at->number, .pkey_index = terms.pkey_index, .access = terms.access};
}

ci::rtr_attributes connection::rtr_attributes() const {
    const sa_path_record_t& path = terms.primary;
    ci::rtr_attributes with;
    with.av.dlid = path.DLID;
    with.av.port_num = at->number;
    with.av.sl = path.SL;
    with.av.path_bits = terms.path_bits;
    with.av.static_rate = path.Rate;
    with.av.grh_valid = path.HopLimit > 1;
    if (with.av.grh_valid)
        with.av.grh = {path.DGID, path.FlowLabel, terms.gid_index, path.HopLimit, path.TClass};
    with.dest_qp = peer.qpn;
    with.rq_psn = terms.rq_psn;
    with.path_mtu = static_cast<IB_MTU>(path.Mtu);
    with.resp_res = terms.resp_res;
    with.rnr_nak_timeout = terms.rnr_nak_timeout;
    return with;
}

ci::rts_attributes connection::rts_attributes() const {
    return {.sq_psn = terms.sq_psn,
            .init_depth = terms.init_depth,
            .local_ack_timeout = terms.ack_timeout,
            .retry_cnt = terms.retry_count,
            .rnr_retry_cnt = terms.rnr_retry_count};
}

} // namespace irpverbs::cm::engine
