// The rings between a daemon and a client, each end against a peer that is not to be believed. The
// first byte chooses the end; the others are the peer's memory, which changes during the reads.
#include <ci/support/completion_ring.hpp>
#include <ci/support/post_ring.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

namespace {

using namespace irpverbs::ci::crossing;

using input = std::span<const std::uint8_t>;

std::uint64_t take_word(input& from) {
    std::uint64_t word = 0;
    const std::size_t size = std::min(from.size(), sizeof(word));
    if (size != 0) std::memcpy(&word, from.data(), size);
    from = from.subspan(size);
    return word;
}

unsigned sum;

/// An object that begins anew. Memory of the heap would be new pages each time, which take longer
/// than all the rest of an execution.
template <class Part>
Part& fresh() {
    alignas(Part) static std::byte memory[sizeof(Part)];
    return *::new (memory) Part{};
}

// The client writes a count, then bytes at the place that the daemon reads next.
void consume_posts(input from) {
    auto& of_client = fresh<post_ring::client_part>();
    auto& of_daemon = fresh<post_ring::daemon_part>();
    post_consumer daemon(of_client, of_daemon);
    alignas(8) static std::byte copy[post_ring::max_message];
    while (!from.empty()) {
        const std::uint64_t more = take_word(from);
        const std::uint64_t head = take_word(from);
        const std::uint64_t consumed = of_daemon.consumed.load(std::memory_order_relaxed);
        std::memcpy(&of_client.bytes[post_ring::place_of(consumed) / 8 * 8], &head, sizeof(head));
        of_client.produced.store((more & 1) != 0 ? more : consumed + (more >> 1) % 0x4000 * 8,
                                 std::memory_order_relaxed);
        std::size_t size = 0;
        switch (daemon.look(copy, size)) {
        case post_consumer::found::violation:
            return;
        case post_consumer::found::nothing:
            if (daemon.begin_sleep()) daemon.end_sleep();
            break;
        case post_consumer::found::record:
            if (size > post_ring::max_message) __builtin_trap();
            for (std::size_t i = 0; i < size; ++i)
                sum += static_cast<unsigned>(copy[i]);
            if ((more & 2) == 0) daemon.remove();
        }
    }
}

void produce_posts(input from) {
    auto& of_client = fresh<post_ring::client_part>();
    auto& of_daemon = fresh<post_ring::daemon_part>();
    post_producer client(of_client, of_daemon);
    while (!from.empty()) {
        of_daemon.consumed.store(take_word(from), std::memory_order_relaxed);
        of_daemon.sleeps.store(take_word(from), std::memory_order_relaxed);
        const std::span<std::byte> room = client.room();
        if (room.empty()) continue;
        std::memset(room.data(), 1, room.size());
        client.publish(1 + take_word(from) % room.size());
        sum += client.must_wake() ? 1 : 0;
    }
}

// The daemon's ring has any bytes.
void read_completions(input from) {
    constexpr std::uint32_t slots = 8;
    alignas(64) std::byte
        memory[sizeof(completion_ring::daemon_part) + slots * sizeof(completion_ring::slot)]{};
    if (!from.empty()) std::memcpy(memory, from.data(), std::min(from.size(), sizeof(memory)));
    const auto& part = *reinterpret_cast<const completion_ring::daemon_part*>(memory);
    const completion_reader client(part, completion_ring::slots_in(sizeof(memory)));
    std::uint64_t count = take_word(from);
    IB_WC entry{};
    for (std::uint32_t i = 0; i < 2 * slots && client.read(count, entry); ++i, ++count)
        sum += entry.Status + (is_solicited(entry) ? 1 : 0);
    sum += client.ends_at(count) ? 1 : 0;
    sum += static_cast<unsigned>(client.event());
}

void append_completions(input from) {
    constexpr std::uint32_t slots = 8;
    alignas(64) std::byte
        memory[2][sizeof(completion_ring::daemon_part) + slots * sizeof(completion_ring::slot)]{};
    completion_ring::client_part of_client{};
    completion_producer daemon(*reinterpret_cast<completion_ring::daemon_part*>(memory[0]), slots,
                               of_client);
    while (!from.empty()) {
        of_client.consumed.store(take_word(from), std::memory_order_relaxed);
        of_client.armed.store(take_word(from), std::memory_order_relaxed);
        IB_WC entry{};
        entry.WrId = take_word(from);
        sum += daemon.append(entry, 1 + static_cast<std::uint32_t>(entry.WrId) % slots) ? 1 : 0;
        sum += daemon.must_notify((entry.WrId & 1) != 0) ? 1 : 0;
        if (entry.WrId % 16 == 7)
            daemon.continue_in(*reinterpret_cast<completion_ring::daemon_part*>(memory[1]), slots);
        sum += static_cast<unsigned>(daemon.filled());
    }
}

// The daemon passes stores of any content, to offsets in the memory of a client or beyond it.
void apply_stores(input from) {
    alignas(8) static std::byte memory[256];
    auto& of_daemon = fresh<store_ring::daemon_part>();
    store_ring::client_part of_client{};
    store_consumer client(of_daemon, of_client);
    const auto base = reinterpret_cast<std::uintptr_t>(memory);
    const auto permits = [&](ULONG key, std::uint64_t address, std::uint64_t size) {
        return key != 0 && address >= base && size <= sizeof(memory) &&
               address - base <= sizeof(memory) - size;
    };
    while (!from.empty()) {
        store_ring::slot& to = of_daemon.all[store_ring::place_of(client.applied())];
        to.address.store(base + take_word(from), std::memory_order_relaxed);
        to.key_and_size.store(take_word(from), std::memory_order_relaxed);
        const std::uint64_t number = take_word(from);
        to.number.store(client.applied() + 1 + number % 2, std::memory_order_relaxed);
        to.words[number % to.words.size()].store(number, std::memory_order_relaxed);
        if (client.apply_next(permits) == store_consumer::found::violation) return;
        sum += static_cast<unsigned>(memory[number % sizeof(memory)]);
    }
}

void append_stores(input from) {
    auto& of_daemon = fresh<store_ring::daemon_part>();
    store_ring::client_part of_client{};
    store_producer daemon(of_daemon, of_client);
    static constexpr std::byte bytes[2 * store_ring::max_bytes]{};
    while (!from.empty()) {
        of_client.applied.store(take_word(from), std::memory_order_relaxed);
        const std::uint64_t address = take_word(from);
        const std::uint64_t size = take_word(from) % sizeof(bytes);
        const ULONG key = static_cast<ULONG>(address >> 32);
        if ((size & 1) != 0) daemon.show(key, address);
        sum += daemon.append(key, address, std::span(bytes).first(size)) ? 1 : 0;
        sum += static_cast<unsigned>(daemon.count());
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const input rest(data + 1, size - 1);
    switch (data[0] % 6) {
    case 0:
        consume_posts(rest);
        break;
    case 1:
        produce_posts(rest);
        break;
    case 2:
        read_completions(rest);
        break;
    case 3:
        append_completions(rest);
        break;
    case 4:
        apply_stores(rest);
        break;
    default:
        append_stores(rest);
    }
    return 0;
}
