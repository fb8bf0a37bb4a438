// The speed bars as data. A bar compares two measurements of the same process and run;
// docs/decisions/bench-harness.md has the rule for checking it.
#pragma once

#include <array>
#include <string_view>

namespace irpverbs::bench {

enum class bar_kind {
    one_thread, // fails above bound x 1.10
    two_threads // fails above bound x 1.30; skipped when most of its samples were disturbed
};

// Denominator without a measurement: the probe taken beside each sample of the numerator.
inline constexpr std::string_view indirect_call = "indirect call";
// Denominator of bars in seconds, or in bytes per second.
inline constexpr std::string_view nanosecond = "nanosecond";

struct bar {
    std::string_view promise;
    std::string_view measured;
    std::string_view against;
    double bound;
    bar_kind kind = bar_kind::one_thread;
    std::string_view minus = {}; // subtracted from `measured`, for the cost of further levels
    double shared_by = 1;        // divides the difference
    // The smallest prototype that does the same; the bar is impossible where this misses it too.
    std::string_view limit = {};
};

inline constexpr auto bars = std::to_array<bar>({
    {"synchronous, one level", "ours/sync_1", indirect_call, 9},
    {"synchronous with NT book-keeping", "ours/sync_nt", indirect_call, 24},
    {"each further level", "ours/sync_3", indirect_call, 9.5, bar_kind::one_thread, "ours/sync_1",
     2},

    {"pend + complete + callback", "ours/pend", "asio/post_poll_one", 0.45},
    {"pend + complete + callback", "ours/pend", "asio/pend_inside_run", 0.5},

    {"queue + DPC, batch of 32", "ours/queue_dpc_32", "asio/pend_outside_run", 0.32},
    {"queue + DPC, single", "ours/queue_dpc_1", "asio/pend_outside_run", 0.65},
    {"queue + DPC, batch of 32", "ours/queue_dpc_32", "std/mutex_deque_function", 0.8},

    {"pend + cancel + callback", "ours/pend_cancel", "asio/pend_cancel_slot", 0.35},

    {"coroutine awaiting a pended IRP", "ours/coroutine", "asio/coroutine_pend", 0.12},
    {"coroutine against callback",
     "ours/coroutine",
     "ours/pend",
     1.3,
     bar_kind::one_thread,
     {},
     1,
     "ours/coroutine_least"},

    {"ring: post 32 + drain 32, each", "ours/ring_32", indirect_call, 10.5},
    {"ring: post 32 + drain 32, each", "ours/ring_32", "io_uring/nop_32", 0.5},
    {"completion queue: post 32 + drain 32", "ours/completion_queue_32", indirect_call, 10.5},
    {"completion queue: post 32 + drain 32", "ours/completion_queue_32", "io_uring/nop_32", 0.5},

    {"timer arm + cancel, 1e6, in order", "ours/timer_in_order_1e6", "asio/timer_in_order_1e6",
     0.06},
    {"timer arm + cancel, 1e6, at random",
     "ours/timer_random_1e6",
     "limit/cache_miss_1e6",
     0.65,
     bar_kind::one_thread,
     {},
     1,
     "limit/timer_random_1e6"},

    {"CiQueryPort inline, without the copy", "ours/query_port", "ours/sync_1", 3,
     bar_kind::one_thread, "ours/copy_attributes"},
    {"CiQueryPort pended through the DPC", "ours/query_port_dpc", "ours/queue_dpc_1", 2},
    {"port event to an IRP, of 10,000", "ours/port_event_1e4", "ours/pend", 1.5},
    {"2,128 nodes attached in a second", "ours/stand_up", nanosecond, 469'000},
    {"management transaction, 1e3 outstanding", "ours/transaction_1e3", "asio/transaction_1e3",
     0.16},
    {"management transaction, 1e6 against 1e3", "ours/transaction_1e6", "ours/transaction_1e3",
     2.2},
    {"transaction id: new, found, freed", "ours/transaction_id", "std/unordered_map", 0.16},
    {"RMPP, 200 bytes at 2 GB/s", "ours/rmpp_copied", nanosecond, 100},

    {"a cached path, 5 million/s", "ours/path_recall", nanosecond, 200},
    {"pulled link to the last of 1,000", "ours/link_event_1e3", "ours/work_items_1e3", 3,
     bar_kind::two_threads},

    {"send + receive + polls, 8 bytes", "ours/send_8", "ucx/tag_8_multi", 1.0},
    {"send + receive + polls, lists of 32", "ours/send_8_list_32", "ucx/tag_8_single", 0.65},
    {"write + poll, 8 bytes", "ours/write_8", "ucx/put_8_flush", 1.5},
    {"write, lists of 32", "ours/write_8_list_32", "ucx/put_8", 1.3},
    {"write + poll, 4 KiB", "ours/write_4k", "ucx/put_4k_flush", 1.15},
    {"write + poll, 64 KiB", "ours/write_64k", "limit/memcpy_64k", 1.1},
    {"write + poll, 1 MiB", "ours/write_1m", "limit/memcpy_1m", 1.1},
    {"poll of an empty queue", "ours/poll_empty", indirect_call, 2.0},

    {"simulator at 50,000 schedules/s", "sim/cancel_race", nanosecond, 20'000},

    {"64 outstanding, out and back", "ours/window_64", "asio/window_64", 0.3,
     bar_kind::two_threads},
    {"64 outstanding, out and back", "ours/window_64", "moodycamel/window_64", 0.4,
     bar_kind::two_threads},
    {"sleeping round trip", "ours/round_trip_sleeping", "asio/round_trip_sleeping", 1.0,
     bar_kind::two_threads},
    {"own requests on two threads", "ours/own_requests_two_threads", "ours/sync_1", 1.1,
     bar_kind::two_threads},
});

} // namespace irpverbs::bench
