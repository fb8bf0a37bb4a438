// The regions of a key table whose memory is pages, which work requests register or a verb.
#include "key_table.hpp"

#include <ci/support/address_space.hpp>

#include <algorithm>
#include <utility>

namespace irpverbs::hca_software {

using dispatch::detail::spin_guard;
using transport::page_registration;

namespace {

constexpr ULONGLONG offset_mask = page_size - 1;
constexpr ib_access_t known_rights = IB_AC_REMOTE | IB_AC_LOCAL_WRITE;

bool is_page(ULONGLONG address) { return address != 0 && (address & offset_mask) == 0; }

bool are_rights(ib_access_t access) {
    const bool peer_writes = (access & (IB_AC_RDMA_WRITE | IB_AC_ATOMIC)) != 0;
    return (access & ~known_rights) == 0 && (!peer_writes || (access & IB_AC_LOCAL_WRITE) != 0);
}

// Source: IBA 10.6.3.6 (fast register physical MR), 11.4.1.1 (its modifiers).
bool is_good(const page_registration& what, ULONG most) {
    if (what.page_shift != page_bits || what.page_count > most || !are_rights(what.access))
        return false;
    const ULONGLONG room = what.page_count * page_size;
    const bool fits = what.offset < page_size && what.length != 0 && what.length <= room &&
                      what.offset <= room - what.length;
    const bool ends = what.length - 1 <= ~ULONGLONG{0} - what.first;
    return fits && ends && (what.first & offset_mask) == what.offset &&
           std::all_of(what.pages, what.pages + what.page_count, is_page);
}

} // namespace

// A page that no process has is one that is not mapped.
ULONGLONG place_of_page(ULONGLONG page, const ci::address_space* in) {
    if (in == nullptr) return page;
    const void* const address = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(page));
    const void* const place = in->place_of(address, page_size);
    return reinterpret_cast<std::uintptr_t>(place != nullptr ? place : in->place_of(nullptr, 0));
}

ULONG key_table::insert_paged(const HCA_PD* pd, page_address* pages, ULONG most,
                              key_holder& holder) {
    const spin_guard guard(lock_);
    holder.kind = key_kind::paged;
    holder.pd = pd;
    holder.owner = no_owner;
    holder.pages = pages;
    holder.most_pages = most;
    holder.key = take_key(&holder);
    if (holder.key != 0) change(holder.key, {}, no_owner);
    return holder.key;
}

ULONG key_table::insert_physical(const key_range& range, page_address* pages, key_holder& holder) {
    const spin_guard guard(lock_);
    holder.kind = key_kind::physical;
    holder.pages = pages;
    holder.range = range;
    holder.range.memory = pages;
    holder.key = take_key(&holder);
    if (holder.key != 0) change(holder.key, holder.range, paged_owner(range.pd));
    return holder.key;
}

page_address* key_table::change_physical(const key_range& range, page_address* pages,
                                         key_holder& region) {
    const spin_guard guard(lock_);
    page_address* former = pages != nullptr ? std::exchange(region.pages, pages) : nullptr;
    region.range = range;
    region.range.memory = region.pages;
    change(region.key, region.range, paged_owner(range.pd));
    return former;
}

ULONG key_table::insert_shared(const key_holder& other, const key_range& range,
                               key_holder& holder) {
    const spin_guard guard(lock_);
    holder.kind = other.kind;
    holder.range = range;
    holder.range.length = other.range.length;
    holder.range.memory = other.range.memory;
    holder.key = take_key(&holder);
    const bool is_paged = holder.kind == key_kind::physical;
    if (holder.key != 0)
        change(holder.key, holder.range, is_paged ? paged_owner(range.pd) : region_owner(range.pd));
    return holder.key;
}

// A reader that finds a new page finds, too, that the entry has changed since it was valid.
bool key_table::register_pages(const page_registration& what, const HCA_PD* pd,
                               const ci::address_space* in) {
    const spin_guard guard(lock_);
    key_holder* region = holder_at(what.rkey);
    if (region == nullptr || region->kind != key_kind::paged || region->pd != pd ||
        region->owner != no_owner || !is_good(what, region->most_pages))
        return false;
    std::atomic_thread_fence(std::memory_order_release);
    for (ULONG i = 0; i < what.page_count; ++i)
        region->pages[i].store(place_of_page(what.pages[i], in), std::memory_order_relaxed);
    region->key = what.rkey;
    region->owner = paged_owner(pd);
    region->range = {pd, what.first, what.length, region->pages, what.access};
    change(region->key, region->range, region->owner);
    return true;
}

bool key_table::free_pages(key_holder& region, ULONG key, const HCA_PD* pd) {
    if (region.key != key || region.pd != pd || region.owner == no_owner) return false;
    region.owner = no_owner;
    region.range = {};
    change(region.key, {}, no_owner);
    return true;
}

// The list of pages is read only after the entry was found to be that of the key: it exists until
// the accesses of those that found the key have ended.
UCHAR* key_table::find_page(ULONG key, key_owner owner, ULONGLONG address, ULONGLONG& size,
                            ib_access_t rights) const {
    const ULONG index = key >> generation_bits;
    if (index >= end_.load(std::memory_order_acquire)) return nullptr;
    const entry& at = entries_.load(std::memory_order_relaxed)[index];
    const std::uint64_t state = at.state.load(std::memory_order_acquire);
    const ULONGLONG base = at.base.load(std::memory_order_relaxed);
    const ULONGLONG length = at.length.load(std::memory_order_relaxed);
    const key_owner its = at.owner.load(std::memory_order_relaxed);
    const auto* pages =
        reinterpret_cast<const page_address*>(at.memory.load(std::memory_order_relaxed));
    const auto is_unchanged = [&] {
        std::atomic_thread_fence(std::memory_order_acquire);
        return at.state.load(std::memory_order_relaxed) == state;
    };
    const ULONGLONG offset = address - base;
    const bool valid = is_unchanged() && static_cast<ULONG>(state) == key && its == owner &&
                       (static_cast<ULONG>(state >> lacking_shift) & rights) == 0 &&
                       offset <= length && size <= length - offset;
    if (!valid) return nullptr;
    const ULONGLONG place = (base & offset_mask) + offset;
    const ULONGLONG page = pages[place >> page_bits].load(std::memory_order_relaxed);
    if (!is_unchanged()) return nullptr;
    size = std::min(size, page_size - (place & offset_mask));
    return reinterpret_cast<UCHAR*>(page + (place & offset_mask));
}

} // namespace irpverbs::hca_software
