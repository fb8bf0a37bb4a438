#include "dpc.hpp"

#include "irql/irql_rules.hpp"
#include "machine/intact_list.hpp"
#include "machine/machine_state.hpp"
#include "verify/hooks.hpp"

#include <dispatch/dpc.h>
#include <dispatch/testing/probe.hpp>

#include <mutex>

namespace {
constexpr UCHAR ordinary_dpc = 19;
constexpr UCHAR threaded_dpc = 24;
} // namespace

namespace irpverbs::dispatch::detail {
namespace {

[[gnu::noinline]] processor& choose_other_target(processor& self, const KDPC& dpc) {
    machine_state& state = self.owner->state();
    if (dpc.Target > static_cast<LONG>(state.processor_count))
        bug_check(TIMER_OR_DPC_INVALID,
                  "a DPC is queued whose target processor this machine does not have",
                  reinterpret_cast<ULONG_PTR>(&dpc), static_cast<ULONG_PTR>(dpc.Target - 1));
    if (dpc.Target != 0)
        return state.dedicated_processor(static_cast<std::uint32_t>(dpc.Target - 1));
    if (self.dedicated) return self;
    return state.dedicated_processor(self.number % state.processor_count);
}

[[gnu::always_inline]] inline processor& choose_target(processor& self, const KDPC& dpc) {
    const bool here =
        dpc.Target == 0 && dpc.Type != threaded_dpc && dpc.Importance != LowImportance;
    return here ? self : choose_other_target(self, dpc);
}

void link(dpc_queue& queue, KDPC& dpc) {
    LIST_ENTRY& list = dpc.Type == threaded_dpc ? queue.threaded : queue.waiting;
    if (dpc.Importance == HighImportance)
        InsertHeadList(&list, &dpc.DpcListEntry);
    else
        InsertTailList(&list, &dpc.DpcListEntry);
    queue.pending.store(true, std::memory_order_release);
}

// Removes the first DPC, which belongs to its owner again from then on. The caller holds the
// queue's lock, so a removal finds the DPC either queued or gone.
KDPC* unlink_first(LIST_ENTRY& list, dpc_call& call) {
    KDPC* dpc = CONTAINING_RECORD(RemoveHeadList(&list), KDPC, DpcListEntry);
    dpc->DpcListEntry.Flink = nullptr;
    call = {dpc->DeferredRoutine, dpc->DeferredContext, dpc->SystemArgument1, dpc->SystemArgument2};
    __atomic_store_n(&dpc->DpcData, nullptr, __ATOMIC_RELEASE);
    return dpc;
}

// Null: no DPC is queued. After the last DPC the processor need not test the queue again under the
// lock, since a later insertion sets `pending` again.
[[gnu::always_inline]] inline KDPC* remove_first(dpc_queue& queue, dpc_call& call) {
    queue.lock.lock();
    KDPC* first = nullptr;
    if (!IsListEmpty(&queue.waiting)) {
        queue.draining.store(true, std::memory_order_relaxed);
        first = unlink_first(queue.waiting, call);
    }
    if (IsListEmpty(&queue.waiting)) queue.pending.store(false, std::memory_order_relaxed);
    queue.lock.unlock();
    return first;
}

KDPC* remove_first_threaded(dpc_queue& queue, dpc_call& call) {
    const std::lock_guard guard(queue.lock);
    queue.running_threaded = !IsListEmpty(&queue.threaded);
    return queue.running_threaded ? unlink_first(queue.threaded, call) : nullptr;
}

class running_scope {
public:
    running_scope(dpc_queue& queue, const KDPC* dpc)
        : queue_(queue), outer_(queue.running.exchange(dpc, std::memory_order_relaxed)) {}
    ~running_scope() { queue_.running.store(outer_, std::memory_order_relaxed); }
    running_scope(const running_scope&) = delete;
    running_scope& operator=(const running_scope&) = delete;

private:
    dpc_queue& queue_;
    const KDPC* outer_; // a threaded DPC that was interrupted
};

[[gnu::noinline, gnu::cold]] void call_checked(processor& self, KDPC* dpc, const dpc_call& call,
                                               std::uint64_t& begun) {
    const running_scope running(self.dpcs, dpc);
    sched_point(point::dpc_run, dpc);
    if (!verifying()) {
        call(dpc);
        return;
    }
    remove_live_object(live_object_kind::dpc, dpc);
    if (begun == no_deadline) begun = self.owner->interrupt_time();
    run_checked_dpc(self, dpc, call, begun);
}

[[gnu::always_inline]] inline void run(processor& self, KDPC* dpc, const dpc_call& call,
                                       KIRQL level, std::uint64_t& begun) {
    if (instrumented())
        call_checked(self, dpc, call, begun);
    else
        call(dpc);
    if (self.irql != level)
        bug_check(IRQL_UNEXPECTED_VALUE, "a DPC returned at another IRQL than it was called at",
                  self.irql, level, reinterpret_cast<ULONG_PTR>(call.routine));
}

} // namespace

void drain_dpcs(processor& self) {
    dpc_call call;
    std::uint64_t begun = no_deadline;
    try {
        do {
            KDPC* dpc = remove_first(self.dpcs, call);
            if (dpc == nullptr) return;
            run(self, dpc, call, DISPATCH_LEVEL, begun);
            self.dpcs.draining.store(false, std::memory_order_release);
        } while (self.dpcs.pending.load(std::memory_order_acquire));
    } catch (...) { // the exception of a bug check's handler
        self.dpcs.draining.store(false, std::memory_order_release);
        throw;
    }
}

void run_threaded_dpcs(processor& self) {
    dpc_call call;
    while (KDPC* dpc = remove_first_threaded(self.dpcs, call)) {
        std::uint64_t begun = no_deadline;
        run(self, dpc, call, PASSIVE_LEVEL, begun);
    }
}

namespace {

// A simulated run may switch while the lock is held, so that the target finds its own queue's lock
// held. The target may run the DPC before the caller continues.
[[gnu::cold, gnu::noinline]] void unlock_other_target(processor& target, processor& self) {
    sched_point(point::lock_release);
    target.dpcs.lock.unlock();
    self.owner->unpark(target);
    sched_point(point::dpc_insert);
}

// DpcData is the target's queue already, or is set here.
[[gnu::always_inline]] inline void insert_into(processor& target, processor& self, KDPC& dpc,
                                               void* argument1, void* argument2) {
    target.dpcs.lock.lock();
    dpc.SystemArgument1 = argument1;
    dpc.SystemArgument2 = argument2;
    __atomic_store_n(&dpc.DpcData, static_cast<void*>(&target.dpcs), __ATOMIC_RELAXED);
    ++target.dpcs.inserted;
    link(target.dpcs, dpc);
    if (&target != &self) [[unlikely]]
        return unlock_other_target(target, self);
    target.dpcs.lock.unlock();
}

[[gnu::noinline, gnu::cold]] void check_insertion(processor& self, KDPC& dpc) {
    if (verifying())
        add_live_object(self, live_object_kind::dpc, &dpc, routine_address(dpc.DeferredRoutine));
    if (choose_target(self, dpc).dpcs.running.load(std::memory_order_relaxed) == &dpc)
        IRPVERBS_PROBE("dpc.queued_while_it_runs");
}

[[gnu::noinline, gnu::cold]] void check_idle_insertion(processor& self, KDPC& dpc) {
    sched_point_slow(point::dpc_insert, &dpc);
    if (__atomic_load_n(&dpc.DpcData, __ATOMIC_RELAXED) != nullptr)
        bug_check(TIMER_OR_DPC_INVALID, "a DPC that is queued is queued again",
                  reinterpret_cast<ULONG_PTR>(&dpc));
    check_insertion(self, dpc);
}

} // namespace

// The lock may stay held: an actor of a simulated run that failed may hold it for ever.
void unlink_dpcs(dpc_queue& queue) {
    const std::unique_lock guard(queue.lock, std::try_to_lock);
    for (const LIST_ENTRY* list : {&queue.waiting, &queue.threaded})
        visit_intact(*list, [&](LIST_ENTRY& entry) {
            KDPC& dpc = *CONTAINING_RECORD(&entry, KDPC, DpcListEntry);
            if (dpc.DpcData != &queue) return true;
            entry.Flink = nullptr;
            __atomic_store_n(&dpc.DpcData, nullptr, __ATOMIC_RELEASE);
            return false;
        });
}

bool enqueue_dpc(processor& self, KDPC& dpc, void* argument1, void* argument2) {
    if (instrumented()) check_insertion(self, dpc);
    processor& target = choose_target(self, dpc);
    void* free = nullptr;
    if (!__atomic_compare_exchange_n(&dpc.DpcData, &free, static_cast<void*>(&target.dpcs), false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return false;
    insert_into(target, self, dpc, argument1, argument2);
    return true;
}

void insert_unqueued_dpc(KDPC& dpc) {
    processor& self = this_processor();
    if (instrumented()) check_idle_insertion(self, dpc);
    insert_into(choose_target(self, dpc), self, dpc, nullptr, nullptr);
    if (self.irql < DISPATCH_LEVEL) lower_irql(self, self.irql);
}

} // namespace irpverbs::dispatch::detail

using namespace irpverbs::dispatch::detail;

namespace {

// A marker in a processor's queue, for a flush: it runs after every DPC that was queued before it.
struct flush_marker {
    KDPC dpc;
    KEVENT passed;
};

void signal_marker(KDPC*, void* context, void*, void*) {
    KeSetEvent(&static_cast<flush_marker*>(context)->passed, 0, FALSE);
}

// True when the processor will take another DPC; it then also takes a marker behind that one.
bool has_more(const dpc_queue& queue, bool threaded) {
    if (threaded) return queue.running_threaded || !IsListEmpty(&queue.threaded);
    return !IsListEmpty(&queue.waiting);
}

bool is_draining(const void* queue) {
    return static_cast<const dpc_queue*>(queue)->draining.load(std::memory_order_acquire);
}

// False: no DPC is queued there.
bool insert_marker(processor& where, flush_marker& marker, bool threaded) {
    KeInitializeEvent(&marker.passed, NotificationEvent, FALSE);
    KeInitializeDpc(&marker.dpc, signal_marker, &marker);
    marker.dpc.Type = threaded ? threaded_dpc : ordinary_dpc;
    {
        const std::lock_guard guard(where.dpcs.lock);
        if (!has_more(where.dpcs, threaded)) return false;
        marker.dpc.DpcData = &where.dpcs;
        link(where.dpcs, marker.dpc);
    }
    where.owner->unpark(where);
    return true;
}

// Waits for the DPC that was removed last, if it still runs: a marker behind it might never be
// removed.
void await_running(processor& self, const dpc_queue& queue) {
    for (unsigned turn = 0; is_draining(&queue); ++turn) {
        IRPVERBS_PROBE("dpc.flush_met_one_that_runs");
        self.owner->spin(self, is_draining, &queue, turn);
    }
}

void register_dpc(KDPC* dpc) {
    name_object(dpc, "dpc");
    if (verifying()) check_reinitialised(this_processor(), live_object_kind::dpc, dpc);
}

void initialize_dpc(KDPC* dpc, UCHAR type, PKDEFERRED_ROUTINE routine, void* context) {
    if (instrumented()) register_dpc(dpc);
    *dpc = {};
    dpc->Type = type;
    dpc->Importance = MediumImportance;
    dpc->DeferredRoutine = routine;
    dpc->DeferredContext = context;
}

} // namespace

extern "C" {

void KeInitializeDpc(PRKDPC Dpc, PKDEFERRED_ROUTINE DeferredRoutine, PVOID DeferredContext) {
    initialize_dpc(Dpc, ordinary_dpc, DeferredRoutine, DeferredContext);
}

void KeInitializeThreadedDpc(PRKDPC Dpc, PKDEFERRED_ROUTINE DeferredRoutine,
                             PVOID DeferredContext) {
    initialize_dpc(Dpc, threaded_dpc, DeferredRoutine, DeferredContext);
}

BOOLEAN KeInsertQueueDpc(PRKDPC Dpc, PVOID SystemArgument1, PVOID SystemArgument2) {
    sched_point(point::dpc_insert, Dpc);
    processor& self = this_processor();
    if (!enqueue_dpc(self, *Dpc, SystemArgument1, SystemArgument2)) return FALSE;
    if (self.irql >= DISPATCH_LEVEL) return TRUE;
    // Other processors find the DPC queued until the interrupt that runs it comes.
    sched_point(point::dpc_insert, Dpc);
    lower_irql(self, self.irql);
    return TRUE;
}

BOOLEAN KeRemoveQueueDpc(PRKDPC Dpc) {
    sched_point(point::dpc_insert, Dpc);
    auto* queue = static_cast<dpc_queue*>(__atomic_load_n(&Dpc->DpcData, __ATOMIC_ACQUIRE));
    if (queue == nullptr) return FALSE;
    const std::lock_guard guard(queue->lock);
    if (__atomic_load_n(&Dpc->DpcData, __ATOMIC_RELAXED) != queue ||
        Dpc->DpcListEntry.Flink == nullptr)
        return FALSE;
    if (verifying()) remove_live_object(live_object_kind::dpc, Dpc);
    RemoveEntryList(&Dpc->DpcListEntry);
    Dpc->DpcListEntry.Flink = nullptr;
    __atomic_store_n(&Dpc->DpcData, nullptr, __ATOMIC_RELEASE);
    return TRUE;
}

void KeSetTargetProcessorDpc(PRKDPC Dpc, CCHAR Number) {
    if (Number < 0 || static_cast<ULONG>(Number) >= KeQueryActiveProcessorCount(nullptr))
        bug_check(TIMER_OR_DPC_INVALID,
                  "KeSetTargetProcessorDpc names a processor that does not stand ready",
                  reinterpret_cast<ULONG_PTR>(Dpc), static_cast<ULONG_PTR>(Number));
    Dpc->Target = static_cast<SHORT>(Number + 1);
}

NTSTATUS KeSetTargetProcessorDpcEx(PKDPC Dpc, PPROCESSOR_NUMBER ProcNumber) {
    if (ProcNumber->Group != 0 || ProcNumber->Reserved != 0 ||
        ProcNumber->Number >= KeQueryActiveProcessorCount(nullptr))
        return STATUS_INVALID_PARAMETER;
    Dpc->Target = static_cast<SHORT>(ProcNumber->Number + 1);
    return STATUS_SUCCESS;
}

void KeSetImportanceDpc(PRKDPC Dpc, KDPC_IMPORTANCE Importance) {
    Dpc->Importance = static_cast<UCHAR>(Importance);
}

void KeFlushQueuedDpcs(void) {
    VERIFY_IRQL(KeFlushQueuedDpcs);
    sched_point(point::wait);
    processor& self = this_processor();
    machine_state& state = self.owner->state();
    // When a cancellation comes too late, the expired timer may not have queued its DPC yet.
    // await_expiry() waits until it has.
    state.timers.await_expiry();
    std::vector<processor*> where;
    {
        const std::lock_guard guard(state.lock);
        for (const auto& each : state.all)
            where.push_back(each.get());
    }
    for (processor* each : where)
        for (const bool threaded : {false, true}) {
            flush_marker marker;
            if (insert_marker(*each, marker, threaded))
                KeWaitForSingleObject(&marker.passed, Executive, KernelMode, FALSE, nullptr);
            else
                await_running(self, each->dpcs);
        }
}

} // extern "C"
