// Stores that become visible late, as those of a processor that keeps them in a buffer.
#pragma once

#include <dispatch/sim_machine.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace irpverbs::dispatch::testing {

/// While it exists, which is no longer than the words, a store of an actor to a detail::shared_word
/// is visible to the other actors of a simulated run only after some of the later accesses, in the
/// order of that actor's stores, which sees them at once itself (total store order). A
/// detail::shared_fence makes all stores of its actor visible. Other memory is not delayed. One at
/// a time in a thread.
class NT_API store_buffers {
public:
    /// `before_access`, which may throw, is called in front of each access and fence.
    explicit store_buffers(sim_machine& run, std::function<void()> before_access = {});
    /// The remaining stores become visible.
    ~store_buffers();
    store_buffers(const store_buffers&) = delete;
    store_buffers& operator=(const store_buffers&) = delete;

    struct contents;

private:
    std::unique_ptr<contents> contents_;
};

} // namespace irpverbs::dispatch::testing
