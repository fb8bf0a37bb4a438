// A Plug and Play driver that breaks the rule of its choice.
#pragma once

#include <irp/testing/driver.hpp>
#include <irp/testing/pnp.hpp>
#include <irp/wdm.h>

#include <string_view>

namespace irpverbs::testing {

/// The function driver of one device. Rules with two forms have a second one: "PnpIrpCompletion2".
class breaking_pnp_driver {
public:
    using planted = bool (*)(std::string_view rule);

    /// A whole life of the device, ended by surprise if `surprise`.
    static void play(planted breaks, bool surprise = true) {
        breaks_ = breaks;
        irp::loaded_driver driver(entry, u"Breaking");
        irp::pnp_device device;
        device.add(driver.get());
        device.start();
        device.send_unknown();
        device.query_power(PowerDeviceD3);
        device.set_power(PowerDeviceD3);
        if (surprise)
            device.surprise_removal();
        else
            device.query_remove();
        device.remove();
    }

private:
    struct extension {
        DEVICE_OBJECT* lower;
    };

    static extension& of(DEVICE_OBJECT* device) {
        return *static_cast<extension*>(device->DeviceExtension);
    }
    static NTSTATUS complete(IRP* irp, NTSTATUS status) {
        irp->IoStatus.Status = status;
        IoCompleteRequest(irp, IO_NO_INCREMENT);
        return status;
    }
    static NTSTATUS pass(DEVICE_OBJECT* device, IRP* irp) {
        IoSkipCurrentIrpStackLocation(irp);
        return IoCallDriver(of(device).lower, irp);
    }

    static NTSTATUS entry(PDRIVER_OBJECT driver, PUNICODE_STRING) {
        for (PDRIVER_DISPATCH& each : driver->MajorFunction)
            each = pass;
        driver->MajorFunction[IRP_MJ_PNP] = pnp;
        driver->MajorFunction[IRP_MJ_POWER] = power;
        driver->DriverExtension->AddDevice = add;
        driver->DriverUnload = [](PDRIVER_OBJECT object) {
            if (object->DeviceObject != nullptr) IoDeleteDevice(object->DeviceObject);
        };
        return STATUS_SUCCESS;
    }
    static NTSTATUS add(PDRIVER_OBJECT driver, PDEVICE_OBJECT physical) {
        DEVICE_OBJECT* device = nullptr;
        const NTSTATUS status = IoCreateDevice(driver, sizeof(extension), nullptr,
                                               FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
        if (!NT_SUCCESS(status)) return status;
        of(device).lower = IoAttachDeviceToDeviceStack(device, physical);
        if (!breaks_("DeviceInitializing"))
            device->Flags &= ~static_cast<ULONG>(DO_DEVICE_INITIALIZING);
        return STATUS_SUCCESS;
    }
    static NTSTATUS pnp(DEVICE_OBJECT* device, IRP* irp) {
        switch (IoGetCurrentIrpStackLocation(irp)->MinorFunction) {
        case IRP_MN_START_DEVICE:
            if (breaks_("PnpIrpCompletion")) return complete(irp, STATUS_SUCCESS);
            return pass(device, irp);
        case IRP_MN_SURPRISE_REMOVAL:
            return surprise(device, irp);
        case IRP_MN_REMOVE_DEVICE:
            return remove(device, irp);
        case IRP_MN_QUERY_REMOVE_DEVICE:
            if (breaks_("PnpFailedIrpForwarded")) {
                irp->IoStatus.Status = STATUS_DEVICE_BUSY;
                return pass(device, irp);
            }
            return complete(irp, STATUS_DEVICE_BUSY);
        default:
            if (breaks_("PnpIrpCompletion2")) return complete(irp, STATUS_NOT_SUPPORTED);
            if (breaks_("PnpStatusChanged")) irp->IoStatus.Status = STATUS_SUCCESS;
            return pass(device, irp);
        }
    }
    static NTSTATUS power(DEVICE_OBJECT* device, IRP* irp) {
        const bool set = IoGetCurrentIrpStackLocation(irp)->MinorFunction == IRP_MN_SET_POWER;
        if (!set && !breaks_("PowerIrpCompletion2")) return complete(irp, STATUS_DEVICE_BUSY);
        if (breaks_(set ? "PowerIrpCompletion" : "PowerIrpCompletion2"))
            return complete(irp, STATUS_SUCCESS);
        return pass(device, irp);
    }
    static NTSTATUS surprise(DEVICE_OBJECT* device, IRP* irp) {
        if (breaks_("PnpRemove")) return complete(irp, STATUS_UNSUCCESSFUL);
        irp->IoStatus.Status = STATUS_SUCCESS;
        if (!breaks_("PnpSurpriseRemove")) return pass(device, irp);
        const NTSTATUS status = pass(device, irp);
        leave(device);
        return status;
    }
    static NTSTATUS remove(DEVICE_OBJECT* device, IRP* irp) {
        irp->IoStatus.Status = STATUS_SUCCESS;
        const NTSTATUS status = pass(device, irp);
        IoDetachDevice(of(device).lower);
        if (!breaks_("RemovedDeviceDeleted")) IoDeleteDevice(device);
        return status;
    }
    static void leave(DEVICE_OBJECT* device) {
        IoDetachDevice(of(device).lower);
        IoDeleteDevice(device);
    }

    static inline planted breaks_ = nullptr;
};

} // namespace irpverbs::testing
