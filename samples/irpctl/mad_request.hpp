// A request that is built from words of the command line.
#pragma once

#include <ibmf/mad.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace irpctl {

/// The options that describe a datagram.
struct mad_request_words {
    std::string management_class = "perf";
    std::string method = "get";
    std::string attribute = "ClassPortInfo";
    std::string modifier = "0";
    std::string lid;                 // empty: the subnet manager's for the SA, else the port's own
    std::string route;               // the directed route, "1,2"
    bool is_routed = false;          // true also for an empty route
    std::string mask;                // the component mask of the SA
    std::string key;                 // M_Key or SM_Key
    std::string oui;                 // of the vendor classes with an OUI
    std::string data;                // hexadecimal digits
    std::vector<std::string> fields; // "name=value"
};

/// A request of one class, its parts in wire format, without RMPP.
struct mad_request {
    irpverbs::ibmf::mad_header header;
    std::vector<std::uint8_t> class_header;
    std::vector<std::uint8_t> data;
    std::uint32_t oui = 0;
    std::optional<std::uint16_t> lid;

    bool is_directed() const { return header.mgmt_class == MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE; }
    bool is_for_the_sa() const { return header.mgmt_class == MAD_MGMT_CLASS_SUBN_ADM; }
};

/// Throws wrong_usage.
mad_request make_mad_request(const mad_request_words& words);

} // namespace irpctl
