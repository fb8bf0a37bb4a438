// Defects of dispatch and completion routines that need no race, and of callers that wait.
#include "canary.hpp"

namespace canary {
namespace {

using irpverbs::dispatch::sim_machine;

// Sends one request to a device with the dispatch routine.
std::optional<std::string> one_request(PDRIVER_DISPATCH dispatch) {
    int nothing = 0;
    fixture it(dispatch, &nothing);
    it.send(0);
    return it.verdict();
}

std::optional<std::string> marks_completes_and_returns_pending(sim_machine&) {
    return one_request([](DEVICE_OBJECT*, IRP* irp) -> NTSTATUS {
        IoMarkIrpPending(irp);
        complete(irp, STATUS_SUCCESS);
        return STATUS_PENDING;
    });
}

std::optional<std::string> returns_another_status(sim_machine&) {
    return one_request([](DEVICE_OBJECT*, IRP* irp) -> NTSTATUS {
        complete(irp, STATUS_INVALID_PARAMETER);
        return STATUS_SUCCESS;
    });
}

std::optional<std::string> returns_success_and_forgets(sim_machine&) {
    return one_request([](DEVICE_OBJECT*, IRP*) -> NTSTATUS { return STATUS_SUCCESS; });
}

std::optional<std::string> completes_twice(sim_machine&) {
    return one_request([](DEVICE_OBJECT*, IRP* irp) -> NTSTATUS {
        complete(irp, STATUS_SUCCESS);
        complete(irp, STATUS_SUCCESS);
        return STATUS_SUCCESS;
    });
}

std::optional<std::string> completes_with_pending(sim_machine&) {
    return one_request([](DEVICE_OBJECT*, IRP* irp) -> NTSTATUS {
        complete(irp, STATUS_PENDING);
        return STATUS_PENDING;
    });
}

std::optional<std::string> completes_with_its_cancel_routine_set(sim_machine&) {
    return one_request([](DEVICE_OBJECT*, IRP* irp) -> NTSTATUS {
        IoMarkIrpPending(irp);
        IoSetCancelRoutine(irp, [](DEVICE_OBJECT*, IRP* mine) {
            IoReleaseCancelSpinLock(mine->CancelIrql);
            complete(mine, STATUS_CANCELLED);
        });
        complete(irp, STATUS_SUCCESS);
        return STATUS_PENDING;
    });
}

std::optional<std::string> completes_under_a_lock(sim_machine&) {
    return one_request([](DEVICE_OBJECT*, IRP* irp) -> NTSTATUS {
        lock guarding;
        const lock_scope guard(guarding);
        complete(irp, STATUS_SUCCESS);
        return STATUS_SUCCESS;
    });
}

std::optional<std::string> pends_without_a_mark(sim_machine& sim) {
    struct late {
        IRP* irp = nullptr;
        KDPC dpc{};
    } state;
    KeInitializeDpc(
        &state.dpc,
        [](KDPC*, void* context, void*, void*) {
            complete(static_cast<late*>(context)->irp, STATUS_SUCCESS);
        },
        &state);
    fixture it(
        [](DEVICE_OBJECT* device, IRP* irp) -> NTSTATUS {
            auto& its = state_of<late>(device);
            its.irp = irp;
            KeInsertQueueDpc(&its.dpc, nullptr, nullptr);
            return STATUS_PENDING;
        },
        &state);
    sim.spawn("send", [&] { it.send(0); });
    sim.run();
    return it.verdict();
}

std::optional<std::string> sends_without_a_completion_routine(sim_machine&) {
    DRIVER_OBJECT driver{};
    driver.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = [](DEVICE_OBJECT*,
                                                              IRP* irp) -> NTSTATUS {
        complete(irp, STATUS_SUCCESS);
        return STATUS_SUCCESS;
    };
    DEVICE_OBJECT* device = nullptr;
    IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    IRP* irp = IoAllocateIrp(1, FALSE);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    IoCallDriver(device, irp);
    IoDeleteDevice(device);
    return std::nullopt;
}

// A filter over a device that pends; the defect is in the filter's two routines.
struct filtered {
    DRIVER_OBJECT lower_driver{};
    DRIVER_OBJECT upper_driver{};
    DEVICE_OBJECT* lower = nullptr;
    DEVICE_OBJECT* upper = nullptr;
    IRP* pended = nullptr;
    KEVENT done{};

