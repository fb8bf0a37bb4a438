// An SA query that is built from words of the command line.
#pragma once

#include <saa/queries.hpp>
#include <saa/records.hpp>

#include <string>
#include <vector>

namespace irpctl {

/// Returns the record types that the SA can be queried for, ordered by attribute id.
std::vector<const irpverbs::saa::record_type*> queryable_records();

/// Finds a record type by its name or the beginning of it, without regard to case and underscores.
/// Throws wrong_usage.
const irpverbs::saa::record_type& record_named(const std::string& text);

/// Returns the record type of the query template: a PathRecord for TraceRecords, otherwise
/// `record`.
const irpverbs::saa::record_type& template_of(const irpverbs::saa::record_type& record);

/// `fields`: "name=value", one component each. A MultiPathRecord also accepts any number of SGID
/// and DGID. Throws wrong_usage.
irpverbs::saa::any_query make_query(const irpverbs::saa::record_type& record,
                                    const std::vector<std::string>& fields);

} // namespace irpctl
