// Mistakes with cancellation: reads that wait for a write, and may be cancelled while they wait.
#include "strangers.hpp"

namespace strangers {
namespace {
namespace cancel {

/// One reader, one writer, one canceller; a read that still waits at the end is cancelled.
template <class Driver>
outcome reader_writer_canceller(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    request reading;
    here.actor("reader", [&] { open.start_read(reading, 8); });
    here.actor("writer", [&] {
        const NTSTATUS status = open.write("hello");
        here.expect(status == STATUS_SUCCESS || status == STATUS_DEVICE_NOT_READY,
                    "the write is wrong");
    });
    here.actor("canceller", [&] { open.cancel(); });
    here.run();
    open.cancel();
    const NTSTATUS status = reading.status();
    here.expect(status == STATUS_CANCELLED ||
                    (status == STATUS_SUCCESS && reading.text() == "hello"),
                "the read is wrong");
    return here.finish();
}

/// One read waits in a slot under a lock of the driver.
struct slot_extension {
    KSPIN_LOCK lock;
    PIRP waiting;
};

template <class Driver>
struct slot_driver : plain_driver {
    using extension = slot_extension;
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT) {
        driver->MajorFunction[IRP_MJ_READ] = Driver::read;
        driver->MajorFunction[IRP_MJ_WRITE] = Driver::write;
    }
    static void cancel_read(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        IoReleaseCancelSpinLock(irp->CancelIrql);
        KIRQL irql;
        KeAcquireSpinLock(&own->lock, &irql);
        if (own->waiting == irp) own->waiting = nullptr;
        KeReleaseSpinLock(&own->lock, irql);
        complete(irp, STATUS_CANCELLED);
    }
    static NTSTATUS read(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        KIRQL irql;
        KeAcquireSpinLock(&own->lock, &irql);
        if (own->waiting != nullptr) {
            KeReleaseSpinLock(&own->lock, irql);
            return complete(irp, STATUS_DEVICE_BUSY);
        }
        IoMarkIrpPending(irp);
        own->waiting = irp;
        IoSetCancelRoutine(irp, Driver::cancel_read);
        bool cancelled = false;
        if (irp->Cancel && IoSetCancelRoutine(irp, nullptr) != nullptr) {
            own->waiting = nullptr;
            cancelled = true;
        }
        KeReleaseSpinLock(&own->lock, irql);
        if (cancelled) complete(irp, STATUS_CANCELLED);
        return STATUS_PENDING;
    }
    static PIRP take(extension* own) {
        KIRQL irql;
        KeAcquireSpinLock(&own->lock, &irql);
        PIRP read = own->waiting;
        if (read != nullptr && IoSetCancelRoutine(read, nullptr) == nullptr) read = nullptr;
        if (read != nullptr) own->waiting = nullptr;
        KeReleaseSpinLock(&own->lock, irql);
        return read;
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        const PIRP read = Driver::take(extension_of<extension>(device));
        if (read == nullptr) return complete(irp, STATUS_DEVICE_NOT_READY);
        hand_over(read, irp);
        return complete(irp, STATUS_SUCCESS, write_length(irp));
    }
};

/// The read does not look at Irp->Cancel after it has set the cancel routine.
template <bool Correct>
struct no_second_look : slot_driver<no_second_look<Correct>> {
    using base = slot_driver<no_second_look>;
    static NTSTATUS read(PDEVICE_OBJECT device, PIRP irp) {
        if (Correct) return base::read(device, irp);
        auto* own = extension_of<slot_extension>(device);
        KIRQL irql;
        KeAcquireSpinLock(&own->lock, &irql);
        IoMarkIrpPending(irp);
        own->waiting = irp;
        IoSetCancelRoutine(irp, base::cancel_read);
        KeReleaseSpinLock(&own->lock, irql);
        return STATUS_PENDING;
    }
};

/// The writer does not look at the result of IoSetCancelRoutine(NULL).
template <bool Correct>
struct result_ignored : slot_driver<result_ignored<Correct>> {
    static PIRP take(slot_extension* own) {
        if (Correct) return slot_driver<result_ignored>::take(own);
        KIRQL irql;
        KeAcquireSpinLock(&own->lock, &irql);
        const PIRP read = own->waiting;
        if (read != nullptr) IoSetCancelRoutine(read, nullptr);
        own->waiting = nullptr;
        KeReleaseSpinLock(&own->lock, irql);
        return read;
    }
};

/// The writer completes the read with its cancel routine still set.
template <bool Correct>
struct routine_left_set : slot_driver<routine_left_set<Correct>> {
    static PIRP take(slot_extension* own) {
        if (Correct) return slot_driver<routine_left_set>::take(own);
        KIRQL irql;
        KeAcquireSpinLock(&own->lock, &irql);
        const PIRP read = std::exchange(own->waiting, nullptr);
        KeReleaseSpinLock(&own->lock, irql);
        return read;
    }
};

/// The cancel routine completes the read before it releases the cancel spin lock.
template <bool Correct>
struct completed_under_cancel_lock : slot_driver<completed_under_cancel_lock<Correct>> {
    using base = slot_driver<completed_under_cancel_lock>;
    static void cancel_read(PDEVICE_OBJECT device, PIRP irp) {
        if (Correct) return base::cancel_read(device, irp);
        auto* own = extension_of<slot_extension>(device);
        KeAcquireSpinLockAtDpcLevel(&own->lock);
        if (own->waiting == irp) own->waiting = nullptr;
        KeReleaseSpinLockFromDpcLevel(&own->lock);
        const KIRQL irql = irp->CancelIrql;
        complete(irp, STATUS_CANCELLED);
        IoReleaseCancelSpinLock(irql);
    }
};

/// The cancel routine leaves the cancelled read in the slot.
template <bool Correct>
struct left_in_slot : slot_driver<left_in_slot<Correct>> {
    static void cancel_read(PDEVICE_OBJECT device, PIRP irp) {
        if (Correct) return slot_driver<left_in_slot>::cancel_read(device, irp);
        IoReleaseCancelSpinLock(irp->CancelIrql);
        complete(irp, STATUS_CANCELLED);
    }
};

/// The cancel routine takes the driver's lock inside the cancel spin lock, and the read takes the
/// cancel spin lock inside the driver's lock.
template <bool Correct>
struct cancel_lock_inside : slot_driver<cancel_lock_inside<Correct>> {
    using base = slot_driver<cancel_lock_inside>;
    static void cancel_read(PDEVICE_OBJECT device, PIRP irp) {
        if (Correct) return base::cancel_read(device, irp);
        auto* own = extension_of<slot_extension>(device);
        KeAcquireSpinLockAtDpcLevel(&own->lock);
        if (own->waiting == irp) own->waiting = nullptr;
        KeReleaseSpinLockFromDpcLevel(&own->lock);
        IoReleaseCancelSpinLock(irp->CancelIrql);
        complete(irp, STATUS_CANCELLED);
    }
    static PIRP take(slot_extension* own) {
        if (Correct) return base::take(own);
        KIRQL irql;
        KIRQL cancel_irql;
        KeAcquireSpinLock(&own->lock, &irql);
        IoAcquireCancelSpinLock(&cancel_irql);
        PIRP read = own->waiting;
        if (read != nullptr && IoSetCancelRoutine(read, nullptr) == nullptr) read = nullptr;
        if (read != nullptr) own->waiting = nullptr;
        IoReleaseCancelSpinLock(cancel_irql);
        KeReleaseSpinLock(&own->lock, irql);
        return read;
    }
};

/// Reads wait in a cancel-safe queue. Cleanup aborts the reads of all files, not of its own.
template <bool Correct>
struct cleanup_of_others : plain_driver {
    struct extension {
        irp_queue reads;
    };
    static NTSTATUS read(PDEVICE_OBJECT device, PIRP irp) {
        return extension_of<extension>(device)->reads.insert(irp);
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        const PIRP read = extension_of<extension>(device)->reads.next();
        if (read == nullptr) return complete(irp, STATUS_DEVICE_NOT_READY);
        hand_over(read, irp);
        return complete(irp, STATUS_SUCCESS, write_length(irp));
    }
    static NTSTATUS cleanup(PDEVICE_OBJECT device, PIRP irp) {
        PVOID file = Correct ? IoGetCurrentIrpStackLocation(irp)->FileObject : nullptr;
        extension_of<extension>(device)->reads.abort(STATUS_CANCELLED, file);
        return complete(irp, STATUS_SUCCESS);
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        extension_of<extension>(device)->reads.prepare();
        driver->MajorFunction[IRP_MJ_READ] = read;
        driver->MajorFunction[IRP_MJ_WRITE] = write;
        driver->MajorFunction[IRP_MJ_CLEANUP] = cleanup;
    }
};

template <class Driver>
outcome two_files(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    request reading;
    open.start_read(reading, 8);
    here.actor("visitor", [&] {
        file other;
        here.expect(other.opened() == STATUS_SUCCESS, "the file was not opened");
        other.close();
    });
    here.actor("writer", [&] {
        while (open.write("hello") == STATUS_DEVICE_NOT_READY)
            if (reading.information() == 0 && reading.status() == STATUS_CANCELLED) return;
    });
    here.actor("reader", [&] {
        here.expect(reading.status() == STATUS_SUCCESS, "the read was cancelled by no one");
    });
    here.run();
    return here.finish();
}

/// There is no IRP_MJ_CLEANUP: reads that wait when their file is closed wait for ever.
template <bool Correct>
struct no_cleanup : cleanup_of_others<true> {
    static NTSTATUS read(PDEVICE_OBJECT device, PIRP irp) {
        if (Correct) return cleanup_of_others<true>::read(device, irp);
        IoMarkIrpPending(irp);
        auto& reads = extension_of<extension>(device)->reads;
        ExInterlockedInsertTailList(&reads.irps, &irp->Tail.Overlay.ListEntry, &reads.lock);
        return STATUS_PENDING;
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        cleanup_of_others<true>::prepare(driver, device);
        driver->MajorFunction[IRP_MJ_READ] = read;
        if (!Correct) driver->MajorFunction[IRP_MJ_CLEANUP] = succeed;
    }
};

template <class Driver>
outcome closed_while_reading(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    here.actor("user", [&] {
        file open;
        request reading;
        open.start_read(reading, 8);
        open.close();
        here.expect(reading.status() == STATUS_CANCELLED, "the read was not cancelled");
    });
    here.run();
    return here.finish();
}

} // namespace cancel
} // namespace

