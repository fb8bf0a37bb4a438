// What a port remembers of paths, and whether that can be believed: only while the SA reports which
// ports come and go. No lock: the port's guards it.
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

    /// Whether Reports of ports come from now on.
    void hear(bool reported);

    /// For a query that is sent now; nothing when its answer is not to be kept.
    std::optional<ticket> asked() const;
    void keep(const question& asked, std::optional<ticket> when, const answer& told);

    /// The answer to an equal question, if it is known; its records until the next change.
    path_cache::answer recall(const path_key& path);

    void port_changed(const ib_gid_t& gid, invalidation reason);
    void all_changed(invalidation reason);

    ibmf_saa_path_cache_stats_t statistics() const;

private:
    std::unique_ptr<path_cache> cache_; // null: nobody wants it
    bool hears_ = false;
};

} // namespace irpverbs::saa
