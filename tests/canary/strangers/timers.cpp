// Mistakes with timers, DPCs and the memory that they use.
#include "strangers.hpp"

namespace strangers {
namespace {
namespace timers {

/// A user that reads and another that writes.
template <class Driver>
outcome read_and_write(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    here.actor("reader", [&] {
        const NTSTATUS status = open.read(8);
        here.expect(status == STATUS_SUCCESS || status == STATUS_IO_TIMEOUT, "the read is wrong");
    });
    here.actor("writer", [&] {
        const NTSTATUS status = open.write("hello");
        here.expect(status == STATUS_SUCCESS || status == STATUS_DEVICE_NOT_READY,
                    "the write is wrong");
    });
    here.run();
    return here.finish();
}

/// The data are there well before the time-out of a second.
template <class Driver>
outcome written_in_time(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    request reading;
    here.actor("user", [&] {
        open.start_read(reading, 8);
        LARGE_INTEGER time = after_ms(100);
        KeDelayExecutionThread(KernelMode, FALSE, &time);
        const NTSTATUS status = open.write("hello");
        here.expect(status == STATUS_SUCCESS || sim.delayed_time() != 0, "the write found no read");
    });
    here.run();
    here.expect(reading.status() == STATUS_SUCCESS || sim.delayed_time() != 0,
                "the read timed out");
    return here.finish();
}

// ---- A read waits for a write, at most a second ----

struct timed_extension {
    irp_queue reads;
    KTIMER timer;
    KDPC dpc;
    LONG expired;
};

template <class Driver>
struct timed_driver : plain_driver {
    using extension = timed_extension;
    static void expire(PKDPC, PVOID context, PVOID, PVOID) {
        auto* own = static_cast<extension*>(context);
        InterlockedIncrement(&own->expired);
        own->reads.abort(STATUS_IO_TIMEOUT);
    }
    static void arm(extension* own) { KeSetTimer(&own->timer, after_ms(1000), &own->dpc); }
    static NTSTATUS read(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        own->reads.insert(irp);
        Driver::arm(own);
        return STATUS_PENDING;
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        const PIRP read = extension_of<extension>(device)->reads.next();
        if (read == nullptr) return complete(irp, STATUS_DEVICE_NOT_READY);
        hand_over(read, irp);
        return complete(irp, STATUS_SUCCESS, write_length(irp));
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        auto* own = extension_of<extension>(device);
        own->reads.prepare();
        KeInitializeTimer(&own->timer);
        KeInitializeDpc(&own->dpc, Driver::expire, own);
        driver->MajorFunction[IRP_MJ_READ] = Driver::read;
        driver->MajorFunction[IRP_MJ_WRITE] = Driver::write;
    }
    static void stop(PDEVICE_OBJECT device) {
        KeCancelTimer(&extension_of<extension>(device)->timer);
        KeFlushQueuedDpcs();
    }
};

/// The timer is still set when the device is deleted.
template <bool Correct>
struct timer_at_unload : timed_driver<timer_at_unload<Correct>> {
    static void stop(PDEVICE_OBJECT device) {
        if (Correct) timed_driver<timer_at_unload>::stop(device);
    }
};

/// Each read initialises the timer again, which may be set.
template <bool Correct>
struct timer_initialised_again : timed_driver<timer_initialised_again<Correct>> {
    static void arm(timed_extension* own) {
        if (!Correct) KeInitializeTimer(&own->timer);
        KeSetTimer(&own->timer, after_ms(1000), &own->dpc);
    }
};

template <class Driver>
outcome two_reads(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    for (const char* name : {"first", "second"})
        here.actor(name, [&] {
            here.expect(open.read(8) == STATUS_IO_TIMEOUT, "the read did not time out");
        });
    here.run();
    return here.finish();
}

/// The due time is positive: a time in the past instead of a second from now.
template <bool Correct>
struct absolute_due_time : timed_driver<absolute_due_time<Correct>> {
    static void arm(timed_extension* own) {
        LARGE_INTEGER due = after_ms(1000);
        if (!Correct) due.QuadPart = 10'000'000;
        KeSetTimer(&own->timer, due, &own->dpc);
    }
};

/// The timer is set once more by its own DPC until `stopping`; unload cancels it only once.
template <bool Correct>
struct rearmed_after_cancel : timed_driver<rearmed_after_cancel<Correct>> {
    static void expire(PKDPC, PVOID context, PVOID, PVOID) {
        auto* own = static_cast<timed_extension*>(context);
        own->reads.abort(STATUS_IO_TIMEOUT);
        if (own->expired == 0) KeSetTimer(&own->timer, after_ms(1000), &own->dpc);
    }
    static void stop(PDEVICE_OBJECT device) {
        auto* own = extension_of<timed_extension>(device);
        if (Correct) InterlockedIncrement(&own->expired);
        KeCancelTimer(&own->timer);
        KeFlushQueuedDpcs();
        if (Correct) KeCancelTimer(&own->timer);
    }
};

/// The read has its data; the user unloads the driver at once.
template <class Driver>
outcome written_and_unloaded(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    here.actor("user", [&] {
        file open;
        request reading;
        open.start_read(reading, 8);
        open.write("hello");
        reading.status();
        open.close();
        here.expect(!here.finish(), "something is wrong");
    });
    here.run();
    return here.finish();
}

template <class Driver>
outcome unload_after_read(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    here.actor("reader", [&] {
        file open;
        here.expect(open.read(8) == STATUS_IO_TIMEOUT, "the read did not time out");
        open.close();
        here.expect(!here.finish(), "something is wrong");
    });
    here.run();
    return here.finish();
}

// ---- A poll of the hardware: a timer in pool memory ----

/// A control code starts a timer in a block of the pool, another stops it and frees the block,
/// without a look whether its DPC is about to run.
template <bool Correct>
struct freed_under_dpc : plain_driver {
    struct poll {
        KTIMER timer;
        KDPC dpc;
        LONG count;
    };
    struct extension {
        PVOID polling;
    };
    static constexpr ULONG start_code = control(0x800, METHOD_BUFFERED);
    static constexpr ULONG stop_code = control(0x801, METHOD_BUFFERED);
    static void tick(PKDPC, PVOID context, PVOID, PVOID) {
        InterlockedIncrement(&static_cast<poll*>(context)->count);
    }
    static NTSTATUS start(extension* own) {
        auto* it = static_cast<poll*>(ExAllocatePoolWithTag(NonPagedPool, sizeof(poll), tag));
        if (it == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
        it->count = 0;
        KeInitializeTimer(&it->timer);
        KeInitializeDpc(&it->dpc, tick, it);
        KeSetTargetProcessorDpc(&it->dpc, 1);
        KeSetTimerEx(&it->timer, after_ms(10), 10, &it->dpc);
        InterlockedExchangePointer(&own->polling, it);
        return STATUS_SUCCESS;
    }
    static NTSTATUS end(extension* own) {
        auto* it = static_cast<poll*>(InterlockedExchangePointer(&own->polling, nullptr));
        if (it == nullptr) return STATUS_DEVICE_NOT_READY;
        KeCancelTimer(&it->timer);
        if (Correct) KeFlushQueuedDpcs();
        ExFreePoolWithTag(it, tag);
        return STATUS_SUCCESS;
    }
    static NTSTATUS device_control(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        return complete(irp, control_code(irp) == start_code ? start(own) : end(own));
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT) {
        driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = device_control;
    }
};

template <class Driver>
outcome poll_for_a_while(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    here.actor("user", [&] {
        here.expect(open.control(Driver::start_code) == STATUS_SUCCESS, "not started");
        LARGE_INTEGER time = after_ms(30);
        KeDelayExecutionThread(KernelMode, FALSE, &time);
        here.expect(open.control(Driver::stop_code) == STATUS_SUCCESS, "not stopped");
    });
    here.run();
    return here.finish();
}

// ---- One request with its own timer ----

/// A write completes the read, and so does its time-out: both look at the slot without a lock.
template <bool Correct>
struct both_complete : plain_driver {
    struct extension {
        PVOID waiting;
        KTIMER timer;
        KDPC dpc;
    };
    static PIRP take(extension* own) {
        if (Correct) return static_cast<PIRP>(InterlockedExchangePointer(&own->waiting, nullptr));
        const auto irp = static_cast<PIRP>(own->waiting);
        KeCancelTimer(&own->timer);
        own->waiting = nullptr;
        return irp;
    }
    static void expire(PKDPC, PVOID context, PVOID, PVOID) {
        if (const PIRP read = take(static_cast<extension*>(context)))
            complete(read, STATUS_IO_TIMEOUT);
    }
    static NTSTATUS read(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        IoMarkIrpPending(irp);
        InterlockedExchangePointer(&own->waiting, irp);
        KeSetTimer(&own->timer, after_ms(1), &own->dpc);
        return STATUS_PENDING;
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        const PIRP read = take(extension_of<extension>(device));
        if (read == nullptr) return complete(irp, STATUS_DEVICE_NOT_READY);
        hand_over(read, irp);
        return complete(irp, STATUS_SUCCESS, write_length(irp));
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        auto* own = extension_of<extension>(device);
        KeInitializeTimer(&own->timer);
        KeInitializeDpc(&own->dpc, expire, own);
        driver->MajorFunction[IRP_MJ_READ] = read;
        driver->MajorFunction[IRP_MJ_WRITE] = write;
    }
    static void stop(PDEVICE_OBJECT device) {
        KeCancelTimer(&extension_of<extension>(device)->timer);
        KeFlushQueuedDpcs();
    }
};

/// A watchdog holds a reference while it is set. The write that cancels it in time forgets to drop
/// it.
template <bool Correct>
struct reference_of_timer : plain_driver {
    struct extension {
        KTIMER timer;
        KDPC dpc;
        LONG references;
        KEVENT unused;
    };
    static void drop(extension* own) {
        if (InterlockedDecrement(&own->references) == 0)
            KeSetEvent(&own->unused, IO_NO_INCREMENT, FALSE);
    }
    static void expire(PKDPC, PVOID context, PVOID, PVOID) {
        drop(static_cast<extension*>(context));
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        InterlockedIncrement(&own->references);
        if (KeSetTimer(&own->timer, after_ms(1000), &own->dpc)) drop(own);
        const ULONG length = write_length(irp);
        // The hardware is served here.
        if (KeCancelTimer(&own->timer) && Correct) drop(own);
        return complete(irp, STATUS_SUCCESS, length);
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        auto* own = extension_of<extension>(device);
        own->references = 1;
        KeInitializeEvent(&own->unused, NotificationEvent, FALSE);
        KeInitializeTimer(&own->timer);
        KeInitializeDpc(&own->dpc, expire, own);
        driver->MajorFunction[IRP_MJ_WRITE] = write;
    }
    static void stop(PDEVICE_OBJECT device) {
        auto* own = extension_of<extension>(device);
        drop(own);
        KeWaitForSingleObject(&own->unused, Executive, KernelMode, FALSE, nullptr);
        KeFlushQueuedDpcs();
    }
};

/// A DPC is queued for each write; what the second write asked for is lost while it is queued.
template <bool Correct>
struct dpc_argument_lost : plain_driver {
    struct extension {
        KDPC dpc;
        irp_queue writes;
    };
    static void serve(PKDPC, PVOID context, PVOID argument, PVOID) {
        auto* own = static_cast<extension*>(context);
        if (Correct)
            own->writes.abort(STATUS_SUCCESS);
        else
            complete(static_cast<PIRP>(argument), STATUS_SUCCESS);
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        if (Correct)
            own->writes.insert(irp);
        else
            IoMarkIrpPending(irp);
        KeInsertQueueDpc(&own->dpc, irp, nullptr);
        return STATUS_PENDING;
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        auto* own = extension_of<extension>(device);
        own->writes.prepare();
        KeInitializeDpc(&own->dpc, serve, own);
        KeSetTargetProcessorDpc(&own->dpc, 1);
        driver->MajorFunction[IRP_MJ_WRITE] = write;
    }
    static void stop(PDEVICE_OBJECT) { KeFlushQueuedDpcs(); }
};

} // namespace timers
} // namespace

const std::vector<defect>& timer_defects() {
    using namespace timers;
    static const std::vector<defect> all{
        {"TimerSetAtUnload", written_and_unloaded<timer_at_unload<false>>,
         written_and_unloaded<timer_at_unload<true>>},
        {"TimerInitialisedWhileSet", two_reads<timer_initialised_again<false>>,
         two_reads<timer_initialised_again<true>>},
        {"AbsoluteDueTime", written_in_time<absolute_due_time<false>>,
         written_in_time<absolute_due_time<true>>},
        {"TimerSetAgainAfterCancel", unload_after_read<rearmed_after_cancel<false>>,
         unload_after_read<rearmed_after_cancel<true>>},
        {"FreedUnderDpc", poll_for_a_while<freed_under_dpc<false>>,
         poll_for_a_while<freed_under_dpc<true>>},
        {"TimeoutAndWriteComplete", read_and_write<both_complete<false>>,
         read_and_write<both_complete<true>>},
        {"ReferenceOfCancelledTimer", two_writers<reference_of_timer<false>>,
         two_writers<reference_of_timer<true>>},
        {"DpcArgumentLost", two_writers<dpc_argument_lost<false>>,
         two_writers<dpc_argument_lost<true>>},
    };
    return all;
}

} // namespace strangers
