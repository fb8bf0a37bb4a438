// The input chooses a program and its schedule: three threads use events, a mutex, a semaphore, a
// queue, DPCs, timers and work items. No signal, entry or work item is lost, and no two threads are
// in a section that excludes the other.
#include <dispatch/testing/explore.hpp>

#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace {

using namespace irpverbs::dispatch;

constexpr std::uint32_t max_operations = 12;
constexpr LONGLONG millisecond = 10'000;

LARGE_INTEGER from_now(LONGLONG ticks) {
    LARGE_INTEGER due;
    due.QuadPart = -ticks;
    return due;
}

struct counted_dpc : KDPC {
    int runs = 0;
    bool at_dispatch = true;
    static void run(KDPC*, PVOID context, PVOID, PVOID) {
        auto& self = *static_cast<counted_dpc*>(context);
        ++self.runs;
        self.at_dispatch &= KeGetCurrentIrql() == DISPATCH_LEVEL;
    }
};

class world {
public:
    explicit world(sim_machine& machine) : machine_(machine) {
        KeInitializeEvent(&event_, SynchronizationEvent, FALSE);
        KeInitializeMutex(&mutex_, 0);
        KeInitializeSemaphore(&semaphore_, 1, 1);
        KeInitializeQueue(&queue_, 1);
        KeInitializeSpinLock(&lock_);
        KeInitializeTimer(&timer_);
        for (counted_dpc* each : {&dpc_, &timer_dpc_})
            KeInitializeDpc(each, counted_dpc::run, each);
        KeSetTargetProcessorDpc(&dpc_, 1);
        ExInitializeWorkItem(&item_, work, this);
    }

    void act() {
        const std::uint32_t operations = machine_.source().pick(max_operations, "operations");
        for (std::uint32_t i = 0; i < operations; ++i)
            (this->*all[machine_.source().pick(std::size(all), "operation")])();
    }

    /// The broken invariant after all threads have ended, or null.
    const char* judge() {
        KeCancelTimer(&timer_);
        KeFlushQueuedDpcs();
        LIST_ENTRY* left = KeRundownQueue(&queue_);
        if (signals_ != waits_ + KeReadStateEvent(&event_)) return "a signal was lost or doubled";
        if (KeReadStateMutex(&mutex_) != 1) return "the mutex is not free";
        if (KeReadStateSemaphore(&semaphore_) != 1) return "the semaphore's count is wrong";
        if (dpc_.runs != inserted_ - removed_) return "a DPC ran too often, or too seldom";
        if (timer_dpc_.runs > set_ - cancelled_) return "a timer expired too often";
        if (!dpc_.at_dispatch || !timer_dpc_.at_dispatch) return "a DPC ran below DISPATCH_LEVEL";
        if (queued_ != taken_ + (left != nullptr ? 1 : 0)) return "an entry was lost or doubled";
        if (work_queued_ != work_runs_) return "a work item was lost or ran twice";
        return intruder_;
    }

private:
    bool wait_for(PVOID object) {
        LARGE_INTEGER timeout = from_now(machine_.source().pick(3, "time-out") * millisecond);
        return KeWaitForSingleObject(object, Executive, KernelMode, FALSE, &timeout) ==
               STATUS_SUCCESS;
    }
    // Checks that one thread at a time is in the section that `inside` counts.
    void enter(int& inside, const char* whose) {
        if (++inside != 1) intruder_ = whose;
        machine_.yield();
        --inside;
    }

