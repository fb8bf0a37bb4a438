// The keys of an HCA's memory regions: a flat table, read without a lock.
#pragma once

#include <ci/driver.h>
#include <dispatch/support/spin_lock.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace irpverbs::hca_software {

inline constexpr ULONG max_mrs = 1u << 20;

/// A range that keys give access to.
struct key_range {
    const HCA_PD* pd;
    ULONGLONG base; // the address of its first byte in work requests
    ULONGLONG length;
    void* memory;
    ib_access_t access;
};

/// A key is the index of its entry and, in the low byte, the entry's generation: a key that is no
/// longer valid does not become valid with the next region of the entry, and a freed entry is used
/// again as late as possible.
class key_table {
public:
    key_table() = default;
    ~key_table();
    key_table(const key_table&) = delete;
    key_table& operator=(const key_table&) = delete;

    /// Returns a key; 0: max_mrs exist, or no memory. IRQL: <= DISPATCH_LEVEL.
    ULONG insert(const key_range& range);
    /// Makes the key invalid. It is valid before.
    void remove(ULONG key);
    ULONG count() const { return count_.load(std::memory_order_relaxed); }

    /// Returns the memory at `address`. Null: the key is not valid or of another protection domain,
    /// the range has not all `rights`, or `size` bytes do not lie in it. The caller holds
    /// memory_accesses while it uses the memory. IRQL: any.
    void* find(ULONG key, const HCA_PD* pd, ULONGLONG address, ULONGLONG size,
               ib_access_t rights) const {
        const ULONG index = key >> generation_bits;
        if (index >= max_entries) [[unlikely]]
            return nullptr;
        const entry* entries = entries_.load(std::memory_order_acquire);
        if (entries == nullptr) [[unlikely]]
            return nullptr;
        const entry& at = entries[index];
        if (at.key.load(std::memory_order_acquire) != key) return nullptr;
        const ULONGLONG offset = address - at.base.load(std::memory_order_relaxed);
        const ULONGLONG length = at.length.load(std::memory_order_relaxed);
        const ULONG access = at.access.load(std::memory_order_relaxed);
        const HCA_PD* its_pd = at.pd.load(std::memory_order_relaxed);
        char* memory = at.memory.load(std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_acquire);
        const bool valid = at.key.load(std::memory_order_relaxed) == key && its_pd == pd &&
                           (access & rights) == rights && offset <= length &&
                           size <= length - offset;
        return valid ? memory + offset : nullptr;
    }

private:
    static constexpr unsigned generation_bits = 8;
    static constexpr ULONG generation_mask = (1u << generation_bits) - 1;
    static constexpr ULONG max_entries = max_mrs + 1; // the entry of key 0 is not used
    static constexpr ULONG least_free = 64;           // entries that wait before one is used again

    /// A reader that finds its key before and after it reads the others has read one region's.
    struct entry {
        std::atomic<ULONG> key; // 0: none
        std::atomic<ULONG> access;
        std::atomic<ULONGLONG> base;   // of a free entry: the index of the next one
        std::atomic<ULONGLONG> length; // of a free entry: its last generation
        std::atomic<char*> memory;
        std::atomic<const HCA_PD*> pd;
    };

    bool allocate();
    ULONG next_index();

    KSPIN_LOCK lock_ = 0;
    std::atomic<entry*> entries_{nullptr}; // the members below are guarded by lock_
    ULONG used_ = 1;                       // entries that were used once, and the first
    ULONG first_free_ = 0;
    ULONG last_free_ = 0;
    ULONG free_count_ = 0;
    std::atomic<ULONG> count_{0};
};

} // namespace irpverbs::hca_software
