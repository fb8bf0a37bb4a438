// A Plug and Play driver from AddDevice to IRP_MN_REMOVE_DEVICE, and power.
#include "file_driver.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <irp/power.h>
#include <irp/remove_lock.h>
#include <irp/testing/driver.hpp>
#include <irp/testing/pnp.hpp>
#include <irp/verifier.hpp>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using irp::pnp_device;
using state = pnp_device::state;

// A function driver as the WDK's samples have it: a remove lock, one named device, and device power
// that follows the system's.
struct function_driver {
    struct extension {
        DEVICE_OBJECT* lower;
        DEVICE_OBJECT* physical;
        IO_REMOVE_LOCK removal;
    };
    static inline std::vector<UCHAR> minors;         // of the PnP requests, in order
    static inline NTSTATUS verdict = STATUS_SUCCESS; // on the queries
    static inline int powered = 0;                   // completed requests of device power

    static extension& of(DEVICE_OBJECT* device) {
        return *static_cast<extension*>(device->DeviceExtension);
    }
    static NTSTATUS entry(PDRIVER_OBJECT driver, PUNICODE_STRING) {
        for (PDRIVER_DISPATCH& each : driver->MajorFunction)
            each = pass;
        driver->MajorFunction[IRP_MJ_CREATE] = driver->MajorFunction[IRP_MJ_CLEANUP] =
            driver->MajorFunction[IRP_MJ_CLOSE] = succeed;
        driver->MajorFunction[IRP_MJ_PNP] = pnp;
        driver->MajorFunction[IRP_MJ_POWER] = power;
        driver->DriverExtension->AddDevice = add;
        driver->DriverUnload = [](PDRIVER_OBJECT) {};
        return STATUS_SUCCESS;
    }
    static NTSTATUS add(PDRIVER_OBJECT driver, PDEVICE_OBJECT physical) {
        unicode name(u"\\Device\\Function");
        DEVICE_OBJECT* device = nullptr;
        const NTSTATUS status = IoCreateDevice(driver, sizeof(extension), name.get(),
                                               FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
        if (!NT_SUCCESS(status)) return status;
        of(device).physical = physical;
        IoInitializeRemoveLock(&of(device).removal, 0, 0, 0);
        of(device).lower = IoAttachDeviceToDeviceStack(device, physical);
        device->Flags &= ~static_cast<ULONG>(DO_DEVICE_INITIALIZING);
        return STATUS_SUCCESS;
    }
    static NTSTATUS succeed(DEVICE_OBJECT*, IRP* irp) {
        return irp::pending_irp(irp).complete(STATUS_SUCCESS, FILE_OPENED);
    }
    static NTSTATUS pass(DEVICE_OBJECT* device, IRP* irp) {
        IoSkipCurrentIrpStackLocation(irp);
        return IoCallDriver(of(device).lower, irp);
    }
    static NTSTATUS pnp(DEVICE_OBJECT* device, IRP* irp) {
        const UCHAR minor = IoGetCurrentIrpStackLocation(irp)->MinorFunction;
        minors.push_back(minor);
        const bool query = minor == IRP_MN_QUERY_STOP_DEVICE || minor == IRP_MN_QUERY_REMOVE_DEVICE;
        if (query && !NT_SUCCESS(verdict)) return irp::pending_irp(irp).complete(verdict);
        irp->IoStatus.Status = STATUS_SUCCESS;
        if (minor != IRP_MN_REMOVE_DEVICE) return pass(device, irp);
        IoAcquireRemoveLock(&of(device).removal, irp);
        const NTSTATUS status = pass(device, irp);
        IoReleaseRemoveLockAndWait(&of(device).removal, irp);
        IoDetachDevice(of(device).lower);
        IoDeleteDevice(device);
        return status;
    }
    static NTSTATUS power(DEVICE_OBJECT* device, IRP* irp) {
        const IO_STACK_LOCATION& stack = *IoGetCurrentIrpStackLocation(irp);
        const auto& asked = stack.Parameters.Power;
        if (stack.MinorFunction == IRP_MN_SET_POWER && asked.Type == SystemPowerState) {
            POWER_STATE wanted{};
            wanted.DeviceState =
                asked.State.SystemState == PowerSystemWorking ? PowerDeviceD0 : PowerDeviceD3;
            EXPECT_EQ(PoRequestPowerIrp(of(device).physical, IRP_MN_SET_POWER, wanted, count_power,
                                        nullptr, nullptr),
                      STATUS_PENDING);
        }
        return pass(device, irp);
    }
    static void count_power(PDEVICE_OBJECT, UCHAR, POWER_STATE, PVOID, PIO_STATUS_BLOCK result) {
        EXPECT_EQ(result->Status, STATUS_SUCCESS);
        ++powered;
    }
};

class PlugAndPlay : public BothMachines {
protected:
    PlugAndPlay() {
        function_driver::minors.clear();
        function_driver::verdict = STATUS_SUCCESS;
        function_driver::powered = 0;
    }

