// The same life cycles with the C++ standard library alone.
#include "measurements.hpp"
#include "transaction_load.hpp"
#include "two_threads.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace irpverbs::bench {
namespace {

// The request object of most C++ programs: shared, virtual submit, type-erased callback.
struct request {
    int operation = 0;
    std::uint64_t argument = 0;
    int status = 0;
    std::function<void(request&)> done;
    char payload[64] = {};
};

struct device {
    virtual ~device() = default;
    virtual void submit(std::shared_ptr<request>) = 0;
};

struct synchronous_device : device {
    BENCH_OPAQUE void submit(std::shared_ptr<request> r) override {
        r->status = 0;
        r->done(*r);
    }
};

void shared_ptr_function(run& sample) {
    synchronous_device real;
    device* volatile hidden = &real;
    std::uint64_t completed = 0;
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i) {
        auto r = std::make_shared<request>();
        r->operation = 3;
        r->argument = i;
        r->done = [&completed](request& self) { completed += self.status == 0; };
        hidden->submit(std::move(r));
    }
    sample.stop();
    expect(completed == operations, "std/shared_ptr_function");
}

void promise_future(run& sample) {
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i) {
        std::promise<std::uint64_t> promise;
        auto future = promise.get_future();
        promise.set_value(i);
        keep(future.get());
    }
    sample.stop();
}

// The work queue of most programs.
class function_queue {
public:
    void push(std::function<void()> work) {
        {
            const std::lock_guard hold(mutex_);
            queue_.push_back(std::move(work));
        }
        filled_.notify_one();
    }
    void run_one() {
        std::function<void()> work;
        {
            std::unique_lock hold(mutex_);
            filled_.wait(hold, [this] { return !queue_.empty(); });
            work = std::move(queue_.front());
            queue_.pop_front();
        }
        work();
    }

private:
    std::mutex mutex_;
    std::condition_variable filled_;
    std::deque<std::function<void()>> queue_;
};

void mutex_deque_function(run& sample) {
    function_queue queue;
    std::uint64_t completed = 0;
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i) {
        queue.push([&completed, i] { completed += i != ~std::uint64_t{0}; });
        queue.run_one();
    }
    sample.stop();
    expect(completed == operations, "std/mutex_deque_function");
}

void promise_round_trip(run& sample) {
    function_queue queue;
    const std::uint64_t operations = sample.operations();
    on_two_processors(
        sample,
        [&] {
            for (std::uint64_t i = 0; i < operations; ++i) {
                auto promise = std::make_shared<std::promise<std::uint64_t>>();
                auto future = promise->get_future();
                queue.push([promise, i] { promise->set_value(i); });
                keep(future.get());
            }
        },
        [&] {
            for (std::uint64_t i = 0; i < operations; ++i)
                queue.run_one();
        });
}

// The work of ours/transaction_id, with ids from a counter.
void unordered_map(run& sample) {
    struct entry {
        std::uint64_t what = 0;
    };
    std::unordered_map<std::uint32_t, entry> table;
    std::uint32_t newest = 0;
    while (newest < outstanding_ids)
        table.emplace(newest++, entry{});
    const std::uint64_t operations = sample.operations();
    std::uint64_t found = 0;
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i) {
        const auto oldest = table.find(newest - outstanding_ids);
        found += oldest != table.end();
        table.erase(oldest);
        table.emplace(newest++, entry{});
    }
    sample.stop();
    expect(found == operations, "std/unordered_map");
}

} // namespace

void add_standard_library(catalog& all) {
    all.add("std/unordered_map", "of 1,000 ids one is found and erased, and another inserted",
            unordered_map);
    all.add("std/shared_ptr_function", "make_shared, std::function, virtual submit, callback",
            shared_ptr_function);
    all.add("std/promise_future", "promise set and got on one thread", promise_future);
    all.add("std/mutex_deque_function", "pushed on a locked deque of functions, popped, run",
            mutex_deque_function);
    all.add("std/promise_round_trip", "function queue out, future back, both sleep",
            promise_round_trip, threads::two);
}

} // namespace irpverbs::bench
