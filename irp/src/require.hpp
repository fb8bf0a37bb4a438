// Required pointer arguments: NULL is a bug check that names the function.
#pragma once

#include <dispatch/support/checks.hpp>
#include <irp/irp.h>

namespace irpverbs::irp {

/// Checks a driver, a device, or the address for one. `text` names the function that received NULL.
inline void require(const void* object, const char* text) {
    if (object == nullptr) [[unlikely]]
        dispatch::detail::bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION, text, 0x204);
}

/// Checks an IRP. Functions on the fast path call this only while they are instrumented.
inline void require_irp(const IRP* irp, const char* text) {
    if (irp == nullptr) [[unlikely]]
        dispatch::detail::bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION, text, 0x03);
}

} // namespace irpverbs::irp