    const irp::verifier_scope verified{"default"};
    irp::loaded_driver driver{function_driver::entry, u"Function"};
    pnp_device device;
};

TEST_P(PlugAndPlay, DeviceFromAddToRemove_SeesEachRequestInOrder) {
    EXPECT_EQ(device.add(driver.get()), STATUS_SUCCESS);
    EXPECT_NE(device.top(), device.physical_device());
    EXPECT_EQ(device.start(), STATUS_SUCCESS);
    EXPECT_EQ(device.query_stop(), STATUS_SUCCESS);
    EXPECT_EQ(device.cancel_stop(), STATUS_SUCCESS);
    EXPECT_EQ(device.query_stop(), STATUS_SUCCESS);
    EXPECT_EQ(device.stop(), STATUS_SUCCESS);
    EXPECT_EQ(device.start(), STATUS_SUCCESS);
    EXPECT_EQ(device.query_remove(), STATUS_SUCCESS);
    EXPECT_EQ(device.cancel_remove(), STATUS_SUCCESS);
    EXPECT_EQ(device.current(), state::started);
    EXPECT_EQ(device.query_remove(), STATUS_SUCCESS);
    EXPECT_EQ(device.remove(), STATUS_SUCCESS);
    EXPECT_EQ(device.current(), state::removed);
    EXPECT_EQ(device.top(), device.physical_device());
    EXPECT_EQ(function_driver::minors,
              (std::vector<UCHAR>{IRP_MN_START_DEVICE, IRP_MN_QUERY_STOP_DEVICE,
                                  IRP_MN_CANCEL_STOP_DEVICE, IRP_MN_QUERY_STOP_DEVICE,
                                  IRP_MN_STOP_DEVICE, IRP_MN_START_DEVICE,
                                  IRP_MN_QUERY_REMOVE_DEVICE, IRP_MN_CANCEL_REMOVE_DEVICE,
                                  IRP_MN_QUERY_REMOVE_DEVICE, IRP_MN_REMOVE_DEVICE}));
    EXPECT_EQ(driver.unload(), STATUS_SUCCESS);
}

TEST_P(PlugAndPlay, RequestOutOfTurn_IsNotSent) {
    EXPECT_EQ(device.start(), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(device.set_power(PowerDeviceD0), STATUS_INVALID_DEVICE_STATE);
    device.add(driver.get());
    EXPECT_EQ(device.query_stop(), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(device.stop(), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(device.cancel_stop(), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(device.cancel_remove(), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(device.surprise_removal(), STATUS_INVALID_DEVICE_STATE);
    EXPECT_TRUE(function_driver::minors.empty());
    device.start();
    EXPECT_EQ(device.remove(), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(device.add(driver.get()), STATUS_INVALID_DEVICE_STATE);
}

TEST_P(PlugAndPlay, DriverWithoutAddDevice_IsNotAdded) {
    DRIVER_OBJECT legacy{};
    EXPECT_EQ(device.add(&legacy), STATUS_INVALID_DEVICE_REQUEST);
}

TEST_P(PlugAndPlay, QueryThatFails_IsCancelled) {
    device.add(driver.get());
    device.start();
    function_driver::verdict = STATUS_UNSUCCESSFUL;
    EXPECT_EQ(device.query_stop(), STATUS_UNSUCCESSFUL);
    EXPECT_EQ(function_driver::minors.back(), IRP_MN_CANCEL_STOP_DEVICE);
    EXPECT_EQ(device.query_remove(), STATUS_UNSUCCESSFUL);
    EXPECT_EQ(function_driver::minors.back(), IRP_MN_CANCEL_REMOVE_DEVICE);
    EXPECT_EQ(device.current(), state::started);
}

TEST_P(PlugAndPlay, OpenFile_PreventsRemoval) {
    device.add(driver.get());
    device.start();
    opened_file file(u"\\Device\\Function");
    EXPECT_EQ(device.query_remove(), STATUS_DEVICE_BUSY);
    EXPECT_EQ(device.surprise_removal(), STATUS_SUCCESS);
    EXPECT_EQ(device.remove(), STATUS_DEVICE_BUSY);
    EXPECT_EQ(driver.unload(), STATUS_DEVICE_BUSY);
    file.close();
    EXPECT_EQ(device.remove(), STATUS_SUCCESS);
    EXPECT_EQ(function_driver::minors.back(), IRP_MN_REMOVE_DEVICE);
}

TEST_P(PlugAndPlay, DestroyedDevice_IsRemovedBySurprise) {
    {
        pnp_device short_lived;
        short_lived.add(driver.get());
        short_lived.start();
    }
    EXPECT_EQ(
        function_driver::minors,
        (std::vector<UCHAR>{IRP_MN_START_DEVICE, IRP_MN_SURPRISE_REMOVAL, IRP_MN_REMOVE_DEVICE}));
}

TEST_P(PlugAndPlay, RequestToBus_ReachesItsHardware) {
    pnp_device with_hardware(
        [](DEVICE_OBJECT*, IRP* irp) { return irp::pending_irp(irp).complete(STATUS_SUCCESS, 3); });
    with_hardware.add(driver.get());
    with_hardware.start();
    const opened_file file(u"\\Device\\Function");
    IO_STATUS_BLOCK result = untouched;
    char buffer[4];
    EXPECT_EQ(file.read(buffer, 4, result), STATUS_SUCCESS);
    EXPECT_EQ(result.Information, 3u);
}

TEST_P(PlugAndPlay, SystemPower_ChangesDevicePower) {
    device.add(driver.get());
    device.start();
    EXPECT_EQ(device.set_power(PowerDeviceD0), STATUS_SUCCESS);
    EXPECT_EQ(device.device_power(), PowerDeviceD0);
    EXPECT_EQ(device.query_power(PowerSystemSleeping3), STATUS_SUCCESS);
    EXPECT_EQ(device.query_power(PowerDeviceD3), STATUS_SUCCESS);
    EXPECT_EQ(device.device_power(), PowerDeviceD0);
    EXPECT_EQ(device.set_power(PowerSystemSleeping3), STATUS_SUCCESS);
    EXPECT_EQ(device.device_power(), PowerDeviceD3);
    EXPECT_EQ(device.set_power(PowerSystemWorking), STATUS_SUCCESS);
    EXPECT_EQ(device.device_power(), PowerDeviceD0);
    EXPECT_EQ(function_driver::powered, 2);
    EXPECT_EQ(PoRequestPowerIrp(device.physical_device(), IRP_MN_POWER_SEQUENCE, {}, nullptr,
                                nullptr, nullptr),
              STATUS_INVALID_PARAMETER_2);
}

IRPVERBS_ON_BOTH_MACHINES(PlugAndPlay);

// A reader and the removal race: the read ends, and the driver is unloaded.
void unplug_under_load(dispatch::sim_machine& sim) {
    irp::loaded_driver driver(function_driver::entry, u"Function");
    irp::cancel_safe_queue queue;
    pnp_device device([&](DEVICE_OBJECT*, IRP* irp) { return queue.pend(irp::pending_irp(irp)); });
    device.add(driver.get());
    device.start();
    opened_file file(u"\\Device\\Function");
    IO_STATUS_BLOCK result = untouched;
    char buffer[4];
    sim.spawn("read", [&] {
        file.read(buffer, 4, result);
        file.close();
    });
    sim.spawn("unplug", [&] {
        EXPECT_EQ(device.surprise_removal(), STATUS_SUCCESS);
        queue.close(STATUS_DEVICE_REMOVED);
    });
    sim.run();
    EXPECT_TRUE(result.Status == STATUS_CANCELLED || result.Status == STATUS_DEVICE_REMOVED);
    EXPECT_EQ(device.remove(), STATUS_SUCCESS);
    EXPECT_EQ(driver.unload(), STATUS_SUCCESS);
}

TEST(PlugAndPlayRaces, SurpriseRemovalUnderRead_EndsReadAndUnloads) {
    const irp::verifier_scope verified("default");
    dispatch::explore_options options;
    options.random_runs = options.pct_runs = 200;
    expect_explored(options, unplug_under_load);
}

} // namespace
