// Tables of drivers that were compiled with another ci/driver.h than this library.
#pragma once

#include <ci/driver.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace irpverbs::ci {

/// The table, whose members beyond its Size are 0. It fits.
template <class Table>
Table sized_copy(const Table& given) {
    Table made{};
    std::memcpy(&made, &given, std::min<std::size_t>(given.Size, sizeof(made)));
    return made;
}

/// Whether the description and its operations are of this library's version, and no longer than it
/// knows. STATUS_SUCCESS. STATUS_REVISION_MISMATCH, and `problem` is a sentence for people.
/// STATUS_INVALID_PARAMETER.
NTSTATUS check_tables(const HCA_DEVICE& given, std::string& problem);

} // namespace irpverbs::ci
