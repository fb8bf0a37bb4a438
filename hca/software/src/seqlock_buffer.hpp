// A few bytes with one writer at a time and any number of readers. Readers need no lock and never
// see a partial write.
#pragma once

#include <dispatch/support/processor.hpp>
#include <dispatch/support/sanitizers.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace irpverbs::hca_software {

// A copy that may race with a writer; the reader discards a torn copy. C++20 has no function for
// it: P1478 proposes atomic_load_per_byte_memcpy. The thread sanitizer needs atomic operations per
// byte.
inline void racy_copy(void* to, const void* from, std::size_t size) {
#if IRPVERBS_THREAD_SANITIZER
    for (std::size_t i = 0; i < size; ++i) {
        const auto byte = __atomic_load_n(static_cast<const char*>(from) + i, __ATOMIC_RELAXED);
        __atomic_store_n(static_cast<char*>(to) + i, byte, __ATOMIC_RELAXED);
    }
#else
    std::memcpy(to, from, size);
#endif
}

/// A reader detects a concurrent write and then reads nothing.
template <std::size_t Capacity>
class seqlock_buffer {
public:
    /// Writers exclude one another. `version`: not 0, and different for different bytes.
    void write(const void* from, std::size_t size, std::uint64_t version) {
        version_.store(0, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
        racy_copy(bytes_.data(), from, size);
        size_.store(size, std::memory_order_relaxed);
        version_.store(version, std::memory_order_release);
    }

    /// Reads as many bytes as fit. Returns the number of written bytes; 0: the bytes are of
    /// another version or are being written, and `to` is undefined.
    std::size_t read(std::uint64_t version, void* to, std::size_t room) const {
        dispatch::detail::sched_point(dispatch::detail::point::interlocked, this);
        if (version_.load(std::memory_order_acquire) != version) return 0;
        const std::size_t size = size_.load(std::memory_order_relaxed);
        racy_copy(to, bytes_.data(), std::min(size, room));
        std::atomic_thread_fence(std::memory_order_acquire);
        return version_.load(std::memory_order_relaxed) == version ? size : 0;
    }

private:
    std::atomic<std::uint64_t> version_{0};
    std::atomic<std::size_t> size_{0};
    std::array<char, Capacity> bytes_{};
};

} // namespace irpverbs::hca_software
