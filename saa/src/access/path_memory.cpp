#include <access/path_memory.hpp>

#include <dispatch/ke.h>

namespace irpverbs::saa {

namespace {

// The only failure that the cache keeps is "no such path"; the cause of another may pass at any
// time.
bool is_lasting(int status) { return status == IBMF_NO_RECORDS || status == IBMF_INVALID_GID; }

} // namespace

// Invalidates the paths from before the SA's reports, since their changes were not reported.
void path_memory::hear(bool reported) {
    if (reported && !hears_) all_changed(invalidation::unheard);
    hears_ = reported;
}

std::optional<path_memory::ticket> path_memory::asked() const {
    if (cache_ == nullptr || !hears_) return std::nullopt;
    return cache_->asked();
}

void path_memory::keep(const question& asked, std::optional<ticket> when, const answer& told) {
    if (cache_ == nullptr || !hears_ || !when || !asked.path) return;
    const machine_time now = KeQueryInterruptTime();
    if (told.status == IBMF_SUCCESS)
        cache_->store(*asked.path,
                      {static_cast<const sa_path_record_t*>(told.records.bytes.get()),
                       told.records.length / sizeof(sa_path_record_t)},
                      *when, now);
    else if (is_lasting(told.status))
        cache_->store_negative(*asked.path, told.status, *when, now);
}

path_cache::answer path_memory::recall(const path_key& path) {
    if (cache_ == nullptr || !hears_) return {};
    return cache_->look_up(path, KeQueryInterruptTime());
}

void path_memory::port_changed(const ib_gid_t& gid, invalidation reason) {
    if (cache_ != nullptr) cache_->invalidate_gid(gid, reason);
}

void path_memory::all_changed(invalidation reason) {
    if (cache_ != nullptr) cache_->invalidate_all(reason);
}

ibmf_saa_path_cache_stats_t path_memory::statistics() const {
    if (cache_ == nullptr) return {};
    const path_cache_counters& counted = cache_->counters();
    const auto by = [&](invalidation reason) {
        return counted.invalidated[static_cast<std::size_t>(reason)];
    };
    return {.pc_entries = cache_->size(),
            .pc_hears = hears_ ? 1u : 0u,
            .pc_hits = counted.hits,
            .pc_negative_hits = counted.negative_hits,
            .pc_misses = counted.misses,
            .pc_stale = counted.stale,
            .pc_evicted = counted.evicted,
            .pc_late_answers = counted.late_answers,
            .pc_gid_out_of_service = by(invalidation::gid_out_of_service),
            .pc_gid_in_service = by(invalidation::gid_in_service),
            .pc_sm_change = by(invalidation::sm_change),
            .pc_client_reregister = by(invalidation::client_reregister),
            .pc_lid_change = by(invalidation::lid_change),
            .pc_pkey_change = by(invalidation::pkey_change),
            .pc_unheard = by(invalidation::unheard)};
}

} // namespace irpverbs::saa
