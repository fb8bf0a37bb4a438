#include "shutdown.hpp"

#include "irql_rules.hpp"
#include "require.hpp"

#include <dispatch/support/faults.hpp>
#include <dispatch/support/locals.hpp>
#include <dispatch/support/object.hpp>
#include <dispatch/support/spin_lock.hpp>
#include <irp/build.h>
#include <irp/testing/shutdown.h>

#include <new>
#include <vector>

using namespace irpverbs::dispatch::detail;

namespace irpverbs::irp {
namespace {

constexpr ULONG registered = 0x800; // DO_SHUTDOWN_REGISTERED

/// The devices of a machine, each with a reference; the next one to notify is the last.
class shutdown_list {
public:
    static shutdown_list& current();

    shutdown_list() { KeInitializeSpinLock(&lock_); }
    ~shutdown_list() {
        while (DEVICE_OBJECT* const device = take())
            dereference_object(device->Header);
    }

    /// Throws std::bad_alloc.
    void add(DEVICE_OBJECT& device, bool last_chance) {
        const spin_guard guard(lock_);
        std::vector<DEVICE_OBJECT*>& list = last_chance ? last_chance_ : usual_;
        list.push_back(&device);
        reference_object(device.Header);
        device.Flags |= registered;
    }
    /// Null: no device is left.
    DEVICE_OBJECT* take() {
        const spin_guard guard(lock_);
        std::vector<DEVICE_OBJECT*>& list = usual_.empty() ? last_chance_ : usual_;
        if (list.empty()) return nullptr;
        DEVICE_OBJECT* const device = list.back();
        list.pop_back();
        return device;
    }
    /// Returns the number of registrations that there were.
    std::size_t remove(DEVICE_OBJECT& device) {
        const spin_guard guard(lock_);
        device.Flags &= ~registered;
        return std::erase(usual_, &device) + std::erase(last_chance_, &device);
    }

private:
    KSPIN_LOCK lock_;
    std::vector<DEVICE_OBJECT*> usual_;
    std::vector<DEVICE_OBJECT*> last_chance_;
};

IRPVERBS_REGISTERED_EARLY const machine_local<shutdown_list> lists_of_machine(0);

shutdown_list& shutdown_list::current() { return lists_of_machine.current(); }

NTSTATUS add(DEVICE_OBJECT* device, bool last_chance) try {
    require(device, "IoRegisterShutdownNotification: the device is NULL");
    VERIFY_IRQL(IoRegisterShutdownNotification);
    if (fault_point("irp.shutdown_notification")) return STATUS_INSUFFICIENT_RESOURCES;
    shutdown_list::current().add(*device, last_chance);
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS notify(DEVICE_OBJECT& device) {
    KEVENT done;
    KeInitializeEvent(&done, NotificationEvent, FALSE);
    IO_STATUS_BLOCK result{};
    IRP* const irp =
        IoBuildSynchronousFsdRequest(IRP_MJ_SHUTDOWN, &device, nullptr, 0, nullptr, &done, &result);
    if (irp == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    const NTSTATUS status = IoCallDriver(&device, irp);
    if (status != STATUS_PENDING) return status;
    KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr);
    return result.Status;
}

} // namespace

void forget_shutdown(DEVICE_OBJECT& device) {
    if ((device.Flags & registered) == 0) return;
    for (std::size_t left = shutdown_list::current().remove(device); left != 0; --left)
        dereference_object(device.Header);
}

} // namespace irpverbs::irp

using namespace irpverbs::irp;

extern "C" {

NTSTATUS IoRegisterShutdownNotification(PDEVICE_OBJECT DeviceObject) {
    return add(DeviceObject, false);
}

NTSTATUS IoRegisterLastChanceShutdownNotification(PDEVICE_OBJECT DeviceObject) {
    return add(DeviceObject, true);
}

void IoUnregisterShutdownNotification(PDEVICE_OBJECT DeviceObject) {
    require(DeviceObject, "IoUnregisterShutdownNotification: the device is NULL");
    VERIFY_IRQL(IoUnregisterShutdownNotification);
    forget_shutdown(*DeviceObject);
}

NTSTATUS IrpShutDown(void) {
    VERIFY_IRQL(IrpShutDown);
    NTSTATUS first = STATUS_SUCCESS;
    while (DEVICE_OBJECT* const device = shutdown_list::current().take()) {
        const NTSTATUS status = notify(*device);
        if (NT_SUCCESS(first)) first = status;
        dereference_object(device->Header);
    }
    return first;
}

} // extern "C"
