#include "path_migration.hpp"

#include <utility>

namespace irpverbs::hca_software::transport {

namespace {

bool concerns(const endpoint& of, const packet& what) {
    return of.receives() && service_of(what.opcode) == of.service();
}

} // namespace

bool requests_migration(const endpoint& of, const packet& what) {
    return is_armed(of) && what.migrated && concerns(of, what);
}

bool follow_peer(endpoint& of, const packet& what) {
    if (requests_migration(of, what)) {
        exchange_paths(of);
        return true;
    }
    const bool peer_is_rearmed = !what.migrated && concerns(of, what);
    if (of.attr.apm_state == IB_APM_REARM && peer_is_rearmed) set_migration(of, IB_APM_ARMED);
    return false;
}

void refuse_migration(endpoint& of) {
    if (!std::exchange(of.refused_migration, true)) of.owner.report(IB_AE_PATH_MIGRATION_ERROR);
}

void exchange_paths(endpoint& of) {
    std::swap(of.attr.primary_av, of.attr.alternate_av);
    std::swap(of.attr.pkey_index, of.attr.alternate_pkey_index);
    std::swap(of.attr.local_ack_timeout, of.attr.alternate_local_ack_timeout);
    of.attr.primary_port = of.attr.primary_av.port_num;
    set_migration(of, IB_APM_MIGRATED);
    of.owner.report(IB_AE_PATH_MIGRATED);
}

void set_migration(endpoint& of, ib_apm_state_t to) {
    of.attr.apm_state = to;
    of.refused_migration = false;
    of.owner.migration_changed();
}

} // namespace irpverbs::hca_software::transport
