// The ring through which a daemon passes the bytes of small messages to the client that receives
// them, without a system call: the client itself copies them to its receive, before it returns the
// completion. One ring a connection. docs/decisions/process-boundary.md has the protocol.
#ifndef IRPVERBS_CI_SUPPORT_STORE_RING_HPP
#define IRPVERBS_CI_SUPPORT_STORE_RING_HPP

#include <dispatch/support/shared_word.hpp>
#include <dispatch/support/spin_lock.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace irpverbs::ci::crossing {

using dispatch::detail::shared_word;

struct store_ring {
    static constexpr std::uint64_t slots = 128;
    static constexpr std::size_t max_bytes = 104; // of a message

    /// Written by the client.
    struct client_part {
        alignas(64) shared_word applied; // stores
    };
    /// A store. Its number, which counts it, is written last: by it the reader knows that the store
    /// is there.
    struct slot {
        shared_word number;
        std::atomic<std::uint64_t> address;
        std::atomic<std::uint64_t> key_and_size; // an L_Key above, bytes below
        std::array<std::atomic<std::uint64_t>, max_bytes / 8> words;
    };
    static_assert(sizeof(slot) == 128 && max_bytes % 8 == 0);

    /// Written by the daemon.
    struct daemon_part {
        alignas(128) std::array<slot, slots> all;
    };

    static constexpr std::size_t place_of(std::uint64_t number) { return number % slots; }
};

/// The daemon's end. Any thread may call each function. IRQL: <= DISPATCH_LEVEL.
class store_producer {
public:
    store_producer(store_ring::daemon_part& own, const store_ring::client_part& of_client)
        : own_(own), of_client_(of_client) {}

    /// Passes bytes for `address` in the region of that L_Key. False: there are too many, the
    /// client has not applied older ones, or nothing has shown yet that the page is mapped: the
    /// caller then writes them itself.
    bool append(ULONG key, std::uint64_t address, std::span<const std::byte> bytes) {
        if (bytes.size() > store_ring::max_bytes) return false;
        const dispatch::detail::spin_guard guard(lock_);
        if (!is_shown(key, address, bytes.size()) || !has_room()) return false;
        const std::uint64_t number = count_.load(std::memory_order_relaxed);
        store_ring::slot& to = own_.all[store_ring::place_of(number)];
        std::array<std::uint64_t, store_ring::max_bytes / 8> words{};
        std::memcpy(words.data(), bytes.data(), bytes.size());
        to.address.store(address, std::memory_order_relaxed);
        to.key_and_size.store(std::uint64_t{key} << 32 | bytes.size(), std::memory_order_relaxed);
        for (std::size_t i = 0; i < (bytes.size() + 7) / 8; ++i)
            to.words[i].store(words[i], std::memory_order_relaxed);
        to.number.store(number + 1, std::memory_order_release);
        count_.store(number + 1, std::memory_order_release);
        return true;
    }
    /// The caller has written to this page of a region, so it is mapped.
    void show(ULONG key, std::uint64_t address) {
        const dispatch::detail::spin_guard guard(lock_);
        shown_of(address) = {key, page_of(address)};
    }
    /// The stores that were passed: a completion that is made later comes behind them.
    std::uint64_t count() const { return count_.load(std::memory_order_acquire); }

private:
    struct shown_page {
        ULONG key = 0; // a region that is registered again has another one
        std::uint64_t page = ~std::uint64_t{0};
    };
    static constexpr std::size_t most_shown = 64;

    static std::uint64_t page_of(std::uint64_t address) { return address / 4096; }
    shown_page& shown_of(std::uint64_t address) { return shown_[page_of(address) % most_shown]; }
    bool is_shown(ULONG key, std::uint64_t address, std::size_t size) {
        const shown_page& seen = shown_of(address);
        return seen.key == key && seen.page == page_of(address) &&
               (size == 0 || page_of(address + size - 1) == seen.page);
    }
    // A false count of the client's destroys stores of its own.
    bool has_room() {
        const std::uint64_t number = count_.load(std::memory_order_relaxed);
        if (number - applied_ < store_ring::slots) return true;
        applied_ = of_client_.applied.load(std::memory_order_acquire);
        return number - applied_ < store_ring::slots;
    }

    store_ring::daemon_part& own_;
    const store_ring::client_part& of_client_;
    std::atomic<std::uint64_t> count_{0};           // stored under the lock
    KSPIN_LOCK lock_ = 0;                           // guards all below
    std::uint64_t applied_ = 0 - store_ring::slots; // as it was seen last: the first store looks
    std::array<shown_page, most_shown> shown_{};
};

/// The client's end. Its caller serialises all calls but `applied`. The daemon may be hostile:
/// nothing is stored without the caller's consent.
class store_consumer {
public:
    store_consumer(const store_ring::daemon_part& of_daemon, store_ring::client_part& own)
        : of_daemon_(of_daemon), own_(own) {}

    enum class found { nothing, store, violation };

    /// For a client without this end: the ring is full from the beginning, so the daemon writes all
    /// bytes itself. Called before the first receive is posted.
    static void refuse_all(store_ring::client_part& own) {
        own.applied.store(0 - store_ring::slots, std::memory_order_release);
    }

    /// Stores. Any thread may call this; what they have written is then visible.
    std::uint64_t applied() const { return applied_.load(std::memory_order_acquire); }

    /// Applies the oldest store, where `permits(key, address, size)` returns true.
    template <class Permits>
    found apply_next(const Permits& permits) {
        const std::uint64_t number = applied_.load(std::memory_order_relaxed);
        const store_ring::slot& from = of_daemon_.all[store_ring::place_of(number)];
        if (from.number.load(std::memory_order_acquire) != number + 1) return found::nothing;
        const std::uint64_t address = from.address.load(std::memory_order_relaxed);
        const std::uint64_t key_and_size = from.key_and_size.load(std::memory_order_relaxed);
        const std::uint64_t size = key_and_size & 0xFFFFFFFF;
        if (size > store_ring::max_bytes ||
            !permits(static_cast<ULONG>(key_and_size >> 32), address, size))
            return found::violation;
        std::array<std::uint64_t, store_ring::max_bytes / 8> words;
        for (std::size_t i = 0; i < (size + 7) / 8; ++i)
            words[i] = from.words[i].load(std::memory_order_relaxed);
        std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), words.data(),
                    size);
        applied_.store(number + 1, std::memory_order_release);
        own_.applied.store(number + 1, std::memory_order_release);
        return found::store;
    }

private:
    const store_ring::daemon_part& of_daemon_;
    store_ring::client_part& own_;
    std::atomic<std::uint64_t> applied_{0};
};

} // namespace irpverbs::ci::crossing

#endif
