// Arguments that must be there: NULL is a bug check with a name.
#pragma once

#include <dispatch/detail/checks.hpp>
#include <irp/irp.h>

namespace irpverbs::irp {

/// A driver, a device, or the place for one. `text` says which function was given NULL.
inline void require(const void* object, const char* text) {
    if (object == nullptr) [[unlikely]]
        dispatch::detail::bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION, text, 0x204);
}

/// The same of an IRP. Functions on the fast path ask only while they are instrumented.
inline void require_irp(const IRP* irp, const char* text) {
    if (irp == nullptr) [[unlikely]]
        dispatch::detail::bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION, text, 0x03);
}

} // namespace irpverbs::irp
