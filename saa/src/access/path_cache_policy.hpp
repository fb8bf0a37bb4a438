// The policy of a port's path cache: it is valid only while the SA reports which ports appear and
// disappear. The port's lock guards it.
#pragma once

#include <access/sa_response.hpp>
#include <path_cache/path_cache.hpp>
#include <saa/ibmf_saa_extras.h>

#include <memory>
#include <optional>

namespace irpverbs::saa {

class path_cache_policy {
public:
    using ticket = path_cache::ticket;

    bool enabled() const { return cache_ != nullptr; }
    void enable(std::unique_ptr<path_cache> cache) { cache_ = std::move(cache); }

    /// Sets whether the SA reports ports from now on.
    void set_subscribed(bool reported);

    /// Returns the ticket of a query that is sent now, or nothing when its response is not
    /// cacheable.
    std::optional<ticket> current_ticket() const;
    void store(const wire_query& request, std::optional<ticket> when, const sa_response& response);

    /// Looks up the response to an equal query. Its records are valid until the next change.
    path_cache::lookup_result look_up(const path_key& path);

    void invalidate_gid(const ib_gid_t& gid, invalidation reason);
    void invalidate_all(invalidation reason);

    ibmf_saa_path_cache_stats_t statistics() const;

private:
    std::unique_ptr<path_cache> cache_; // null: no session uses the cache
    bool subscribed_ = false;
};

} // namespace irpverbs::saa
