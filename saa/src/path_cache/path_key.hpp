// What a path was asked for: the key of the cache.
#pragma once

#include <saa/sa_recs.h>

#include <cstdint>
#include <optional>

namespace irpverbs::saa {

/// (SGID, DGID, P_Key, QoS, selectors) of a query; components outside of its mask are 0, so that
/// equal questions are equal keys.
struct path_key {
    std::uint64_t sgid[2] = {};
    std::uint64_t dgid[2] = {};
    std::uint64_t service_id = 0;
    std::uint32_t components = 0;
    std::uint16_t pkey = 0;
    std::uint16_t qos_class = 0;
    std::uint8_t sl = 0;
    std::uint8_t tclass = 0;
    std::uint8_t mtu = 0; // selector above, value below
    std::uint8_t rate = 0;
    std::uint8_t life_time = 0;
    std::uint8_t reversible = 0;
    std::uint8_t numb_path = 0;

    bool operator==(const path_key&) const = default;

    /// nullopt when the answer is not for the cache: a GID is missing, or a component is asked for
    /// that is an answer rather than a question (LIDs, for one).
    static std::optional<path_key> of(const sa_path_record_t& wanted, std::uint64_t components);

    std::uint64_t hash() const;
};

/// A GID's hash, for the indexes by end.
std::uint64_t hash_of(const std::uint64_t (&gid)[2]);

} // namespace irpverbs::saa
