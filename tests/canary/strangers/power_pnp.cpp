// Mistakes with Plug and Play, remove locks and power.
#include "strangers.hpp"

#include <irp/testing/pnp.hpp>

namespace strangers {
namespace {
namespace power_pnp {

using irpverbs::irp::pnp_device;

/// The hardware: it has data while the bus has power, and needs some time for them.
class hardware {
public:
    explicit hardware(bool needs_power) : needs_power_(needs_power) {
        waiting_.prepare();
        KeInitializeDpc(&dpc_, serve, this);
        KeSetTargetProcessorDpc(&dpc_, 1);
    }
    ~hardware() { KeFlushQueuedDpcs(); }
    hardware(const hardware&) = delete;
    hardware& operator=(const hardware&) = delete;

    pnp_device::bus_routine routine() {
        return [this](PDEVICE_OBJECT, PIRP irp) { return request(irp); };
    }
    void connect(const pnp_device& bus) { bus_ = &bus; }

private:
    static void serve(PKDPC, PVOID context, PVOID, PVOID) {
        while (const PIRP irp = static_cast<hardware*>(context)->waiting_.next()) {
            std::memcpy(system_buffer(irp), "data", 4);
            complete(irp, STATUS_SUCCESS, 4);
        }
    }
    NTSTATUS request(PIRP irp) {
        if (IoGetCurrentIrpStackLocation(irp)->MajorFunction != IRP_MJ_READ)
            return complete(irp, STATUS_SUCCESS);
        if (needs_power_ && bus_->device_power() != PowerDeviceD0)
            return complete(irp, STATUS_DEVICE_NOT_READY);
        waiting_.insert(irp);
        KeInsertQueueDpc(&dpc_, nullptr, nullptr);
        return STATUS_PENDING;
    }

    bool needs_power_;
    const pnp_device* bus_ = nullptr;
    irp_queue waiting_{};
    KDPC dpc_{};
};

struct pnp_extension {
    PDEVICE_OBJECT lower;
    IO_REMOVE_LOCK remove_lock;
    irp_queue held;
    KSPIN_LOCK lock;
    LONG stopped;
    LONG powered;
    LONG* statistics; // in the pool, from AddDevice to the removal
};

/// A function driver that passes reads to the hardware.
template <class Driver>
struct pnp_driver {
    using extension = pnp_extension;

    static NTSTATUS entry(PDRIVER_OBJECT driver, PUNICODE_STRING) {
        for (const int major : {IRP_MJ_CREATE, IRP_MJ_CLEANUP, IRP_MJ_CLOSE})
            driver->MajorFunction[major] = succeed;
        driver->MajorFunction[IRP_MJ_READ] = Driver::read;
        driver->MajorFunction[IRP_MJ_PNP] = plug_and_play;
        driver->MajorFunction[IRP_MJ_POWER] = Driver::power;
        driver->DriverExtension->AddDevice = add;
        driver->DriverUnload = [](PDRIVER_OBJECT) {};
        return STATUS_SUCCESS;
    }

    static NTSTATUS add(PDRIVER_OBJECT driver, PDEVICE_OBJECT physical) {
        std::u16string path = u"\\Device\\Strange";
        UNICODE_STRING name = unicode(path);
        PDEVICE_OBJECT device = nullptr;
        const NTSTATUS status = IoCreateDevice(driver, sizeof(extension), &name,
                                               FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
        if (!NT_SUCCESS(status)) return status;
        auto* own = extension_of<extension>(device);
        own->statistics =
            static_cast<LONG*>(ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof(LONG), tag));
        if (own->statistics == nullptr) {
            IoDeleteDevice(device);
            return STATUS_INSUFFICIENT_RESOURCES;
        }
        own->powered = 1;
        own->held.prepare();
        KeInitializeSpinLock(&own->lock);
        IoInitializeRemoveLock(&own->remove_lock, tag, 0, 0);
        device->Flags |= DO_BUFFERED_IO;
        own->lower = IoAttachDeviceToDeviceStack(device, physical);
        Driver::initialised(device);
        return STATUS_SUCCESS;
    }
    static void initialised(PDEVICE_OBJECT device) {
        device->Flags &= ~static_cast<ULONG>(DO_DEVICE_INITIALIZING);
    }

