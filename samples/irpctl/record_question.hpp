// A question to the SA that is made of words.
#pragma once

#include <saa/queries.hpp>
#include <saa/records.hpp>

#include <string>
#include <vector>

namespace irpctl {

/// What the SA can be asked for, by attribute id.
std::vector<const irpverbs::saa::record_type*> askable_records();

/// By name or the beginning of one, without regard to case and underscores. Throws wrong_usage.
const irpverbs::saa::record_type& record_named(const std::string& text);

/// What a question about these records is made of: for TraceRecords, a PathRecord.
const irpverbs::saa::record_type& asked_by(const irpverbs::saa::record_type& record);

/// `fields`: "name=value", a component each; of a MultiPathRecord also SGID and DGID, as often as
/// there are. Throws wrong_usage.
irpverbs::saa::any_query make_query(const irpverbs::saa::record_type& record,
                                    const std::vector<std::string>& fields);

} // namespace irpctl
