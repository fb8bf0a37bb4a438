// The rings through which a client passes its work requests to a daemon without a system call:
// messages of wire::kind::post, one behind the other, in memory that the client writes. One process
// writes a ring and one thread at a time reads it. docs/decisions/process-boundary.md has the
// protocol.
#ifndef IRPVERBS_CI_SUPPORT_POST_RING_HPP
#define IRPVERBS_CI_SUPPORT_POST_RING_HPP

#include <ci/support/store_ring.hpp>
#include <dispatch/support/fetched_words.hpp>
#include <dispatch/support/shared_word.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace irpverbs::ci::crossing {

using dispatch::detail::shared_fence;

/// Counts are of bytes, and never wrap.
struct post_ring {
    static constexpr std::size_t capacity = std::size_t{64} << 10;
    static constexpr std::size_t max_message = 8192;

    /// Written by the client.
    struct client_part {
        alignas(64) shared_word produced;
        alignas(64) std::byte bytes[capacity];
    };
    /// Written by the daemon.
    struct daemon_part {
        alignas(64) shared_word consumed;
        alignas(64) shared_word sleeps; // odd while the daemon sleeps
    };

    /// In front of each message: its size, or the size of the gap at the end of the ring.
    using record_head = std::uint64_t;
    static constexpr record_head gap = record_head{1} << 63;

    static constexpr std::size_t place_of(std::uint64_t count) { return count % capacity; }
};

/// The rings of a connection, with that of its stores. Receives have one of their own, since the
/// daemon posts those of all connections before it posts a send that was passed later.
struct post_rings {
    struct client_part {
        post_ring::client_part sends; // and bindings
        post_ring::client_part receives;
        store_ring::client_part stores;
    };
    struct daemon_part {
        post_ring::daemon_part sends;
        post_ring::daemon_part receives;
        store_ring::daemon_part stores;
    };
};

/// The client's end. Its caller serialises all calls.
class post_producer {
public:
    post_producer(post_ring::client_part& own, const post_ring::daemon_part& of_daemon)
        : own_(own), of_daemon_(of_daemon) {}

    /// The place of the next message: post_ring::max_message bytes, or none when the ring is full.
    std::span<std::byte> room() {
        const std::size_t place = post_ring::place_of(produced_);
        const std::size_t behind = post_ring::capacity - place;
        const bool wraps = behind < record_size;
        if (!has_free(wraps ? behind + record_size : record_size)) return {};
        if (wraps) {
            write_head(place, post_ring::gap | behind);
            produced_ += behind;
        }
        return {&own_.bytes[post_ring::place_of(produced_) + head_size], post_ring::max_message};
    }
    /// Passes the message of `size` bytes in `room()` to the daemon.
    void publish(std::size_t size) {
        write_head(post_ring::place_of(produced_), size);
        produced_ += head_size + padded(size);
        own_.produced.store(produced_, std::memory_order_release);
    }
    /// True: the daemon sleeps, and has to be woken. True once for each time that it sleeps.
    ///
    /// The fence stands between the count and the look at the sleeper's word; the sleeper's stands
    /// between that word and its look at the count. One of the two sees the other's store.
    bool must_wake() {
        shared_fence();
        const std::uint64_t sleeps = of_daemon_.sleeps.load(std::memory_order_relaxed);
        if ((sleeps & 1) == 0 || sleeps == woken_) return false;
        woken_ = sleeps;
        return true;
    }

private:
    static constexpr std::size_t head_size = sizeof(post_ring::record_head);
    static constexpr std::size_t record_size = head_size + post_ring::max_message;
    static constexpr std::size_t padded(std::size_t size) { return (size + 7) / 8 * 8; }

    // A count of the daemon that is none of a right one counts as no room.
    bool has_free(std::size_t size) {
        if (produced_ - consumed_ + size <= post_ring::capacity) return true;
        const std::uint64_t consumed = of_daemon_.consumed.load(std::memory_order_acquire);
        if (consumed < consumed_ || consumed > produced_) return false;
        consumed_ = consumed;
        return produced_ - consumed_ + size <= post_ring::capacity;
    }
    void write_head(std::size_t place, post_ring::record_head head) {
        std::memcpy(&own_.bytes[place], &head, sizeof(head));
    }

    post_ring::client_part& own_;
    const post_ring::daemon_part& of_daemon_;
    std::uint64_t produced_ = 0;
    std::uint64_t consumed_ = 0; // as it was seen last
    std::uint64_t woken_ = 0;
};

