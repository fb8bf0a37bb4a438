// Mistakes with queues, StartIo, wake-ups and reference counts.
#include "strangers.hpp"

namespace strangers {
namespace {
namespace queues {

// ---- StartIo: a device that serves one write at a time ----

struct start_io_extension {
    KDPC dpc;
    PDEVICE_OBJECT device;
};

template <class Driver>
struct start_io_driver : plain_driver {
    using extension = start_io_extension;
    static void start_io(PDEVICE_OBJECT device, PIRP irp) {
        if (write_length(irp) == 0) return Driver::refuse(device, irp);
        KeInsertQueueDpc(&extension_of<extension>(device)->dpc, nullptr, nullptr);
    }
    static void refuse(PDEVICE_OBJECT device, PIRP irp) {
        IoStartNextPacket(device, FALSE);
        complete(irp, STATUS_INVALID_PARAMETER);
    }
    static void served(PKDPC, PVOID context, PVOID, PVOID) {
        const PDEVICE_OBJECT device = static_cast<extension*>(context)->device;
        Driver::finish(device);
    }
    static void finish(PDEVICE_OBJECT device) {
        const PIRP irp = device->CurrentIrp;
        const ULONG length = write_length(irp);
        IoStartNextPacket(device, FALSE);
        complete(irp, STATUS_SUCCESS, length);
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        IoMarkIrpPending(irp);
        IoStartPacket(device, irp, nullptr, nullptr);
        return STATUS_PENDING;
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        auto* own = extension_of<extension>(device);
        own->device = device;
        KeInitializeDpc(&own->dpc, served, own);
        KeSetTargetProcessorDpc(&own->dpc, 1);
        driver->DriverStartIo = start_io;
        IoSetStartIoAttributes(device, TRUE, TRUE); // `refuse` starts the next from DriverStartIo
        driver->MajorFunction[IRP_MJ_WRITE] = write;
    }
    static void stop(PDEVICE_OBJECT) { KeFlushQueuedDpcs(); }
};

template <class Driver>
outcome three_writes(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    for (const char* name : {"first", "second"})
        here.actor(name,
                   [&] { here.expect(open.write("hello") == STATUS_SUCCESS, "the write failed"); });
    here.actor("empty", [&] {
        here.expect(open.write("") == STATUS_INVALID_PARAMETER, "the empty write succeeded");
    });
    here.run();
    return here.finish();
}

/// A refused write does not start the next.
template <bool Correct>
struct next_not_started : start_io_driver<next_not_started<Correct>> {
    static void refuse(PDEVICE_OBJECT device, PIRP irp) {
        if (Correct) IoStartNextPacket(device, FALSE);
        complete(irp, STATUS_INVALID_PARAMETER);
    }
};

/// The DPC starts the next write before it looks which one is current.
template <bool Correct>
struct current_read_late : start_io_driver<current_read_late<Correct>> {
    static void finish(PDEVICE_OBJECT device) {
        PIRP irp = device->CurrentIrp;
        IoStartNextPacket(device, FALSE);
        if (!Correct) irp = device->CurrentIrp;
        if (irp != nullptr) complete(irp, STATUS_SUCCESS, 5);
    }
};

// ---- A pipe: writes wait for reads, in order ----

struct pipe_extension {
    irp_queue writes;
    irp_queue reads;
    LONG busy;
    KSPIN_LOCK lock;
};

template <class Driver>
struct pipe_driver : plain_driver {
    using extension = pipe_extension;
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        own->writes.insert(irp);
        return STATUS_PENDING;
    }
    static NTSTATUS read(PDEVICE_OBJECT device, PIRP irp) {
        const PIRP write = extension_of<extension>(device)->writes.next();
        if (write == nullptr) return complete(irp, STATUS_DEVICE_NOT_READY);
        const ULONG length = shorter(read_length(irp), write_length(write));
        std::memcpy(system_buffer(irp), system_buffer(write), length);
        complete(write, STATUS_SUCCESS, length);
        return complete(irp, STATUS_SUCCESS, length);
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        auto* own = extension_of<extension>(device);
        own->writes.prepare();
        own->reads.prepare();
        KeInitializeSpinLock(&own->lock);
        driver->MajorFunction[IRP_MJ_READ] = Driver::read;
        driver->MajorFunction[IRP_MJ_WRITE] = Driver::write;
    }
};

/// Writes are inserted at the head of the queue: the last comes first.
template <bool Correct>
struct last_first : pipe_driver<last_first<Correct>> {
    static void insert_head(PIO_CSQ csq, PIRP irp) {
        InsertHeadList(&irp_queue::of(csq)->irps, &irp->Tail.Overlay.ListEntry);
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        pipe_driver<last_first>::prepare(driver, device);
        if (!Correct) extension_of<pipe_extension>(device)->writes.csq.CsqInsertIrp = insert_head;
    }
};

template <class Driver>
outcome in_order(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    request one;
    request two;
    open.start_write(one, "one");
    open.start_write(two, "two");
    here.actor("reader", [&] {
        std::string text;
        here.expect(open.read(8, &text) == STATUS_SUCCESS && text == "one", "not the first");
        here.expect(open.read(8, &text) == STATUS_SUCCESS && text == "two", "not the second");
    });
    here.run();
    return here.finish();
}

/// A writer that finds the pipe busy leaves the service to the other one, which may have looked at
/// the queue for the last time.
template <bool Correct>
struct busy_cleared_late : pipe_driver<busy_cleared_late<Correct>> {
    static void serve(pipe_extension* own) {
        while (const PIRP irp = own->writes.next())
            complete(irp, STATUS_SUCCESS, 5);
    }
    static bool is_empty(pipe_extension* own) {
        KIRQL irql;
        KeAcquireSpinLock(&own->writes.lock, &irql);
        const bool empty = IsListEmpty(&own->writes.irps);
        KeReleaseSpinLock(&own->writes.lock, irql);
        return empty;
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<pipe_extension>(device);
        own->writes.insert(irp);
        do {
            if (InterlockedCompareExchange(&own->busy, 1, 0) != 0) break;
            serve(own);
            InterlockedExchange(&own->busy, 0);
        } while (Correct && !is_empty(own));
        return STATUS_PENDING;
    }
};

// ---- Data in a list ----

struct item {
    LIST_ENTRY entry;
    LONG references;
    LONG value;
};

struct list_extension {
    KSPIN_LOCK lock;
    LIST_ENTRY items;
    KEVENT event;
    LONG waiters;
    KSEMAPHORE semaphore;
    PVOID shared;
};

template <class Driver>
struct list_driver : plain_driver {
    using extension = list_extension;
    static item* allocate() {
        auto* it = static_cast<item*>(ExAllocatePoolWithTag(NonPagedPool, sizeof(item), tag));
        if (it != nullptr) it->references = 1;
        return it;
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        item* it = allocate();
        if (it == nullptr) return complete(irp, STATUS_INSUFFICIENT_RESOURCES);
        ExInterlockedInsertTailList(&own->items, &it->entry, &own->lock);
        return complete(irp, STATUS_SUCCESS, write_length(irp));
    }
    static NTSTATUS read(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        const PLIST_ENTRY entry = Driver::remove(own);
        if (entry == nullptr) return complete(irp, STATUS_DEVICE_NOT_READY);
        ExFreePoolWithTag(CONTAINING_RECORD(entry, item, entry), tag);
        return complete(irp, STATUS_SUCCESS, 1);
    }
    static PLIST_ENTRY remove(extension* own) {
        return ExInterlockedRemoveHeadList(&own->items, &own->lock);
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        auto* own = extension_of<extension>(device);
        KeInitializeSpinLock(&own->lock);
        InitializeListHead(&own->items);
        KeInitializeEvent(&own->event, SynchronizationEvent, FALSE);
        driver->MajorFunction[IRP_MJ_READ] = Driver::read;
        driver->MajorFunction[IRP_MJ_WRITE] = Driver::write;
    }
    static void stop(PDEVICE_OBJECT device) {
        auto* own = extension_of<extension>(device);
        while (const PLIST_ENTRY entry = ExInterlockedRemoveHeadList(&own->items, &own->lock))
            ExFreePoolWithTag(CONTAINING_RECORD(entry, item, entry), tag);
    }
};

/// The list is found not empty before the lock is acquired.
template <bool Correct>
struct looked_before_lock : list_driver<looked_before_lock<Correct>> {
    static PLIST_ENTRY remove(list_extension* own) {
        if (Correct) return list_driver<looked_before_lock>::remove(own);
        if (IsListEmpty(&own->items)) return nullptr;
        KIRQL irql;
        KeAcquireSpinLock(&own->lock, &irql);
        const PLIST_ENTRY entry = RemoveHeadList(&own->items);
        KeReleaseSpinLock(&own->lock, irql);
        return entry;
    }
};

template <class Driver>
outcome one_item_two_readers(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    here.expect(open.write("x") == STATUS_SUCCESS, "the write failed");
    int taken = 0;
    for (const char* name : {"first", "second"})
        here.actor(name, [&] { taken += open.read(1) == STATUS_SUCCESS; });
    here.run();
    here.expect(taken == 1, "the item was not taken once");
    return here.finish();
}

/// Reads wait at PASSIVE_LEVEL for data. The event wakes one of the readers, and both have data.
template <bool Correct>
struct one_woken : list_driver<one_woken<Correct>> {
    static NTSTATUS read(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<list_extension>(device);
        PLIST_ENTRY entry = nullptr;
        while ((entry = ExInterlockedRemoveHeadList(&own->items, &own->lock)) == nullptr)
            KeWaitForSingleObject(&own->event, Executive, KernelMode, FALSE, nullptr);
        if (Correct) KeSetEvent(&own->event, IO_NO_INCREMENT, FALSE); // the next one looks too
        ExFreePoolWithTag(CONTAINING_RECORD(entry, item, entry), tag);
        return complete(irp, STATUS_SUCCESS, 1);
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<list_extension>(device);
        item* both[] = {list_driver<one_woken>::allocate(), list_driver<one_woken>::allocate()};
        for (item* it : both)
            if (it != nullptr) ExInterlockedInsertTailList(&own->items, &it->entry, &own->lock);
        KeSetEvent(&own->event, IO_NO_INCREMENT, FALSE);
        return complete(irp, STATUS_SUCCESS, write_length(irp));
    }
};

/// The write pulses the event, which is lost on a reader that has looked and does not wait yet.
template <bool Correct>
struct pulsed : list_driver<pulsed<Correct>> {
    static NTSTATUS read(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<list_extension>(device);
        PLIST_ENTRY entry = nullptr;
        while ((entry = ExInterlockedRemoveHeadList(&own->items, &own->lock)) == nullptr)
            KeWaitForSingleObject(&own->event, Executive, KernelMode, FALSE, nullptr);
        if (Correct) KeSetEvent(&own->event, IO_NO_INCREMENT, FALSE);
        ExFreePoolWithTag(CONTAINING_RECORD(entry, item, entry), tag);
        return complete(irp, STATUS_SUCCESS, 1);
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        const NTSTATUS status = list_driver<pulsed>::write(device, irp);
        const PRKEVENT event = &extension_of<list_extension>(device)->event;
        if (Correct)
            KeSetEvent(event, IO_NO_INCREMENT, FALSE);
        else
            KePulseEvent(event, IO_NO_INCREMENT, FALSE);
        return status;
    }
};

template <class Driver, int Writes>
outcome two_waiting_readers(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    for (const char* name : {"first", "second"})
        here.actor(name, [&] { here.expect(open.read(1) == STATUS_SUCCESS, "the read failed"); });
    here.actor("writer", [&] {
        for (int i = 0; i < Writes; ++i)
            here.expect(open.write("x") == STATUS_SUCCESS, "the write failed");
    });
    here.run();
    return here.finish();
}

// ---- A shared object with a count of references ----

/// The count is decremented, and then read again for the decision who frees the object.
template <bool Correct>
struct count_read_again : list_driver<count_read_again<Correct>> {
    static void drop(item* it) {
        const LONG left = InterlockedDecrement(&it->references);
        if ((Correct ? left : it->references) == 0) ExFreePoolWithTag(it, tag);
    }
    static NTSTATUS read(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<list_extension>(device);
        drop(static_cast<item*>(own->shared));
        return complete(irp, STATUS_SUCCESS, 1);
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<list_extension>(device);
        item* it = list_driver<count_read_again>::allocate();
        if (it == nullptr) return complete(irp, STATUS_INSUFFICIENT_RESOURCES);
        it->references = 2; // of two readers
        own->shared = it;
        return complete(irp, STATUS_SUCCESS, write_length(irp));
    }
};

template <class Driver>
outcome two_droppers(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    open.write("x");
    for (const char* name : {"first", "second"})
        here.actor(name, [&] { open.read(1); });
    here.run();
    return here.finish();
}

/// A read finds the shared object and then counts its reference; a write replaces the object
/// at the same time and frees the old one.
template <bool Correct>
struct referenced_late : list_driver<referenced_late<Correct>> {
    static void drop(item* it) {
        if (it != nullptr && InterlockedDecrement(&it->references) == 0) ExFreePoolWithTag(it, tag);
    }
    static item* find(list_extension* own) {
        KIRQL irql;
        KeAcquireSpinLock(&own->lock, &irql);
        auto* it = static_cast<item*>(own->shared);
        if (Correct && it != nullptr) InterlockedIncrement(&it->references);
        KeReleaseSpinLock(&own->lock, irql);
        if (!Correct && it != nullptr) InterlockedIncrement(&it->references);
        return it;
    }
    static item* replace(list_extension* own, item* by) {
        KIRQL irql;
        KeAcquireSpinLock(&own->lock, &irql);
        auto* old = static_cast<item*>(std::exchange(own->shared, by));
        KeReleaseSpinLock(&own->lock, irql);
        return old;
    }
    static NTSTATUS read(PDEVICE_OBJECT device, PIRP irp) {
        item* it = find(extension_of<list_extension>(device));
        drop(it);
        return complete(irp, it != nullptr ? STATUS_SUCCESS : STATUS_DEVICE_NOT_READY);
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        drop(replace(extension_of<list_extension>(device),
                     list_driver<referenced_late>::allocate()));
        return complete(irp, STATUS_SUCCESS, write_length(irp));
    }
    static void stop(PDEVICE_OBJECT device) {
        drop(replace(extension_of<list_extension>(device), nullptr));
    }
};

template <class Driver>
outcome read_and_replace(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    open.write("x");
    here.actor("reader", [&] { here.expect(open.read(1) == STATUS_SUCCESS, "the read failed"); });
    here.actor("writer", [&] { open.write("y"); });
    here.run();
    return here.finish();
}

} // namespace queues
} // namespace

