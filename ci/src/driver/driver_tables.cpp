#include "driver_tables.hpp"

namespace irpverbs::ci {

namespace {

constexpr std::size_t min_size = 2 * sizeof(ULONG); // Size and Version

template <class Table>
bool fits(const Table& given, const char* name, std::string& problem) {
    const std::string its = std::string("the driver's ") + name + " has ";
    if (given.Version != HCA_DRIVER_VERSION)
        problem = its + "Version " + std::to_string(given.Version) +
                  ", this library's ci/driver.h " + std::to_string(HCA_DRIVER_VERSION) +
                  ": compile the driver with that header" +
                  (given.Version == 0
                       ? ", and set Size and Version (HCA_OPERATIONS_INIT, HCA_DEVICE_INIT)"
                       : "");
    else if (given.Size > sizeof(Table) || given.Size < min_size)
        problem = its + "Size " + std::to_string(given.Size) + ", and this library knows " +
                  std::to_string(min_size) + " to " + std::to_string(sizeof(Table)) +
                  ": the driver needs the library of its own ci/driver.h";
    return problem.empty();
}

} // namespace

NTSTATUS check_tables(const HCA_DEVICE& given, std::string& problem) {
    if (!fits(given, "HCA_DEVICE", problem)) return STATUS_REVISION_MISMATCH;
    const HCA_DEVICE known = sized_copy(given);
    if (known.Operations == nullptr || known.Name == nullptr) return STATUS_INVALID_PARAMETER;
    return fits(*known.Operations, "HCA_OPERATIONS", problem) ? STATUS_SUCCESS
                                                              : STATUS_REVISION_MISMATCH;
}

} // namespace irpverbs::ci
