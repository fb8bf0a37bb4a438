// Each file has one group of measurements and a function that adds it to the catalog.
#pragma once

#include "harness.hpp"

namespace irpverbs::bench {

void add_limits(catalog&);
void add_standard_library(catalog&);
void add_asio(catalog&);
void add_asio_timers(catalog&);
void add_asio_threads(catalog&);
void add_asio_transactions(catalog&);
void add_queues(catalog&);
void add_io_uring(catalog&);
void add_ucx(catalog&);

void add_ours_synchronous(catalog&);
void add_ours_pended(catalog&);
void add_ours_queue(catalog&);
void add_ours_completion_queue(catalog&);
void add_ours_timers(catalog&);
void add_ours_threads(catalog&);
void add_ours_coroutine(catalog&);
void add_ours_verbs(catalog&);
void add_ours_data_path(catalog&);
void add_ours_styles(catalog&);
void add_ours_transactions(catalog&);
void add_ours_rmpp(catalog&);
void add_ours_subnet(catalog&);
void add_ours_queries(catalog&);
void add_ours_verifier(catalog&);
void add_ours_simulator(catalog&);

// Alternatives to this library, and the limits of the machine.
inline void add_peers(catalog& all) {
    add_limits(all);
    add_standard_library(all);
    add_asio(all);
    add_asio_timers(all);
    add_asio_threads(all);
    add_asio_transactions(all);
    add_queues(all);
    add_io_uring(all);
    add_ucx(all);
}

// The same life cycles through this library's public interface; the verifier is off unless the name
// says otherwise.
inline void add_ours(catalog& all) {
    add_ours_synchronous(all);
    add_ours_pended(all);
    add_ours_queue(all);
    add_ours_completion_queue(all);
    add_ours_timers(all);
    add_ours_threads(all);
    add_ours_coroutine(all);
    add_ours_verbs(all);
    add_ours_data_path(all);
    add_ours_styles(all);
    add_ours_transactions(all);
    add_ours_rmpp(all);
    add_ours_subnet(all);
    add_ours_queries(all);
    add_ours_verifier(all);
    add_ours_simulator(all);
}

} // namespace irpverbs::bench
