// A response and its description.
#pragma once

#include "mad_request.hpp"

#include <boost/json/object.hpp>

namespace irpctl {

/// The parts of a response, without RMPP headers; `data` may combine the data of many datagrams.
struct mad_response {
    irpverbs::ibmf::mad_header header;
    std::vector<std::uint8_t> class_header;
    std::vector<std::uint8_t> data;
    std::uint16_t from_lid = 0;
    std::uint64_t ticks = 0; // from the request to the response, in 100 ns
    bool has_table = false;  // an RMPP transfer: `data` holds as many records as fit
};

/// The format of record values: text for a person, or JSON values.
enum class output_form : std::uint8_t { text, json };

/// Returns the header and, for a known attribute, its "records", otherwise its "data" in lines.
boost::json::object describe(const mad_response& what, output_form form);

} // namespace irpctl
