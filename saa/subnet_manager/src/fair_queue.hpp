// Waiting messages of many peers: bounded, and served so that a peer that floods the queue delays
// the others little.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

namespace irpverbs::subnet_manager {

/// A message in a fair_queue.
struct queued_message {
    queued_message* next = nullptr;
    std::uint16_t peer = 0;
};

/// One line for each peer (LIDs that are equal modulo 256 share a line). Lines are served in turn;
/// those with more than `most_light` messages share each fourth turn while others wait. The caller
/// owns the messages. Not thread-safe.
class fair_queue {
public:
    static constexpr std::uint32_t most = 1024;
    static constexpr std::uint32_t max_per_peer = 256;
    static constexpr std::uint32_t most_light = 64; // as many as SA access has in flight
    static constexpr std::uint32_t heavy_turn = 4;

    bool empty() const { return count_ == 0; }
    std::uint32_t size() const { return count_; }
    bool has_room(std::uint16_t peer) const {
        return count_ < most && lines_[peer % lines_.size()].count < max_per_peer;
    }

    /// Returns false when there is no room.
    bool push(queued_message& what) {
        if (!has_room(what.peer)) return false;
        line& its = lines_[what.peer % lines_.size()];
        what.next = nullptr;
        (its.first == nullptr ? its.first : its.last->next) = &what;
        its.last = &what;
        ++count_;
        if (its.count++ == 0) light_.push(its);
        return true;
    }

    /// Null: empty.
    queued_message* pop() {
        if (empty()) return nullptr;
        const bool heavy = light_.empty() || (!heavy_.empty() && ++turns_ % heavy_turn == 0);
        line& next = (heavy ? heavy_ : light_).pop();
        queued_message* const first = next.first;
        next.first = first->next;
        --count_;
        if (--next.count != 0) (next.count > most_light ? heavy_ : light_).push(next);
        return first;
    }

private:
    struct line {
        line* next = nullptr;
        queued_message* first = nullptr;
        queued_message* last = nullptr;
        std::uint32_t count = 0;
    };

    class ring {
    public:
        bool empty() const { return first_ == nullptr; }
        void push(line& what) {
            what.next = nullptr;
            (first_ == nullptr ? first_ : last_->next) = &what;
            last_ = &what;
        }
        line& pop() { return *std::exchange(first_, first_->next); }

    private:
        line* first_ = nullptr;
        line* last_ = nullptr;
    };

    std::array<line, 256> lines_{};
    ring light_, heavy_;
    std::uint32_t count_ = 0;
    std::uint32_t turns_ = 0;
};

} // namespace irpverbs::subnet_manager
