#include <access/path_memory.hpp>

#include <dispatch/ke.h>

#include <cstring>

namespace irpverbs::saa {

namespace {

// Of what the SA can answer, that there is no such path; anything else may be different at once.
bool is_lasting(int status) { return status == IBMF_NO_RECORDS || status == IBMF_INVALID_GID; }

answer answer_of(std::span<const sa_path_record_t> paths) {
    detail::record_block copy;
    copy.length = paths.size_bytes();
    copy.bytes.reset(std::malloc(copy.length));
    if (copy.bytes == nullptr) return {IBMF_NO_MEMORY, {}};
    std::memcpy(copy.bytes.get(), paths.data(), copy.length);
    return {IBMF_SUCCESS, std::move(copy)};
}

} // namespace

// What was asked before the SA reports is not believed: a change of it would not be heard.
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

std::optional<answer> path_memory::recall(const path_key& path) {
    if (cache_ == nullptr || !hears_) return std::nullopt;
    const path_cache::answer known = cache_->look_up(path, KeQueryInterruptTime());
    switch (known.what) {
    case path_cache::outcome::hit:
        return answer_of(known.records);
    case path_cache::outcome::negative:
        return answer{known.status, {}};
    default:
        return std::nullopt;
    }
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
