#include "hooks.hpp"

#include "freed_memory.hpp"
#include "irql/irql_rules.hpp"
#include "lock_registry.hpp"
#include "pool_table.hpp"
#include "verifier_rules.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/support/faults.hpp>
#include <dispatch/support/machine_hooks.hpp>
#include <dispatch/support/unset_bytes.hpp>

#include <cstdlib>
#include <cstring>

namespace irpverbs::dispatch::detail {
namespace {

constexpr SIZE_T guard_size = 64;
constexpr int guard_byte = 0xA5;

std::string tag_text(ULONG tag) {
    std::string text = "'";
    for (unsigned shift = 0; shift < 32; shift += 8) {
        const char c = static_cast<char>(tag >> shift & 0xFF);
        text += c >= ' ' && c <= '~' ? c : '.';
    }
    return text + '\'';
}

std::string block_text(const pool_block& block) {
    return "block of " + std::to_string(block.size) + " bytes with tag " + tag_text(block.tag);
}

// Checks the IRQL: at most APC_LEVEL for paged pool, at most DISPATCH_LEVEL for nonpaged pool.
void check_pool_irql(processor& self, const rule& which, POOL_TYPE type, ULONG_PTR paged_id,
                     ULONG_PTR other_id, const char* what, ULONG_PTR which_one) {
    const KIRQL most = type == PagedPool ? APC_LEVEL : DISPATCH_LEVEL;
    if (self.irql <= most || !enabled(check::irql)) return;
    finding found = make_finding(which,
                                 std::string(type == PagedPool ? "paged" : "non-paged") +
                                     " pool is " + what + " at IRQL " + std::to_string(self.irql) +
                                     "; it may be only at or below " + std::to_string(most),
                                 self.irql, static_cast<ULONG_PTR>(type), which_one);
    found.parameters[0] = type == PagedPool ? paged_id : other_id;
    report(found);
}

// A call of the checked pool is a scheduling point, as its lists of free blocks are interlocked.
void pool_point(const void* memory = nullptr) {
    if (enabled(check::pool)) sched_point(point::interlocked, memory);
}

void* allocate_tracked(processor& self, POOL_TYPE type, SIZE_T size, ULONG tag) {
    auto* memory = static_cast<char*>(std::malloc(size + guard_size));
    if (memory == nullptr) return nullptr;
    std::memset(memory, unset_byte, size);
    std::memset(memory + size, guard_byte, guard_size);
    clear_live_objects(memory, size);
    lock_registry::get().remove(memory, size);
    pool_block block;
    block.memory = memory;
    block.size = size;
    block.tag = tag;
    block.type = type;
    block.owner = self.owner;
    block.allocated_at = capture_stack();
    pool_table::get().add(block);
    return memory;
}

void check_guard(const pool_block& block) {
    const auto* guard = static_cast<const unsigned char*>(block.memory) + block.size;
    for (SIZE_T i = 0; i < guard_size; ++i) {
        if (guard[i] == guard_byte) continue;
        finding found = make_finding(
            verifier_rules::PoolOverrun, "a caller wrote past the end of a " + block_text(block),
            as_parameter(block.memory), as_parameter(guard + i), block.size);
        found.add_stack("allocated at", block.allocated_at);
        report(found);
        return;
    }
}

void check_tag(const pool_block& block, ULONG tag) {
    if (tag == 0 || tag == block.tag) return;
    finding found = make_finding(verifier_rules::PoolWrongTag,
                                 "a " + block_text(block) + " is freed with tag " + tag_text(tag),
                                 as_parameter(block.memory), block.tag, tag);
    found.add_stack("allocated at", block.allocated_at);
    report(found);
}

// Returns true, after a report, when the address is no block that can be freed.
bool is_bad_address(const void* memory) {
    pool_table& table = pool_table::get();
    if (const std::optional<pool_block> freed = table.freed_at(memory)) {
        finding found = make_finding(verifier_rules::PoolFreedTwice,
                                     "a " + block_text(*freed) + " is freed for the second time",
                                     as_parameter(memory));
        found.add_stack("allocated at", freed->allocated_at);
        found.add_stack("freed first at", freed->freed_at);
        report(found);
        return true;
    }
    const std::optional<pool_block> block = table.around(memory);
    if (!block && as_parameter(memory) % alignof(std::max_align_t) == 0 && memory != nullptr)
        return false; // allocated before the pool was checked
    finding found = make_finding(verifier_rules::PoolBadAddress,
                                 block ? "an address inside a " + block_text(*block) + " is freed"
                                       : std::string("an address is freed that no allocation gave"),
                                 as_parameter(memory));
    if (block) found.add_stack("allocated at", block->allocated_at);
    report(found);
    return true;
}

void check_block(processor& self, const pool_block& block, ULONG tag) {
    check_pool_irql(self, verifier_rules::IrqlExFree1, block.type, 0x11, 0x12, "freed",
                    as_parameter(block.memory));
    check_tag(block, tag);
    check_guard(block);
    check_live_objects(self, block.memory, block.size);
    check_held_locks_in(block.memory, block.size);
}

} // namespace

void check_held_locks_in(const void* memory, std::size_t size) {
    for (const auto& [lock, holder] : lock_registry::get().remove(memory, size)) {
        if (!enabled(check::locks)) continue;
        finding found = make_finding(verifier_rules::LockFreed,
                                     "memory is freed that a lock lies in which processor " +
                                         std::to_string(holder.who->number) + " holds",
                                     as_parameter(lock), as_parameter(memory), size);
        found.add_stack("held since", holder.since);
        report(found);
    }
}

void* allocate_checked(POOL_TYPE type, SIZE_T size, ULONG tag) {
    pool_point();
    processor& self = this_processor();
    check_pool_irql(self, verifier_rules::IrqlExAllocatePool, type, 0x01, 0x02, "allocated", size);
    if (size == 0 && enabled(check::pool))
        report(make_finding(verifier_rules::PoolZeroBytes, "a pool block of no bytes is allocated",
                            self.irql, static_cast<ULONG_PTR>(type), tag));
    if (fault_point("pool.allocate")) return nullptr;
    if (enabled(check::pool)) return allocate_tracked(self, type, size, tag);
    return std::malloc(size);
}

void free_checked(void* memory, ULONG tag) {
    pool_point(memory);
    processor& self = this_processor();
    if (verifying()) {
        pool_table& table = pool_table::get();
        if (const std::optional<pool_block> block = table.at(memory))
            check_block(self, *block, tag);
        else if (enabled(check::pool) && (notify_pool_free(memory) || is_bad_address(memory)))
            return;
        if (std::optional<pool_block> gone = table.remove(memory, capture_stack());
            gone && enabled(check::pool))
            return freed_memory::get().keep(
                {memory, gone->size, block_text(*gone), self.owner, gone->freed_at});
    }
    std::free(memory);
}

void check_freed_memory(const void* memory, std::size_t size) {
    if (!enabled(check::pool)) return;
    check_live_objects(this_processor(), memory, size);
    check_held_locks_in(memory, size);
}

void check_work_item_address(const WORK_QUEUE_ITEM* item) {
    if (!enabled(check::pool)) return;
    const std::optional<pool_block> block = pool_table::get().around(item);
    if (!block || block->type != PagedPool) return;
    finding found =
        make_finding(verifier_rules::WorkItemPaged, "a work item is queued that lies in paged pool",
                     as_parameter(item), as_parameter(block->memory));
    found.add_stack("allocated at", block->allocated_at);
    report(found);
}

bool pool_usage(ULONG tag, POOL_TAG_USAGE& out) { return pool_table::get().usage(tag, out); }

void disown_pool_blocks(const machine& gone) {
    pool_table::get().disown(gone);
    freed_memory::get().release(gone, false);
}

void check_pool_leaks(machine& owner) {
    if (!enabled(check::pool)) return;
    freed_memory::get().release(owner, true);
    std::vector<pool_block> left = pool_table::get().disown(owner);
    while (!left.empty()) {
        const pool_block oldest = left.front();
        SIZE_T bytes = 0;
        const std::size_t before = left.size();
        std::erase_if(left, [&](const pool_block& each) {
            if (each.tag != oldest.tag) return false;
            bytes += each.size;
            return true;
        });
        const std::size_t blocks = before - left.size();
        finding found =
            make_finding(verifier_rules::PoolLeak,
                         std::to_string(blocks) + " pool blocks with tag " + tag_text(oldest.tag) +
                             ", " + std::to_string(bytes) + " bytes, were never freed",
                         oldest.tag, blocks, bytes);
        found.add_stack("the first one allocated at", oldest.allocated_at);
        report(found);
    }
}

} // namespace irpverbs::dispatch::detail
