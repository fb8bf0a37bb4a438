// An answer, described.
#pragma once

#include "question.hpp"

#include <boost/json/object.hpp>

namespace irpctl {

/// Its parts, without RMPP; `data` may be those of many datagrams.
struct answer {
    irpverbs::ibmf::mad_header header;
    std::vector<std::uint8_t> class_header;
    std::vector<std::uint8_t> data;
    std::uint16_t from_lid = 0;
    std::uint64_t ticks = 0;  // from the question to it, in 100 ns
    bool whole_table = false; // a transfer: as many records as `data` holds
};

/// The values of records: as text for a person, or as JSON has them.
enum class answer_form : std::uint8_t { words, json };

/// Header and, where the attribute is known, its "records", else its "data" in lines.
boost::json::object describe(const answer& what, answer_form form);

} // namespace irpctl