const std::vector<defect>& cancel_defects() {
    using namespace cancel;
    static const std::vector<defect> all{
        {"CancelNotLookedAtAgain", reader_writer_canceller<no_second_look<false>>,
         reader_writer_canceller<no_second_look<true>>},
        {"CancelResultIgnored", reader_writer_canceller<result_ignored<false>>,
         reader_writer_canceller<result_ignored<true>>},
        {"CompletedWithCancelRoutine", reader_writer_canceller<routine_left_set<false>>,
         reader_writer_canceller<routine_left_set<true>>},
        {"CompletedUnderCancelLock", reader_writer_canceller<completed_under_cancel_lock<false>>,
         reader_writer_canceller<completed_under_cancel_lock<true>>},
        {"CancelledIrpLeftInSlot", reader_writer_canceller<left_in_slot<false>>,
         reader_writer_canceller<left_in_slot<true>>},
        {"CancelLockInsideOwnLock", reader_writer_canceller<cancel_lock_inside<false>>,
         reader_writer_canceller<cancel_lock_inside<true>>},
        {"CleanupCancelsOtherFiles", two_files<cleanup_of_others<false>>,
         two_files<cleanup_of_others<true>>},
        {"ReadsLeftAtCleanup", closed_while_reading<no_cleanup<false>>,
         closed_while_reading<no_cleanup<true>>},
    };
    return all;
}

} // namespace strangers