    static NTSTATUS read_completed(PDEVICE_OBJECT, PIRP irp, PVOID context) {
        auto* own = static_cast<extension*>(context);
        if (irp->PendingReturned) IoMarkIrpPending(irp);
        InterlockedIncrement(own->statistics);
        IoReleaseRemoveLock(&own->remove_lock, irp);
        return STATUS_CONTINUE_COMPLETION;
    }
    static NTSTATUS send_read(extension* own, PIRP irp) {
        IoCopyCurrentIrpStackLocationToNext(irp);
        IoSetCompletionRoutine(irp, Driver::read_completed, own, TRUE, TRUE, TRUE);
        return IoCallDriver(own->lower, irp);
    }
    static NTSTATUS read(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        const NTSTATUS status = IoAcquireRemoveLock(&own->remove_lock, irp);
        if (!NT_SUCCESS(status)) return complete(irp, status);
        if (read_length(irp) < 4) {
            complete(irp, STATUS_BUFFER_TOO_SMALL);
            Driver::release_after_error(own, irp);
            return STATUS_BUFFER_TOO_SMALL;
        }
        return Driver::read_or_hold(own, irp);
    }
    static void release_after_error(extension* own, PIRP irp) {
        IoReleaseRemoveLock(&own->remove_lock, irp);
    }
    static NTSTATUS read_or_hold(extension* own, PIRP irp) {
        if (runs(own)) return send_read(own, irp);
        own->held.insert(irp);
        if (runs(own)) resume(own); // it may have been resumed before the read was inserted
        IoReleaseRemoveLock(&own->remove_lock, irp); // held reads are aborted at removal
        return STATUS_PENDING;
    }
    static bool runs(extension* own) {
        KIRQL irql;
        KeAcquireSpinLock(&own->lock, &irql);
        const bool result = own->stopped == 0 && own->powered != 0;
        KeReleaseSpinLock(&own->lock, irql);
        return result;
    }
    static void resume(extension* own) {
        while (const PIRP irp = own->held.next()) {
            if (NT_SUCCESS(IoAcquireRemoveLock(&own->remove_lock, irp)))
                send_read(own, irp);
            else
                complete(irp, STATUS_DELETE_PENDING);
        }
    }
    static void set(extension* own, LONG* flag, LONG value) {
        KIRQL irql;
        KeAcquireSpinLock(&own->lock, &irql);
        *flag = value;
        KeReleaseSpinLock(&own->lock, irql);
    }

    static NTSTATUS plug_and_play(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        NTSTATUS status = IoAcquireRemoveLock(&own->remove_lock, irp);
        if (!NT_SUCCESS(status)) return complete(irp, status);
        switch (IoGetCurrentIrpStackLocation(irp)->MinorFunction) {
        case IRP_MN_START_DEVICE:
            IoForwardIrpSynchronously(own->lower, irp);
            status = irp->IoStatus.Status;
            Driver::set(own, &own->stopped, 0);
            resume(own);
            IoCompleteRequest(irp, IO_NO_INCREMENT);
            IoReleaseRemoveLock(&own->remove_lock, irp);
            return status;
        case IRP_MN_STOP_DEVICE:
            Driver::set(own, &own->stopped, 1);
            break;
        case IRP_MN_SURPRISE_REMOVAL:
            Driver::set(own, &own->stopped, 0);
            Driver::unplugged(own);
            break;
        case IRP_MN_REMOVE_DEVICE:
            return remove(device, irp);
        default:
            IoSkipCurrentIrpStackLocation(irp);
            status = IoCallDriver(own->lower, irp);
            IoReleaseRemoveLock(&own->remove_lock, irp);
            return status;
        }
        irp->IoStatus.Status = STATUS_SUCCESS;
        IoSkipCurrentIrpStackLocation(irp);
        status = IoCallDriver(own->lower, irp);
        IoReleaseRemoveLock(&own->remove_lock, irp);
        return status;
    }
    static void unplugged(extension* own) { own->held.abort(STATUS_NO_SUCH_DEVICE); }
    static NTSTATUS remove(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        own->held.abort(STATUS_NO_SUCH_DEVICE);
        IoReleaseRemoveLockAndWait(&own->remove_lock, irp);
        ExFreePoolWithTag(own->statistics, tag);
        irp->IoStatus.Status = STATUS_SUCCESS;
        IoSkipCurrentIrpStackLocation(irp);
        const NTSTATUS status = IoCallDriver(own->lower, irp);
        Driver::detach(own->lower);
        IoDeleteDevice(device);
        return status;
    }
    static void detach(PDEVICE_OBJECT lower) { IoDetachDevice(lower); }