    filtered(PDRIVER_DISPATCH below, PDRIVER_DISPATCH above) {
        lower_driver.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = below;
        upper_driver.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = above;
        IoCreateDevice(&lower_driver, sizeof(void*), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE,
                       &lower);
        IoCreateDevice(&upper_driver, sizeof(void*), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE,
                       &upper);
        IoAttachDeviceToDeviceStack(upper, lower);
        *static_cast<void**>(lower->DeviceExtension) = this;
        *static_cast<void**>(upper->DeviceExtension) = this;
        KeInitializeEvent(&done, SynchronizationEvent, FALSE);
    }
    ~filtered() {
        IoDetachDevice(lower);
        IoDeleteDevice(upper);
        IoDeleteDevice(lower);
    }
    filtered(const filtered&) = delete;
    filtered& operator=(const filtered&) = delete;
};

NTSTATUS pend_below(DEVICE_OBJECT* device, IRP* irp) {
    IoMarkIrpPending(irp);
    state_of<filtered>(device).pended = irp;
    return STATUS_PENDING;
}

NTSTATUS note_completion(DEVICE_OBJECT*, IRP*, void* count) {
    ++*static_cast<int*>(count);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

std::optional<std::string> through_a_filter(filtered& stack) {
    int completions = 0;
    IRP* irp = IoAllocateIrp(2, FALSE);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    IoSetCompletionRoutine(irp, note_completion, &completions, TRUE, TRUE, TRUE);
    IoCallDriver(stack.upper, irp);
    if (stack.pended != nullptr) complete(stack.pended, STATUS_SUCCESS);
    IoFreeIrp(irp);
    if (completions != 1) return "completed " + std::to_string(completions) + " times";
    return std::nullopt;
}

std::optional<std::string> does_not_pass_pending_on(sim_machine&) {
    filtered stack(pend_below, [](DEVICE_OBJECT* device, IRP* irp) {
        IoCopyCurrentIrpStackLocationToNext(irp);
        IoSetCompletionRoutine(
            irp, [](DEVICE_OBJECT*, IRP*, void*) -> NTSTATUS { return STATUS_CONTINUE_COMPLETION; },
            nullptr, TRUE, TRUE, TRUE);
        return IoCallDriver(state_of<filtered>(device).lower, irp);
    });
    return through_a_filter(stack);
}

std::optional<std::string> marks_and_skips(sim_machine&) {
    filtered stack(pend_below, [](DEVICE_OBJECT* device, IRP* irp) -> NTSTATUS {
        IoMarkIrpPending(irp);
        IoSkipCurrentIrpStackLocation(irp);
        IoCallDriver(state_of<filtered>(device).lower, irp);
        return STATUS_PENDING;
    });
    return through_a_filter(stack);
}

std::optional<std::string> hides_the_lower_status(sim_machine&) {
    filtered stack(
        [](DEVICE_OBJECT*, IRP* irp) -> NTSTATUS {
            complete(irp, STATUS_INVALID_PARAMETER);
            return STATUS_INVALID_PARAMETER;
        },
        [](DEVICE_OBJECT* device, IRP* irp) -> NTSTATUS {
            IoSkipCurrentIrpStackLocation(irp);
            IoCallDriver(state_of<filtered>(device).lower, irp);
            return STATUS_SUCCESS;
        });
    return through_a_filter(stack);
}

// The completion routine signals only for an IRP that did not pend, and the filter waits for one
// that did.
std::optional<std::string> waits_for_a_signal_that_is_not_sent(sim_machine& sim) {
    filtered stack(pend_below, [](DEVICE_OBJECT* device, IRP* irp) -> NTSTATUS {
        auto& its = state_of<filtered>(device);
        IoCopyCurrentIrpStackLocationToNext(irp);
        IoSetCompletionRoutine(
            irp,
            [](DEVICE_OBJECT*, IRP* mine, void* context) -> NTSTATUS {
                if (!mine->PendingReturned)
                    KeSetEvent(static_cast<KEVENT*>(context), IO_NO_INCREMENT, FALSE);
                return STATUS_MORE_PROCESSING_REQUIRED;
            },
            &its.done, TRUE, TRUE, TRUE);
        if (IoCallDriver(its.lower, irp) == STATUS_PENDING)
            KeWaitForSingleObject(&its.done, Executive, KernelMode, FALSE, nullptr);
        const NTSTATUS status = irp->IoStatus.Status;
        IoCompleteRequest(irp, IO_NO_INCREMENT);
        return status;
    });
    int completions = 0;
    IRP* irp = IoAllocateIrp(2, FALSE);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    IoSetCompletionRoutine(irp, note_completion, &completions, TRUE, TRUE, TRUE);
    sim.spawn("send", [&] { IoCallDriver(stack.upper, irp); });
    sim.spawn("complete", [&] {
        while (stack.pended == nullptr)
            sim.yield();
        complete(stack.pended, STATUS_SUCCESS);
    });
    sim.run();
    IoFreeIrp(irp);
    return std::nullopt; // run() does not return from a hang
}

std::optional<std::string> keeps_a_remove_lock(sim_machine& sim) {
    IO_REMOVE_LOCK remove;
    IoInitializeRemoveLock(&remove, 0, 0, 0);
    fixture it(
        [](DEVICE_OBJECT* device, IRP* irp) -> NTSTATUS {
            auto& its = state_of<IO_REMOVE_LOCK>(device);
            if (!NT_SUCCESS(IoAcquireRemoveLock(&its, irp))) {
                complete(irp, STATUS_DELETE_PENDING);
                return STATUS_DELETE_PENDING;
            }
            complete(irp, STATUS_SUCCESS);
            return STATUS_SUCCESS;
        },
        &remove);
    sim.spawn("send", [&] { it.send(0); });
    sim.spawn("remove", [&] {
        IoAcquireRemoveLock(&remove, nullptr);
        IoReleaseRemoveLockAndWait(&remove, nullptr);
    });
    sim.run();
    return it.verdict();
}

// Only the address sanitizer detects a plain read of freed memory.
std::optional<std::string> reads_after_completion(sim_machine&) {
    DRIVER_OBJECT driver{};
    driver.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = [](DEVICE_OBJECT*,
                                                              IRP* irp) -> NTSTATUS {
        complete(irp, STATUS_SUCCESS);
        return irp->IoStatus.Status;
    };
    DEVICE_OBJECT* device = nullptr;
    IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    IRP* irp = IoAllocateIrp(1, FALSE);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    IoSetCompletionRoutine(
        irp,
        [](DEVICE_OBJECT*, IRP* mine, void*) -> NTSTATUS {
            IoFreeIrp(mine);
            return STATUS_MORE_PROCESSING_REQUIRED;
        },
        nullptr, TRUE, TRUE, TRUE);
    IoCallDriver(device, irp);
    IoDeleteDevice(device);
    return std::nullopt;
}

} // namespace

const std::vector<defect>& completion_defects() {
    static const std::vector<defect> all = {
        {"marks_completes_and_returns_pending",
         "WinOF al_proxy_ndi.c UAL_NDI_NOOP",
         found_by::verifier,
         marks_completes_and_returns_pending,
         {"PendedCompletedRequest"},
         "default,pended_completed=fail"},
        {"returns_another_status",
         "0xC9:0x224",
         found_by::verifier,
         returns_another_status,
         {"CompleteRequestStatusCheck"}},
        {"returns_success_and_forgets",
         "IrpProcessingComplete",
         found_by::outcome,
         returns_success_and_forgets,
         {"IrpProcessingComplete"}},
        {"completes_twice",
         "DoubleCompletion",
         found_by::outcome,
         completes_twice,
         {"DoubleCompletion"}},
        {"completes_with_pending",
         "0xC9:0x06",
         found_by::outcome,
         completes_with_pending,
         {"CompletedWithPending"}},
        {"completes_with_its_cancel_routine_set",
         "0xC9:0x07",
         found_by::outcome,
         completes_with_its_cancel_routine_set,
         {"CompletedWithCancelRoutine"}},
        {"completes_under_a_lock",
         "WinOF al_cm_cep.c gp_cep_mgr",
         found_by::verifier,
         completes_under_a_lock,
         {"SpinLockSafe"}},
        {"pends_without_a_mark",
         "0xC9:0x23D",
         found_by::verifier,
         pends_without_a_mark,
         {"MarkingInterlockedQueuedIrps", "MarkIrpPending2"}},
        {"sends_without_a_completion_routine",
         "reactos#7262",
         found_by::verifier,
         sends_without_a_completion_routine,
         {"IoAllocateForward"}},
        {"does_not_pass_pending_on",
         "0xC9:0x228",
         found_by::verifier,
         does_not_pass_pending_on,
         {"PendingPropagated"}},
        {"marks_and_skips",
         "WDK IoSkipCurrentIrpStackLocation",
         found_by::verifier,
         marks_and_skips,
         {"ControlNotZeroed"}},
        {"hides_the_lower_status",
         "LowerDriverReturn",
         found_by::verifier,
         hides_the_lower_status,
         {"LowerDriverReturn"}},
        {"waits_for_a_signal_that_is_not_sent",
         "SignalEventInCompletion",
         found_by::outcome,
         waits_for_a_signal_that_is_not_sent,
         {"SignalEventInCompletion"}},
        {"keeps_a_remove_lock",
         "RemoveLock",
         found_by::outcome,
         keeps_a_remove_lock,
         {"RemoveLockRelease2"}},
        {"reads_after_completion", "HoShiMin/Kernel-Bridge#19", found_by::sanitizer,
         reads_after_completion},
    };
    return all;
}

} // namespace canary
