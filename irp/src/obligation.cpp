#include <irp/obligation.hpp>

#include <dispatch/detail/checks.hpp>

namespace irpverbs::irp::detail {

void dropped_obligation(const IRP* irp) {
    dispatch::detail::bug_check(
        DRIVER_VERIFIER_IOMANAGER_VIOLATION,
        "a driver dropped an IRP that it held: neither completed, forwarded nor parked", 0x226,
        reinterpret_cast<ULONG_PTR>(irp));
}

} // namespace irpverbs::irp::detail
