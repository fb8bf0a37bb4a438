// Paths from the SA, valid until the subnet changes. No lock (the owner has one), no clock (callers
// pass the time), and a hit allocates nothing.
#pragma once

#include "index_lists.hpp"
#include "path_key.hpp"

#include <machine_time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace irpverbs::saa {

struct path_cache_limits {
    std::size_t entries = 16384; // beyond that, the least recently used entry is removed
    std::size_t paths = 127; // of an entry: the largest NumbPath; longer responses are not stored
    machine_time ttl = 300 * ticks_per_second;
    machine_time negative_ttl = 2 * ticks_per_second;
};

enum class invalidation : std::uint8_t {
    gid_out_of_service, // trap 65
    gid_in_service,     // trap 64: earlier paths of the port may be wrong
    sm_change,
    client_reregister,
    lid_change, // of the local port
    pkey_change,
    events_missed // perhaps: the port was down, or the SA has just begun to send Reports
};
inline constexpr std::size_t invalidations = 7;

struct path_cache_counters {
    std::uint64_t hits = 0;
    std::uint64_t negative_hits = 0; // "no such path", not counted as hits
    std::uint64_t misses = 0;        // including stale entries
    std::uint64_t stale = 0;         // found, but expired
    std::uint64_t evicted = 0;
    std::uint64_t late_responses = 0; // not stored: invalidated after the query was sent
    std::array<std::uint64_t, invalidations> invalidated{}; // entries, by reason
};

class path_cache {
public:
    enum class outcome : std::uint8_t { miss, hit, negative };

    struct lookup_result {
        outcome what = outcome::miss;
        std::span<const sa_path_record_t> records; // of a hit; valid until the next change
        int status = 0;                            // of a negative entry
    };

    /// The time of a query in the cache's count of invalidations.
    enum class ticket : std::uint64_t {};

    explicit path_cache(const path_cache_limits& limits = {});

    lookup_result look_up(const path_key& key, machine_time now);

    /// The caller takes the ticket before it sends the query.
    ticket current_ticket() const { return ticket{epoch_}; }

    /// Stores a response. Returns false without effect when its subject was invalidated after
    /// `when`, since the response may describe the state before the change; with more paths than an
    /// entry holds; or without memory.
    bool store(const path_key& key, std::span<const sa_path_record_t> records, ticket when,
               machine_time now);
    bool store_negative(const path_key& key, int status, ticket when, machine_time now);

    /// Traps 64 and 65: invalidates the paths from and to `gid`.
    void invalidate_gid(const ib_gid_t& gid, invalidation reason);

    /// The other reasons: invalidates all entries.
    void invalidate_all(invalidation reason);

    std::size_t size() const { return size_; }
    const path_cache_counters& counters() const { return counters_; }

private:
    using index = index_lists::index;

    struct entry {
        path_key key;
        std::vector<sa_path_record_t> records;
        machine_time expires = 0;
        int status = 0;
        bool negative = false;
    };
    struct gid_invalidation {
        std::uint64_t gid[2];
    };

    std::size_t bucket(std::uint64_t hash) const { return hash & (buckets_ - 1); }
    index find(const path_key& key) const;
    bool is_late(const path_key& key, ticket when) const;
    entry* make_entry(const path_key& key, ticket when);
    void remove(index at);
    std::uint64_t remove_by_gid(index_lists& ends, const std::uint64_t (&gid)[2], bool source);

    path_cache_limits limits_;
    std::size_t buckets_;
    std::vector<entry> entries_;
    std::vector<index> free_;
    index_lists by_key_;
    index_lists by_source_;
    index_lists by_destination_;
    index_lists by_use_; // one list; the most recently used first
    std::size_t size_ = 0;

    std::uint64_t epoch_ = 0;      // the number of invalidations
    std::uint64_t all_before_ = 0; // responses to queries before this epoch are late in any case
    std::array<gid_invalidation, 256> recent_{}; // the entry of epoch n is at n % size
    path_cache_counters counters_;
};

} // namespace irpverbs::saa
