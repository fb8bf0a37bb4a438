#pragma once

#include "harness.hpp"

#include <atomic>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <utility>

namespace irpverbs::bench {

// Whatever two threads fight for or hand over stands this far apart (adjacent-line prefetch).
inline constexpr std::size_t far_apart = 128;

inline void relax_processor() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

namespace detail {

// Pins the calling thread to the nth processor it may use; gives its freedom back at the end.
class pinned {
public:
    explicit pinned(int nth) {
        CPU_ZERO(&before_);
        pthread_getaffinity_np(pthread_self(), sizeof before_, &before_);
        cpu_set_t only;
        CPU_ZERO(&only);
        int seen = 0;
        for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(cpu, &before_) && seen++ == nth) CPU_SET(cpu, &only);
        pthread_setaffinity_np(pthread_self(), sizeof only, &only);
    }
    ~pinned() { pthread_setaffinity_np(pthread_self(), sizeof before_, &before_); }
    pinned(const pinned&) = delete;
    pinned& operator=(const pinned&) = delete;

private:
    cpu_set_t before_;
};

} // namespace detail

// Runs `first` here and `second` on another thread, each on its own processor. The timed part is
// `first`, begun when `second` is up; both must come to an end by themselves.
template <class First, class Second>
void on_two_processors(run& sample, First&& first, Second&& second) {
    std::atomic<bool> ready{false};
    std::thread partner([&] {
        const detail::pinned here(1);
        ready = true;
        second();
    });
    {
        const detail::pinned here(0);
        while (!ready)
            sched_yield();
        sample.start();
        first();
        sample.stop();
        partner.join();
    }
}

} // namespace irpverbs::bench
