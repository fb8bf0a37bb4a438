#include "pool_table.hpp"

#include <algorithm>
#include <mutex>

namespace irpverbs::dispatch::detail {
namespace {

std::uintptr_t key_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

} // namespace

pool_table& pool_table::get() {
    static auto* only = new pool_table; // outlives every machine
    return *only;
}

void pool_table::add(pool_block block) {
    const std::lock_guard guard(guard_);
    block.serial = ++serial_;
    freed_.erase(key_of(block.memory));
    const auto [place, is_new] = live_.try_emplace(key_of(block.memory));
    // The former block was freed while no check was enabled.
    if (!is_new) count_out(place->second);
    place->second = block;
    count_in(block);
}

std::optional<pool_block> pool_table::remove(const void* memory, const call_stack& where) {
    const std::lock_guard guard(guard_);
    const auto found = live_.find(key_of(memory));
    if (found == live_.end()) return std::nullopt;
    pool_block block = found->second;
    live_.erase(found);
    count_out(block);
    block.freed_at = where;
    freed_[key_of(memory)] = block;
    freed_order_.push_back(key_of(memory));
    if (freed_order_.size() > max_freed) {
        freed_.erase(freed_order_.front());
        freed_order_.pop_front();
    }
    return block;
}

std::optional<pool_block> pool_table::at(const void* memory) {
    const std::lock_guard guard(guard_);
    const auto found = live_.find(key_of(memory));
    if (found == live_.end()) return std::nullopt;
    return found->second;
}

std::optional<pool_block> pool_table::around(const void* address) {
    const std::lock_guard guard(guard_);
    auto after = live_.upper_bound(key_of(address));
    if (after == live_.begin()) return std::nullopt;
    const pool_block& before = std::prev(after)->second;
    if (key_of(address) - key_of(before.memory) >= before.size) return std::nullopt;
    return before;
}

std::optional<pool_block> pool_table::freed_at(const void* memory) {
    const std::lock_guard guard(guard_);
    const auto found = freed_.find(key_of(memory));
    if (found == freed_.end()) return std::nullopt;
    return found->second;
}

void pool_table::forget(const void* memory) {
    const std::lock_guard guard(guard_);
    freed_.erase(key_of(memory));
}

std::vector<pool_block> pool_table::disown(const machine& owner) {
    std::vector<pool_block> blocks;
    {
        const std::lock_guard guard(guard_);
        for (auto& [place, block] : live_) {
            if (block.owner != &owner) continue;
            blocks.push_back(block);
            block.owner = nullptr;
        }
    }
    std::sort(blocks.begin(), blocks.end(),
              [](const pool_block& a, const pool_block& b) { return a.serial < b.serial; });
    return blocks;
}

bool pool_table::usage(ULONG tag, POOL_TAG_USAGE& out) {
    const std::lock_guard guard(guard_);
    const auto found = sums_.find(tag);
    out = found != sums_.end() ? found->second : POOL_TAG_USAGE{};
    out.Tag = tag;
    return found != sums_.end();
}

// The sums of the block's tag, and the sums of all tags.
std::array<POOL_TAG_USAGE*, 2> pool_table::sums_for(const pool_block& block) {
    return {block.tag != 0 ? &sums_[block.tag] : nullptr, &sums_[0]};
}

void pool_table::count_in(const pool_block& block) {
    for (POOL_TAG_USAGE* sum : sums_for(block)) {
        if (sum == nullptr) continue;
        ++sum->Allocations;
        sum->Bytes += block.size;
        sum->PeakBytes = std::max(sum->PeakBytes, sum->Bytes);
    }
}

void pool_table::count_out(const pool_block& block) {
    for (POOL_TAG_USAGE* sum : sums_for(block)) {
        if (sum == nullptr) continue;
        ++sum->Frees;
        sum->Bytes -= block.size;
    }
}

} // namespace irpverbs::dispatch::detail
