#include "driver_checks.hpp"

#include <dispatch/support/checks.hpp>

#include <cstdio>

namespace irpverbs::ci {

namespace {

using text = char[256];

[[noreturn]] void report(const hca_device& device, driver_mistake mistake, ULONG_PTR value,
                         const char* said) {
    dispatch::detail::bug_check(DRIVER_VERIFIER_DETECTED_VIOLATION, said,
                                static_cast<ULONG>(mistake),
                                reinterpret_cast<ULONG_PTR>(device.fdo), value);
}

} // namespace

void check_reported_port(const hca_device& device, const char* function, UCHAR port) {
    if (port != 0 && port <= device.description.PortCount) return;
    text said;
    std::snprintf(
        said, sizeof(said),
        "%s: the driver of '%s' reports an event of port %u; the device has ports 1 to %u",
        function, device.name.c_str(), port, device.description.PortCount);
    report(device, driver_mistake::port, port, said);
}

void check_reported_event(const hca_device& device, const char* function, ULONG event,
                          IB_ASYNC_EVENT first, IB_ASYNC_EVENT last) {
    if (event >= static_cast<ULONG>(first) && event <= static_cast<ULONG>(last)) return;
    text said;
    std::snprintf(said, sizeof(said),
                  "%s: the driver of '%s' reports event %d, which no such object has (%d to %d)",
                  function, device.name.c_str(), static_cast<int>(event), static_cast<int>(first),
                  static_cast<int>(last));
    report(device, driver_mistake::event, static_cast<ULONG_PTR>(event), said);
}

void check_returned(const hca_device& device, const char* verb, ULONG_PTR information,
                    ULONG_PTR room) {
    if (information <= room) return;
    text said;
    std::snprintf(said, sizeof(said),
                  "%s: the driver of '%s' returns Information %llu for a buffer of %llu", verb,
                  device.name.c_str(), static_cast<unsigned long long>(information),
                  static_cast<unsigned long long>(room));
    report(device, driver_mistake::information, information, said);
}

} // namespace irpverbs::ci
