#include "key_table.hpp"

#include <sys/mman.h>

#include <utility>

namespace irpverbs::hca_software {

using dispatch::detail::spin_guard;

namespace {

template <class Value>
void put(std::atomic<Value>& into, Value value) {
    into.store(value, std::memory_order_relaxed);
}

} // namespace

key_table::~key_table() {
    if (entry* entries = entries_.load())
        munmap(entries, max_entries * (sizeof(entry) + sizeof(key_holder*)));
}

// The kernel provides pages, filled with zeros, only where entries are used.
bool key_table::allocate() {
    if (entries_.load(std::memory_order_relaxed) != nullptr) return true;
    void* made = mmap(nullptr, max_entries * (sizeof(entry) + sizeof(key_holder*)),
                      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return false;
    auto* entries = static_cast<entry*>(made);
    holders_ = reinterpret_cast<key_holder**>(entries + max_entries);
    entries_.store(entries, std::memory_order_relaxed);
    end_.store(max_entries, std::memory_order_release);
    return true;
}

// Returns 0 when all are in use.
ULONG key_table::next_index() {
    const bool fresh = used_ < max_entries && free_count_ < least_free;
    if (fresh) return used_++;
    if (free_count_ == 0) return 0;
    const ULONG index = first_free_;
    first_free_ = static_cast<ULONG>(entries_.load()[index].base.load(std::memory_order_relaxed));
    --free_count_;
    return index;
}

// Returns the key of a new holder; 0: there is none.
ULONG key_table::take_key(key_holder* holder) {
    const ULONG index = allocate() ? next_index() : 0;
    if (index == 0) return 0;
    // The previous generation lies in `length` of a free entry; a new entry has 0 there.
    const ULONGLONG last = entries_.load()[index].length.load(std::memory_order_relaxed);
    const auto generation = static_cast<ULONG>(last + 1);
    holders_[index] = holder;
    count_.fetch_add(1, std::memory_order_relaxed);
    return index << generation_bits | (generation & generation_mask);
}

// Readers of the entry's earlier state see that it is gone before they see the new values.
void key_table::change(ULONG key, const key_range& range, key_owner owner) {
    entry& which = entries_.load()[key >> generation_bits];
    const std::uint64_t before = which.state.load(std::memory_order_relaxed) >> changes_shift;
    const std::uint64_t changes = (before + 1) << changes_shift;
    put(which.state, changes);
    std::atomic_thread_fence(std::memory_order_release);
    put(which.base, range.base);
    put(which.length, range.length);
    put(which.memory, static_cast<char*>(range.memory));
    put(which.owner, owner);
    const std::uint64_t lacking = std::uint64_t{~range.access & rights_mask} << lacking_shift;
    which.state.store(changes | lacking | key, std::memory_order_release);
}

void key_table::free(ULONG key) {
    const ULONG index = key >> generation_bits;
    entry* entries = entries_.load();
    change(key, {nullptr, 0, key & generation_mask, nullptr, 0}, no_owner);
    const std::uint64_t state = entries[index].state.load(std::memory_order_relaxed);
    put(entries[index].state, state >> changes_shift << changes_shift);
    holders_[index] = nullptr;
    if (free_count_++ == 0)
        first_free_ = index;
    else
        put(entries[last_free_].base, ULONGLONG{index});
    last_free_ = index;
    count_.fetch_sub(1, std::memory_order_relaxed);
}

ULONG key_table::insert(const key_range& range, key_holder* holder) {
    const spin_guard guard(lock_);
    const ULONG key = take_key(holder);
    if (key == 0) return 0;
    if (holder != nullptr) {
        holder->key = key;
        holder->range = range;
    }
    change(key, range, region_owner(range.pd));
    return key;
}

void key_table::remove(ULONG key) {
    const spin_guard guard(lock_);
    free(key);
}

bool key_table::try_remove(key_holder& region) {
    const spin_guard guard(lock_);
    if (region.windows != 0) return false;
    free(region.key);
    return true;
}

// Readers find the old range or the new one.
bool key_table::try_change(key_holder& region, const key_range& range) {
    const spin_guard guard(lock_);
    if (region.windows != 0) return false;
    region.range = range;
    change(region.key, range, region_owner(range.pd));
    return true;
}

key_holder key_table::state_of(const key_holder& holder) const {
    const spin_guard guard(lock_);
    return holder;
}

ULONG key_table::key_of(const key_holder& holder) const {
    const spin_guard guard(lock_);
    return holder.key;
}

} // namespace irpverbs::hca_software
