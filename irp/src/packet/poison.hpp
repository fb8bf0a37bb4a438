// Poisoned memory under AddressSanitizer: it is allocated and must not be accessed.
#pragma once

#include "irp_allocation.hpp"

#include <cstddef>

#include <dispatch/support/sanitizers.hpp>

#if IRPVERBS_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace irpverbs::irp {

/// Every access to it is reported.
inline void poison([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) {
#if IRPVERBS_ADDRESS_SANITIZER
    __asan_poison_memory_region(memory, size);
#endif
}

inline void unpoison([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) {
#if IRPVERBS_ADDRESS_SANITIZER
    __asan_unpoison_memory_region(memory, size);
#endif
}

/// True if the IRP's locations may be poisoned: only where the end of its memory is known.
inline bool may_be_poisoned(const IRP& irp) {
    constexpr UCHAR ours = allocated_irp | verified_irp;
    return (irp.AllocationFlags & ours) == ours;
}

/// Unpoisons all locations of an IRP that was passed down while the verifier was on.
inline void unpoison_locations([[maybe_unused]] IRP* irp) {
#if IRPVERBS_ADDRESS_SANITIZER
    if (may_be_poisoned(*irp))
        unpoison(irp + 1, static_cast<std::size_t>(irp->StackCount) * sizeof(IO_STACK_LOCATION));
#endif
}

} // namespace irpverbs::irp
