// A driver from its entry point to its unload.
#include "file_driver.hpp"

#include <support/both_machines.hpp>

#include <irp/testing/driver.hpp>

#include <dispatch/status.hpp>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

// A driver as its author writes it, with one named device.
struct small_driver {
    static inline bool fails = false;
    static inline bool keeps_device = false;
    static inline int unloads = 0;

    static NTSTATUS entry(PDRIVER_OBJECT driver, PUNICODE_STRING) {
        if (fails) return STATUS_DEVICE_NOT_READY;
        for (PDRIVER_DISPATCH& each : driver->MajorFunction)
            each = succeed;
        driver->DriverUnload = unload;
        driver->DriverExtension->AddDevice = [](PDRIVER_OBJECT, PDEVICE_OBJECT) {
            return STATUS_SUCCESS;
        };
        unicode name(u"\\Device\\Small");
        DEVICE_OBJECT* device = nullptr;
        return IoCreateDevice(driver, 0, name.get(), FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    }
    static NTSTATUS succeed(DEVICE_OBJECT*, IRP* irp) {
        return irp::pending_irp(irp).complete(STATUS_SUCCESS, FILE_OPENED);
    }
    static void unload(PDRIVER_OBJECT driver) {
        ++unloads;
        if (!keeps_device) IoDeleteDevice(driver->DeviceObject);
    }
};

class LoadedDrivers : public BothMachines {
protected:
    LoadedDrivers() {
        small_driver::fails = small_driver::keeps_device = false;
        small_driver::unloads = 0;
    }
};

TEST_P(LoadedDrivers, LoadedDriver_HasNamesAndOpenableDevices) {
    const irp::loaded_driver driver(small_driver::entry, u"Small");
    const DRIVER_OBJECT& object = *driver.get();
    const auto text = [](const UNICODE_STRING& string) {
        return std::u16string(reinterpret_cast<const char16_t*>(string.Buffer), string.Length / 2);
    };
    EXPECT_EQ(text(object.DriverName), u"\\Driver\\Small");
    EXPECT_EQ(text(object.DriverExtension->ServiceKeyName),
              u"\\Registry\\Machine\\System\\CurrentControlSet\\Services\\Small");
    EXPECT_EQ(object.DriverExtension->DriverObject, &object);
    EXPECT_NE(object.DriverExtension->AddDevice, nullptr);
    EXPECT_EQ(object.DriverInit, small_driver::entry);
    const opened_file file(u"\\Device\\Small");
}

TEST_P(LoadedDrivers, EntryThatFails_LoadsNothing) {
    small_driver::fails = true;
    DRIVER_OBJECT* driver = nullptr;
    EXPECT_EQ(irp::load_driver(small_driver::entry, u"Small", driver), STATUS_DEVICE_NOT_READY);
    EXPECT_EQ(driver, nullptr);
    EXPECT_THROW(irp::loaded_driver(small_driver::entry, u"Small"), dispatch::status_error);
}

TEST_P(LoadedDrivers, Unload_WaitsForFilesToClose) {
    irp::loaded_driver driver(small_driver::entry, u"Small");
    opened_file file(u"\\Device\\Small");
    EXPECT_EQ(driver.unload(), STATUS_DEVICE_BUSY);
    EXPECT_EQ(small_driver::unloads, 0);
    file.close();
    EXPECT_EQ(driver.unload(), STATUS_SUCCESS);
    EXPECT_EQ(small_driver::unloads, 1);
    HANDLE handle = nullptr;
    EXPECT_EQ(open(handle, u"\\Device\\Small"), STATUS_OBJECT_NAME_NOT_FOUND);
}

TEST_P(LoadedDrivers, UnloadThatFails_KeepsTheDriver) {
    DRIVER_OBJECT* driver = nullptr;
    ASSERT_EQ(irp::load_driver(small_driver::entry, u"Small", driver), STATUS_SUCCESS);
    const PDRIVER_UNLOAD unload = std::exchange(driver->DriverUnload, nullptr);
    EXPECT_EQ(irp::unload_driver(driver), STATUS_INVALID_DEVICE_REQUEST);
    driver->DriverUnload = unload;
    small_driver::keeps_device = true;
    EXPECT_EQ(irp::unload_driver(driver), STATUS_CANNOT_DELETE);
    small_driver::keeps_device = false;
    EXPECT_EQ(irp::unload_driver(driver), STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(LoadedDrivers);

} // namespace
