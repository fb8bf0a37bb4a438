#include "irql/irql_rules.hpp"
#include "machine/intact_list.hpp"
#include "machine/machine_state.hpp"
#include "verify/hooks.hpp"

#include <dispatch/support/work_item.hpp>

#include <algorithm>
#include <optional>

namespace irpverbs::dispatch::detail {
namespace {

void run_item(const WORK_QUEUE_ITEM& item, processor& self) {
    const PWORKER_THREAD_ROUTINE routine = item.WorkerRoutine;
    if (verifying())
        run_checked_routine(self, "a work item", routine, item.Parameter);
    else
        routine(item.Parameter);
    if (self.irql != PASSIVE_LEVEL)
        bug_check(IRQL_UNEXPECTED_VALUE, "a work item returned at another IRQL than PASSIVE_LEVEL",
                  self.irql, PASSIVE_LEVEL, reinterpret_cast<ULONG_PTR>(routine));
}

/// The worker that takes the next item.
struct worker_wake {
    processor* woken = nullptr;
    bool started = false;
};

// Chooses the worker under the lock. The caller wakes or starts it without the lock.
worker_wake choose_next_worker(work_service& work) {
    worker_wake next;
    if (work.wake_pending || work.is_empty() || work.is_saturated()) return next;
    if (!work.idle.empty()) {
        next.woken = work.idle.back();
        work.idle.pop_back();
    } else if (work.workers < work_service::max_workers) {
        ++work.workers;
        next.started = true;
    }
    work.wake_pending = next.woken != nullptr || next.started;
    return next;
}

void worker_main(processor& self);

void wake_next_worker(const worker_wake& next, machine_state& state) {
    if (next.woken != nullptr) next.woken->owner->unpark(*next.woken);
    if (!next.started || start_library_thread(state, -1, worker_main, nullptr)) return;
    {
        const std::lock_guard guard(state.work.lock);
        --state.work.workers;
        state.work.wake_pending = false;
    }
    bug_check(MANUALLY_INITIATED_CRASH, "no thread could be started for a work item");
}

// The item's memory belongs to its owner again before the routine is entered.
WORK_QUEUE_ITEM remove_item(LIST_ENTRY* entry) {
    WORK_QUEUE_ITEM& queued = *CONTAINING_RECORD(entry, WORK_QUEUE_ITEM, List);
    const WORK_QUEUE_ITEM item = queued;
    if (verifying()) remove_live_object(live_object_kind::work_item, &queued);
    __atomic_store_n(&queued.List.Flink, nullptr, __ATOMIC_RELEASE);
    return item;
}

/// A worker's assignment: the item that it found, and the worker that it must wake or start.
struct assignment {
    std::optional<WORK_QUEUE_ITEM> item;
    worker_wake next;
};

// `was_woken`: the worker was woken or started since its last assignment. If it is still among the
// idle workers, the wake was not for an item.
assignment next_assignment(work_service& work, processor& self, bool was_woken) {
    const std::lock_guard guard(work.lock);
    LIST_ENTRY* const entry = work.remove_first();
    const auto place = std::find(work.idle.begin(), work.idle.end(), &self);
    const bool among_idle = place != work.idle.end();
    if (was_woken && !among_idle) work.wake_pending = false;
    if (entry == nullptr) {
        if (!among_idle) work.idle.push_back(&self);
        return {};
    }
    if (among_idle) work.idle.erase(place);
    return {remove_item(entry), choose_next_worker(work)};
}

void worker_main(processor& self) {
    machine_state& state = self.owner->state();
    self.worker = true;
    bool was_woken = true;
    for (;;) {
        const assignment mine = next_assignment(state.work, self, was_woken);
        was_woken = !mine.item;
        if (mine.item) {
            wake_next_worker(mine.next, state);
            run_item(*mine.item, self);
            continue;
        }
        state.wake_stopper();
        if (state.stopping.load(std::memory_order_acquire)) break;
        self.owner->park(self, no_deadline);
    }
    self.worker = false;
}

void register_work_item(WORK_QUEUE_ITEM* item) {
    name_object(item, "work item");
    if (verifying()) check_reinitialised(this_processor(), live_object_kind::work_item, item);
}

void instrumented_queue(WORK_QUEUE_ITEM* item) {
    instrumented_call(irql_rules::ExQueueWorkItem, point::work_insert, item);
    if (!verifying()) return;
    check_work_item_address(item);
    add_live_object(this_processor(), live_object_kind::work_item, item,
                    routine_address(item->WorkerRoutine));
}

} // namespace

void work_service::unlink_all() {
    for (const LIST_ENTRY* list : {&critical, &delayed})
        visit_intact(*list, [](LIST_ENTRY& entry) {
            entry.Flink = nullptr;
            return false;
        });
}

void blocking_section::leave_slot() {
    machine_state& state = worker_->owner->state();
    worker_wake next;
    {
        const std::lock_guard guard(state.work.lock);
        ++state.work.blocked;
        next = choose_next_worker(state.work);
    }
    wake_next_worker(next, state);
}

void blocking_section::regain_slot() {
    work_service& work = worker_->owner->state().work;
    const std::lock_guard guard(work.lock);
    --work.blocked;
}

bool work_items_queued() {
    work_service& work = this_processor().owner->state().work;
    const std::lock_guard guard(work.lock);
    return !work.is_empty();
}

void initialize_work_item(WORK_QUEUE_ITEM* item, PWORKER_THREAD_ROUTINE routine, void* context) {
    if (instrumented()) register_work_item(item);
    *item = {};
    item->WorkerRoutine = routine;
    item->Parameter = context;
}

} // namespace irpverbs::dispatch::detail

using namespace irpverbs::dispatch::detail;

extern "C" {

void ExInitializeWorkItem(PWORK_QUEUE_ITEM Item, PWORKER_THREAD_ROUTINE Routine, PVOID Context) {
    VERIFY_IRQL(ExInitializeWorkItem);
    initialize_work_item(Item, Routine, Context);
}

void ExQueueWorkItem(PWORK_QUEUE_ITEM WorkItem, WORK_QUEUE_TYPE QueueType) {
    if (instrumented()) instrumented_queue(WorkItem);
    machine_state& state = this_processor().owner->state();
    work_service& work = state.work;
    worker_wake next;
    {
        const std::lock_guard guard(work.lock);
        if (WorkItem->List.Flink != nullptr)
            bug_check(INVALID_WORK_QUEUE_ITEM, "a work item is queued that is queued already",
                      reinterpret_cast<ULONG_PTR>(WorkItem));
        const bool urgent = QueueType == CriticalWorkQueue || QueueType == HyperCriticalWorkQueue;
        ++work.inserted;
        InsertTailList(urgent ? &work.critical : &work.delayed, &WorkItem->List);
        next = choose_next_worker(work);
    }
    wake_next_worker(next, state);
}

} // extern "C"
