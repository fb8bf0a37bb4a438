// The state of every machine, real or simulated: dedicated processors, attached threads, timers,
// work items.
#pragma once

#include "machine/locals.hpp"
#include "timer/timer_service.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/support/handle_table.hpp>
#include <dispatch/support/object.hpp>
#include <dispatch/support/processor.hpp>
#include <dispatch/support/scheduled_spin.hpp>
#include <dispatch/support/spin.hpp>
#include <dispatch/support/verify.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace irpverbs::dispatch::detail {

/// Work items and the worker threads that run them. Another worker is started when none is idle.
/// Workers are woken or started one at a time: a worker that has removed an item wakes the next one
/// when items are left. Therefore a few workers run a burst of short items. A worker that waits
/// delays no item, since it gives up its slot to another worker while it waits.
struct work_service {
    static constexpr std::uint32_t max_running = 16;
    static constexpr std::uint32_t max_workers = 256; // including blocked ones

    scheduled_spin lock;
    LIST_ENTRY critical; // guarded by lock, as all below
    LIST_ENTRY delayed;
    std::vector<processor*> idle;
    std::uint32_t workers = 0;
    std::uint32_t blocked = 0;  // workers that wait inside a work item
    bool wake_pending = false;  // a worker was woken or started, and has not looked for an item yet
    std::uint64_t inserted = 0; // number of insertions so far

    work_service() {
        InitializeListHead(&critical);
        InitializeListHead(&delayed);
        idle.reserve(max_workers);
    }
    bool is_idle() const { return is_empty() && idle.size() == workers; }
    bool is_saturated() const { return workers - blocked - idle.size() >= max_running; }
    bool is_empty() const { return IsListEmpty(&critical) && IsListEmpty(&delayed); }
    LIST_ENTRY* remove_first() {
        if (!IsListEmpty(&critical)) return RemoveHeadList(&critical);
        return IsListEmpty(&delayed) ? nullptr : RemoveHeadList(&delayed);
    }
    /// Marks all items as not queued, when the machine has ended.
    void unlink_all();
};

/// Gives up a worker's slot while the worker waits, so that another worker may run.
class blocking_section {
public:
    /// Has no effect for threads that are no workers. The caller must hold no lock, since the call
    /// may start a thread.
    explicit blocking_section(processor& self) {
        if (!self.worker) return;
        worker_ = &self;
        leave_slot();
    }
    blocking_section(const blocking_section&) = delete;
    blocking_section& operator=(const blocking_section&) = delete;
    ~blocking_section() {
        if (worker_ != nullptr) regain_slot();
    }

private:
    void leave_slot();
    void regain_slot();

    processor* worker_ = nullptr;
};

struct machine_state {
    machine_state(machine& its_owner, std::uint32_t processors);
    ~machine_state();

    /// Returns dedicated processor `number`. Starts its thread on first use.
    processor& dedicated_processor(std::uint32_t number);
    /// attach() returns a processor for a thread; detach() takes it back from a thread that
    /// leaves.
    processor& attach();
    void detach(processor& left);

    /// Waits until no DPC and no work item is left, including those that they queue; with
    /// `system_threads`, also until no system thread is left.
    void drain(processor& self, bool system_threads);
    /// Wakes drain() after the end of something that it may wait for.
    void wake_stopper();
    /// Makes every parked processor test again the condition that it waits for.
    void wake_all();

    machine& owner;
    const std::uint32_t processor_count;
    std::atomic<bool> stopping{false};
    std::atomic<std::uint32_t> live_threads{0};   // the library's own threads
    std::atomic<std::uint32_t> system_threads{0}; // the program's threads
    std::atomic<processor*> stopper{nullptr};

    raw_spin_lock lock;
    std::vector<std::atomic<processor*>> by_number;
    std::vector<std::unique_ptr<processor>> all; // guarded by lock
    std::vector<processor*> free_processors;     // guarded by lock

    timer_service timers;
    work_service work;
    handle_table<object_reference> handles;

    struct record_entry {
        std::atomic<void*> held{nullptr};
        void (*drop)(void*) = nullptr;
    };
    record_entry records[max_machine_records];

private:
    std::uint64_t inserted_so_far();
};

/// Returns the object of a handle on the calling thread's machine; null: the handle is not valid.
object_reference object_of(HANDLE handle);
/// Closes the handles that are open on the calling thread's machine.
void close_all_handles();

KTHREAD* new_thread_object(processor& self);
/// Drops the thread's own reference to its object, for a thread that never ends.
void abandon_thread_object(KTHREAD& thread);
/// Ends the object of a thread that has ended: runs the DPCs that the thread held up, signals the
/// object, abandons the thread's mutexes, drops the thread's own reference.
void end_thread_object(processor& self);
/// Starts one of the machine's own threads. stop() waits for it.
bool start_library_thread(machine_state& state, int number, void (*body)(processor&),
                          processor* self);

/// Returns the machine time at which the caller must test again whether system time has reached
/// `due`. The clock may be set before that: a real machine notices it within a second, a simulated
/// one is woken.
std::uint64_t next_clock_check(machine& owner, std::uint64_t due);

/// Signals the timer under the dispatcher lock. The caller holds the timer service's lock; see
/// wait.cpp.
void signal_timer(KTIMER& timer);

} // namespace irpverbs::dispatch::detail
