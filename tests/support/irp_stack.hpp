// Drivers, devices and requests for the tests of irp.
#pragma once

#include <irp/wdm.h>

#include <gtest/gtest.h>

namespace irpverbs::testing {

/// A driver with one device and one dispatch routine for all major functions.
struct test_driver {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = nullptr;
    void* context = nullptr;

    explicit test_driver(PDRIVER_DISPATCH dispatch, void* its_context = nullptr)
        : context(its_context) {
        for (PDRIVER_DISPATCH& each : driver.MajorFunction)
            each = dispatch;
        EXPECT_EQ(IoCreateDevice(&driver, sizeof(test_driver*), nullptr, FILE_DEVICE_UNKNOWN, 0,
                                 FALSE, &device),
                  STATUS_SUCCESS);
        *static_cast<test_driver**>(device->DeviceExtension) = this;
    }
    /// A filter, attached on top of `below`.
    test_driver(PDRIVER_DISPATCH dispatch, test_driver& below, void* its_context = nullptr)
        : test_driver(dispatch, its_context) {
        EXPECT_EQ(IoAttachDeviceToDeviceStack(device, below.device), below.device);
    }
    ~test_driver() {
        if (device->AttachedTo != nullptr) IoDetachDevice(device->AttachedTo);
        IoDeleteDevice(device);
    }
    test_driver(const test_driver&) = delete;
    test_driver& operator=(const test_driver&) = delete;

    static test_driver& of(DEVICE_OBJECT* device) {
        return **static_cast<test_driver**>(device->DeviceExtension);
    }
    template <class Context>
    static Context& context_of(DEVICE_OBJECT* device) {
        return *static_cast<Context*>(of(device).context);
    }
};

inline NTSTATUS complete(IRP* irp, NTSTATUS status, ULONG_PTR information = 0) {
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = information;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return status;
}

/// Dispatch routine: completes with the context's status, or STATUS_SUCCESS without a context.
inline NTSTATUS complete_at_once(DEVICE_OBJECT* device, IRP* irp) {
    const auto* status = static_cast<const NTSTATUS*>(test_driver::of(device).context);
    return complete(irp, status != nullptr ? *status : STATUS_SUCCESS);
}

/// Dispatch routine: marks the IRP pending and stores it in the context, an IRP*.
inline NTSTATUS pend(DEVICE_OBJECT* device, IRP* irp) {
    IoMarkIrpPending(irp);
    test_driver::context_of<IRP*>(device) = irp;
    return STATUS_PENDING;
}

/// Dispatch routine: passes the IRP down, without a completion routine.
inline NTSTATUS forward(DEVICE_OBJECT* device, IRP* irp) {
    IoCopyCurrentIrpStackLocationToNext(irp);
    return IoCallDriver(device->AttachedTo, irp);
}

/// The result that an originator's completion routine recorded.
struct outcome {
    int completions = 0;
    NTSTATUS status = STATUS_PENDING;
    ULONG_PTR information = 0;
    BOOLEAN pending_returned = FALSE;
    DEVICE_OBJECT* device = nullptr;
    NTSTATUS return_status = STATUS_MORE_PROCESSING_REQUIRED;
};

inline NTSTATUS record_outcome(DEVICE_OBJECT* device, IRP* irp, void* context) {
    auto& result = *static_cast<outcome*>(context);
    ++result.completions;
    result.status = irp->IoStatus.Status;
    result.information = irp->IoStatus.Information;
    result.pending_returned = irp->PendingReturned;
    result.device = device;
    return result.return_status;
}

/// An IRP ready to be sent; its completion routine keeps it for the originator, which frees it.
inline IRP* recorded_request(DEVICE_OBJECT* device, outcome& result) {
    IRP* irp = IoAllocateIrp(device->StackSize, FALSE);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    IoSetCompletionRoutine(irp, record_outcome, &result, TRUE, TRUE, TRUE);
    return irp;
}

} // namespace irpverbs::testing
