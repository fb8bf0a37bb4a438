// What the SA is asked, in wire form.
#pragma once

#include <path_cache/path_key.hpp>
#include <saa/ibmf_saa.h>
#include <saa/records.hpp>

#include <boost/container/small_vector.hpp>

#include <cstddef>
#include <cstdint>

namespace irpverbs::saa {

/// Equal ones have equal answers. Moving one allocates nothing, though clang-tidy thinks it may.
// NOLINTNEXTLINE(bugprone-exception-escape)
struct question {
    static constexpr std::size_t datagram_data = 200; // of one datagram; more goes by RMPP
    static constexpr std::size_t path_data = 64;      // of what is asked most

    std::uint8_t method = 0;
    std::uint16_t attribute = 0;
    std::uint64_t components = 0;
    ib_smkey_t sm_key = 0;
    boost::container::small_vector<std::uint8_t, path_data> data;
    const record_type* answer_type = nullptr; // null: bytes as they come
    bool bulk = false;
    std::optional<path_key> path; // of one that the path cache may answer

    /// Whether the SA is asked for records, and told nothing.
    bool retrieves() const;
    std::size_t hash() const;
    bool operator==(const question& other) const = default;
};

/// `made` has its SM_Key. An IBMF_ status. IRQL: <= DISPATCH_LEVEL.
int compose(const ibmf_saa_access_args_t& wanted, question& made);

} // namespace irpverbs::saa
