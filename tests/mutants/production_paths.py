"""Mistakes in the fast paths of dispatch and irp, each of which a simulated campaign must find."""
TARGET = "mutant_campaigns"
FOLDER = "tests/mutants"
LEAST = 100
QUEUE = "irp/src/cancel/cancel_safe_queue.cpp"
DPC = "dispatch/src/dpc/dpc.cpp"

# name, campaign, mutated file, [(text, replacement)...], sources to compile (the file itself if absent)
ROWS = [
    ("request_lost_when_the_lock_is_held", "drained", QUEUE,
     [("return wait_and_link<Hooks>(queue, irp);", "return STATUS_PENDING;")]),
    ("canceller_gives_up_when_the_lock_is_held", "drained", QUEUE,
     [("return wait_and_unlink<Hooks>(queue, irp);", "return;")]),
    ("armed_not_set", "drained", QUEUE,
     [("        queue.armed_ = true;\n", "")]),
    ("dpc_queued_only_when_the_queue_was_empty", "drained", QUEUE,
     [("const bool armed = queue.armed_;",
       "const bool armed = queue.waiting_.Flink != queue.waiting_.Blink;")]),
    ("armed_cleared_after_the_drain", "drained", QUEUE,
     [("        queue.armed_ = false;\n", ""),
      ("            call(pending_irp(irp), drain_context);\n        }\n",
       "            call(pending_irp(irp), drain_context);\n        }\n        queue.armed_ = false;\n")]),
    ("cancel_looked_at_before_the_routine_is_set", "served", QUEUE,
     [("        store_routine_before_lock(irp, cancel);\n",
       "        if (cancelled(irp)) {\n            pending_irp(irp).complete(STATUS_CANCELLED);\n"
       "            return STATUS_PENDING;\n        }\n        store_routine_before_lock(irp, cancel);\n"),
      ("if (cancelled(irp) || queue.close_status_ != STATUS_SUCCESS)", "if (queue.close_status_ != STATUS_SUCCESS)")]),
    ("routine_taken_without_a_look_at_the_result", "drained", QUEUE,
     [("if (exchange_routine(of(entry), nullptr) != nullptr) {",
       "if (exchange_routine(of(entry), nullptr); true) {")]),
    ("canceller_unlinks_what_is_not_linked", "served", QUEUE,
     [("            queue_of(irp) = nullptr;\n            return release<Hooks>(queue);\n        }\n"
       "        RemoveEntryList(&entry_of(irp));\n",
       "        } else {\n            RemoveEntryList(&entry_of(irp));\n        }\n")]),
    ("drain_skips_a_claimed_request", "drained", QUEUE,
     [("                last = &entry->Flink;\n", "")]),
    ("pop_takes_what_is_being_cancelled", "served", QUEUE,
     [("if (exchange_routine(irp, nullptr) == nullptr) continue;", "exchange_routine(irp, nullptr);")]),
    ("cancel_stored_after_the_exchange", "cancelled", "irp/src/cancel/cancel_steps.hpp",
     [("    if (!hooks.step([irp] { store_cancel(irp); })) return hooks.release(level);\n"
       "    hooks.before_exchange(irp);\n", ""),
      ("    if (!taken || routine == nullptr) return",
       "    hooks.before_exchange(irp);\n    hooks.step([irp] { store_cancel(irp); });\n"
       "    if (!taken || routine == nullptr) return")],
     ["irp/src/cancel/cancel.cpp"]),
    ("cancel_lock_kept_without_a_routine", "cancelled", "irp/src/cancel/cancel_steps.hpp",
     [("        IoReleaseCancelSpinLock(level);\n", "        KeLowerIrql(level);\n")],
     ["irp/src/cancel/cancel.cpp"]),
    ("dpc_pending_cleared_early", "inserted", DPC,
     [("    if (IsListEmpty(&queue.waiting)) queue.pending.store", "    queue.pending.store")]),
    ("dpc_linked_before_it_is_owned", "inserted", DPC,
     [("    void* free = nullptr;\n"
       "    if (!__atomic_compare_exchange_n(&dpc.DpcData, &free, static_cast<void*>(&target.dpcs), false,\n"
       "                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))\n        return false;\n",
       "    if (__atomic_load_n(&dpc.DpcData, __ATOMIC_RELAXED) != nullptr) return false;\n")]),
    ("spin_lock_taken_while_it_is_held", "excluded", "dispatch/include/dispatch/support/spin_lock.hpp",
     [("    return __atomic_compare_exchange_n(&lock, &word, owner_word(self), false, __ATOMIC_ACQUIRE,\n"
       "                                       __ATOMIC_RELAXED);\n",
       "    word = __atomic_exchange_n(&lock, owner_word(self), __ATOMIC_ACQUIRE);\n    return true;\n")],
     ["dispatch/src/locks/spin_lock.cpp"]),
    ("port_wake_lost", "posted", "dispatch/src/wait/queue.cpp",
     [("        deliver_entries(*queue, woken);\n    }\n    woken.flush();\n    return old;",
       "        deliver_entries(*queue, woken);\n    }\n    return old;")]),
    ("lock_released_between_the_look_and_the_wait", "waited", "dispatch/src/wait/wait.cpp",
     [("    return block(waiter, limit, guard);\n}",
       "    guard.unlock();\n    guard.lock();\n    return block(waiter, limit, guard);\n}")]),
    ("signal_wakes_who_waited_before_it", "waited", "dispatch/src/wait/wait.cpp",
     [("        old = state_of(object);\n        change(object);\n        if (state_of(object) > 0) release_waiters(object, woken);\n",
       "        old = state_of(object);\n        if (old == 0) release_waiters(object, woken);\n        change(object);\n")]),
    ("port_lock_released_between_the_look_and_the_wait", "posted", "dispatch/src/wait/queue.cpp",
     [("        result = wait_for_entry(self, queue, limit, guard, entries[0]);",
       "        guard.unlock();\n        guard.lock();\n"
       "        result = wait_for_entry(self, queue, limit, guard, entries[0]);")]),
    ("worker_looks_before_it_has_arrived", "worked", "dispatch/src/work/work_item.cpp",
     [("    const std::lock_guard guard(work.lock);\n    LIST_ENTRY* const entry = work.remove_first();\n",
       "    std::unique_lock guard(work.lock);\n    LIST_ENTRY* const entry = work.remove_first();\n"
       "    guard.unlock();\n    guard.lock();\n")]),
    ("handle_found_before_its_object_is_copied", "looked_up", "dispatch/include/dispatch/support/handle_table.hpp",
     [("        const std::lock_guard guard(lock_);\n        const slot* found = slot_of(of);\n        return found",
       "        std::unique_lock guard(lock_);\n        const slot* found = slot_of(of);\n"
       "        guard.unlock();\n        return found")],
     ["dispatch/src/object/object.cpp"]),
    ("stack_lock_released_between_the_look_and_the_link", "attached", "irp/src/device/device.cpp",
     [("    const std::lock_guard guard(stack_lock);\n    DEVICE_OBJECT* below = top_of(TargetDevice);\n",
       "    std::unique_lock guard(stack_lock);\n    DEVICE_OBJECT* below = top_of(TargetDevice);\n"
       "    guard.unlock();\n    guard.lock();\n")]),
    ("remove_lock_wake_lost", "removed", "irp/src/device/remove_lock.cpp",
     [("    drop(RemoveLock);\n    return STATUS_DELETE_PENDING;",
       "    __atomic_sub_fetch(&RemoveLock->IoCount, 1, __ATOMIC_ACQ_REL);\n    return STATUS_DELETE_PENDING;")]),
    ("remove_lock_looked_at_before_it_is_counted", "removed", "irp/src/device/remove_lock.cpp",
     [("    __atomic_add_fetch(&RemoveLock->IoCount, 1, __ATOMIC_SEQ_CST);\n",
       "    if (__atomic_load_n(&RemoveLock->Removed, __ATOMIC_SEQ_CST)) return STATUS_DELETE_PENDING;\n"),
      ("    if (!__atomic_load_n(&RemoveLock->Removed, __ATOMIC_SEQ_CST)) {\n",
       "    __atomic_add_fetch(&RemoveLock->IoCount, 1, __ATOMIC_SEQ_CST);\n    if (RemoveLock != nullptr) {\n")]),
]


def runs_of(campaign):
    return [[campaign]]
