// The pool blocks of the process that were allocated while the pool was checked, the blocks freed
// lately, and the sums by tag.
#pragma once

#include <dispatch/pool.h>
#include <dispatch/support/verify.hpp>

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace irpverbs::dispatch::detail {

struct pool_block {
    const void* memory = nullptr;
    SIZE_T size = 0; // as requested; a guard follows the block
    ULONG tag = 0;
    POOL_TYPE type = NonPagedPoolNx;
    const machine* owner = nullptr;
    std::uint64_t serial = 0;
    call_stack allocated_at;
    call_stack freed_at; // only of a freed block
};

class pool_table {
public:
    static pool_table& get();

    void add(pool_block block);
    /// Removes the live block that begins at `memory`, and records that it was freed at `where`.
    std::optional<pool_block> remove(const void* memory, const call_stack& where);
    /// Returns the live block that begins at `memory`.
    std::optional<pool_block> at(const void* memory);
    /// Returns the live block that contains the address.
    std::optional<pool_block> around(const void* address);
    std::optional<pool_block> freed_at(const void* memory);
    /// The memory is no freed block any more: malloc may give it out again, unseen by the table.
    void forget(const void* memory);

    /// Returns the blocks of a machine, oldest first, and records that they have no owner.
    std::vector<pool_block> disown(const machine& owner);

    /// Stores the sums of a tag; tag 0: of all tags. False: no block of that tag was recorded.
    bool usage(ULONG tag, POOL_TAG_USAGE& out);

private:
    static constexpr std::size_t max_freed = 4096;
    std::array<POOL_TAG_USAGE*, 2> sums_for(const pool_block& block);
    void count_in(const pool_block& block);
    void count_out(const pool_block& block);

    raw_spin_lock guard_;
    std::map<std::uintptr_t, pool_block> live_; // guarded by guard_, as all below
    std::map<std::uintptr_t, pool_block> freed_;
    std::deque<std::uintptr_t> freed_order_;
    std::map<ULONG, POOL_TAG_USAGE> sums_;
    std::uint64_t serial_ = 0;
};

} // namespace irpverbs::dispatch::detail
