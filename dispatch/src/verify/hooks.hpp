// The hooks that the core calls while the verifier is on, and all that the core includes of this
// folder. Each is on a slow path; each itself tests whether its rules are checked.
#pragma once

#include "dpc/dpc.hpp"

#include <dispatch/object.h>
#include <dispatch/pool.h>
#include <dispatch/spin_lock.h>
#include <dispatch/support/held_locks.hpp>
#include <dispatch/support/live_objects.hpp>
#include <dispatch/wait.h>
#include <dispatch/work_item.h>

#include <optional>
#include <span>

namespace irpverbs::dispatch::detail {

// Random delays before a thread acquires a lock, waits or signals, so that other threads overtake
// it.

/// Delays the caller by chance. Only on real machines: the simulator has delays of its own, in
/// virtual time.
void maybe_delay(processor& self, point kind);

// The IRQL: every raise is paired with a fall. Each function tests whether IRQLs are checked.

/// Records that the IRQL is about to rise.
void record_raise(processor& self, KIRQL from);
/// Records that the acquisition of `lock` is about to raise the IRQL. `where` may be empty when the
/// stack is not known.
void record_raise(processor& self, KIRQL from, const void* lock, const call_stack& where);
/// Checks and records that KeRaiseIrql is about to set the IRQL.
void check_raise(processor& self, KIRQL to);
/// Checks that KeLowerIrql may set the IRQL.
void check_lower(processor& self, KIRQL to);
/// Checks that a release may set the IRQL.
void check_release_irql(processor& self, const void* lock, KIRQL to);

/// Reports PAGED_CODE above APC_LEVEL.
void check_paged_code(processor& self, const char* function);

/// Reports a wait at an IRQL that does not allow it. `may_wait`: the wait might not return at once;
/// `for_ever`: the wait has no time-out.
void check_wait_irql(processor& self, const char* function, bool may_wait, bool for_ever);

// Critical and guarded regions: the routine and thread that enter a region must leave it.

enum class region : std::uint8_t { critical, guarded };

void region_entered(processor& self, region which);
/// Checks the leaving of a region. `entered`: the thread is inside one.
void region_left(processor& self, region which, bool entered);

/// Reports and forgets the regions that were entered after the first `critical` and `guarded` ones.
void regions_left_open(processor& self, std::size_t critical, std::size_t guarded,
                       const char* what);

// The acquisition and release of locks of all kinds. Each function tests whether its own rules are
// checked.

struct acquisition {
    const void* lock;
    lock_kind kind;
    bool waits = true;   // true: the acquisition waits until the lock is free; false: it gives up
    bool to_dpc = false; // acquired by KeAcquireSpinLockRaiseToDpc itself
    const void* handle = nullptr; // the KLOCK_QUEUE_HANDLE of a queued lock
};

/// True when any rule of this file is checked.
bool lock_checks_enabled() noexcept;

/// Checks an acquisition that is about to begin. The lock has not changed yet, so a handler may
/// throw.
void lock_requested(processor& self, const acquisition& how, const call_stack& where);
void lock_acquired(processor& self, const acquisition& how, const call_stack& where);

/// Records that the caller holds `lock` as another kind from now on.
void lock_converted(processor& self, const void* lock, lock_kind kind);

/// Checks a release that is about to begin. `is_free`: no processor holds the lock. `to`: the IRQL
/// after the release.
void lock_released(processor& self, const void* lock, lock_kind kind, bool is_free,
                   std::optional<KIRQL> to = std::nullopt);

/// Records that the memory becomes a new lock, and reports a holder of the old one.
void lock_initialised(processor& self, const void* lock);
/// Records a new spin lock as lock_initialised does. Returns the mark that its word must hold, by
/// which the verifier recognizes the lock.
KSPIN_LOCK spin_lock_initialised(processor& self, const KSPIN_LOCK* lock);
/// Returns the mark of a spin lock that is released; 0: the lock has none.
KSPIN_LOCK mark_of_lock(const KSPIN_LOCK* lock);

/// Reports the spin locks that the caller holds when it is about to wait.
void check_wait_with_locks(processor& self, const char* function);

/// Reports the locks that the thread of `self` holds when it ends.
void check_locks_at_thread_end(processor& self);

// Waits, and mutexes, which a thread acquires by waiting.

/// The checks of one wait, before and after it.
class wait_checks {
public:
    wait_checks(processor& self, std::span<const KWAIT_BLOCK> blocks, bool all,
                const LARGE_INTEGER* timeout)
        : self_(self), blocks_(blocks), all_(all || blocks.size() == 1), timeout_(timeout) {}