    static NTSTATUS powered_up(PDEVICE_OBJECT, PIRP irp, PVOID context) {
        auto* own = static_cast<extension*>(context);
        if (irp->PendingReturned) IoMarkIrpPending(irp);
        set(own, &own->powered, 1);
        resume(own);
        IoReleaseRemoveLock(&own->remove_lock, irp);
        return STATUS_CONTINUE_COMPLETION;
    }
    static bool is_set_device_power(PIRP irp) {
        const PIO_STACK_LOCATION stack = IoGetCurrentIrpStackLocation(irp);
        return stack->MinorFunction == IRP_MN_SET_POWER &&
               stack->Parameters.Power.Type == DevicePowerState;
    }
    static NTSTATUS power(PDEVICE_OBJECT device, PIRP irp) {
        auto* own = extension_of<extension>(device);
        NTSTATUS status = IoAcquireRemoveLock(&own->remove_lock, irp);
        if (!NT_SUCCESS(status)) return complete(irp, status);
        if (is_set_device_power(irp)) {
            const POWER_STATE to = IoGetCurrentIrpStackLocation(irp)->Parameters.Power.State;
            if (to.DeviceState == PowerDeviceD0) return Driver::power_up(own, irp);
            set(own, &own->powered, 0);
        }
        IoSkipCurrentIrpStackLocation(irp);
        status = IoCallDriver(own->lower, irp);
        IoReleaseRemoveLock(&own->remove_lock, irp);
        return status;
    }
    static NTSTATUS power_up(extension* own, PIRP irp) {
        IoMarkIrpPending(irp);
        IoCopyCurrentIrpStackLocationToNext(irp);
        IoSetCompletionRoutine(irp, powered_up, own, TRUE, TRUE, TRUE);
        IoCallDriver(own->lower, irp);
        return STATUS_PENDING;
    }
};

/// A driver and its device on the bus, started.
template <class Driver>
class plugged_in {
public:
    explicit plugged_in(sim_machine& sim, bool needs_power = false)
        : here(sim, {pnp_driver<Driver>::entry}), chip_(needs_power), bus(chip_.routine()) {
        chip_.connect(bus);
        bus.physical_device()->Flags |= DO_BUFFERED_IO;
        here.expect(NT_SUCCESS(bus.add(here.driver())) && NT_SUCCESS(bus.start()),
                    "the device did not start");
    }
    outcome finish() {
        if (bus.current() != pnp_device::state::surprise_removed)
            here.expect(NT_SUCCESS(bus.query_remove()), "the removal was refused");
        here.expect(NT_SUCCESS(bus.remove()), "the device was not removed");
        return here.finish();
    }

