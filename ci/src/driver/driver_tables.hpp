// Tables of drivers that were compiled with a different ci/driver.h than this library.
#pragma once

#include <ci/driver.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace irpverbs::ci {

/// Copies a table that fits; the members beyond its Size are 0.
template <class Table>
Table sized_copy(const Table& given) {
    Table made{};
    std::memcpy(&made, &given, std::min<std::size_t>(given.Size, sizeof(made)));
    return made;
}

/// Checks that the description and its operations have this library's version, and are no longer
/// than its own tables. STATUS_SUCCESS. STATUS_REVISION_MISMATCH: `problem` is a sentence for
/// people. STATUS_INVALID_PARAMETER.
NTSTATUS check_tables(const HCA_DEVICE& given, std::string& problem);

} // namespace irpverbs::ci