    void before(const char* function);
    void after(NTSTATUS status) const;

private:
    bool is_poll() const { return timeout_ != nullptr && timeout_->QuadPart == 0; }
    void record_acquired(std::size_t which, const call_stack& where) const;

    processor& self_;
    std::span<const KWAIT_BLOCK> blocks_;
    bool all_;
    const LARGE_INTEGER* timeout_;
    std::uint64_t mutexes_ = 0; // one bit a block; the other objects may no longer exist after the
                                // wait
};

/// Checks KeSetEvent with Wait, which a wait follows.
void check_event_wait(processor& self);

/// Checks a mutex that KeReleaseMutex is about to release.
void mutex_released(processor& self, const KMUTANT& mutex);

// Live objects (dispatch/support/live_objects.hpp).

/// Reports a live object that its initialisation is about to overwrite.
void check_reinitialised(processor& self, live_object_kind kind, const void* object);

/// Reports the live objects in memory that is about to be freed.
void check_live_objects(processor& self, const void* memory, std::size_t size);

/// Reports and forgets the locks in memory that is about to be freed, which are held.
void check_held_locks_in(const void* memory, std::size_t size);

/// Forgets the objects in this memory: memory that was just allocated, or that of a machine that
/// has ended, holds no live object.
void clear_live_objects(const void* memory, std::size_t size);
void clear_live_objects(const machine& gone);

// Handles that are open, and counted objects that are not ended (dispatch/support/leftovers.hpp).

void handle_opened(processor& self, HANDLE handle, const OBJECT_HEADER* object);
void handle_closed(processor& self, HANDLE handle);
void object_made(processor& self, const OBJECT_HEADER& object);
/// Records a call of ObReferenceObject.
void object_referenced(const OBJECT_HEADER& object);
void object_ended(const OBJECT_HEADER& object);
/// Forgets what belongs to a machine that has ended.
void clear_leftovers(const machine& gone);

// The state in which a routine returns: DPCs, work items, threads.

/// Calls a DPC's routine and checks its effects. `begun`: the machine time at which this processor
/// began to run DPCs without a pause.
void run_checked_dpc(processor& self, KDPC* dpc, const dpc_call& call, std::uint64_t begun);

/// Calls a routine that runs at PASSIVE_LEVEL and checks its effects. `what`: "a work item".
void run_checked_routine(processor& self, const char* what, void (*routine)(void*), void* context);

/// Checks a thread that ends. Reports, but never throws.
void thread_ends(processor& self) noexcept;

/// Checks a machine that has run all its work. Reports, but never throws.
void machine_stopped(machine& where) noexcept;

// Pool memory. The records of blocks are kept by address, apart from the blocks, so that a block
// that was allocated while no check was enabled is freed like any other, and the reverse.

/// ExAllocatePoolWithTag and ExFreePoolWithTag while the pool is checked.
void* allocate_checked(POOL_TYPE type, SIZE_T size, ULONG tag);
void free_checked(void* block, ULONG tag);

/// Checks the memory of a work item that is about to be queued.
void check_work_item_address(const WORK_QUEUE_ITEM* item);

/// A word of freed memory: no address of a process, and no valid lock, list or handle.
inline constexpr std::uint64_t freed_pattern = 0x0000'2DEA'DFEE'DDEAull;

/// Stores the sums of a tag; tag 0: of all tags. False: no block of that tag was recorded.
bool pool_usage(ULONG tag, POOL_TAG_USAGE& out);

// Records that end with their machine.

/// Drops the records of a processor.
void drop_verifier_state(processor& gone);
/// Forgets the lock, whether it is held or not.
void unregister_lock(const KSPIN_LOCK* lock);
/// Records that the pool blocks of the machine have no owner.
void disown_pool_blocks(const machine& gone);

} // namespace irpverbs::dispatch::detail
