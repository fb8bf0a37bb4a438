// The most frequent queries: templates with their component masks. Pure functions. IRQL: <=
// DISPATCH_LEVEL. Source: seed 003's helpers.
#ifndef IRPVERBS_SAA_QUERIES_HPP
#define IRPVERBS_SAA_QUERIES_HPP

#include <saa/ibmf_saa.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace irpverbs::saa {

template <class Host>
struct query_template {
    Host record{};
    std::uint64_t components = 0;
};

/// A query whose record type is known only at run time.
struct any_query {
    std::uint16_t attribute = 0; // of a record that records.hpp knows
    std::uint64_t components = 0;
    std::vector<std::uint64_t> record; // the host structure's bytes, and the GIDs that follow
};

/// Paths between two ports, or from or to one port when the other GID is 0. A `max_paths` of 0 is a
/// wildcard, too.
struct path_criteria {
    ib_gid_t sgid{};
    ib_gid_t dgid{};
    ib_pkey_t p_key = IBMF_SAA_PKEY_WC;
    ib_mtu_t min_mtu = IBMF_SAA_MTU_WC; // a code of IB_MTU
    bool reversible = true;
    std::uint8_t max_paths = 1; // per pair of ports; the library requests at most 127 from an SA
};
NT_API query_template<sa_path_record_t> path_template(const path_criteria& criteria) noexcept;

/// `name`: at most 63 bytes; a longer name is truncated.
NT_API query_template<sa_service_record_t>
service_by_name(std::string_view name, ib_pkey_t p_key = IBMF_SAA_PKEY_WC) noexcept;
NT_API query_template<sa_service_record_t>
service_by_id(ib_svc_id_t id, ib_pkey_t p_key = IBMF_SAA_PKEY_WC) noexcept;

/// Sets all components of the record, the lease included: without a lease the SA keeps the service
/// for ever.
NT_API query_template<sa_service_record_t>
service_registration(const sa_service_record_t& record) noexcept;
/// Sets the components that identify the record.
NT_API query_template<sa_service_record_t>
service_deregistration(const sa_service_record_t& record) noexcept;

/// Moves the preferred path to each destination (lowest Preference, then lowest LIDs) to the front,
/// ordered by DGID, and returns the number of these paths. Allocates no memory.
NT_API std::size_t one_path_per_port(std::span<sa_path_record_t> paths) noexcept;

} // namespace irpverbs::saa

#endif
