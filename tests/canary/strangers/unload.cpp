// Mistakes with work items, system threads, references and unloading.
#include "strangers.hpp"

namespace strangers {
namespace {
namespace unload {

/// One write; the user unloads the driver as soon as that has completed.
template <class Driver>
outcome write_and_unload(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    here.actor("user", [&] {
        file open;
        here.expect(open.write("hello") == STATUS_SUCCESS, "the write failed");
        open.close();
        here.expect(!here.finish(), "something is wrong");
    });
    here.run();
    return here.finish();
}

// ---- Writes are served by a work item ----

struct worker_extension {
    irp_queue writes;
    WORK_QUEUE_ITEM item;
    LONG queued;
    LONG served;
    KEVENT idle;
};

template <class Driver>
struct worker_driver : plain_driver {
    using extension = worker_extension;
    static void work(PVOID context) {
        auto* own = static_cast<extension*>(context);
        InterlockedExchange(&own->queued, 0);
        own->writes.abort(STATUS_SUCCESS);
    }
    static void kick(extension* own) {
        if (InterlockedExchange(&own->queued, 1) == 0)
            ExQueueWorkItem(&own->item, DelayedWorkQueue);
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        own->writes.insert(irp);
        Driver::kick(own);
        return STATUS_PENDING;
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        auto* own = extension_of<extension>(device);
        own->writes.prepare();
        KeInitializeEvent(&own->idle, NotificationEvent, FALSE);
        ExInitializeWorkItem(&own->item, Driver::work, own);
        driver->MajorFunction[IRP_MJ_WRITE] = write;
    }
};

/// The flag "queued" is cleared after the queue was served: a write in between is not served.
template <bool Correct>
struct flag_cleared_late : worker_driver<flag_cleared_late<Correct>> {
    static void work(PVOID context) {
        auto* own = static_cast<worker_extension*>(context);
        if (Correct) InterlockedExchange(&own->queued, 0);
        own->writes.abort(STATUS_SUCCESS);
        if (!Correct) InterlockedExchange(&own->queued, 0);
    }
};

/// Each write queues the item, which may be queued.
template <bool Correct>
struct item_queued_twice : worker_driver<item_queued_twice<Correct>> {
    static void kick(worker_extension* own) {
        if (Correct) return worker_driver<item_queued_twice>::kick(own);
        ExQueueWorkItem(&own->item, DelayedWorkQueue);
    }
};

/// The write completes at once, and the item writes to the extension later; unload does not wait.
template <bool Correct>
struct worker_at_unload : worker_driver<worker_at_unload<Correct>> {
    static void work(PVOID context) {
        auto* own = static_cast<worker_extension*>(context);
        InterlockedIncrement(&own->served);
        if (Correct) KeSetEvent(&own->idle, IO_NO_INCREMENT, FALSE);
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<worker_extension>(device);
        ExQueueWorkItem(&own->item, DelayedWorkQueue);
        return complete(irp, STATUS_SUCCESS, write_length(irp));
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        worker_driver<worker_at_unload>::prepare(driver, device);
        driver->MajorFunction[IRP_MJ_WRITE] = write;
    }
    static void stop(PDEVICE_OBJECT device) {
        if (Correct)
            KeWaitForSingleObject(&extension_of<worker_extension>(device)->idle, Executive,
                                  KernelMode, FALSE, nullptr);
    }
};

/// The write frees its work item as soon as it has queued it; the routine should.
template <bool Correct>
struct item_freed_by_queuer : plain_driver {
    struct job {
        PIO_WORKITEM item;
        PIRP irp;
    };
    static void work(PDEVICE_OBJECT, PVOID context) {
        const job done = *static_cast<job*>(context);
        ExFreePoolWithTag(context, tag);
        if (Correct) IoFreeWorkItem(done.item);
        complete(done.irp, STATUS_SUCCESS, 5);
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        auto* it = static_cast<job*>(ExAllocatePoolWithTag(NonPagedPool, sizeof(job), tag));
        const PIO_WORKITEM item = IoAllocateWorkItem(device);
        if (it == nullptr || item == nullptr) {
            if (it != nullptr) ExFreePoolWithTag(it, tag);
            if (item != nullptr) IoFreeWorkItem(item);
            return complete(irp, STATUS_INSUFFICIENT_RESOURCES);
        }
        it->item = item;
        it->irp = irp;
        IoMarkIrpPending(irp);
        IoQueueWorkItem(item, work, DelayedWorkQueue, it);
        if (!Correct) IoFreeWorkItem(item);
        return STATUS_PENDING;
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT) {
        driver->MajorFunction[IRP_MJ_WRITE] = write;
    }
};

// ---- Writes are served by a system thread ----

struct thread_extension {
    irp_queue writes;
    KEVENT wake;
    KEVENT stopped;
    PVOID thread;
    LONG stopping;
    LONG served;
};

template <class Driver>
struct thread_driver : plain_driver {
    using extension = thread_extension;
    static void serve(PVOID context) {
        auto* own = static_cast<extension*>(context);
        while (InterlockedExchangeAdd(&own->stopping, 0) == 0) {
            KeWaitForSingleObject(&own->wake, Executive, KernelMode, FALSE, nullptr);
            own->writes.abort(STATUS_SUCCESS);
            InterlockedIncrement(&own->served);
        }
        KeSetEvent(&own->stopped, IO_NO_INCREMENT, FALSE);
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        own->writes.insert(irp);
        KeSetEvent(&own->wake, IO_NO_INCREMENT, FALSE);
        return STATUS_PENDING;
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        auto* own = extension_of<extension>(device);
        own->writes.prepare();
        KeInitializeEvent(&own->wake, Driver::wake_type, FALSE);
        KeInitializeEvent(&own->stopped, NotificationEvent, FALSE);
        HANDLE handle = nullptr;
        if (NT_SUCCESS(
                PsCreateSystemThread(&handle, 0, nullptr, nullptr, nullptr, Driver::serve, own))) {
            ObReferenceObjectByHandle(handle, 0, *PsThreadType, KernelMode, &own->thread, nullptr);
            ZwClose(handle);
        }
        driver->MajorFunction[IRP_MJ_WRITE] = Driver::write;
    }
    static void stop(PDEVICE_OBJECT device) {
        auto* own = extension_of<extension>(device);
        InterlockedExchange(&own->stopping, 1);
        KeSetEvent(&own->wake, IO_NO_INCREMENT, FALSE);
        KeWaitForSingleObject(own->thread, Executive, KernelMode, FALSE, nullptr);
        ObDereferenceObject(own->thread);
    }
    static constexpr EVENT_TYPE wake_type = SynchronizationEvent;
};

/// Unload sets the flag, and does not wake the thread.
template <bool Correct>
struct thread_not_woken : thread_driver<thread_not_woken<Correct>> {
    static void stop(PDEVICE_OBJECT device) {
        auto* own = extension_of<thread_extension>(device);
        InterlockedExchange(&own->stopping, 1);
        if (Correct) KeSetEvent(&own->wake, IO_NO_INCREMENT, FALSE);
        KeWaitForSingleObject(own->thread, Executive, KernelMode, FALSE, nullptr);
        ObDereferenceObject(own->thread);
    }
};

/// Unload stops the thread, and does not wait for its end.
template <bool Correct>
struct thread_not_joined : thread_driver<thread_not_joined<Correct>> {
    static void stop(PDEVICE_OBJECT device) {
        if (Correct) return thread_driver<thread_not_joined>::stop(device);
        auto* own = extension_of<thread_extension>(device);
        InterlockedExchange(&own->stopping, 1);
        KeSetEvent(&own->wake, IO_NO_INCREMENT, FALSE);
        ObDereferenceObject(own->thread);
    }
};

/// Unload waits for an event that the thread sets before it uses the extension for the last time.
template <bool Correct>
struct thread_event_early : thread_driver<thread_event_early<Correct>> {
    static void serve(PVOID context) {
        auto* own = static_cast<thread_extension*>(context);
        thread_driver<thread_event_early>::serve(context); // sets `stopped`
        own->writes.abort(STATUS_DELETE_PENDING);
    }
    static void stop(PDEVICE_OBJECT device) {
        auto* own = extension_of<thread_extension>(device);
        InterlockedExchange(&own->stopping, 1);
        KeSetEvent(&own->wake, IO_NO_INCREMENT, FALSE);
        KeWaitForSingleObject(&own->stopped, Executive, KernelMode, FALSE, nullptr);
        if (Correct) KeWaitForSingleObject(own->thread, Executive, KernelMode, FALSE, nullptr);
        ObDereferenceObject(own->thread);
    }
};

/// The thread clears the event after it has emptied the queue: a write in between is not seen.
template <bool Correct>
struct event_cleared_late : thread_driver<event_cleared_late<Correct>> {
    static constexpr EVENT_TYPE wake_type = NotificationEvent;
    static void serve(PVOID context) {
        auto* own = static_cast<thread_extension*>(context);
        while (InterlockedExchangeAdd(&own->stopping, 0) == 0) {
            KeWaitForSingleObject(&own->wake, Executive, KernelMode, FALSE, nullptr);
            if (Correct) KeClearEvent(&own->wake);
            own->writes.abort(STATUS_SUCCESS);
            if (!Correct && own->stopping == 0) KeClearEvent(&own->wake);
        }
    }
    static void stop(PDEVICE_OBJECT device) {
        auto* own = extension_of<thread_extension>(device);
        InterlockedExchange(&own->stopping, 1);
        KeSetEvent(&own->wake, IO_NO_INCREMENT, FALSE);
        KeWaitForSingleObject(own->thread, Executive, KernelMode, FALSE, nullptr);
        ObDereferenceObject(own->thread);
    }
};

/// The symbolic link stays when the driver is unloaded.
template <bool Correct>
struct link_left : plain_driver {
    struct names {
        std::u16string link = u"\\DosDevices\\Strange";
        std::u16string device = u"\\Device\\Strange";
    };
    static NTSTATUS link_device() {
        names text;
        UNICODE_STRING link = unicode(text.link);
        UNICODE_STRING device = unicode(text.device);
        return IoCreateSymbolicLink(&link, &device);
    }
    static void stop(PDEVICE_OBJECT) {
        names text;
        UNICODE_STRING link = unicode(text.link);
        if (Correct) IoDeleteSymbolicLink(&link);
    }
};

template <class Driver>
outcome loaded_and_unloaded(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    here.actor("user", [&] {
        const file open(u"\\??\\Strange");
        here.expect(open.opened() == STATUS_SUCCESS, "the file was not opened");
    });
    here.run();
    const outcome wrong = here.finish();
    return wrong ? wrong : world(sim, {driver_entry<Driver>}).finish(); // it is loaded again
}

/// The state of an open file is freed at its cleanup, while requests on the file may still run.
template <bool Correct>
struct context_of_file : plain_driver {
    struct state {
        LONG references;
        LONG writes;
    };
    static void drop(state* it) {
        if (InterlockedDecrement(&it->references) == 0) ExFreePoolWithTag(it, tag);
    }
    static state* of(PIRP irp) {
        return static_cast<state*>(IoGetCurrentIrpStackLocation(irp)->FileObject->FsContext);
    }
    static NTSTATUS create(PDEVICE_OBJECT, PIRP irp) {
        auto* it = static_cast<state*>(ExAllocatePoolWithTag(NonPagedPool, sizeof(state), tag));
        if (it == nullptr) return complete(irp, STATUS_INSUFFICIENT_RESOURCES);
        it->references = 1;
        it->writes = 0;
        IoGetCurrentIrpStackLocation(irp)->FileObject->FsContext = it;
        return complete(irp, STATUS_SUCCESS);
    }
    static NTSTATUS cleanup(PDEVICE_OBJECT, PIRP irp) {
        if (!Correct) drop(of(irp));
        return complete(irp, STATUS_SUCCESS);
    }
    static NTSTATUS close(PDEVICE_OBJECT, PIRP irp) {
        if (Correct) drop(of(irp));
        return complete(irp, STATUS_SUCCESS);
    }
    static NTSTATUS write(PDEVICE_OBJECT, PIRP irp) {
        InterlockedIncrement(&of(irp)->writes);
        return complete(irp, STATUS_SUCCESS, write_length(irp));
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT) {
        driver->MajorFunction[IRP_MJ_CREATE] = create;
        driver->MajorFunction[IRP_MJ_CLEANUP] = cleanup;
        driver->MajorFunction[IRP_MJ_CLOSE] = close;
        driver->MajorFunction[IRP_MJ_WRITE] = write;
    }
};

template <class Driver>
outcome closed_while_writing(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    here.actor("writer", [&] {
        const NTSTATUS status = open.write("hello");
        here.expect(status == STATUS_SUCCESS || status == STATUS_INVALID_HANDLE,
                    "the write is wrong");
    });
    here.actor("closer", [&] { open.close(); });
    here.run();
    return here.finish();
}

} // namespace unload
} // namespace

const std::vector<defect>& unload_defects() {
    using namespace unload;
    static const std::vector<defect> all{
        {"QueuedFlagClearedLate", two_writers<flag_cleared_late<false>>,
         two_writers<flag_cleared_late<true>>},
        {"WorkItemQueuedTwice", two_writers<item_queued_twice<false>>,
         two_writers<item_queued_twice<true>>},
        {"WorkItemAtUnload", write_and_unload<worker_at_unload<false>>,
         write_and_unload<worker_at_unload<true>>},
        {"WorkItemFreedWhileQueued", two_writers<item_freed_by_queuer<false>>,
         two_writers<item_freed_by_queuer<true>>},
        {"ThreadNotWoken", write_and_unload<thread_not_woken<false>>,
         write_and_unload<thread_not_woken<true>>},
        {"ThreadNotJoined", write_and_unload<thread_not_joined<false>>,
         write_and_unload<thread_not_joined<true>>},
        {"ThreadEventSetEarly", write_and_unload<thread_event_early<false>>,
         write_and_unload<thread_event_early<true>>},
        {"EventClearedLate", two_writers<event_cleared_late<false>>,
         two_writers<event_cleared_late<true>>},
        {"LinkLeftAtUnload", loaded_and_unloaded<link_left<false>>,
         loaded_and_unloaded<link_left<true>>},
        {"FileContextFreedAtCleanup", closed_while_writing<context_of_file<false>>,
         closed_while_writing<context_of_file<true>>},
    };
    return all;
}

} // namespace strangers
