// The windows of a key table: they are bound to regions, and become invalid again.
#include "key_table.hpp"

#include <utility>

namespace irpverbs::hca_software {

using dispatch::detail::spin_guard;
using transport::window_binding;

namespace {

constexpr ib_access_t window_rights = IB_AC_REMOTE | IB_AC_ZERO_BASED;

bool writes(ib_access_t access) { return (access & (IB_AC_RDMA_WRITE | IB_AC_ATOMIC)) != 0; }

// True if the window is in a state in which a work request may bind it. Source: IBA o10-37.2.30,
// o10-37.2.40 (type 2), o10-36.2.2 (type 1).
bool is_bindable(const key_holder& window, const window_binding& what) {
    if (window.kind == key_kind::window_1) return (what.access & IB_AC_ZERO_BASED) == 0;
    return window.kind == key_kind::window_2 && window.bound == nullptr && what.length != 0;
}

// True if the region allows the binding. Source: IBA C10-73 to C10-75, o10-36.2.2.
bool covers(const key_range& region, const key_holder& window, const window_binding& what) {
    const ib_access_t needed = IB_AC_MW_BIND | (writes(what.access) ? IB_AC_LOCAL_WRITE : 0);
    const bool addressed =
        window.kind == key_kind::window_2 || (region.access & IB_AC_ZERO_BASED) == 0;
    const ULONGLONG offset = what.address - region.base;
    return addressed && region.pd == window.pd && (region.access & needed) == needed &&
           offset <= region.length && what.length <= region.length - offset;
}

key_range part_of(const key_range& region, const window_binding& what) {
    const ULONGLONG base = (what.access & IB_AC_ZERO_BASED) != 0 ? 0 : what.address;
    return {region.pd, base, what.length,
            static_cast<char*>(region.memory) + (what.address - region.base),
            what.access & IB_AC_REMOTE};
}

} // namespace

ULONG key_table::insert_window(key_kind kind, const HCA_PD* pd, key_holder& holder) {
    const spin_guard guard(lock_);
    holder.kind = kind;
    holder.pd = pd;
    holder.key = take_key(&holder);
    if (holder.key != 0) change(holder.key, {}, no_owner);
    return holder.key;
}

void key_table::remove_window(key_holder& window) {
    const spin_guard guard(lock_);
    unbind(window);
    free(window.key);
}

// The holder of the key's entry, which may have another key now. Null: it is free.
key_holder* key_table::holder_at(ULONG key) const {
    const ULONG index = key >> generation_bits;
    return index < max_entries && holders_ != nullptr ? holders_[index] : nullptr;
}

void key_table::unbind(key_holder& window) {
    if (key_holder* region = std::exchange(window.bound, nullptr)) --region->windows;
    window.owner = no_owner;
    change(window.key, {}, no_owner);
}

bool key_table::bind(const window_binding& what, const HCA_PD* pd, std::uint64_t queue_pair) {
    const spin_guard guard(lock_);
    key_holder* window = holder_at(what.window);
    if (window == nullptr || window->pd != pd || !is_bindable(*window, what) ||
        (what.rkey ^ window->key) >> generation_bits != 0 || (what.access & ~window_rights) != 0)
        return false;
    key_holder* region = nullptr;
    if (what.length != 0) {
        region = holder_at(what.lkey);
        if (region == nullptr || region->kind != key_kind::region || region->key != what.lkey ||
            !covers(region->range, *window, what))
            return false;
        ++region->windows; // before it is unbound: it may be the same region
    }
    unbind(*window);
    window->key = what.rkey;
    if (region == nullptr) {
        change(window->key, {}, no_owner);
        return true;
    }
    window->bound = region;
    window->owner =
        window->kind == key_kind::window_1 ? window_owner(pd) : window_owner(queue_pair);
    change(window->key, part_of(region->range, what), window->owner);
    return true;
}

bool key_table::invalidate(ULONG key, const HCA_PD* pd, std::uint64_t queue_pair) {
    const spin_guard guard(lock_);
    key_holder* window = holder_at(key);
    if (window != nullptr && window->kind == key_kind::paged) return free_pages(*window, key, pd);
    if (window == nullptr || window->key != key || window->kind != key_kind::window_2 ||
        window->pd != pd || window->owner != window_owner(queue_pair))
        return false;
    unbind(*window);
    return true;
}

} // namespace irpverbs::hca_software
