#pragma once

#include "harness.hpp"

#include <atomic>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <utility>

namespace irpverbs::bench {

// Distance between data of two threads, two cache lines because of adjacent-line prefetch.
inline constexpr std::size_t far_apart = 128;

inline void relax_processor() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

namespace detail {

// Pins the calling thread to the nth processor of its affinity mask; the destructor restores it.
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

// Runs `first` on this thread and `second` on another, each on its own processor. Times `first`,
// which begins when `second` is running; both must end by themselves.
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