/// The daemon's end. Nothing in the client's part is believed: each byte is read once, and what was
/// read is checked. Its caller serialises all calls but `has_work`.
class post_consumer {
public:
    post_consumer(const post_ring::client_part& of_client, post_ring::daemon_part& own)
        : of_client_(of_client), own_(own) {}

    enum class found { nothing, record, violation };

    /// Looks at the client's count when all messages that it has seen are removed. True: there are
    /// messages, and all that their client knew to be passed before them, in any ring, is visible.
    bool see() {
        if (has_seen()) return true;
        seen_ = of_client_.produced.load(std::memory_order_acquire);
        return has_seen();
    }
    bool has_seen() const { return seen_ != consumed_; }

    /// Copies the next message, which stays in the ring until `remove`. `into`: at least
    /// post_ring::max_message bytes, 8-aligned. A message that is returned again may differ.
    found look(std::span<std::byte> into, std::size_t& size) {
        found seen = look_at(into, size);
        if (seen == found::nothing && record_ != 0) {
            remove(); // the gap
            seen = look_at(into, size);
            if (seen == found::nothing && record_ != 0) return found::violation;
        }
        return seen;
    }
    /// Removes the message that `look` has found.
    void remove() {
        consumed_ += record_;
        record_ = 0;
        own_.consumed.store(consumed_, std::memory_order_release);
    }

    /// False: each message that the client had passed before the call was removed. Any thread may
    /// call this.
    bool has_work() const {
        const std::uint64_t produced = of_client_.produced.load(std::memory_order_acquire);
        return produced != own_.consumed.load(std::memory_order_acquire);
    }
    /// True: the client wakes the daemon for what it posts from now on. False: there is work.
    bool begin_sleep() {
        set_sleeps((sleeps_ + 1) | 1);
        shared_fence();
        if (!has_work()) return true;
        end_sleep();
        return false;
    }
    /// Also for a daemon that began to sleep before there was a ring.
    void end_sleep() { set_sleeps((sleeps_ | 1) + 1); }

private:
    static constexpr std::size_t head_size = sizeof(post_ring::record_head);

    // Copies words of the client, which may be writing them.
    void copy(std::size_t place, void* to, std::size_t size) {
        fetched_.load(&of_client_.bytes[place], size);
        auto* from = reinterpret_cast<const std::uint64_t*>(&of_client_.bytes[place]);
        auto* words = static_cast<std::byte*>(to);
        for (std::size_t i = 0; i < size; i += sizeof(*from)) {
            const std::uint64_t word = __atomic_load_n(from++, __ATOMIC_RELAXED);
            std::memcpy(words + i, &word, sizeof(word));
        }
    }

    // A gap returns `nothing`, and its size in record_.
    found look_at(std::span<std::byte> into, std::size_t& size) {
        record_ = 0;
        fetched_.begin();
        if (!see()) return found::nothing;
        fetched_.load(&of_client_.produced, sizeof(of_client_.produced));
        const std::uint64_t used = seen_ - consumed_;
        if (used > post_ring::capacity || used % 8 != 0) return found::violation;
        const std::size_t place = post_ring::place_of(consumed_);
        const std::size_t behind = post_ring::capacity - place;
        post_ring::record_head head = 0;
        copy(place, &head, sizeof(head));
        if ((head & post_ring::gap) != 0) {
            if ((head ^ post_ring::gap) != behind || behind > used) return found::violation;
            record_ = behind;
            return found::nothing;
        }
        const std::uint64_t whole = head_size + (head + 7) / 8 * 8;
        if (head > post_ring::max_message || whole > behind || whole > used)
            return found::violation;
        copy(place + head_size, into.data(), whole - head_size);
        record_ = whole;
        size = head;
        return found::record;
    }

    void set_sleeps(std::uint64_t count) {
        sleeps_ = count;
        own_.sleeps.store(count, std::memory_order_relaxed);
    }

    const post_ring::client_part& of_client_;
    post_ring::daemon_part& own_;
    dispatch::detail::fetched_words fetched_; // of the message that `look` looks at
    std::uint64_t consumed_ = 0;
    std::uint64_t seen_ = 0;   // the client's count, as it was seen last
    std::uint64_t record_ = 0; // bytes of what `look` has found
    std::uint64_t sleeps_ = 0;
};

} // namespace irpverbs::ci::crossing

#endif
