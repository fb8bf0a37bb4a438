// The ring through which a daemon passes completions to a client without a system call, in memory
// that the client can't write, and the words by which the client requests an event. One ring has
// one writer and one reader at a time. docs/decisions/process-boundary.md has the protocol.
#ifndef IRPVERBS_CI_SUPPORT_COMPLETION_RING_HPP
#define IRPVERBS_CI_SUPPORT_COMPLETION_RING_HPP

#include <ci/completion.h>
#include <ci/support/post_ring.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>

namespace irpverbs::ci::crossing {

struct completion_ring {
    /// Written by the client. It stays when the ring is replaced, and so do the counts.
    struct client_part {
        alignas(64) shared_word consumed; // completions, since the queue was created
        alignas(64) shared_word armed; // 0, or twice the number of the arming, and 1 if solicited
    };
    /// A completion. Behind its words lies the count of completions up to and with it, by which the
    /// reader knows that it is there: an entry of an earlier lap has a smaller one.
    struct slot {
        std::array<std::atomic<std::uint64_t>, sizeof(IB_WC) / 8> words;
        shared_word count;
        std::atomic<std::uint64_t> stores; // that the reader applies before it (store_ring.hpp)
    };
    static_assert(sizeof(slot) == 64 && sizeof(IB_WC) % 8 == 0);

    /// Written by the daemon; behind it lie the slots.
    struct daemon_part {
        alignas(64) shared_word event; // the number of the arming that was reported last
        shared_word end;               // 0, or the count at which the next ring continues, plus 1

        slot* slots() { return reinterpret_cast<slot*>(this + 1); }
        const slot* slots() const { return reinterpret_cast<const slot*>(this + 1); }
    };
    static_assert(sizeof(daemon_part) == 64);

    static std::size_t size_of(std::uint32_t slots) {
        return sizeof(daemon_part) + std::size_t{slots} * sizeof(slot);
    }
    /// The slots in memory of that size; 0: it is none of a ring.
    static std::uint32_t slots_in(std::size_t size) {
        const std::size_t count = (size - sizeof(daemon_part)) / sizeof(slot);
        const bool good = size > sizeof(daemon_part) && count <= UINT32_MAX;
        return good ? std::bit_floor(static_cast<std::uint32_t>(count)) : 0;
    }
};

/// Solicited or failed entries. Source: IBA 11.4.2.2.
inline bool is_solicited(const IB_WC& entry) {
    return entry.Status != IB_WC_SUCCESS || (entry.Flags & IB_WC_SOLICITED) != 0;
}

/// The daemon's end. Its caller serialises all calls.
class completion_producer {
public:
    /// `slots`: a power of two.
    completion_producer(completion_ring::daemon_part& own, std::uint32_t slots,
                        const completion_ring::client_part& of_client)
        : own_(&own), mask_(slots - 1), of_client_(of_client) {}

    /// `stores`: those behind which the entry comes. False: the client has not removed `capacity`
    /// older entries. A false count of the client's fills its own queue.
    bool append(const IB_WC& entry, std::uint32_t capacity, std::uint64_t stores = 0) {
        if (!has_room(std::min(capacity, mask_ + 1))) return false;
        completion_ring::slot& to = own_->slots()[produced_ & mask_];
        std::array<std::uint64_t, sizeof(IB_WC) / 8> words{};
        constexpr std::size_t members = offsetof(IB_WC, PathBits) + sizeof(entry.PathBits);
        std::memcpy(words.data(), &entry, members); // what lies behind is none of the client's
        for (std::size_t i = 0; i < words.size(); ++i)
            to.words[i].store(words[i], std::memory_order_relaxed);
        to.stores.store(stores, std::memory_order_relaxed);
        ++produced_;
        to.count.store(produced_, std::memory_order_release);
        return true;
    }
    /// Entries that the client has not removed.
    std::uint64_t filled() {
        consumed_ = of_client_.consumed.load(std::memory_order_acquire);
        return produced_ - consumed_;
    }

    /// Called after entries were appended, of which one was solicited or none. True, once for each
    /// arming: the client requests an event.
    ///
    /// The fence stands between the entries and the look at the client's word; the client's stands
    /// between that word and its look at the entries. One of the two sees the other's store.
    bool must_notify(bool any_solicited) {
        shared_fence();
        const std::uint64_t armed = of_client_.armed.load(std::memory_order_relaxed);
        if (armed == 0 || armed / 2 == notified_ || ((armed & 1) != 0 && !any_solicited))
            return false;
        notified_ = armed / 2;
        own_->event.store(notified_, std::memory_order_release);
        return true;
    }

    /// Later entries are those of another ring.
    void continue_in(completion_ring::daemon_part& next, std::uint32_t slots) {
        next.event.store(notified_, std::memory_order_relaxed);
        own_->end.store(produced_ + 1, std::memory_order_release);
        own_ = &next;
        mask_ = slots - 1;
    }

private:
    bool has_room(std::uint64_t capacity) {
        return produced_ - consumed_ < capacity || filled() < capacity;
    }

    completion_ring::daemon_part* own_;
    std::uint32_t mask_;
    const completion_ring::client_part& of_client_;
    std::uint64_t produced_ = 0;
    std::uint64_t consumed_ = 0; // as it was seen last
    std::uint64_t notified_ = 0;
};

/// The client's end of one ring. The daemon may be hostile: all it can do is to return completions
/// that are none.
class completion_reader {
public:
    completion_reader(const completion_ring::daemon_part& of_daemon, std::uint32_t slots)
        : of_daemon_(of_daemon), mask_(slots - 1) {}

    std::uint32_t slots() const { return mask_ + 1; }
    /// Copies the entry behind `consumed` others. False: it is not there yet.
    bool read(std::uint64_t consumed, IB_WC& to) const {
        const completion_ring::slot& from = of_daemon_.slots()[consumed & mask_];
        if (from.count.load(std::memory_order_acquire) != consumed + 1) return false;
        std::array<std::uint64_t, sizeof(IB_WC) / 8> words;
        for (std::size_t i = 0; i < words.size(); ++i)
            words[i] = from.words[i].load(std::memory_order_relaxed);
        std::memcpy(&to, words.data(), sizeof(to));
        return true;
    }
    /// The stores that come before the entry that was read there.
    std::uint64_t stores_before(std::uint64_t consumed) const {
        return of_daemon_.slots()[consumed & mask_].stores.load(std::memory_order_relaxed);
    }
    /// True: the entry behind `consumed` others is in the next ring.
    bool ends_at(std::uint64_t consumed) const {
        return of_daemon_.end.load(std::memory_order_acquire) == consumed + 1;
    }
    /// True: the entry behind `count` others is in a later ring.
    bool has_ended_at(std::uint64_t count) const {
        const std::uint64_t end = of_daemon_.end.load(std::memory_order_acquire);
        return end != 0 && end <= count + 1;
    }
    /// The number of the arming that was reported last.
    std::uint64_t event() const { return of_daemon_.event.load(std::memory_order_acquire); }

private:
    const completion_ring::daemon_part& of_daemon_;
    std::uint32_t mask_;
};

} // namespace irpverbs::ci::crossing

#endif
