#include <irp/pending_irp.hpp>

#include <dispatch/support/checks.hpp>

namespace irpverbs::irp::detail {

void irp_abandoned(const IRP* irp) {
    dispatch::detail::bug_check(
        DRIVER_VERIFIER_IOMANAGER_VIOLATION,
        "a driver dropped an IRP that it held: neither completed, forwarded nor pended", 0x226,
        reinterpret_cast<ULONG_PTR>(irp));
}

} // namespace irpverbs::irp::detail
