// The policy of a port's path cache: it is valid only while the SA reports which ports appear and
// disappear. The port's lock guards it.
#pragma once

#include <access/answer.hpp>
#include <path_cache/path_cache.hpp>
#include <saa/ibmf_saa_extras.h>

#include <memory>
#include <optional>

namespace irpverbs::saa {

class path_memory {
public:
    using ticket = path_cache::ticket;

    bool has_begun() const { return cache_ != nullptr; }
    void begin(std::unique_ptr<path_cache> cache) { cache_ = std::move(cache); }

    /// Sets whether the SA reports ports from now on.
    void hear(bool reported);

    /// Returns the ticket of a query that is sent now, or nothing when its response is not
    /// cacheable.
    std::optional<ticket> asked() const;
    void keep(const question& asked, std::optional<ticket> when, const answer& told);

    /// Looks up the response to an equal query. Its records are valid until the next change.
    path_cache::answer recall(const path_key& path);

    void port_changed(const ib_gid_t& gid, invalidation reason);
    void all_changed(invalidation reason);

    ibmf_saa_path_cache_stats_t statistics() const;

private:
    std::unique_ptr<path_cache> cache_; // null: no session uses the cache
    bool hears_ = false;
};

} // namespace irpverbs::saa
