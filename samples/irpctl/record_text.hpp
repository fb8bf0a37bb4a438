// The text of SA records.
#pragma once

#include <saa/records.hpp>

#include <string>
#include <string_view>

namespace irpctl {

/// Returns the name of a value ("Active", "4096"), or the value where it has no name.
std::string value_text(const irpverbs::saa::record_type& type, const void* record,
                       std::string_view field);

template <class Host>
std::string value_text(const Host& record, std::string_view field) {
    return value_text(irpverbs::saa::layout_of(&record), &record, field);
}

/// Returns a GID in the format of fe80::1.
std::string gid_text(const ib_gid_t& gid);

/// Returns the bytes of the node's description, or its GUID where the description is empty. The
/// output functions escape it.
std::string name_of(const sa_node_record_t& node);

/// Returns the width and speed of a port with a link: "4X QDR".
std::string link_text(const sm_portinfo_t& port);

} // namespace irpctl
