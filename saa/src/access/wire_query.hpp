// A query to the SA in wire format.
#pragma once

#include <path_cache/path_key.hpp>
#include <saa/ibmf_saa.h>
#include <saa/records.hpp>

#include <boost/container/small_vector.hpp>

#include <cstddef>
#include <cstdint>

namespace irpverbs::saa {

/// Equal queries have equal responses. A move allocates nothing; clang-tidy reports that it may.
// NOLINTNEXTLINE(bugprone-exception-escape)
struct wire_query {
    static constexpr std::size_t datagram_data = 200; // of one datagram; more needs RMPP
    static constexpr std::size_t path_data = 64;      // of the most frequent query

    std::uint8_t method = 0;
    std::uint16_t attribute = 0;
    std::uint64_t components = 0;
    ib_smkey_t sm_key = 0;
    boost::container::small_vector<std::uint8_t, path_data> data;
    const record_type* response_type = nullptr; // null: raw bytes
    bool bulk = false;
    std::optional<path_key> path; // set if the path cache may hold the response

    /// Whether the query only reads records.
    bool retrieves() const;
    std::size_t hash() const;
    bool operator==(const wire_query& other) const = default;
};

/// The caller sets made.sm_key. Returns an IBMF_ status. IRQL: <= DISPATCH_LEVEL.
int compose(const ibmf_saa_access_args_t& wanted, wire_query& made);

} // namespace irpverbs::saa
