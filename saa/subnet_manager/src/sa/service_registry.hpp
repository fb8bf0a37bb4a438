// ServiceRecords and their leases. Callers pass the time; statuses are OpenSM's wire statuses of
// the SA.
#pragma once

#include <basics.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace irpverbs::subnet_manager {

/// Returns the record as a requester sees it: only trusted ones see the key. Source: IBA 15.2.5.14.
sa_service_record_t visible_record(sa_service_record_t record, bool trusted);

class service_registry {
public:
    explicit service_registry(std::size_t capacity = 65536) : capacity_(capacity) {}

    /// Adds the record, or replaces the one with the same ID, GID and P_Key; `record` becomes the
    /// stored record. Without their components the P_Key is the default partition's and the lease
    /// infinite. Returns SA_STATUS_NO_ERROR; REQ_INVALID without the components of ID and GID, and
    /// for a lease of 0; REQ_DENIED when the existing record has another ServiceKey; NO_RESOURCES
    /// when full.
    std::uint16_t set(sa_service_record_t& record, std::uint64_t components, machine_time now);

    /// Removes the record with the same ID, GID, P_Key and ServiceKey, and returns it in `record`.
    /// Returns SA_STATUS_NO_ERROR or NO_RECORDS.
    std::uint16_t erase(sa_service_record_t& record, machine_time now);

    /// Returns matching records in order of ID, GID, P_Key; ServiceLease is the rest of the lease,
    /// and the key as in visible_record().
    std::vector<sa_service_record_t> find(const sa_service_record_t& wanted,
                                          std::uint64_t components, machine_time now,
                                          bool trusted) const;

    /// Removes services with an expired lease; returns their number.
    std::size_t expire(machine_time now);

    /// Returns the time when the first lease ends.
    std::optional<machine_time> next_expiry() const;

    std::size_t size() const { return services_.size(); }

private:
    using identity = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, ib_pkey_t>;
    struct service {
        sa_service_record_t record;
        std::optional<machine_time> ends; // none: the lease is infinite
    };

    static identity identity_of(const sa_service_record_t& record);

    std::size_t capacity_;
    std::map<identity, service> services_;
    std::multimap<machine_time, identity> leases_;

    void drop(std::map<identity, service>::iterator at);
};

} // namespace irpverbs::subnet_manager
