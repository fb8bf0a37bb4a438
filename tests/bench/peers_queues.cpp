// Bare pointers passed between two threads by general-purpose queues, without request or callback.
#include "measurements.hpp"
#include "two_threads.hpp"

#include <boost/lockfree/spsc_queue.hpp>
#include <memory>

#if __has_include(<concurrentqueue/concurrentqueue.h>)
#include <concurrentqueue/concurrentqueue.h>
#define BENCH_HAS_MOODYCAMEL 1
#endif

namespace irpverbs::bench {
namespace {

struct spsc {
    boost::lockfree::spsc_queue<void*, boost::lockfree::capacity<1024>> queue;
    void push(void* item) {
        while (!queue.push(item))
            relax_processor();
    }
    bool pop(void*& item) { return queue.pop(item); }
};

#if defined(BENCH_HAS_MOODYCAMEL)
struct moodycamel_queue {
    moodycamel::ConcurrentQueue<void*> queue;
    void push(void* item) { queue.enqueue(item); }
    bool pop(void*& item) { return queue.try_dequeue(item); }
};
#endif

// Passes `Outstanding` items at a time through one queue and back through another.
template <class Queue, std::uint64_t Outstanding>
void window(run& sample) {
    const auto out = std::make_unique<Queue>(), back = std::make_unique<Queue>();
    const std::uint64_t operations = sample.operations();
    on_two_processors(
        sample,
        [&] {
            std::uint64_t sent = 0, come = 0;
            int request = 0;
            for (; sent < Outstanding && sent < operations; ++sent)
                out->push(&request);
            for (void* item = nullptr; come < operations;) {
                if (!back->pop(item)) {
                    relax_processor();
                    continue;
                }
                ++come;
                if (sent < operations) {
                    out->push(item);
                    ++sent;
                }
            }
        },
        [&] {
            void* item = nullptr;
            for (std::uint64_t i = 0; i < operations; ++i) {
                while (!out->pop(item))
                    relax_processor();
                back->push(item);
            }
        });
}

} // namespace

void add_queues(catalog& all) {
    all.add("spsc/window_64", "pointer out and back, 64 outstanding, pair of boost::spsc_queue",
            window<spsc, 64>, threads::two);
    all.add("spsc/round_trip_spinning", "pointer out and back, pair of boost::spsc_queue",
            window<spsc, 1>, threads::two);
#if defined(BENCH_HAS_MOODYCAMEL)
    all.add("moodycamel/window_64", "pointer out and back, 64 outstanding, pair of queues",
            window<moodycamel_queue, 64>, threads::two);
#endif
}

} // namespace irpverbs::bench