    void set_event() { signals_ += KeSetEvent(&event_, 0, FALSE) == 0; }
    void wait_for_event() { waits_ += wait_for(&event_); }
    void use_mutex() {
        if (!wait_for(&mutex_)) return;
        enter(in_mutex_, "two own the mutex");
        KeReleaseMutex(&mutex_, FALSE);
    }
    void use_semaphore() {
        if (!wait_for(&semaphore_)) return;
        enter(in_semaphore_, "two hold the semaphore's one place");
        KeReleaseSemaphore(&semaphore_, 0, 1, FALSE);
    }
    void use_both() {
        PVOID both[] = {&mutex_, &semaphore_};
        LARGE_INTEGER timeout = from_now(millisecond);
        if (KeWaitForMultipleObjects(2, both, WaitAll, Executive, KernelMode, FALSE, &timeout,
                                     nullptr) != STATUS_SUCCESS)
            return;
        enter(in_mutex_, "two own the mutex");
        enter(in_semaphore_, "two hold the semaphore's one place");
        KeReleaseSemaphore(&semaphore_, 0, 1, FALSE);
        KeReleaseMutex(&mutex_, FALSE);
    }
    void use_lock() {
        const KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock_);
        enter(in_lock_, "two hold the spin lock");
        KeReleaseSpinLock(&lock_, old);
    }
    void insert_dpc() { inserted_ += KeInsertQueueDpc(&dpc_, nullptr, nullptr); }
    void remove_dpc() { removed_ += KeRemoveQueueDpc(&dpc_); }
    void flush_dpcs() { KeFlushQueuedDpcs(); }
    void set_timer() {
        set_ += !KeSetTimer(&timer_, from_now(machine_.source().pick(4, "due") * millisecond),
                            &timer_dpc_);
    }
    void cancel_timer() { cancelled_ += KeCancelTimer(&timer_); }
    void wait_for_timer() { wait_for(&timer_); }
    void queue_entry() {
        if (entry_queued_) return;
        entry_queued_ = true;
        ++queued_;
        KeInsertQueue(&queue_, &entry_);
    }
    void take_entry() {
        LARGE_INTEGER timeout = from_now(machine_.source().pick(2, "time-out") * millisecond);
        if (KeRemoveQueue(&queue_, KernelMode, &timeout) != &entry_) return;
        ++taken_;
        entry_queued_ = false;
    }
    void queue_work() {
        if (work_is_queued_) return;
        work_is_queued_ = true;
        ++work_queued_;
        ExQueueWorkItem(&item_, DelayedWorkQueue);
    }
    static void work(PVOID context) {
        auto& self = *static_cast<world*>(context);
        ++self.work_runs_;
        self.work_is_queued_ = false;
    }
    void rest() {
        LARGE_INTEGER interval = from_now(millisecond);
        KeDelayExecutionThread(KernelMode, FALSE, &interval);
    }

    static constexpr void (world::*all[])() = {
        &world::set_event,   &world::wait_for_event, &world::use_mutex,    &world::use_semaphore,
        &world::use_both,    &world::use_lock,       &world::insert_dpc,   &world::remove_dpc,
        &world::flush_dpcs,  &world::set_timer,      &world::cancel_timer, &world::wait_for_timer,
        &world::queue_entry, &world::take_entry,     &world::queue_work,   &world::rest,
    };

    sim_machine& machine_;
    KEVENT event_;
    KMUTEX mutex_;
    KSEMAPHORE semaphore_;
    KQUEUE queue_;
    KSPIN_LOCK lock_;
    KTIMER timer_;
    counted_dpc dpc_, timer_dpc_;
    WORK_QUEUE_ITEM item_;
    LIST_ENTRY entry_;
    int in_mutex_ = 0, in_semaphore_ = 0, in_lock_ = 0;
    int signals_ = 0, waits_ = 0;
    int inserted_ = 0, removed_ = 0;
    int set_ = 0, cancelled_ = 0;
    int queued_ = 0, taken_ = 0;
    int work_queued_ = 0, work_runs_ = 0;
    bool entry_queued_ = false, work_is_queued_ = false;
    const char* intruder_ = nullptr;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    explore_options options;
    options.machine.delays = 16;
    const auto run = [](sim_machine& machine) -> std::optional<std::string> {
        world shared(machine);
        for (const char* name : {"one", "two", "three"})
            machine.spawn(name, [&] { shared.act(); });
        machine.run();
        if (const char* wrong = shared.judge()) return wrong;
        return std::nullopt;
    };
    const explore_summary summary = explore_input(options, {data, size}, run);
    if (summary.passed()) return 0;
    std::fprintf(stderr, "%s\n", summary.text().c_str());
    std::abort();
}
