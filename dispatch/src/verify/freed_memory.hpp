// Special pool: freed memory is kept back for a while, filled with a pattern, and checked when it
// is released to the system. Memory belongs to the process; a block belongs to the machine whose
// thread freed it.
#pragma once

#include "hooks.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/support/verify.hpp>

#include <atomic>
#include <deque>
#include <map>
#include <string>

namespace irpverbs::dispatch::detail {

struct freed_block {
    void* memory = nullptr;
    std::size_t size = 0;
    std::string name; // "block of 64 bytes with tag 'abcd'"
    const machine* owner = nullptr;
    call_stack freed_at;
};

class freed_memory {
public:
    static freed_memory& get();

    /// Takes over memory of malloc.
    void keep(freed_block block);
    /// Reports `what` ("a spin lock is acquired") if the object lies in freed memory.
    void check_use(const void* object, const char* what);
    /// Gives the machine's blocks back, and reports those that were written to; without `checked`
    /// reports nothing.
    void release(const machine& owner, bool checked);

private:
    static constexpr std::size_t most_bytes = 1024 * 1024;
    static constexpr std::size_t most_blocks = 4096;

    freed_block remove(std::uintptr_t place); // from all but order_

    raw_spin_lock guard_;
    std::map<std::uintptr_t, freed_block> blocks_; // guarded by guard_, as the three below
    std::map<const machine*, std::size_t> kept_of_;
    std::deque<std::uintptr_t> order_; // oldest first
    std::size_t bytes_ = 0;
    std::atomic<std::size_t> count_{0};
};

} // namespace irpverbs::dispatch::detail
