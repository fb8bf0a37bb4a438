#include "freed_memory.hpp"

#include "pool_table.hpp"
#include "verifier_rules.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <sanitizer/asan_interface.h>
#include <utility>
#include <vector>

namespace irpverbs::dispatch::detail {
namespace {

std::uintptr_t place_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

constexpr std::size_t word_size = sizeof freed_pattern;

std::size_t words_of(const freed_block& block) { return (block.size + word_size - 1) / word_size; }
// The last word may be a part of one.
std::size_t length_of(const freed_block& block, std::size_t i) {
    return std::min(word_size, block.size - i * word_size);
}

void fill(const freed_block& block) {
    char* to = static_cast<char*>(block.memory);
    for (std::size_t i = 0; i < words_of(block); ++i)
        std::memcpy(to + i * word_size, &freed_pattern, length_of(block, i));
    ASAN_POISON_MEMORY_REGION(block.memory, block.size);
}

// The first word that was written to; the number of words if none was.
std::size_t first_changed(const freed_block& block) {
    ASAN_UNPOISON_MEMORY_REGION(block.memory, block.size);
    const char* from = static_cast<const char*>(block.memory);
    std::size_t i = 0;
    while (i < words_of(block) &&
           std::memcmp(from + i * word_size, &freed_pattern, length_of(block, i)) == 0)
        ++i;
    return i;
}

std::optional<finding> give_back(const freed_block& block) {
    const std::size_t changed = first_changed(block);
    pool_table::get().forget(block.memory);
    std::free(block.memory);
    if (changed == words_of(block)) return std::nullopt;
    finding found =
        make_finding(verifier_rules::FreedMemoryWritten,
                     "a " + block.name + " was written to after it was freed, at byte " +
                         std::to_string(changed * word_size),
                     place_of(block.memory), changed * word_size, block.size);
    found.add_stack("freed at", block.freed_at);
    return found;
}

// A handler of reports may throw or end the thread, so all memory is released before.
std::vector<finding> give_back(const std::vector<freed_block>& blocks) {
    std::vector<finding> written;
    for (const freed_block& each : blocks)
        if (std::optional<finding> found = give_back(each)) written.push_back(std::move(*found));
    return written;
}

void report_all(const std::vector<finding>& written) {
    if (!enabled(check::pool)) return;
    for (const finding& each : written)
        report(each);
}

} // namespace

freed_memory& freed_memory::get() {
    static auto* only = new freed_memory; // outlives every machine
    return *only;
}

freed_block freed_memory::remove(std::uintptr_t place) {
    freed_block block = std::move(blocks_.extract(place).mapped());
    bytes_ -= block.size;
    --count_;
    const auto kept = kept_of_.find(block.owner);
    if (--kept->second == 0) kept_of_.erase(kept);
    return block;
}

void freed_memory::keep(freed_block block) {
    if (block.size > most_bytes / 4) {
        std::free(block.memory);
        return;
    }
    fill(block);
    std::vector<freed_block> old;
    {
        const std::lock_guard guard(guard_);
        bytes_ += block.size;
        ++count_;
        ++kept_of_[block.owner];
        order_.push_back(place_of(block.memory));
        blocks_.emplace(order_.back(), std::move(block));
        while (bytes_ > most_bytes || blocks_.size() > most_blocks) {
            old.push_back(remove(order_.front()));
            order_.pop_front();
        }
    }
    report_all(give_back(old));
}

void freed_memory::check_use(const void* object, const char* what) {
    if (count_.load(std::memory_order_relaxed) == 0) return;
    freed_block around;
    {
        const std::lock_guard guard(guard_);
        auto after = blocks_.upper_bound(place_of(object));
        if (after == blocks_.begin()) return;
        around = std::prev(after)->second;
    }
    if (place_of(object) - place_of(around.memory) >= around.size) return;
    finding found = make_finding(verifier_rules::FreedMemoryUsed,
                                 std::string(what) + " that lies in freed memory, a " + around.name,
                                 place_of(object), place_of(around.memory), around.size);
    found.add_stack("freed at", around.freed_at);
    report(found);
}

void freed_memory::release(const machine& owner, bool checked) {
    std::vector<freed_block> gone;
    {
        const std::lock_guard guard(guard_);
        const auto kept = kept_of_.find(&owner);
        std::size_t left = kept == kept_of_.end() ? 0 : kept->second;
        // The blocks of a simulated run are the newest, whatever a machine that stays has freed.
        auto first = order_.end();
        for (; left != 0; left -= blocks_.at(*first).owner == &owner)
            --first;
        const auto end = std::remove_if(first, order_.end(), [&](std::uintptr_t place) {
            if (blocks_.at(place).owner != &owner) return false;
            gone.push_back(remove(place));
            return true;
        });
        order_.erase(end, order_.end());
    }
    const std::vector<finding> written = give_back(gone);
    if (checked) report_all(written);
}

void check_freed_use(const void* object, const char* what) {
    if (enabled(check::pool)) freed_memory::get().check_use(object, what);
}

void free_to_special_pool(void* memory, std::size_t size, const char* name) {
    if (!enabled(check::pool)) return std::free(memory);
    freed_memory::get().keep({memory, size, name, this_processor().owner, capture_stack()});
}

} // namespace irpverbs::dispatch::detail
