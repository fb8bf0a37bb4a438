// Remains of runs that did not finish. They are never destroyed: abandoned stacks may point to
// them, and their destructors belong to code that stopped in the middle.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

namespace irpverbs::dispatch::sim {

/// Keeps `left` for ever, where leak checkers find it. The machines of all threads share the place.
template <class Left>
void leak_intentionally(Left left) {
    static std::mutex lock;
    static auto* kept = new std::vector<Left>; // guarded by lock
    const std::lock_guard guard(lock);
    kept->push_back(std::move(left));
}

} // namespace irpverbs::dispatch::sim
