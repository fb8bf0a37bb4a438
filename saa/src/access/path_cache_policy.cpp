#include <access/path_cache_policy.hpp>

#include <dispatch/ke.h>

namespace irpverbs::saa {

namespace {

// The only failure that the cache keeps is "no such path"; the cause of another may pass at any
// time.
bool is_lasting(int status) { return status == IBMF_NO_RECORDS || status == IBMF_INVALID_GID; }

} // namespace

// Invalidates the paths from before the SA's reports, since their changes were not reported.
void path_cache_policy::set_subscribed(bool reported) {
    if (reported && !subscribed_) invalidate_all(invalidation::events_missed);
    subscribed_ = reported;
}

std::optional<path_cache_policy::ticket> path_cache_policy::current_ticket() const {
    if (cache_ == nullptr || !subscribed_) return std::nullopt;
    return cache_->current_ticket();
}

void path_cache_policy::store(const wire_query& request, std::optional<ticket> when,
                              const sa_response& response) {
    if (cache_ == nullptr || !subscribed_ || !when || !request.path) return;
    const machine_time now = KeQueryInterruptTime();
    if (response.status == IBMF_SUCCESS)
        cache_->store(*request.path,
                      {static_cast<const sa_path_record_t*>(response.records.bytes.get()),
                       response.records.length / sizeof(sa_path_record_t)},
                      *when, now);
    else if (is_lasting(response.status))
        cache_->store_negative(*request.path, response.status, *when, now);
}

path_cache::lookup_result path_cache_policy::look_up(const path_key& path) {
    if (cache_ == nullptr || !subscribed_) return {};
    return cache_->look_up(path, KeQueryInterruptTime());
}

void path_cache_policy::invalidate_gid(const ib_gid_t& gid, invalidation reason) {
    if (cache_ != nullptr) cache_->invalidate_gid(gid, reason);
}

void path_cache_policy::invalidate_all(invalidation reason) {
    if (cache_ != nullptr) cache_->invalidate_all(reason);
}

ibmf_saa_path_cache_stats_t path_cache_policy::statistics() const {
    if (cache_ == nullptr) return {};
    const path_cache_counters& counted = cache_->counters();
    const auto by = [&](invalidation reason) {
        return counted.invalidated[static_cast<std::size_t>(reason)];
    };
    return {.pc_entries = cache_->size(),
            .pc_subscribed = subscribed_ ? 1u : 0u,
            .pc_hits = counted.hits,
            .pc_negative_hits = counted.negative_hits,
            .pc_misses = counted.misses,
            .pc_stale = counted.stale,
            .pc_evicted = counted.evicted,
            .pc_late_responses = counted.late_responses,
            .pc_gid_out_of_service = by(invalidation::gid_out_of_service),
            .pc_gid_in_service = by(invalidation::gid_in_service),
            .pc_sm_change = by(invalidation::sm_change),
            .pc_client_reregister = by(invalidation::client_reregister),
            .pc_lid_change = by(invalidation::lid_change),
            .pc_pkey_change = by(invalidation::pkey_change),
            .pc_events_missed = by(invalidation::events_missed)};
}

} // namespace irpverbs::saa
