#include "intact_list.hpp"
#include "machine_state.hpp"
#include "rules.hpp"
#include "verify/live_objects.hpp"
#include "verify/pool_checks.hpp"
#include "verify/routine_checks.hpp"

#include <dispatch/detail/work_item.hpp>

#include <algorithm>
#include <optional>

namespace irpverbs::dispatch::detail {
namespace {

void run_item(const WORK_QUEUE_ITEM& item, processor& self) {
    const PWORKER_THREAD_ROUTINE routine = item.WorkerRoutine;
    if (verifying())
        run_watched_routine(self, "a work item", routine, item.Parameter);
    else
        routine(item.Parameter);
    if (self.irql != PASSIVE_LEVEL)
        bug_check(IRQL_UNEXPECTED_VALUE, "a work item returned at another IRQL than PASSIVE_LEVEL",
                  self.irql, PASSIVE_LEVEL, reinterpret_cast<ULONG_PTR>(routine));
}

/// The worker that takes the next item.
struct helper {
    processor* woken = nullptr;
    bool started = false;
};

// Chooses the worker under the lock. The caller wakes or starts it without the lock.
helper call_helper(work_service& work) {
    helper next;
    if (work.coming || work.is_empty() || work.all_at_work()) return next;
    if (!work.idle.empty()) {
        next.woken = work.idle.back();
        work.idle.pop_back();
    } else if (work.workers < work_service::most_workers) {
        ++work.workers;
        next.started = true;
    }
    work.coming = next.woken != nullptr || next.started;
    return next;
}

void worker_main(processor& self);

void send_for(const helper& next, machine_state& state) {
    if (next.woken != nullptr) next.woken->owner->unpark(*next.woken);
    if (!next.started || start_library_thread(state, -1, worker_main, nullptr)) return;
    {
        const std::lock_guard guard(state.work.lock);
        --state.work.workers;
        state.work.coming = false;
    }
    bug_check(MANUALLY_INITIATED_CRASH, "no thread could be started for a work item");
}

// The item's memory belongs to its owner again before the routine is entered.
WORK_QUEUE_ITEM take(LIST_ENTRY* entry) {
    WORK_QUEUE_ITEM& queued = *CONTAINING_RECORD(entry, WORK_QUEUE_ITEM, List);
    const WORK_QUEUE_ITEM item = queued;
    if (verifying()) forget_live(live_kind::work_item, &queued);
    __atomic_store_n(&queued.List.Flink, nullptr, __ATOMIC_RELEASE);
    return item;
}

/// A worker's turn: the item that it found, and the worker that it must wake or start.
struct turn {
    std::optional<WORK_QUEUE_ITEM> item;
    helper next;
};

// `came`: the worker was woken or started since its last turn. If it is still among the idle
// workers, the wake was not for an item.
turn look_for_item(work_service& work, processor& self, bool came) {
    const std::lock_guard guard(work.lock);
    LIST_ENTRY* const entry = work.pop();
    const auto place = std::find(work.idle.begin(), work.idle.end(), &self);
    const bool among_idle = place != work.idle.end();
    if (came && !among_idle) work.coming = false;
    if (entry == nullptr) {
        if (!among_idle) work.idle.push_back(&self);
        return {};
    }
    if (among_idle) work.idle.erase(place);
    return {take(entry), call_helper(work)};
}

void worker_main(processor& self) {
    machine_state& state = self.owner->state();
    self.worker = true;
    bool came = true;
    for (;;) {
        const turn mine = look_for_item(state.work, self, came);
        came = !mine.item;
        if (mine.item) {
            send_for(mine.next, state);
            run_item(*mine.item, self);
            continue;
        }
        state.tell_stopper();
        if (state.stopping.load(std::memory_order_acquire)) break;
        self.owner->park(self, no_deadline);
    }
    self.worker = false;
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

void work_service::let_go_of_all() {
    for (const LIST_ENTRY* list : {&critical, &delayed})
        visit_intact(*list, [](LIST_ENTRY& entry) {
            entry.Flink = nullptr;
            return false;
        });
}

void lent_place::give() {
    machine_state& state = worker_->owner->state();
    helper next;
    {
        const std::lock_guard guard(state.work.lock);
        ++state.work.waiting;
        next = call_helper(state.work);
    }
    send_for(next, state);
}

void lent_place::take_back() {
    work_service& work = worker_->owner->state().work;
    const std::lock_guard guard(work.lock);
    --work.waiting;
}

bool work_items_wait() {
    work_service& work = this_processor().owner->state().work;
    const std::lock_guard guard(work.lock);
    return !work.is_empty();
}

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
    helper next;
    {
        const std::lock_guard guard(work.lock);
        if (WorkItem->List.Flink != nullptr)
            bug_check(INVALID_WORK_QUEUE_ITEM, "a work item is queued that is queued already",
                      reinterpret_cast<ULONG_PTR>(WorkItem));
        const bool urgent = QueueType == CriticalWorkQueue || QueueType == HyperCriticalWorkQueue;
        ++work.inserted;
        InsertTailList(urgent ? &work.critical : &work.delayed, &WorkItem->List);
        next = call_helper(work);
    }
    send_for(next, state);
}

} // extern "C"
