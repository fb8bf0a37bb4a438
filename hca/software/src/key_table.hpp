// The keys of an HCA's memory regions and windows: a flat table, read without a lock.
#pragma once

#include "transport/hooks.hpp"

#include <ci/driver.h>
#include <dispatch/support/spin_lock.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace irpverbs::ci {
class address_space;
}

namespace irpverbs::hca_software {

inline constexpr ULONG max_mrs = 1u << 20;
inline constexpr ULONG max_mws = max_mrs; // together with the regions
inline constexpr ULONG max_fast_pages = 4096;
inline constexpr unsigned page_bits = 12; // the only size of the pages of a region
inline constexpr ULONGLONG page_size = ULONGLONG{1} << page_bits;

/// The queue pairs for which a key is valid: those of a domain, or one. The low bits keep apart
/// regions, windows, which have no L_Keys, and regions of pages, whose memory is not one piece.
using key_owner = std::uint64_t;
inline constexpr key_owner no_owner = 3;
inline key_owner region_owner(const HCA_PD* pd) { return reinterpret_cast<std::uintptr_t>(pd); }
inline key_owner paged_owner(const HCA_PD* pd) { return region_owner(pd) | 3; }
inline key_owner window_owner(const HCA_PD* pd) { return region_owner(pd) | 1; }
/// `queue_pair` is a number that no other one ever has.
inline key_owner window_owner(std::uint64_t queue_pair) { return queue_pair << 2 | 2; }
inline constexpr std::uint64_t no_queue_pair = 0;

/// A range that keys give access to.
struct key_range {
    const HCA_PD* pd;
    ULONGLONG base; // the address of its first byte in work requests
    ULONGLONG length;
    void* memory;
    ib_access_t access;
};

/// `physical` is a region of pages that no work request registers or makes invalid.
enum class key_kind : UCHAR { region, window_1, window_2, paged, physical };

/// The address of a page, which may be replaced while a key that was valid is looked up.
using page_address = std::atomic<ULONGLONG>;

/// The place of a page, which is an address of this process, in an address space; null: the address
/// itself.
ULONGLONG place_of_page(ULONGLONG page, const ci::address_space* in);

/// A region or window, as the holder of its key. Guarded by the table's lock; zero at first.
struct key_holder {
    key_kind kind;
    ULONG key;
    key_range range;     // of a region
    const HCA_PD* pd;    // of a window, or a region of pages
    key_holder* bound;   // of a window: the region; null: none
    key_owner owner;     // of a window that is bound; of a region of pages: no_owner, or its own
    page_address* pages; // of a region of pages, unless it shares them
    ULONG most_pages;    // of a region for fast registration
    ULONG windows;       // of a region: those that are bound to it
};

/// A key is the index of its entry and, in the low byte, a number: of a region the entry's
/// generation, so that a key that is no longer valid does not become valid with the next region of
/// the entry, and a freed entry is used again as late as possible; of a window of type 2 the
/// client's.
class key_table {
public:
    key_table() = default;
    ~key_table();
    key_table(const key_table&) = delete;
    key_table& operator=(const key_table&) = delete;

    // IRQL of all functions: <= DISPATCH_LEVEL. Callers may hold the locks of queue pairs.

    /// Returns the key of a region; 0: there are as many as the table has, or no memory. Ownership:
    /// the holder, which may be null, is the caller's, and lives until `remove`.
    ULONG insert(const key_range& range, key_holder* holder = nullptr);
    /// Inserts a window, which is not bound, as a region.
    ULONG insert_window(key_kind kind, const HCA_PD* pd, key_holder& holder);
    /// Inserts a region for fast registration. `pages` has room for `most` and is the caller's,
    /// until the region is removed and accesses by its key have ended.
    ULONG insert_paged(const HCA_PD* pd, page_address* pages, ULONG most, key_holder& holder);
    /// Inserts a region of pages, for which `range.memory` is `pages`, the caller's as above.
    ULONG insert_physical(const key_range& range, page_address* pages, key_holder& holder);
    /// Changes such a region, whose key stays. `pages`: as above; null: the region keeps its own.
    /// Returns the list that was replaced, which is the caller's again when the accesses by the key
    /// have ended; null: none.
    page_address* change_physical(const key_range& range, page_address* pages, key_holder& region);
    /// Inserts a region with the memory of another one, which outlives it; `range` has no memory.
    ULONG insert_shared(const key_holder& other, const key_range& range, key_holder& holder);
    /// Makes the key invalid. It is valid before.
    void remove(ULONG key);
    /// Removes a region, unless windows are bound to it.
    bool try_remove(key_holder& region);
    /// Changes a region, whose key stays, unless windows are bound to it. False: they are.
    bool try_change(key_holder& region, const key_range& range);
    /// Unbinds and removes a window.
    void remove_window(key_holder& window);
    ULONG count() const { return count_.load(std::memory_order_relaxed); }
    /// The key that the holder has now.
    ULONG key_of(const key_holder& holder) const;
    /// The holder as it is now.
    key_holder state_of(const key_holder& holder) const;