    world here;

private:
    hardware chip_;

public:
    pnp_device bus;
};

template <class Driver>
outcome read_and_unplug(sim_machine& sim) {
    plugged_in<Driver> it(sim);
    it.here.actor("user", [&] {
        file open;
        if (open.opened() != STATUS_SUCCESS) return it.here.expect(false, "not opened");
        std::string text;
        NTSTATUS status = open.read(4, &text);
        it.here.expect(status != STATUS_SUCCESS || text == "data", "the read is wrong");
        status = open.read(1);
        it.here.expect(!NT_SUCCESS(status), "the short read succeeded");
    });
    it.here.actor("manager", [&] { it.bus.surprise_removal(); });
    it.here.run();
    return it.finish();
}

/// A read of another driver, without a file, is under way while the device is removed.
template <class Driver>
outcome kernel_read_and_remove(sim_machine& sim) {
    plugged_in<Driver> it(sim);
    KEVENT sent;
    KeInitializeEvent(&sent, NotificationEvent, FALSE);
    it.here.actor("driver", [&] {
        const PDEVICE_OBJECT top = IoGetAttachedDeviceReference(it.bus.physical_device());
        std::array<char, 4> data{};
        KEVENT done;
        IO_STATUS_BLOCK result{};
        LARGE_INTEGER start{};
        KeInitializeEvent(&done, NotificationEvent, FALSE);
        const PIRP irp =
            IoBuildSynchronousFsdRequest(IRP_MJ_READ, top, data.data(), 4, &start, &done, &result);
        const NTSTATUS status = IoCallDriver(top, irp);
        KeSetEvent(&sent, IO_NO_INCREMENT, FALSE);
        if (status == STATUS_PENDING)
            KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr);
        ObDereferenceObject(top);
    });
    it.here.actor("manager", [&] {
        KeWaitForSingleObject(&sent, Executive, KernelMode, FALSE, nullptr);
        if (NT_SUCCESS(it.bus.query_remove())) it.bus.remove();
    });
    it.here.run();
    return it.here.finish();
}

template <class Driver>
outcome stop_and_start(sim_machine& sim) {
    plugged_in<Driver> it(sim);
    it.here.actor("user", [&] {
        file open;
        it.here.expect(open.read(4) == STATUS_SUCCESS, "the read failed");
    });
    it.here.actor("manager", [&] {
        it.here.expect(NT_SUCCESS(it.bus.query_stop()) && NT_SUCCESS(it.bus.stop()) &&
                           NT_SUCCESS(it.bus.start()),
                       "the device was not stopped and started");
    });
    it.here.run();
    return it.finish();
}

template <class Driver>
outcome read_while_stopped_and_unplugged(sim_machine& sim) {
    plugged_in<Driver> it(sim);
    it.bus.query_stop();
    it.bus.stop();
    it.here.actor("user", [&] {
        file open;
        open.read(4); // ends, with or without data
    });
    it.here.actor("manager", [&] { it.bus.surprise_removal(); });
    it.here.run();
    return it.finish();
}

template <class Driver>
outcome power_down_and_up(sim_machine& sim) {
    plugged_in<Driver> it(sim, true);
    it.bus.set_power(PowerDeviceD0);
    it.here.actor("user", [&] {
        file open;
        it.here.expect(open.read(4) == STATUS_SUCCESS, "the read failed");
    });
    it.here.run();
    it.bus.set_power(PowerDeviceD3);
    it.here.actor("user", [&] {
        file open;
        it.here.expect(open.read(4) == STATUS_SUCCESS, "the read failed");
    });
    it.here.actor("manager", [&] {
        it.bus.set_power(PowerDeviceD0);
        it.here.expect(it.bus.device_power() == PowerDeviceD0, "the bus has no power");
    });
    it.here.run();
    return it.finish();
}

/// A short read leaves the remove lock acquired.
template <bool Correct>
struct lock_left_on_error : pnp_driver<lock_left_on_error<Correct>> {
    static void release_after_error(pnp_extension* own, PIRP irp) {
        if (Correct) IoReleaseRemoveLock(&own->remove_lock, irp);
    }
};

/// Reads do not acquire the remove lock.
template <bool Correct>
struct read_without_lock : pnp_driver<read_without_lock<Correct>> {
    using base = pnp_driver<read_without_lock>;
    static NTSTATUS read_completed(PDEVICE_OBJECT device, PIRP irp, PVOID context) {
        if (Correct) return base::read_completed(device, irp, context);
        if (irp->PendingReturned) IoMarkIrpPending(irp);
        InterlockedIncrement(static_cast<pnp_extension*>(context)->statistics);
        return STATUS_CONTINUE_COMPLETION;
    }
    static NTSTATUS read(PDEVICE_OBJECT device, PIRP irp) {
        return Correct ? base::read(device, irp)
                       : base::send_read(extension_of<pnp_extension>(device), irp);
    }
};

/// The remove lock is released when the lower driver has pended the read.
template <bool Correct>
struct lock_released_early : pnp_driver<lock_released_early<Correct>> {
    using base = pnp_driver<lock_released_early>;
    static NTSTATUS read_completed(PDEVICE_OBJECT device, PIRP irp, PVOID context) {
        if (Correct) return base::read_completed(device, irp, context);
        if (irp->PendingReturned) IoMarkIrpPending(irp);
        InterlockedIncrement(static_cast<pnp_extension*>(context)->statistics);
        return STATUS_CONTINUE_COMPLETION;
    }
    static NTSTATUS read_or_hold(pnp_extension* own, PIRP irp) {
        if (Correct) return base::read_or_hold(own, irp);
        const NTSTATUS status = base::send_read(own, irp);
        IoReleaseRemoveLock(&own->remove_lock, irp);
        return status;
    }
};

/// The held reads are not completed when the device is unplugged.
template <bool Correct>
struct held_when_unplugged : pnp_driver<held_when_unplugged<Correct>> {
    static void unplugged(pnp_extension* own) {
        if (Correct) own->held.abort(STATUS_NO_SUCH_DEVICE);
    }
};

/// A read that is to be held is inserted after the start has resumed the held reads.
template <bool Correct>
struct held_after_start : pnp_driver<held_after_start<Correct>> {
    using base = pnp_driver<held_after_start>;
    static NTSTATUS read_or_hold(pnp_extension* own, PIRP irp) {
        if (Correct) return base::read_or_hold(own, irp);
        if (base::runs(own)) return base::send_read(own, irp);
        IoReleaseRemoveLock(&own->remove_lock, irp);
        return own->held.insert(irp);
    }
};

/// The removal deletes the device, and does not detach it.
template <bool Correct>
struct deleted_attached : pnp_driver<deleted_attached<Correct>> {
    static void detach(PDEVICE_OBJECT lower) {
        if (Correct) IoDetachDevice(lower);
    }
};

/// AddDevice leaves DO_DEVICE_INITIALIZING set.
template <bool Correct>
struct left_initialising : pnp_driver<left_initialising<Correct>> {
    static void initialised(PDEVICE_OBJECT device) {
        if (Correct) pnp_driver<left_initialising>::initialised(device);
    }
};

/// The driver completes requests for device power, which belong to the bus.
template <bool Correct>
struct power_completed : pnp_driver<power_completed<Correct>> {
    using base = pnp_driver<power_completed>;
    static NTSTATUS power(PDEVICE_OBJECT device, PIRP irp) {
        return Correct || !base::is_set_device_power(irp) ? base::power(device, irp)
                                                          : complete(irp, STATUS_SUCCESS);
    }
};

/// The held reads go on before the bus has power.
template <bool Correct>
struct resumed_early : pnp_driver<resumed_early<Correct>> {
    using base = pnp_driver<resumed_early>;
    static NTSTATUS power_up(pnp_extension* own, PIRP irp) {
        if (Correct) return base::power_up(own, irp);
        base::set(own, &own->powered, 1);
        base::resume(own);
        IoSkipCurrentIrpStackLocation(irp);
        const NTSTATUS status = IoCallDriver(own->lower, irp);
        IoReleaseRemoveLock(&own->remove_lock, irp);
        return status;
    }
};

} // namespace power_pnp
} // namespace

