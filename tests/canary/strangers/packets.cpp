// Mistakes with the current packet of a device, with MDLs, and a right driver that was accused: the
// second stranger's.
#include "strangers.hpp"

namespace strangers {
namespace {
namespace packets {

// ---- One request at a time, which its time-out or a write ends ----

/// A write ends the packet whether or not it stopped the timer, whose DPC may be ending it.
template <bool Correct>
struct packet_ended_twice : plain_driver {
    struct extension {
        KTIMER timer;
        KDPC late;
    };
    static void end(PDEVICE_OBJECT device, NTSTATUS status) {
        const PIRP irp = device->CurrentIrp;
        if (irp == nullptr) return;
        IoStartNextPacket(device, FALSE);
        complete(irp, status);
    }
    static void time_out(PKDPC, PVOID context, PVOID, PVOID) {
        end(static_cast<PDEVICE_OBJECT>(context), STATUS_IO_TIMEOUT);
    }
    static void start_io(PDEVICE_OBJECT device, PIRP) {
        auto* own = extension_of<extension>(device);
        KeSetTimer(&own->timer, after_ms(1), &own->late);
    }
    static NTSTATUS read(PDEVICE_OBJECT device, PIRP irp) {
        IoMarkIrpPending(irp);
        IoStartPacket(device, irp, nullptr, nullptr);
        return STATUS_PENDING;
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        KIRQL level = PASSIVE_LEVEL;
        KeRaiseIrql(DISPATCH_LEVEL, &level);
        const BOOLEAN stopped = KeCancelTimer(&extension_of<extension>(device)->timer);
        if (!Correct || stopped) end(device, STATUS_SUCCESS);
        KeLowerIrql(level);
        return complete(irp, STATUS_SUCCESS, write_length(irp));
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        auto* own = extension_of<extension>(device);
        KeInitializeTimer(&own->timer);
        KeInitializeDpc(&own->late, time_out, device);
        driver->DriverStartIo = start_io;
        driver->MajorFunction[IRP_MJ_READ] = read;
        driver->MajorFunction[IRP_MJ_WRITE] = write;
    }
    static void stop(PDEVICE_OBJECT device) {
        KeCancelTimer(&extension_of<extension>(device)->timer);
        KeFlushQueuedDpcs();
    }
};

template <class Driver>
outcome two_readers_and_a_writer(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    for (const char* name : {"reader", "other reader"})
        here.actor(name, [&] {
            const NTSTATUS status = open.read(4);
            here.expect(status == STATUS_SUCCESS || status == STATUS_IO_TIMEOUT, "the read failed");
        });
    here.actor("writer", [&] {
        LARGE_INTEGER time = after_ms(1);
        KeDelayExecutionThread(KernelMode, FALSE, &time);
        here.expect(open.write("x") == STATUS_SUCCESS, "the write failed");
    });
    here.run();
    return here.finish();
}

// ---- A filter above a driver with direct I/O ----

struct direct_driver : lower_driver {
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        lower_driver::prepare(driver, device);
        device->Flags &= ~static_cast<ULONG>(DO_BUFFERED_IO);
        device->Flags |= DO_DIRECT_IO;
    }
};

template <class Filter>
struct direct_filter {
    struct extension {
        PDEVICE_OBJECT lower;
    };
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        device->Flags |= DO_DIRECT_IO;
        driver->MajorFunction[IRP_MJ_WRITE] = Filter::write;
    }
};

/// The filter's own request has an MDL, which no one else frees.
template <bool Correct>
struct mdl_left : direct_filter<mdl_left<Correct>> {
    static NTSTATUS finished(PDEVICE_OBJECT, PIRP own, PVOID context) {
        const auto user = static_cast<PIRP>(context);
        const NTSTATUS status = own->IoStatus.Status;
        while (Correct && own->MdlAddress != nullptr) {
            const PMDL mdl = std::exchange(own->MdlAddress, own->MdlAddress->Next);
            MmUnlockPages(mdl);
            IoFreeMdl(mdl);
        }
        IoFreeIrp(own);
        complete(user, status, write_length(user));
        return STATUS_MORE_PROCESSING_REQUIRED;
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        const PDEVICE_OBJECT lower =
            extension_of<typename direct_filter<mdl_left>::extension>(device)->lower;
        LARGE_INTEGER start{};
        const PIRP own = IoBuildAsynchronousFsdRequest(IRP_MJ_WRITE, lower,
                                                       MmGetMdlVirtualAddress(irp->MdlAddress),
                                                       write_length(irp), &start, nullptr);
        if (own == nullptr) return complete(irp, STATUS_INSUFFICIENT_RESOURCES);
        IoSetCompletionRoutine(own, finished, irp, TRUE, TRUE, TRUE);
        IoMarkIrpPending(irp);
        IoCallDriver(lower, own);
        return STATUS_PENDING;
    }
};

/// The request is passed down with an MDL of its first half, which is freed when it comes back.
template <bool Correct>
struct mdl_left_in_irp : direct_filter<mdl_left_in_irp<Correct>> {
    static NTSTATUS finished(PDEVICE_OBJECT, PIRP irp, PVOID context) {
        if (irp->PendingReturned) IoMarkIrpPending(irp);
        IoFreeMdl(irp->MdlAddress);
        if (Correct) irp->MdlAddress = static_cast<PMDL>(context);
        return STATUS_CONTINUE_COMPLETION;
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        const PMDL whole = irp->MdlAddress;
        const ULONG half = write_length(irp) / 2;
        const PMDL part = IoAllocateMdl(MmGetMdlVirtualAddress(whole), half, FALSE, FALSE, nullptr);
        if (part == nullptr) return complete(irp, STATUS_INSUFFICIENT_RESOURCES);
        irp->MdlAddress = part;
        IoCopyCurrentIrpStackLocationToNext(irp);
        IoGetNextIrpStackLocation(irp)->Parameters.Write.Length = half;
        IoSetCompletionRoutine(irp, finished, whole, TRUE, TRUE, TRUE);
        return IoCallDriver(
            extension_of<typename direct_filter<mdl_left_in_irp>::extension>(device)->lower, irp);
    }
};

template <class Filter>
outcome filtered_write(sim_machine& sim) {
    world here(sim, {driver_entry<direct_driver>, filter_entry<Filter>});
    file& open = here.open();
    here.actor("user",
               [&] { here.expect(open.write("hello") == STATUS_SUCCESS, "the write failed"); });
    here.run();
    return here.finish();
}

// ---- A periodic timer of each file, which lives in pool ----

/// The close frees the timer while its DPC may be queued. The corrected driver was accused: its
/// timer fired thousands of times during delays of seconds, and the run reached its step limit.
template <bool Correct>
struct beat_of_a_file : plain_driver {
    struct beat {
        KTIMER timer;
        KDPC tick;
        LONG ticks;
    };
    static void tick(PKDPC, PVOID context, PVOID, PVOID) {
        InterlockedIncrement(&static_cast<beat*>(context)->ticks);
    }
    static NTSTATUS create(PDEVICE_OBJECT, PIRP irp) {
        auto* made = static_cast<beat*>(ExAllocatePoolWithTag(NonPagedPool, sizeof(beat), tag));
        if (made == nullptr) return complete(irp, STATUS_INSUFFICIENT_RESOURCES);
        KeInitializeTimerEx(&made->timer, SynchronizationTimer);
        KeInitializeDpc(&made->tick, tick, made);
        made->ticks = 0;
        IoGetCurrentIrpStackLocation(irp)->FileObject->FsContext = made;
        KeSetTimerEx(&made->timer, after_ms(1), 1, &made->tick);
        return complete(irp, STATUS_SUCCESS);
    }
    static NTSTATUS close(PDEVICE_OBJECT, PIRP irp) {
        auto* made = static_cast<beat*>(IoGetCurrentIrpStackLocation(irp)->FileObject->FsContext);
        KeCancelTimer(&made->timer);
        if (Correct) KeFlushQueuedDpcs();
        ExFreePoolWithTag(made, tag);
        return complete(irp, STATUS_SUCCESS);
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT) {
        driver->MajorFunction[IRP_MJ_CREATE] = create;
        driver->MajorFunction[IRP_MJ_CLOSE] = close;
    }
};

template <class Driver>
outcome open_for_a_while(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    here.actor("user", [&] {
        file open;
        LARGE_INTEGER time = after_ms(2);
        KeDelayExecutionThread(KernelMode, FALSE, &time);
    });
    here.run();
    return here.finish();
}

} // namespace packets
} // namespace

const std::vector<defect>& packet_defects() {
    using namespace packets;
    static const std::vector<defect> all = {
        {"PacketEndedTwice", two_readers_and_a_writer<packet_ended_twice<false>>,
         two_readers_and_a_writer<packet_ended_twice<true>>},
        {"MdlLeft", filtered_write<mdl_left<false>>, filtered_write<mdl_left<true>>, true,
         "PoolLeak"},
        {"MdlLeftInIrp", filtered_write<mdl_left_in_irp<false>>,
         filtered_write<mdl_left_in_irp<true>>, true, "PoolFreedTwice"},
        {"BeatOfAFile", open_for_a_while<beat_of_a_file<false>>,
         open_for_a_while<beat_of_a_file<true>>},
    };
    return all;
}

} // namespace strangers
