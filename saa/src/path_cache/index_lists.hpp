// Doubly linked lists of entries, which are numbers: one head per bucket, two links per entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace irpverbs::saa {

class index_lists {
public:
    using index = std::uint32_t;
    static constexpr index none = 0xffffffff;

    index_lists(std::size_t heads, std::size_t entries)
        : heads_(heads, none), tails_(heads, none), next_(entries, none), previous_(entries, none) {
    }

    index first(std::size_t head) const { return heads_[head]; }
    index last(std::size_t head) const { return tails_[head]; }
    index after(index entry) const { return next_[entry]; }

    void push_front(std::size_t head, index entry) {
        const index old = heads_[head];
        next_[entry] = old;
        previous_[entry] = none;
        heads_[head] = entry;
        (old == none ? tails_[head] : previous_[old]) = entry;
    }

    void remove(std::size_t head, index entry) {
        const index before = previous_[entry];
        const index behind = next_[entry];
        (before == none ? heads_[head] : next_[before]) = behind;
        (behind == none ? tails_[head] : previous_[behind]) = before;
    }

private:
    std::vector<index> heads_;
    std::vector<index> tails_;
    std::vector<index> next_;
    std::vector<index> previous_;
};

} // namespace irpverbs::saa
