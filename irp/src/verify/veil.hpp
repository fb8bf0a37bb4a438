// Poisoned memory under AddressSanitizer: it is allocated and must not be accessed.
#pragma once

#include "../packet.hpp"

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define IRPVERBS_VEILS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IRPVERBS_VEILS 1
#endif
#endif
#ifdef IRPVERBS_VEILS
#include <sanitizer/asan_interface.h>
#endif

namespace irpverbs::irp::verify {

/// Every access to it is reported.
inline void veil([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) {
#ifdef IRPVERBS_VEILS
    __asan_poison_memory_region(memory, size);
#endif
}

inline void unveil([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) {
#ifdef IRPVERBS_VEILS
    __asan_unpoison_memory_region(memory, size);
#endif
}

/// True if the IRP's locations may be poisoned: only where the end of its memory is known.
inline bool may_be_veiled(const IRP& irp) {
    constexpr UCHAR ours = from_allocate | under_watch;
    return (irp.AllocationFlags & ours) == ours;
}

/// Unpoisons all locations of an IRP that was passed down while the verifier was on.
inline void unveil_locations([[maybe_unused]] IRP* irp) {
#ifdef IRPVERBS_VEILS
    if (may_be_veiled(*irp))
        unveil(irp + 1, static_cast<std::size_t>(irp->StackCount) * sizeof(IO_STACK_LOCATION));
#endif
}

} // namespace irpverbs::irp::verify
