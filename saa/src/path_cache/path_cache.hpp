// Paths that the SA has told, until the subnet says otherwise. Pure: no lock (the owner has one),
// no clock (time is passed in), and a hit allocates nothing.
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
    std::size_t entries = 16384; // the least recently used one makes room
    machine_time ttl = 300 * ticks_a_second;
    machine_time negative_ttl = 2 * ticks_a_second;
};

enum class invalidation : std::uint8_t {
    gid_out_of_service, // trap 65
    gid_in_service,     // trap 64: what was known of the port before may be wrong
    sm_change,
    client_reregister,
    lid_change, // of the own port
    pkey_change,
    unheard // events may have been missed: the port was away, or the SA reports only from now on
};
inline constexpr std::size_t invalidations = 7;

struct path_cache_counters {
    std::uint64_t hits = 0;
    std::uint64_t negative_hits = 0; // "no such path", not counted as hits
    std::uint64_t misses = 0;        // those of stale entries too
    std::uint64_t stale = 0;         // found, but past its time
    std::uint64_t evicted = 0;
    std::uint64_t late_answers = 0; // not stored: invalidated after they were asked for
    std::array<std::uint64_t, invalidations> invalidated{}; // entries, by reason
};

class path_cache {
public:
    enum class outcome : std::uint8_t { miss, hit, negative };

    struct answer {
        outcome what = outcome::miss;
        std::span<const sa_path_record_t> records; // of a hit; valid until the next change
        int status = 0;                            // of a negative entry
    };

    /// When a question was asked, as the cache counts.
    enum class ticket : std::uint64_t {};

    explicit path_cache(const path_cache_limits& limits = {});

    answer look_up(const path_key& key, machine_time now);

    /// To be taken before the query is sent.
    ticket asked() const { return ticket{epoch_}; }

    /// Keeps an answer. False, and nothing is kept, when what it tells of was invalidated after
    /// `when`: then it may be from before the change; or without memory.
    bool store(const path_key& key, std::span<const sa_path_record_t> records, ticket when,
               machine_time now);
    bool store_negative(const path_key& key, int status, ticket when, machine_time now);

    /// Traps 64 and 65: forgets what begins or ends at `gid`.
    void invalidate_gid(const ib_gid_t& gid, invalidation reason);

    /// The other reasons: forgets all.
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
    struct withdrawal {
        std::uint64_t gid[2];
    };

    std::size_t bucket(std::uint64_t hash) const { return hash & (buckets_ - 1); }
    index find(const path_key& key) const;
    bool is_late(const path_key& key, ticket when) const;
    entry* make_entry(const path_key& key, ticket when);
    void forget(index at);
    std::uint64_t forget_end(index_lists& ends, const std::uint64_t (&gid)[2], bool source);

    path_cache_limits limits_;
    std::size_t buckets_;
    std::vector<entry> entries_;
    std::vector<index> free_;
    index_lists by_key_;
    index_lists by_source_;
    index_lists by_destination_;
    index_lists by_use_; // one list; the most recently used first
    std::size_t size_ = 0;

    std::uint64_t epoch_ = 0; // invalidations so far
    std::uint64_t all_before_ =
        0; // answers asked for before this epoch are late, whatever they say
    std::array<withdrawal, 256> recent_{}; // that of epoch n at n % size
    path_cache_counters counters_;
};

} // namespace irpverbs::saa
