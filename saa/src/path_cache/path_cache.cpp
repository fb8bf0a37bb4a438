#include "path_cache.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace irpverbs::saa {
namespace {

bool same(const std::uint64_t (&a)[2], const std::uint64_t (&b)[2]) {
    return a[0] == b[0] && a[1] == b[1];
}

} // namespace

path_cache::path_cache(const path_cache_limits& limits)
    : limits_(limits), buckets_(std::bit_ceil(std::max<std::size_t>(limits.entries, 1))),
      entries_(std::max<std::size_t>(limits.entries, 1)), by_key_(buckets_, entries_.size()),
      by_source_(buckets_, entries_.size()), by_destination_(buckets_, entries_.size()),
      by_use_(1, entries_.size()) {
    for (std::size_t i = entries_.size(); i-- > 0;)
        free_.push_back(static_cast<index>(i));
}

path_cache::index path_cache::find(const path_key& key) const {
    index at = by_key_.first(bucket(key.hash()));
    while (at != index_lists::none && !(entries_[at].key == key))
        at = by_key_.after(at);
    return at;
}

path_cache::lookup_result path_cache::look_up(const path_key& key, machine_time now) {
    const index at = find(key);
    if (at == index_lists::none) {
        ++counters_.misses;
        return {};
    }
    const entry& found = entries_[at];
    if (now >= found.expires) {
        ++counters_.stale;
        ++counters_.misses;
        remove(at);
        return {};
    }
    by_use_.remove(0, at);
    by_use_.push_front(0, at);
    ++(found.negative ? counters_.negative_hits : counters_.hits);
    return {found.negative ? outcome::negative : outcome::hit, found.records, found.status};
}

bool path_cache::is_late(const path_key& key, ticket when) const {
    const auto asked = static_cast<std::uint64_t>(when);
    if (asked < all_before_ || epoch_ - asked > recent_.size()) return true;
    for (std::uint64_t epoch = asked; epoch < epoch_; ++epoch) {
        const gid_invalidation& w = recent_[epoch % recent_.size()];
        if (same(w.gid, key.sgid) || same(w.gid, key.dgid)) return true;
    }
    return false;
}

path_cache::entry* path_cache::make_entry(const path_key& key, ticket when) {
    if (is_late(key, when)) {
        ++counters_.late_responses;
        return nullptr;
    }
    if (const index known = find(key); known != index_lists::none) remove(known);
    if (free_.empty()) {
        remove(by_use_.last(0));
        ++counters_.evicted;
    }
    const index at = free_.back();
    free_.pop_back();
    ++size_;
    by_key_.push_front(bucket(key.hash()), at);
    by_source_.push_front(bucket(hash_of(key.sgid)), at);
    by_destination_.push_front(bucket(hash_of(key.dgid)), at);
    by_use_.push_front(0, at);
    entries_[at].key = key;
    return &entries_[at];
}

bool path_cache::store(const path_key& key, std::span<const sa_path_record_t> records, ticket when,
                       machine_time now) {
    if (records.size() > limits_.paths) return false;
    entry* kept = make_entry(key, when);
    if (kept == nullptr) return false;
    try {
        kept->records.assign(records.begin(), records.end());
    } catch (const std::bad_alloc&) {
        remove(static_cast<index>(kept - entries_.data()));
        return false;
    }
    kept->expires = now + limits_.ttl;
    kept->status = 0;
    kept->negative = false;
    return true;
}

bool path_cache::store_negative(const path_key& key, int status, ticket when, machine_time now) {
    entry* kept = make_entry(key, when);
    if (kept == nullptr) return false;
    kept->records.clear();
    kept->expires = now + limits_.negative_ttl;
    kept->status = status;
    kept->negative = true;
    return true;
}

void path_cache::remove(index at) {
    const path_key& key = entries_[at].key;
    by_key_.remove(bucket(key.hash()), at);
    by_source_.remove(bucket(hash_of(key.sgid)), at);
    by_destination_.remove(bucket(hash_of(key.dgid)), at);
    by_use_.remove(0, at);
    free_.push_back(at);
    --size_;
}

std::uint64_t path_cache::remove_by_gid(index_lists& ends, const std::uint64_t (&gid)[2],
                                        bool source) {
    std::uint64_t removed = 0;
    index at = ends.first(bucket(hash_of(gid)));
    while (at != index_lists::none) {
        const index next = ends.after(at);
        const path_key& key = entries_[at].key;
        if (same(source ? key.sgid : key.dgid, gid)) {
            remove(at);
            ++removed;
        }
        at = next;
    }
    return removed;
}

void path_cache::invalidate_gid(const ib_gid_t& gid, invalidation reason) {
    const std::uint64_t end[2] = {gid.gid_prefix, gid.gid_guid};
    recent_[epoch_ % recent_.size()] = {{end[0], end[1]}};
    ++epoch_;
    counters_.invalidated[static_cast<std::size_t>(reason)] +=
        remove_by_gid(by_source_, end, true) + remove_by_gid(by_destination_, end, false);
}

void path_cache::invalidate_all(invalidation reason) {
    ++epoch_;
    all_before_ = epoch_;
    counters_.invalidated[static_cast<std::size_t>(reason)] += size_;
    while (size_ != 0)
        remove(by_use_.first(0));
}

} // namespace irpverbs::saa