    /// Binds a window by a work request of a queue pair of the domain. False: IBA does not allow
    /// it; nothing is changed.
    bool bind(const transport::window_binding& what, const HCA_PD* pd, std::uint64_t queue_pair);
    /// Registers pages with a free region of the domain, by a work request. False: IBA does not
    /// allow it; nothing is changed. `in`: see place_of_page.
    bool register_pages(const transport::page_registration& what, const HCA_PD* pd,
                        const ci::address_space* in = nullptr);
    /// Makes a key invalid: of a window of type 2 that is bound for the queue pair, or of pages
    /// that are registered for the domain. False: it is none.
    bool invalidate(ULONG key, const HCA_PD* pd, std::uint64_t queue_pair);

    /// Finds the memory at `address`. False: the key is not valid or of another owner, the range
    /// has not all `rights`, or `size` bytes do not lie in it. The caller holds memory_accesses
    /// while it uses the memory. IRQL: any.
    bool find(ULONG key, key_owner owner, ULONGLONG address, ULONGLONG size, ib_access_t rights,
              void*& found) const {
        const ULONG index = key >> generation_bits;
        if (index >= end_.load(std::memory_order_acquire)) [[unlikely]]
            return false;
        const entry& at = entries_.load(std::memory_order_relaxed)[index];
        const std::uint64_t state = at.state.load(std::memory_order_acquire);
        if (static_cast<ULONG>(state) != key) return false;
        if (at.owner.load(std::memory_order_relaxed) != owner) return false;
        if ((static_cast<ULONG>(state >> lacking_shift) & rights) != 0) return false;
        const ULONGLONG offset = address - at.base.load(std::memory_order_relaxed);
        const ULONGLONG length = at.length.load(std::memory_order_relaxed);
        if (size > length || offset > length - size) return false;
        // An integer: the sum of a wrong address is no pointer into any object.
        const auto memory =
            reinterpret_cast<std::uintptr_t>(at.memory.load(std::memory_order_relaxed));
        found = reinterpret_cast<void*>(memory + offset);
        std::atomic_thread_fence(std::memory_order_acquire);
        return at.state.load(std::memory_order_relaxed) == state;
    }

    /// Finds memory as `find` does, of a region of pages; reduces `size` to the bytes that lie in
    /// the page of `address`. Null: as false there. IRQL: any.
    UCHAR* find_page(ULONG key, key_owner owner, ULONGLONG address, ULONGLONG& size,
                     ib_access_t rights) const;

private:
    static constexpr unsigned generation_bits = 8;
    static constexpr ULONG generation_mask = (1u << generation_bits) - 1;
    static constexpr ULONG max_entries = max_mrs + 1; // the entry of key 0 is not used
    static constexpr ULONG least_free = 64;           // entries that wait before one is used again
    static constexpr unsigned lacking_shift = 32;
    static constexpr ib_access_t rights_mask = 0xFF;
    static constexpr unsigned changes_shift = 40;

    /// A reader that finds the same state before and after it reads the others has read one
    /// region's.
    struct entry {
        std::atomic<std::uint64_t> state; // the key, 0: none; rights it lacks; number of changes
        std::atomic<ULONGLONG> base;      // of a free entry: the index of the next one
        std::atomic<ULONGLONG> length;    // of a free entry: its last generation
        std::atomic<char*> memory;
        std::atomic<key_owner> owner;
    };

    bool allocate();
    ULONG next_index();
    ULONG take_key(key_holder* holder);
    void change(ULONG key, const key_range& range, key_owner owner);
    void free(ULONG key);
    key_holder* holder_at(ULONG key) const;
    void unbind(key_holder& window);
    bool free_pages(key_holder& region, ULONG key, const HCA_PD* pd);

    mutable KSPIN_LOCK lock_ = 0;
    std::atomic<ULONG> end_{0}; // the indices below have entries; 0 before there are entries
    std::atomic<entry*> entries_{nullptr}; // the members below are guarded by lock_
    key_holder** holders_ = nullptr;
    ULONG used_ = 1; // entries that were used once, and the first
    ULONG first_free_ = 0;
    ULONG last_free_ = 0;
    ULONG free_count_ = 0;
    std::atomic<ULONG> count_{0};
};

} // namespace irpverbs::hca_software
