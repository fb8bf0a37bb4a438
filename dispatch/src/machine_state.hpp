// What every machine has, whatever it runs on: home processors, visitors, timers, work items.
#pragma once

#include "timer_service.hpp"

#include <dispatch/detail/handle_table.hpp>
#include <dispatch/detail/object.hpp>
#include <dispatch/detail/processor.hpp>
#include <dispatch/detail/spin.hpp>
#include <dispatch/detail/verify.hpp>
#include <dispatch/machine.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace irpverbs::dispatch::detail {

/// Work items and the threads that run them; a thread more is started when none is free. One at a
/// time is woken, or started: it wakes the next one when it has taken an item and others are left.
/// So a burst of short items is done by a few, and one that waits keeps none waiting: its place is
/// another's meanwhile.
struct work_service {
    static constexpr std::uint32_t most_at_work = 16;
    static constexpr std::uint32_t most_workers = 256; // those that wait for something included

    raw_spin lock;
    LIST_ENTRY critical; // guarded by lock, as all below
    LIST_ENTRY delayed;
    std::vector<processor*> idle;
    std::uint32_t workers = 0;
    std::uint32_t waiting = 0;  // of them, in the midst of an item
    bool coming = false;        // one was woken, or started, and has not looked yet
    std::uint64_t inserted = 0; // items so far

    work_service() {
        InitializeListHead(&critical);
        InitializeListHead(&delayed);
        idle.reserve(most_workers);
    }
    bool at_rest() const { return is_empty() && idle.size() == workers; }
    bool all_at_work() const { return workers - waiting - idle.size() >= most_at_work; }
    bool is_empty() const { return IsListEmpty(&critical) && IsListEmpty(&delayed); }
    LIST_ENTRY* pop() {
        if (!IsListEmpty(&critical)) return RemoveHeadList(&critical);
        return IsListEmpty(&delayed) ? nullptr : RemoveHeadList(&delayed);
    }
    /// The machine is no more: no item is queued on it.
    void let_go_of_all();
};

/// While a worker waits its place is another's.
class lent_place {
public:
    lent_place() = default;
    lent_place(const lent_place&) = delete;
    lent_place& operator=(const lent_place&) = delete;
    ~lent_place() {
        if (worker_ != nullptr) take_back();
    }
    /// Does nothing for who is no worker. Without locks: may start a thread.
    void lend(processor& self) {
        if (!self.worker || worker_ != nullptr) return;
        worker_ = &self;
        give();
    }

private:
    void give();
    void take_back();

    processor* worker_ = nullptr;
};

struct machine_state {
    machine_state(machine& its_owner, std::uint32_t processors);
    ~machine_state();

    /// Home processor `number`, its thread started.
    processor& home(std::uint32_t number);
    /// A processor for a thread that comes to visit, and back when it leaves.
    processor& admit();
    void dismiss(processor& visitor);

    /// Until no DPC and no work item is left, also none that these have queued; with
    /// `system_threads`: and no system thread.
    void drain(processor& self, bool system_threads);
    /// Called by whoever has ended something that drain() waits for.
    void tell_stopper();
    /// Every processor that is parked looks again at what it waits for.
    void wake_all();

    machine& owner;
    const std::uint32_t processor_count;
    std::atomic<bool> stopping{false};
    std::atomic<std::uint32_t> live_threads{0};   // the library's own
    std::atomic<std::uint32_t> system_threads{0}; // the program's
    std::atomic<processor*> stopper{nullptr};

    raw_spin lock;
    std::vector<std::atomic<processor*>> homes;
    std::vector<std::unique_ptr<processor>> all; // guarded by lock
    std::vector<processor*> free_visitors;       // guarded by lock

    timer_service timers;
    work_service work;
    handle_table<object_reference> handles;

    struct ledger {
        std::atomic<void*> held{nullptr};
        void (*drop)(void*) = nullptr;
    };
    ledger ledgers[static_cast<std::size_t>(ledger_slot::count)];

private:
    std::uint64_t inserted_so_far();
};

KTHREAD* new_thread_object(processor& self);
/// Drops the own reference of a thread that never ends.
void abandon_thread_object(KTHREAD& thread);
/// The thread has ended: runs the DPCs it held up, signals its object, abandons its mutexes, drops
/// the thread's own reference.
void end_thread_object(processor& self);
/// Runs as one of the machine's own threads: counted, so that stop() waits for it.
bool start_library_thread(machine_state& state, int number, void (*body)(processor&),
                          processor* self);

/// The machine time at which to look again whether system time has come to `due`. The clock may be
/// set before that: a real machine notices within a second, a simulated one is woken.
std::uint64_t next_look_at_clock(machine& owner, std::uint64_t due);

/// Signals under the dispatcher lock that the caller holds through timers; see wait.cpp.
void signal_timer(KTIMER& timer);

} // namespace irpverbs::dispatch::detail
