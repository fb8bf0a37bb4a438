// Limits of the machine, which no library can beat.
#include "measurements.hpp"
#include "two_threads.hpp"

#include <algorithm>
#include <cstring>
#include <linux/futex.h>
#include <memory>
#include <numeric>
#include <random>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace irpverbs::bench {
namespace {

BENCH_OPAQUE int called(void*, void*) { return 3; }

void indirect_calls(run& sample) {
    using function = int (*)(void*, void*);
    static function table[4] = {called, called, called, called};
    function* volatile hidden = table;
    const std::uint64_t operations = sample.operations();
    int sum = 0, argument = 0;
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i)
        sum += hidden[3](&argument, &argument);
    keep(sum);
    sample.stop();
}

void locked_instruction(run& sample) {
    alignas(far_apart) static std::atomic<std::uint64_t> word;
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i)
        keep(word.exchange(i));
    sample.stop();
}

// Each load depends on the one before and misses all caches.
struct alignas(far_apart) record {
    std::uint32_t next;
};

std::vector<record> one_random_cycle(std::size_t count) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), std::mt19937(7));
    std::vector<record> records(count);
    for (std::size_t i = 0; i < count; ++i)
        records[order[i]].next = order[(i + 1) % count];
    return records;
}

void dependent_cache_miss(run& sample) {
    static const std::vector<record> records = one_random_cycle(sample.population(1'000'000));
    const std::uint64_t operations = sample.operations();
    std::uint32_t at = 0;
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i)
        at = records[at].next;
    keep(at);
    sample.stop();
}

struct alignas(far_apart) word {
    std::atomic<std::uint32_t> value{0};
};

// One thread increments the left word, the other answers on the right one.
template <class Await, class Raise>
void ping_pong(run& sample, Await await, Raise raise) {
    word left, right;
    const auto rounds = static_cast<std::uint32_t>(sample.operations());
    on_two_processors(
        sample,
        [&] {
            for (std::uint32_t i = 1; i <= rounds; ++i) {
                raise(left.value, i);
                await(right.value, i);
            }
        },
        [&] {
            for (std::uint32_t i = 1; i <= rounds; ++i) {
                await(left.value, i);
                raise(right.value, i);
            }
        });
}

void cache_line_ping_pong(run& sample) {
    ping_pong(
        sample,
        [](std::atomic<std::uint32_t>& line, std::uint32_t value) {
            while (line.load(std::memory_order_acquire) != value)
                relax_processor();
        },
        [](std::atomic<std::uint32_t>& line, std::uint32_t value) {
            line.store(value, std::memory_order_release);
        });
}

long futex(std::atomic<std::uint32_t>& at, int operation, std::uint32_t value) {
    return syscall(SYS_futex, &at, operation, value, nullptr, nullptr, 0);
}

void futex_ping_pong(run& sample) {
    ping_pong(
        sample,
        [](std::atomic<std::uint32_t>& at, std::uint32_t value) {
            while (at != value)
                futex(at, FUTEX_WAIT_PRIVATE, value - 1);
        },
        [](std::atomic<std::uint32_t>& at, std::uint32_t value) {
            at = value;
            futex(at, FUTEX_WAKE_PRIVATE, 1);
        });
}

template <std::size_t Size>
void copy_memory(run& sample) {
    std::vector<char> from(Size, 3);
    std::vector<char> to(Size);
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i) {
        std::memcpy(to.data(), from.data(), Size);
        clobber_memory();
    }
    sample.stop();
    keep(to[0]);
}

} // namespace

void add_limits(catalog& all) {
    all.add("limit/indirect_call", "predicted call through a table of functions", indirect_calls);
    all.add("limit/locked_instruction", "uncontended atomic exchange", locked_instruction);
    all.add("limit/memcpy_64k", "memcpy of 64 KiB", copy_memory<65536>);
    all.add("limit/memcpy_1m", "memcpy of 1 MiB", copy_memory<std::size_t{1} << 20>);
    all.add("limit/cache_miss_1e6", "dependent load from one of 1e6 records of 128 bytes",
            dependent_cache_miss);
    all.add("limit/line_ping_pong", "a cache line there and back, both spin", cache_line_ping_pong,
            threads::two);
    all.add("limit/futex_ping_pong", "a futex wake there and back, both sleep", futex_ping_pong,
            threads::two);
}

} // namespace irpverbs::bench
