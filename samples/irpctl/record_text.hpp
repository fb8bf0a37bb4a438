// What records of the SA say, in words.
#pragma once

#include <saa/records.hpp>

#include <string>
#include <string_view>

namespace irpctl {

/// The name of a value where it has one ("Active", "4096"), else the value.
std::string value_text(const irpverbs::saa::record_type& type, const void* record,
                       std::string_view field);

template <class Host>
std::string value_text(const Host& record, std::string_view field) {
    return value_text(irpverbs::saa::layout_of(&record), &record, field);
}

/// As in fe80::1.
std::string gid_text(const ib_gid_t& gid);

/// The description that a node has, byte by byte, or its GUID where that is empty. Output makes it
/// safe.
std::string name_of(const sa_node_record_t& node);

/// Of a port with a link: "4X QDR".
std::string link_text(const sm_portinfo_t& port);

} // namespace irpctl
