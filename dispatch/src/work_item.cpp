#include "machine_state.hpp"
#include "rules.hpp"
#include "verify/live_objects.hpp"
#include "verify/pool_checks.hpp"
#include "verify/routine_checks.hpp"

#include <dispatch/detail/work_item.hpp>

#include <algorithm>

namespace irpverbs::dispatch::detail {
namespace {

void run_item(WORK_QUEUE_ITEM& item, processor& self) {
    const PWORKER_THREAD_ROUTINE routine = item.WorkerRoutine;
    if (verifying())
        run_watched_routine(self, "a work item", routine, item.Parameter);
    else
        routine(item.Parameter);
    if (self.irql != PASSIVE_LEVEL)
        bug_check(IRQL_UNEXPECTED_VALUE, "a work item returned at another IRQL than PASSIVE_LEVEL",
                  self.irql, PASSIVE_LEVEL, reinterpret_cast<ULONG_PTR>(routine));
}

// The item's memory is its owner's again before the routine is entered.
LIST_ENTRY* next_item(work_service& work, processor& self, bool& idle, WORK_QUEUE_ITEM& item) {
    const std::lock_guard guard(work.lock);
    LIST_ENTRY* entry = work.pop();
    const auto place = std::find(work.idle.begin(), work.idle.end(), &self);
    if (entry != nullptr) {
        if (place != work.idle.end()) work.idle.erase(place);
        WORK_QUEUE_ITEM& queued = *CONTAINING_RECORD(entry, WORK_QUEUE_ITEM, List);
        item = queued;
        if (verifying()) forget_live(live_kind::work_item, &queued);
        __atomic_store_n(&queued.List.Flink, nullptr, __ATOMIC_RELEASE);
    } else if (place == work.idle.end()) {
        work.idle.push_back(&self);
    }
    idle = entry == nullptr;
    return entry;
}

void worker_main(processor& self) {
    machine_state& state = self.owner->state();
    for (;;) {
        WORK_QUEUE_ITEM item;
        bool idle = false;
        if (next_item(state.work, self, idle, item) != nullptr) {
            run_item(item, self);
            continue;
        }
        state.tell_stopper();
        if (state.stopping.load(std::memory_order_acquire)) return;
        self.owner->park(self, no_deadline);
    }
}

void introduce_item(WORK_QUEUE_ITEM* item) {
    introduce(item, "work item");
    if (verifying()) check_reinitialised(this_processor(), live_kind::work_item, item);
}

void look_on_queue(WORK_QUEUE_ITEM* item) {
    look_on(irql_rules::ExQueueWorkItem, point::work_insert, item);
    if (!verifying()) return;
    check_work_item_address(item);
    note_live(this_processor(), live_kind::work_item, item);
}

} // namespace

void prepare_work_item(WORK_QUEUE_ITEM* item, PWORKER_THREAD_ROUTINE routine, void* context) {
    if (instrumented()) introduce_item(item);
    *item = {};
    item->WorkerRoutine = routine;
    item->Parameter = context;
}

} // namespace irpverbs::dispatch::detail

using namespace irpverbs::dispatch::detail;

extern "C" {

void ExInitializeWorkItem(PWORK_QUEUE_ITEM Item, PWORKER_THREAD_ROUTINE Routine, PVOID Context) {
    VERIFY_IRQL(ExInitializeWorkItem);
    prepare_work_item(Item, Routine, Context);
}

void ExQueueWorkItem(PWORK_QUEUE_ITEM WorkItem, WORK_QUEUE_TYPE QueueType) {
    if (instrumented()) look_on_queue(WorkItem);
    machine_state& state = this_processor().owner->state();
    work_service& work = state.work;
    processor* free_worker = nullptr;
    bool start_another = false;
    {
        const std::lock_guard guard(work.lock);
        if (WorkItem->List.Flink != nullptr)
            bug_check(INVALID_WORK_QUEUE_ITEM, "a work item is queued that is queued already",
                      reinterpret_cast<ULONG_PTR>(WorkItem));
        const bool urgent = QueueType == CriticalWorkQueue || QueueType == HyperCriticalWorkQueue;
        ++work.inserted;
        InsertTailList(urgent ? &work.critical : &work.delayed, &WorkItem->List);
        if (!work.idle.empty()) {
            free_worker = work.idle.back();
            work.idle.pop_back();
        } else if (work.workers < work_service::most_workers) {
            ++work.workers;
            start_another = true;
        }
    }
    if (free_worker != nullptr) free_worker->owner->unpark(*free_worker);
    if (start_another && !start_library_thread(state, -1, worker_main, nullptr))
        bug_check(MANUALLY_INITIATED_CRASH, "no thread could be started for a work item");
}

} // extern "C"