const std::vector<defect>& queue_defects() {
    using namespace queues;
    static const std::vector<defect> all{
        {"NextPacketNotStarted", three_writes<next_not_started<false>>,
         three_writes<next_not_started<true>>},
        {"CurrentIrpReadLate", three_writes<current_read_late<false>>,
         three_writes<current_read_late<true>>},
        {"LastWriteFirst", in_order<last_first<false>>, in_order<last_first<true>>},
        {"BusyClearedLate", two_writers<busy_cleared_late<false>>,
         two_writers<busy_cleared_late<true>>},
        {"ListLookedAtBeforeLock", one_item_two_readers<looked_before_lock<false>>,
         one_item_two_readers<looked_before_lock<true>>},
        {"OneOfTwoWoken", two_waiting_readers<one_woken<false>, 1>,
         two_waiting_readers<one_woken<true>, 1>},
        {"EventPulsed", two_waiting_readers<pulsed<false>, 2>,
         two_waiting_readers<pulsed<true>, 2>},
        {"CountReadAgain", two_droppers<count_read_again<false>>,
         two_droppers<count_read_again<true>>},
        {"ReferencedLate", read_and_replace<referenced_late<false>>,
         read_and_replace<referenced_late<true>>},
    };
    return all;
}

} // namespace strangers
