// Mistakes with completion: filters above a driver whose reads pend and whose writes do not.
#include "strangers.hpp"

namespace strangers {
namespace {
namespace completion {

struct filter_extension {
    PDEVICE_OBJECT lower;
    LONG completed;
};

template <class Driver>
outcome read_and_write(sim_machine& sim) {
    world here(sim, {driver_entry<lower_driver>, filter_entry<Driver>});
    file& open = here.open();
    here.actor("reader", [&] {
        std::string text;
        here.expect(open.read(4, &text) == STATUS_SUCCESS && text == "data", "the read is wrong");
    });
    here.actor("writer", [&] {
        here.expect(open.write("hello") == STATUS_SUCCESS, "the write failed");
        here.expect(open.write("") == STATUS_INVALID_PARAMETER, "the empty write succeeded");
    });
    here.run();
    return here.finish();
}

template <class Driver>
struct filter_driver : plain_driver {
    using extension = filter_extension;
    static NTSTATUS completed(PDEVICE_OBJECT, PIRP irp, PVOID context) {
        if (irp->PendingReturned) IoMarkIrpPending(irp);
        InterlockedIncrement(&static_cast<extension*>(context)->completed);
        return STATUS_CONTINUE_COMPLETION;
    }
    static NTSTATUS forward(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        IoCopyCurrentIrpStackLocationToNext(irp);
        IoSetCompletionRoutine(irp, Driver::completed, own, TRUE, TRUE, TRUE);
        return IoCallDriver(own->lower, irp);
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT) {
        driver->MajorFunction[IRP_MJ_READ] = Driver::forward;
        driver->MajorFunction[IRP_MJ_WRITE] = Driver::forward;
    }
};

/// The completion routine does not pass the pending mark on.
template <bool Correct>
struct pending_not_passed_on : filter_driver<pending_not_passed_on<Correct>> {
    static NTSTATUS completed(PDEVICE_OBJECT, PIRP irp, PVOID context) {
        if (Correct && irp->PendingReturned) IoMarkIrpPending(irp);
        InterlockedIncrement(&static_cast<filter_extension*>(context)->completed);
        return STATUS_CONTINUE_COMPLETION;
    }
};

/// The filter looks at the IRP after it has passed it down.
template <bool Correct>
struct touched_after_call : filter_driver<touched_after_call<Correct>> {
    static NTSTATUS forward(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<filter_extension>(device);
        IoSkipCurrentIrpStackLocation(irp);
        const NTSTATUS status = IoCallDriver(own->lower, irp);
        if (Correct ? NT_SUCCESS(status) : NT_SUCCESS(irp->IoStatus.Status))
            InterlockedIncrement(&own->completed);
        return status;
    }
};

/// The filter returns STATUS_SUCCESS after it has passed the IRP down.
template <bool Correct>
struct wrong_status_returned : filter_driver<wrong_status_returned<Correct>> {
    static NTSTATUS forward(PDEVICE_OBJECT device, PIRP irp) {
        IoSkipCurrentIrpStackLocation(irp);
        const NTSTATUS status = IoCallDriver(extension_of<filter_extension>(device)->lower, irp);
        return Correct ? status : STATUS_SUCCESS;
    }
};

/// A wait for the lower driver whose completion routine lets the completion go on.
template <bool Correct>
struct continued_under_wait : filter_driver<continued_under_wait<Correct>> {
    static NTSTATUS completed(PDEVICE_OBJECT, PIRP, PVOID context) {
        KeSetEvent(static_cast<PKEVENT>(context), IO_NO_INCREMENT, FALSE);
        return Correct ? STATUS_MORE_PROCESSING_REQUIRED : STATUS_CONTINUE_COMPLETION;
    }
    static NTSTATUS forward(PDEVICE_OBJECT device, PIRP irp) {
        KEVENT done;
        KeInitializeEvent(&done, NotificationEvent, FALSE);
        IoCopyCurrentIrpStackLocationToNext(irp);
        IoSetCompletionRoutine(irp, completed, &done, TRUE, TRUE, TRUE);
        if (IoCallDriver(extension_of<filter_extension>(device)->lower, irp) == STATUS_PENDING)
            KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr);
        const NTSTATUS status = irp->IoStatus.Status;
        IoCompleteRequest(irp, IO_NO_INCREMENT);
        return status;
    }
};

/// The completion routine is not called for errors, which the wait needs.
template <bool Correct>
struct not_invoked_on_error : filter_driver<not_invoked_on_error<Correct>> {
    static NTSTATUS completed(PDEVICE_OBJECT, PIRP, PVOID context) {
        KeSetEvent(static_cast<PKEVENT>(context), IO_NO_INCREMENT, FALSE);
        return STATUS_MORE_PROCESSING_REQUIRED;
    }
    static NTSTATUS forward(PDEVICE_OBJECT device, PIRP irp) {
        KEVENT done;
        KeInitializeEvent(&done, NotificationEvent, FALSE);
        IoCopyCurrentIrpStackLocationToNext(irp);
        IoSetCompletionRoutine(irp, completed, &done, TRUE, Correct, Correct);
        IoCallDriver(extension_of<filter_extension>(device)->lower, irp);
        KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr);
        const NTSTATUS status = irp->IoStatus.Status;
        IoCompleteRequest(irp, IO_NO_INCREMENT);
        return status;
    }
};

/// The completion routine keeps failed IRPs, to which nothing returns.
template <bool Correct>
struct kept_on_error : filter_driver<kept_on_error<Correct>> {
    static NTSTATUS completed(PDEVICE_OBJECT, PIRP irp, PVOID) {
        if (!Correct && !NT_SUCCESS(irp->IoStatus.Status)) return STATUS_MORE_PROCESSING_REQUIRED;
        if (irp->PendingReturned) IoMarkIrpPending(irp);
        return STATUS_CONTINUE_COMPLETION;
    }
};

/// An empty write is completed as an error, and then passed down as well.
template <bool Correct>
struct completed_and_forwarded : filter_driver<completed_and_forwarded<Correct>> {
    using base = filter_driver<completed_and_forwarded>;
    static NTSTATUS forward(PDEVICE_OBJECT device, PIRP irp) {
        const PIO_STACK_LOCATION stack = IoGetCurrentIrpStackLocation(irp);
        if (stack->MajorFunction == IRP_MJ_WRITE && stack->Parameters.Write.Length == 0) {
            complete(irp, STATUS_INVALID_PARAMETER);
            if (Correct) return STATUS_INVALID_PARAMETER;
        }
        return base::forward(device, irp);
    }
};

/// The filter's own IRP is freed by its completion routine, which lets the completion go on.
template <bool Correct>
struct own_irp_continued : filter_driver<own_irp_continued<Correct>> {
    static NTSTATUS completed(PDEVICE_OBJECT, PIRP own_irp, PVOID context) {
        const auto master = static_cast<PIRP>(context);
        const IO_STATUS_BLOCK result = own_irp->IoStatus;
        IoFreeIrp(own_irp);
        complete(master, result.Status, result.Information);
        return Correct ? STATUS_MORE_PROCESSING_REQUIRED : STATUS_SUCCESS;
    }
    static NTSTATUS forward(PDEVICE_OBJECT device, PIRP irp) {
        const PDEVICE_OBJECT lower = extension_of<filter_extension>(device)->lower;
        const PIRP own_irp = IoAllocateIrp(lower->StackSize, FALSE);
        if (own_irp == nullptr) return complete(irp, STATUS_INSUFFICIENT_RESOURCES);
        const PIO_STACK_LOCATION from = IoGetCurrentIrpStackLocation(irp);
        const PIO_STACK_LOCATION next = IoGetNextIrpStackLocation(own_irp);
        next->MajorFunction = from->MajorFunction;
        next->Parameters = from->Parameters;
        next->FileObject = from->FileObject;
        own_irp->AssociatedIrp.SystemBuffer = irp->AssociatedIrp.SystemBuffer;
        IoSetCompletionRoutine(own_irp, completed, irp, TRUE, TRUE, TRUE);
        IoMarkIrpPending(irp);
        IoCallDriver(lower, own_irp);
        return STATUS_PENDING;
    }
};

/// A read of two parts counts the parts as it sends them, so that the first may be the last.
template <bool Correct>
struct parts_counted_late : filter_driver<parts_counted_late<Correct>> {
    struct split {
        PIRP master;
        LONG left;
    };
    static void finish_one(split* both) {
        if (InterlockedDecrement(&both->left) != 0) return;
        const PIRP master = both->master;
        ExFreePoolWithTag(both, tag);
        complete(master, STATUS_SUCCESS, 4);
    }
    static NTSTATUS completed(PDEVICE_OBJECT, PIRP part, PVOID context) {
        IoFreeIrp(part);
        finish_one(static_cast<split*>(context));
        return STATUS_MORE_PROCESSING_REQUIRED;
    }
    static NTSTATUS forward(PDEVICE_OBJECT device, PIRP irp) {
        const PDEVICE_OBJECT lower = extension_of<filter_extension>(device)->lower;
        if (IoGetCurrentIrpStackLocation(irp)->MajorFunction != IRP_MJ_READ) {
            IoSkipCurrentIrpStackLocation(irp);
            return IoCallDriver(lower, irp);
        }
        auto* both = static_cast<split*>(ExAllocatePoolWithTag(NonPagedPool, sizeof(split), tag));
        if (both == nullptr) return complete(irp, STATUS_INSUFFICIENT_RESOURCES);
        both->master = irp;
        both->left = Correct ? 1 : 0;
        IoMarkIrpPending(irp);
        for (ULONG half = 0; half < 2; ++half) {
            const PIRP part = IoAllocateIrp(lower->StackSize, FALSE);
            if (part == nullptr) continue;
            const PIO_STACK_LOCATION next = IoGetNextIrpStackLocation(part);
            next->MajorFunction = IRP_MJ_READ;
            next->Parameters.Read.Length = 2;
            part->AssociatedIrp.SystemBuffer = system_buffer(irp) + 2 * static_cast<SIZE_T>(half);
            IoSetCompletionRoutine(part, completed, both, TRUE, TRUE, TRUE);
            InterlockedIncrement(&both->left);
            IoCallDriver(lower, part);
        }
        if (Correct) finish_one(both);
        return STATUS_PENDING;
    }
};

template <class Driver>
outcome split_read(sim_machine& sim) {
    world here(sim, {driver_entry<lower_driver>, filter_entry<Driver>});
    file& open = here.open();
    here.actor("reader", [&] {
        std::string text;
        here.expect(open.read(4, &text) == STATUS_SUCCESS && text == "dada", "the read is wrong");
    });
    here.run();
    return here.finish();
}

} // namespace completion
} // namespace

