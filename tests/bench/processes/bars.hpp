// The bars of the process boundary, as those of ../bars.hpp.
#pragma once

#include "../bars.hpp"

namespace irpverbs::bench {

inline constexpr auto process_bars = [] {
    constexpr auto two = bar_kind::two_threads;
    return std::to_array<bar>({
        {"send of 8 bytes, one way", "alone/latency_8", "ucx/latency_8", 3.0, two},
        {"send of 8 bytes, 64 under way", "alone/stream_8", "ucx/stream_8", 4.2, two},
        {"send of 8 bytes, lists of 16", "alone/stream_8_list_16", "ucx/stream_8", 2.8, two},
        {"the same, a shared processor", "across/stream_8", "ucx/stream_8", 1.7, two},
        {"the same, a shared processor, one way", "across/latency_8", "limit/tcp_spinning", 0.9,
         two},
        {"send of 4 KiB, common buffers", "alone/shared_4k", "ucx/stream_4k", 1.1, two},
        {"send of 64 KiB, common buffers", "alone/shared_64k", "ucx/stream_64k", 0.6, two},
        {"send of 1 MiB, common buffers", "alone/shared_1m", "ucx/stream_1m", 0.8, two},
        {"write of 4 KiB, common buffers", "across/shared_write_4k", "ucx/put_shared_4k", 1.5, two},
        {"write of 64 KiB, common buffers", "across/shared_write_64k", "ucx/put_shared_64k", 1.1,
         two},
        {"write of 1 MiB, common buffers", "across/shared_write_1m", "ucx/put_shared_1m", 1.1, two},
        {"write of 64 KiB, private memory", "across/write_64k", "ucx/stream_64k", 2.4, two},
        {"write of 1 MiB, private memory", "across/write_1m", "ucx/stream_1m", 2.4, two},
        {"all three asleep, one way", "across/sleeping_8", "limit/futex", 2.2, two},
        {"all three asleep, one way", "across/sleeping_8", "limit/tcp_sleeping", 1.0, two},
    });
}();

} // namespace irpverbs::bench
