#include "service_registry.hpp"

#include <algorithm>

namespace irpverbs::subnet_manager {
namespace {

constexpr std::uint64_t identifying = SA_SR_COMPMASK_ID | SA_SR_COMPMASK_GID;

bool has_key(const sa_service_record_t& record) {
    return record.ServiceKey_hi != 0 || record.ServiceKey_lo != 0;
}

bool key_matches(const sa_service_record_t& asked, const sa_service_record_t& kept) {
    return !has_key(kept) ||
           (asked.ServiceKey_hi == kept.ServiceKey_hi && asked.ServiceKey_lo == kept.ServiceKey_lo);
}

std::uint32_t seconds_left(machine_time ends, machine_time now) {
    return static_cast<std::uint32_t>((ends - now + ticks_per_second - 1) / ticks_per_second);
}

} // namespace

sa_service_record_t visible_record(sa_service_record_t record, bool trusted) {
    if (!trusted) record.ServiceKey_hi = record.ServiceKey_lo = 0;
    return record;
}

service_registry::identity service_registry::identity_of(const sa_service_record_t& record) {
    return {record.ServiceID, record.ServiceGID.gid_prefix, record.ServiceGID.gid_guid,
            record.ServiceP_Key};
}

void service_registry::drop(std::map<identity, service>::iterator at) {
    if (at->second.ends) {
        auto [lease, last] = leases_.equal_range(*at->second.ends);
        while (lease != last && lease->second != at->first)
            ++lease;
        leases_.erase(lease);
    }
    services_.erase(at);
}

std::uint16_t service_registry::set(sa_service_record_t& record, std::uint64_t components,
                                    machine_time now) {
    if ((components & identifying) != identifying) return SA_STATUS_ERR_REQ_INVALID;
    const bool has_lease = (components & SA_SR_COMPMASK_LEASE) != 0;
    if (has_lease && record.ServiceLease == 0) return SA_STATUS_ERR_REQ_INVALID;
    expire(now);
    if ((components & SA_SR_COMPMASK_PKEY) == 0) record.ServiceP_Key = 0xffff;
    if (!has_lease) record.ServiceLease = SA_SR_INDEFINITE_SERVICE_LEASE;
    const identity id = identity_of(record);
    if (const auto old = services_.find(id); old != services_.end()) {
        if (!key_matches(record, old->second.record)) return SA_STATUS_ERR_REQ_DENIED;
        drop(old);
    } else if (services_.size() >= capacity_) {
        return SA_STATUS_ERR_NO_RESOURCES;
    }
    service& added = services_[id];
    added.record = record;
    if (record.ServiceLease != SA_SR_INDEFINITE_SERVICE_LEASE) {
        added.ends = now + record.ServiceLease * ticks_per_second;
        leases_.emplace(*added.ends, id);
    }
    return SA_STATUS_NO_ERROR;
}

std::uint16_t service_registry::erase(sa_service_record_t& record, machine_time now) {
    expire(now);
    const auto found = services_.find(identity_of(record));
    if (found == services_.end() || !key_matches(record, found->second.record))
        return SA_STATUS_ERR_NO_RECORDS;
    record = found->second.record;
    drop(found);
    return SA_STATUS_NO_ERROR;
}

std::vector<sa_service_record_t> service_registry::find(const sa_service_record_t& wanted,
                                                        std::uint64_t components, machine_time now,
                                                        bool trusted) const {
    std::vector<sa_service_record_t> found;
    for (const auto& [id, kept] : services_) {
        if (kept.ends && *kept.ends <= now) continue;
        sa_service_record_t record = kept.record;
        if (kept.ends) record.ServiceLease = seconds_left(*kept.ends, now);
        if (!matches(layout_of(&wanted), components, &wanted, &record)) continue;
        found.push_back(visible_record(record, trusted));
    }
    return found;
}

std::size_t service_registry::expire(machine_time now) {
    std::size_t ended = 0;
    for (; !leases_.empty() && leases_.begin()->first <= now; ++ended) {
        services_.erase(leases_.begin()->second);
        leases_.erase(leases_.begin());
    }
    return ended;
}

std::optional<machine_time> service_registry::next_expiry() const {
    if (leases_.empty()) return std::nullopt;
    return leases_.begin()->first;
}

} // namespace irpverbs::subnet_manager
