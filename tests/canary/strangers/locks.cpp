// Mistakes with locks, IRQL and shared counts.
#include "strangers.hpp"

namespace strangers {
namespace {
namespace locks {

constexpr ULONG query_code = control(0x800, METHOD_BUFFERED);

/// Two writers, and one user who asks for the number of writes.
template <class Driver>
outcome two_writers_and_query(sim_machine& sim) {
    world here(sim, {driver_entry<Driver>});
    file& open = here.open();
    for (const char* name : {"first", "second"})
        here.actor(name,
                   [&] { here.expect(open.write("hello") == STATUS_SUCCESS, "the write failed"); });
    here.actor("observer", [&] {
        here.expect(open.control(query_code, "", sizeof(LONG)) == STATUS_SUCCESS,
                    "the query failed");
        here.expect(open.control(query_code, "", 1) == STATUS_BUFFER_TOO_SMALL,
                    "the small query succeeded");
    });
    here.run();
    std::string count;
    open.control(query_code, "", sizeof(LONG), &count);
    LONG writes = 0;
    if (count.size() == sizeof writes) std::memcpy(&writes, count.data(), sizeof writes);
    here.expect(writes == 2, "the number of writes is wrong");
    return here.finish();
}

struct locked_extension {
    KSPIN_LOCK writes_lock;
    KSPIN_LOCK query_lock;
    LONG writes;
    LONG queries;
    KMUTEX mutex;
    FAST_MUTEX fast_mutex;
    KDPC dpc;
    KEVENT event;
    WORK_QUEUE_ITEM item;
    irp_queue pending;
};

template <class Driver>
struct counting_driver : plain_driver {
    using extension = locked_extension;
    static void count(extension* own) {
        KIRQL irql;
        KeAcquireSpinLock(&own->writes_lock, &irql);
        ++own->writes;
        KeReleaseSpinLock(&own->writes_lock, irql);
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        Driver::count(extension_of<extension>(device));
        return complete(irp, STATUS_SUCCESS, write_length(irp));
    }
    static NTSTATUS query(extension* own, PIRP irp) {
        const PIO_STACK_LOCATION stack = IoGetCurrentIrpStackLocation(irp);
        if (stack->Parameters.DeviceIoControl.OutputBufferLength < sizeof(LONG))
            return complete(irp, STATUS_BUFFER_TOO_SMALL);
        KIRQL irql;
        KeAcquireSpinLock(&own->writes_lock, &irql);
        const LONG writes = own->writes;
        KeReleaseSpinLock(&own->writes_lock, irql);
        std::memcpy(system_buffer(irp), &writes, sizeof writes);
        return complete(irp, STATUS_SUCCESS, sizeof writes);
    }
    static NTSTATUS device_control(PDEVICE_OBJECT device, PIRP irp) {
        return Driver::query(extension_of<extension>(device), irp);
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        auto* own = extension_of<extension>(device);
        KeInitializeSpinLock(&own->writes_lock);
        KeInitializeSpinLock(&own->query_lock);
        KeInitializeMutex(&own->mutex, 0);
        ExInitializeFastMutex(&own->fast_mutex);
        KeInitializeEvent(&own->event, SynchronizationEvent, FALSE);
        own->pending.prepare();
        driver->MajorFunction[IRP_MJ_WRITE] = Driver::write;
        driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = device_control;
    }
};

/// Writes take the two locks in one order, queries in the other.
template <bool Correct>
struct order_inverted : counting_driver<order_inverted<Correct>> {
    static void count(locked_extension* own) {
        KIRQL irql;
        KeAcquireSpinLock(&own->writes_lock, &irql);
        KeAcquireSpinLockAtDpcLevel(&own->query_lock);
        ++own->writes;
        KeReleaseSpinLockFromDpcLevel(&own->query_lock);
        KeReleaseSpinLock(&own->writes_lock, irql);
    }
    static NTSTATUS query(locked_extension* own, PIRP irp) {
        if (Correct) return counting_driver<order_inverted>::query(own, irp);
        KIRQL irql;
        KeAcquireSpinLock(&own->query_lock, &irql);
        ++own->queries;
        KeAcquireSpinLockAtDpcLevel(&own->writes_lock);
        const LONG writes = own->writes;
        KeReleaseSpinLockFromDpcLevel(&own->writes_lock);
        KeReleaseSpinLock(&own->query_lock, irql);
        if (IoGetCurrentIrpStackLocation(irp)->Parameters.DeviceIoControl.OutputBufferLength <
            sizeof writes)
            return complete(irp, STATUS_BUFFER_TOO_SMALL);
        std::memcpy(system_buffer(irp), &writes, sizeof writes);
        return complete(irp, STATUS_SUCCESS, sizeof writes);
    }
};

/// The path of the error leaves the lock held.
template <bool Correct>
struct held_on_error : counting_driver<held_on_error<Correct>> {
    static NTSTATUS query(locked_extension* own, PIRP irp) {
        KIRQL irql;
        KeAcquireSpinLock(&own->writes_lock, &irql);
        const LONG writes = own->writes;
        if (IoGetCurrentIrpStackLocation(irp)->Parameters.DeviceIoControl.OutputBufferLength <
            sizeof writes) {
            if (Correct) KeReleaseSpinLock(&own->writes_lock, irql);
            return complete(irp, STATUS_BUFFER_TOO_SMALL);
        }
        KeReleaseSpinLock(&own->writes_lock, irql);
        std::memcpy(system_buffer(irp), &writes, sizeof writes);
        return complete(irp, STATUS_SUCCESS, sizeof writes);
    }
};

/// Two nested locks are released with each other's IRQL, so the second is held below
/// DISPATCH_LEVEL.
template <bool Correct>
struct irqls_swapped : counting_driver<irqls_swapped<Correct>> {
    static void count(locked_extension* own) {
        KIRQL outer;
        KIRQL inner;
        KeAcquireSpinLock(&own->writes_lock, &outer);
        KeAcquireSpinLock(&own->query_lock, &inner);
        ++own->writes;
        KeReleaseSpinLock(&own->query_lock, Correct ? inner : outer);
        KeReleaseSpinLock(&own->writes_lock, Correct ? outer : inner);
    }
};

/// The DPC waits for the mutex that guards the count.
template <bool Correct>
struct wait_in_dpc : counting_driver<wait_in_dpc<Correct>> {
    using base = counting_driver<wait_in_dpc>;
    static void serve(PKDPC, PVOID context, PVOID, PVOID) {
        auto* own = static_cast<locked_extension*>(context);
        while (const PIRP irp = own->pending.next()) {
            if (!Correct) KeWaitForSingleObject(&own->mutex, Executive, KernelMode, FALSE, nullptr);
            base::count(own);
            if (!Correct) KeReleaseMutex(&own->mutex, FALSE);
            complete(irp, STATUS_SUCCESS);
        }
    }
    static NTSTATUS write(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<locked_extension>(device);
        own->pending.insert(irp);
        KeInsertQueueDpc(&own->dpc, nullptr, nullptr);
        return STATUS_PENDING;
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        auto* own = extension_of<locked_extension>(device);
        base::prepare(driver, device);
        KeInitializeDpc(&own->dpc, serve, own);
    }
};

/// The DPC's lock is acquired without raising the IRQL.
template <bool Correct>
struct not_raised : counting_driver<not_raised<Correct>> {
    static void count(locked_extension* own) {
        if (Correct) return counting_driver<not_raised>::count(own);
        KeAcquireSpinLockAtDpcLevel(&own->writes_lock);
        ++own->writes;
        KeReleaseSpinLockFromDpcLevel(&own->writes_lock);
    }
};

/// The count of writes is incremented without a lock or an interlocked function.
template <bool Correct>
struct not_interlocked : counting_driver<not_interlocked<Correct>> {
    static void count(locked_extension* own) {
        if (Correct) return counting_driver<not_interlocked>::count(own);
        const LONG writes = own->writes;
        *const_cast<volatile LONG*>(&own->writes) = writes + 1;
    }
};

/// The count is read under the lock, and written under the lock, in two critical sections.
template <bool Correct>
struct two_sections : counting_driver<two_sections<Correct>> {
    static void count(locked_extension* own) {
        KIRQL irql;
        KeAcquireSpinLock(&own->writes_lock, &irql);
        const LONG writes = own->writes;
        if (!Correct) {
            KeReleaseSpinLock(&own->writes_lock, irql);
            KeAcquireSpinLock(&own->writes_lock, &irql);
        }
        own->writes = writes + 1;
        KeReleaseSpinLock(&own->writes_lock, irql);
    }
};

/// The write waits, with the mutex held, for a work item that needs the mutex.
template <bool Correct>
struct worker_needs_mutex : counting_driver<worker_needs_mutex<Correct>> {
    using base = counting_driver<worker_needs_mutex>;
    static void work(PVOID context) {
        auto* own = static_cast<locked_extension*>(context);
        ExAcquireFastMutex(&own->fast_mutex);
        ++own->queries;
        ExReleaseFastMutex(&own->fast_mutex);
        KeSetEvent(&own->event, IO_NO_INCREMENT, FALSE);
    }
    static void count(locked_extension* own) {
        KeWaitForSingleObject(&own->mutex, Executive, KernelMode, FALSE, nullptr);
        ExAcquireFastMutex(&own->fast_mutex);
        const bool flush = own->queries == 0;
        if (Correct) ExReleaseFastMutex(&own->fast_mutex);
        base::count(own);
        if (flush) {
            ExQueueWorkItem(&own->item, DelayedWorkQueue);
            KeWaitForSingleObject(&own->event, Executive, KernelMode, FALSE, nullptr);
        }
        if (!Correct) ExReleaseFastMutex(&own->fast_mutex);
        KeReleaseMutex(&own->mutex, FALSE);
    }
    static void prepare(PDRIVER_OBJECT driver, PDEVICE_OBJECT device) {
        auto* own = extension_of<locked_extension>(device);
        base::prepare(driver, device);
        ExInitializeWorkItem(&own->item, work, own);
    }
};

/// A record of each write is allocated from the paged pool under the spin lock.
template <bool Correct>
struct paged_under_lock : counting_driver<paged_under_lock<Correct>> {
    static void count(locked_extension* own) {
        KIRQL irql;
        KeAcquireSpinLock(&own->writes_lock, &irql);
        PVOID record = ExAllocatePoolWithTag(Correct ? NonPagedPool : PagedPool, 16, tag);
        ++own->writes;
        KeReleaseSpinLock(&own->writes_lock, irql);
        if (record != nullptr) ExFreePoolWithTag(record, tag);
    }
};

} // namespace locks
} // namespace

const std::vector<defect>& lock_defects() {
    using namespace locks;
    static const std::vector<defect> all{
        {"LockOrderInverted", two_writers_and_query<order_inverted<false>>,
         two_writers_and_query<order_inverted<true>>},
        {"LockHeldOnError", two_writers_and_query<held_on_error<false>>,
         two_writers_and_query<held_on_error<true>>},
        {"IrqlsSwapped", two_writers_and_query<irqls_swapped<false>>,
         two_writers_and_query<irqls_swapped<true>>},
        {"WaitInDpc", two_writers_and_query<wait_in_dpc<false>>,
         two_writers_and_query<wait_in_dpc<true>>},
        {"LockNotRaised", two_writers_and_query<not_raised<false>>,
         two_writers_and_query<not_raised<true>>},
        {"CountNotInterlocked", two_writers_and_query<not_interlocked<false>>,
         two_writers_and_query<not_interlocked<true>>, false},
        {"CountInTwoSections", two_writers_and_query<two_sections<false>>,
         two_writers_and_query<two_sections<true>>},
        {"WorkerNeedsHeldMutex", two_writers_and_query<worker_needs_mutex<false>>,
         two_writers_and_query<worker_needs_mutex<true>>},
        {"PagedPoolUnderLock", two_writers_and_query<paged_under_lock<false>>,
         two_writers_and_query<paged_under_lock<true>>},
    };
    return all;
}

} // namespace strangers
