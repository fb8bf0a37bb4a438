// A query to the subnet administration, and the records of its response.
#pragma once

#include "pkey_access.hpp"

#include <ibmf/mad.hpp>
#include <model/multicast_groups.hpp>

#include <cstring>

namespace irpverbs::subnet_manager {

/// A Get or GetTable, and the state from which the SA responds to it.
struct sa_query {
    const subnet& net;
    const pkey_access& access;
    const multicast_groups& groups;
    std::uint64_t components = 0;
    ibmf::mad_bytes data; // the query's record
    bool table = false;   // GetTable: the response may have any number of records
    bool trusted = false; // the request had the SA's key
    std::uint32_t modifier = 0;
};

/// Records in the format of a GetTable response: packed, each padded to 8 bytes.
class record_list {
public:
    template <class Host>
    void add(const Host& record) {
        const record_type& type = layout_of(&record);
        stride_ = type.stride();
        const std::size_t at = bytes_.size();
        bytes_.resize(at + stride_);
        pack(type, &record, std::span(bytes_).subspan(at));
        ++count_;
    }

    /// Whether the response has reached its limit, so that one request does not delay all others.
    bool full() const { return bytes_.size() >= max_bytes; }
    std::size_t count() const { return count_; }
    std::size_t stride() const { return stride_; }
    std::vector<std::uint8_t> take_bytes() { return std::move(bytes_); }

private:
    static constexpr std::size_t max_bytes = std::size_t{8} << 20;

    std::vector<std::uint8_t> bytes_;
    std::size_t stride_ = 0;
    std::size_t count_ = 0;
};

/// Adds the records that match the query's components. `visit(emit)` calls `emit(record)`.
template <class Host, class Visit>
std::uint16_t add_matching(const sa_query& query, record_list& found, const Visit& visit) {
    const auto wanted = unpack<Host>(query.data);
    if (!wanted) return SA_STATUS_ERR_REQ_INVALID;
    const record_type& type = layout_of(&*wanted);
    visit([&](const Host& record) {
        if (matches(type, query.components, &*wanted, &record)) found.add(record);
    });
    return SA_STATUS_NO_ERROR;
}

/// Returns the end ports that the requester may see.
std::vector<port_ref> visible_end_ports(const sa_query& query);

// Queries of the topology. Each returns an SA status, and adds the matching records to `found`.
std::uint16_t find_nodes(const sa_query& query, record_list& found);
std::uint16_t find_ports(const sa_query& query, record_list& found);
std::uint16_t find_switches(const sa_query& query, record_list& found);
std::uint16_t find_linear_tables(const sa_query& query, record_list& found);
std::uint16_t find_links(const sa_query& query, record_list& found);
std::uint16_t find_guids(const sa_query& query, record_list& found);
std::uint16_t find_keys(const sa_query& query, record_list& found);
/// Returns at most NumbPath paths per pair of ports, a Get one path in all, and one path to a
/// multicast group, from a member if the query has a source. REQ_INVALID when GID and LID of an end
/// belong to two ports, and as check_path_query(). NO_RESOURCES when the response, or the number of
/// pairs of ports to examine, reaches its limit.
std::uint16_t find_paths(const sa_query& query, record_list& found);
/// Returns paths from each of the first GIDs to each of the others. INSUFFICIENT_COMPONENTS without
/// their counts; INVALID_GID for a GID of no port; REQ_INVALID for counts that the datagram does
/// not hold; as check_path_query().
std::uint16_t find_multiple_paths(const sa_query& query, record_list& found);

} // namespace irpverbs::subnet_manager
