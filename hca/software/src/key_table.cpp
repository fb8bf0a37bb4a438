#include "key_table.hpp"

#include <sys/mman.h>

namespace irpverbs::hca_software {

namespace {

template <class Value>
void put(std::atomic<Value>& into, Value value) {
    into.store(value, std::memory_order_relaxed);
}

} // namespace

key_table::~key_table() {
    if (entry* entries = entries_.load()) munmap(entries, max_entries * sizeof(entry));
}

// The kernel provides pages, filled with zeros, only where entries are used.
bool key_table::allocate() {
    if (entries_.load(std::memory_order_relaxed) != nullptr) return true;
    void* made = mmap(nullptr, max_entries * sizeof(entry), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return false;
    entries_.store(static_cast<entry*>(made), std::memory_order_release);
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

ULONG key_table::insert(const key_range& range) {
    const dispatch::detail::spin_guard guard(lock_);
    if (!allocate()) return 0;
    const ULONG index = next_index();
    if (index == 0) return 0;
    entry& into = entries_.load()[index];
    // The previous generation lies in `length` of a free entry; a new entry has 0 there.
    const auto generation = static_cast<ULONG>(into.length.load(std::memory_order_relaxed) + 1);
    const ULONG key = index << generation_bits | (generation & generation_mask);
    // Readers of the entry's earlier key see that it is gone before they see these values.
    std::atomic_thread_fence(std::memory_order_release);
    put(into.base, range.base);
    put(into.length, range.length);
    put(into.access, range.access);
    put(into.memory, static_cast<char*>(range.memory));
    put(into.pd, range.pd);
    into.key.store(key, std::memory_order_release);
    count_.fetch_add(1, std::memory_order_relaxed);
    return key;
}

void key_table::remove(ULONG key) {
    const ULONG index = key >> generation_bits;
    const dispatch::detail::spin_guard guard(lock_);
    entry* entries = entries_.load();
    put(entries[index].key, 0u);
    std::atomic_thread_fence(std::memory_order_release);
    put(entries[index].length, ULONGLONG{key & generation_mask});
    if (free_count_++ == 0)
        first_free_ = index;
    else
        put(entries[last_free_].base, ULONGLONG{index});
    last_free_ = index;
    count_.fetch_sub(1, std::memory_order_relaxed);
}

} // namespace irpverbs::hca_software
