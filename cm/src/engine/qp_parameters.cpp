// The attributes of the changes of a queue pair. Source: IBA 12.9.6, 11.2.5.2.
#include "connection.hpp"

#include "port.hpp"

namespace irpverbs::cm::engine {

bool connection::locate_path() {
    const std::optional<path_location> found = at->attributes().locate(terms.primary);
    if (found) terms.location = *found;
    return found.has_value();
}

ci::init_attributes connection::init_attributes() const {
    return {.port = at->number, .pkey_index = terms.location.pkey_index, .access = terms.access};
}

ci::rtr_attributes connection::rtr_attributes() const {
    const sa_path_record_t& path = terms.primary;
    ci::rtr_attributes with;
    with.av = address_vector(path, terms.location);
    with.dest_qp = peer.qpn;
    with.rq_psn = terms.rq_psn;
    with.path_mtu = static_cast<IB_MTU>(path.Mtu);
    with.resp_res = terms.resp_res;
    with.rnr_nak_timeout = terms.rnr_nak_timeout;
    return with;
}

// A path of another port of the HCA may be an alternate one. Its P_Key is that of the primary path.
bool connection::locate_alternate(alternate_path& which) const {
    which.path.P_Key = terms.primary.P_Key;
    const port_attributes* const start = at->start_of(which.path);
    const auto found = start != nullptr ? start->locate(which.path) : std::nullopt;
    if (found) which.location = *found;
    return found.has_value();
}

void connection::add_alternate(ib_qp_mod_t& to, const alternate_path& which) {
    to.opts |= IB_MOD_QP_ALTERNATE_AV;
    to.alternate_av = address_vector(which.path, which.location);
    to.alternate_pkey_index = which.location.pkey_index;
    to.alternate_local_ack_timeout = which.ack_timeout;
}

ib_qp_mod_t connection::rts_change() const {
    ib_qp_mod_t change = ci::to_rts(terms.type, rts_attributes());
    if (!terms.fails_over) return change;
    add_alternate(change, terms.alternate);
    change.opts |= IB_MOD_QP_APM_STATE;
    change.apm_state = IB_APM_REARM;
    return change;
}

// Two rearmed ends may become armed at any time, which another IB_APM_REARM is not allowed in.
ib_qp_mod_t connection::path_change(ib_apm_state_t now) const {
    ib_qp_mod_t change{};
    add_alternate(change, exchange_->alternate);
    if (now != IB_APM_MIGRATED) return change;
    change.opts |= IB_MOD_QP_APM_STATE;
    change.apm_state = IB_APM_REARM;
    return change;
}

ci::rts_attributes connection::rts_attributes() const {
    return {.sq_psn = terms.sq_psn,
            .init_depth = terms.init_depth,
            .local_ack_timeout = terms.ack_timeout,
            .retry_cnt = terms.retry_count,
            .rnr_retry_cnt = terms.rnr_retry_count};
}

NTSTATUS connection::query_qp_change(ib_qp_state_t to, ib_qp_mod_t& into) {
    if (to != IB_QPS_RTR && to != IB_QPS_RTS) return STATUS_INVALID_PARAMETER;
    if (!locate_path()) return STATUS_INVALID_DEVICE_STATE;
    into = to == IB_QPS_RTR ? ci::to_rtr(terms.type, rtr_attributes())
                            : ci::to_rts(terms.type, rts_attributes());
    return STATUS_SUCCESS;
}

} // namespace irpverbs::cm::engine
