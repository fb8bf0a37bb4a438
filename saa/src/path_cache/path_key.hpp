// The key of the path cache: the components of a path query.
#pragma once

#include <saa/sa_recs.h>

#include <cstdint>
#include <optional>

namespace irpverbs::saa {

/// (SGID, DGID, P_Key, QoS, selectors) of a query; components outside of its mask are 0, so that
/// equal queries have equal keys.
struct path_key {
    std::uint64_t sgid[2] = {};
    std::uint64_t dgid[2] = {};
    std::uint64_t service_id = 0;
    std::uint32_t components = 0;
    std::uint16_t pkey = 0;
    std::uint16_t qos_class = 0;
    std::uint8_t sl = 0;
    std::uint8_t tclass = 0;
    std::uint8_t mtu = 0; // selector in the high bits, value in the low bits
    std::uint8_t rate = 0;
    std::uint8_t life_time = 0;
    std::uint8_t reversible = 0;
    std::uint8_t numb_path = 0;

    bool operator==(const path_key&) const = default;

    /// Returns nullopt when the response is not cacheable: a GID is missing, or the mask has a
    /// component that is a result rather than a criterion (a LID, for example).
    static std::optional<path_key> of(const sa_path_record_t& wanted, std::uint64_t components);

    std::uint64_t hash() const;
};

/// Returns a GID's hash, for the indexes by source and destination.
std::uint64_t hash_of(const std::uint64_t (&gid)[2]);

} // namespace irpverbs::saa