const std::vector<defect>& completion_defects() {
    using namespace completion;
    static const std::vector<defect> all{
        {"PendingNotPassedOn", read_and_write<pending_not_passed_on<false>>,
         read_and_write<pending_not_passed_on<true>>},
        {"IrpTouchedAfterCall", read_and_write<touched_after_call<false>>,
         read_and_write<touched_after_call<true>>, false},
        {"WrongStatusReturned", read_and_write<wrong_status_returned<false>>,
         read_and_write<wrong_status_returned<true>>},
        {"CompletionContinuedUnderWait", read_and_write<continued_under_wait<false>>,
         read_and_write<continued_under_wait<true>>},
        {"RoutineNotInvokedOnError", read_and_write<not_invoked_on_error<false>>,
         read_and_write<not_invoked_on_error<true>>},
        {"IrpKeptOnError", read_and_write<kept_on_error<false>>,
         read_and_write<kept_on_error<true>>},
        {"CompletedAndForwarded", read_and_write<completed_and_forwarded<false>>,
         read_and_write<completed_and_forwarded<true>>},
        {"OwnIrpFreedAndContinued", read_and_write<own_irp_continued<false>>,
         read_and_write<own_irp_continued<true>>},
        {"PartsCountedLate", split_read<parts_counted_late<false>>,
         split_read<parts_counted_late<true>>},
    };
    return all;
}

} // namespace strangers
