// The queue of a subnet manager's tasks, and the workers that other work needs, too.
#include <serial_queue.hpp>

#include <dispatch/machine.hpp>
#include <support/ke_shorthand.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

namespace {

using namespace irpverbs::testing;
using irpverbs::subnet_manager::serial_queue;

struct item : WORK_QUEUE_ITEM {
    void queue(PWORKER_THREAD_ROUTINE routine, void* context) {
        ExInitializeWorkItem(this, routine, context);
        ExQueueWorkItem(this, DelayedWorkQueue);
    }
};

/// Occupies all workers but one during its lifetime.
class busy_workers {
public:
    busy_workers() {
        for (item& each : items_)
            each.queue(work, this);
        while (working_ != items_.size())
            std::this_thread::yield();
    }
    ~busy_workers() {
        enough_ = true;
        while (working_ != 0)
            std::this_thread::yield();
    }
    busy_workers(const busy_workers&) = delete;
    busy_workers& operator=(const busy_workers&) = delete;

private:
    static void work(void* context) {
        auto& self = *static_cast<busy_workers*>(context);
        ++self.working_;
        while (!self.enough_)
            std::this_thread::yield();
        --self.working_;
    }

    std::array<item, 15> items_;
    std::atomic<std::size_t> working_{0};
    std::atomic<bool> enough_{false};
};

/// A task that posts another one, until a work item has run that the first one queued.
struct endless {
    explicit endless(serial_queue& its_queue) : queue(its_queue) {}
    void task() {
        constexpr int most = 1000;
        if (tasks++ == 0)
            waiting.queue([](void* self) { static_cast<endless*>(self)->came = true; }, this);
        if (came || tasks == most) return set(over);
        EXPECT_TRUE(queue.post_call([this] { task(); }));
    }

    serial_queue& queue;
    item waiting;
    event over;
    int tasks = 0;
    std::atomic<bool> came{false};
};

TEST(SerialQueue, OneFreeWorker_OtherWorkItemsRunBetweenTasks) {
    irpverbs::dispatch::asio_machine machine{{.processors = 2}};
    const irpverbs::dispatch::machine::scope inside(machine);
    const busy_workers others;
    const auto queue = std::make_shared<serial_queue>();
    endless run(*queue);
    EXPECT_TRUE(queue->post_call([&] { run.task(); }));
    wait(&run.over);
    EXPECT_TRUE(run.came);
    EXPECT_EQ(run.tasks, 2);
}

} // namespace