const std::vector<defect>& power_pnp_defects() {
    using namespace power_pnp;
    static const std::vector<defect> all{
        {"RemoveLockLeftOnError", read_and_unplug<lock_left_on_error<false>>,
         read_and_unplug<lock_left_on_error<true>>},
        {"ReadWithoutRemoveLock", kernel_read_and_remove<read_without_lock<false>>,
         kernel_read_and_remove<read_without_lock<true>>},
        {"RemoveLockReleasedEarly", kernel_read_and_remove<lock_released_early<false>>,
         kernel_read_and_remove<lock_released_early<true>>},
        {"HeldReadsLeftAtUnplug", read_while_stopped_and_unplugged<held_when_unplugged<false>>,
         read_while_stopped_and_unplugged<held_when_unplugged<true>>},
        {"HeldReadLost", stop_and_start<held_after_start<false>>,
         stop_and_start<held_after_start<true>>},
        {"DeletedAttached", read_and_unplug<deleted_attached<false>>,
         read_and_unplug<deleted_attached<true>>},
        {"LeftInitialising", read_and_unplug<left_initialising<false>>,
         read_and_unplug<left_initialising<true>>},
        {"PowerCompletedByFunctionDriver", power_down_and_up<power_completed<false>>,
         power_down_and_up<power_completed<true>>},
        {"ResumedBeforePower", power_down_and_up<resumed_early<false>>,
         power_down_and_up<resumed_early<true>>},
    };
    return all;
}

} // namespace strangers
