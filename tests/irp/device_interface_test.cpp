// Device interfaces: found and opened by their class, announced when they come and go.
#include "file_driver.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <irp/device_interface.h>
#include <irp/registry.h>
#include <irp/testing/driver.hpp>
#include <irp/testing/pnp.hpp>
#include <irp/verifier.hpp>

#include <dispatch/pool.h>

#include <memory>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using irp::pnp_device;

constexpr GUID sensors = {0x12345678, 0x9abc, 0xdef0, {1, 2, 3, 4, 5, 6, 7, 8}};
constexpr GUID other_interface = {0x12345678, 0x9abc, 0xdef0, {1, 2, 3, 4, 5, 6, 7, 9}};
const std::u16string sensors_text = u"{12345678-9abc-def0-0102-030405060708}";

/// The links, one after the other, each behind a slash.
std::u16string list_of(const GUID& type, DEVICE_OBJECT* device = nullptr, ULONG flags = 0) {
    PZZWSTR list = nullptr;
    EXPECT_EQ(IoGetDeviceInterfaces(&type, device, flags, &list), STATUS_SUCCESS);
    std::u16string text;
    for (const WCHAR* each = list; *each != 0;) {
        const std::u16string link(reinterpret_cast<const char16_t*>(each));
        text += u'/' + link;
        each += link.size() + 1;
    }
    ExFreePool(list);
    return text;
}

/// An interface's link, which the test frees.
class registered_interface {
public:
    explicit registered_interface(const pnp_device& device, const std::u16string& reference = u"",
                                  const GUID& type = sensors) {
        unicode text(reference);
        EXPECT_EQ(IoRegisterDeviceInterface(device.physical_device(), &type,
                                            reference.empty() ? nullptr : text.get(), &link_),
                  STATUS_SUCCESS);
    }
    ~registered_interface() { ExFreePool(link_.Buffer); }
    registered_interface(const registered_interface&) = delete;
    registered_interface& operator=(const registered_interface&) = delete;

    NTSTATUS set(bool enabled) { return IoSetDeviceInterfaceState(&link_, enabled); }
    UNICODE_STRING* link() { return &link_; }
    std::u16string text() const {
        return {reinterpret_cast<const char16_t*>(link_.Buffer), link_.Length / sizeof(WCHAR)};
    }

private:
    UNICODE_STRING link_{};
};

class DeviceInterfaces : public BothMachines {
protected:
    // Serves what is opened by the physical device's name.
    static NTSTATUS succeed(DEVICE_OBJECT*, IRP* irp) {
        const IO_STACK_LOCATION& stack = *IoGetCurrentIrpStackLocation(irp);
        if (stack.MajorFunction == IRP_MJ_CREATE)
            opened_name.assign(reinterpret_cast<const char16_t*>(stack.FileObject->FileName.Buffer),
                               stack.FileObject->FileName.Length / sizeof(WCHAR));
        return irp::pending_irp(irp).complete(STATUS_SUCCESS, FILE_OPENED);
    }
    static inline std::u16string opened_name;

    pnp_device device{succeed};
};

TEST_P(DeviceInterfaces, EnabledInterface_IsOpenedByItsLink) {
    registered_interface sensor(device);
    EXPECT_EQ(sensor.text(), u"\\??\\ROOT#IRPVERBS#0000#" + sensors_text);
    HANDLE file = nullptr;
    EXPECT_EQ(open(file, sensor.text()), STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT_EQ(sensor.set(true), STATUS_SUCCESS);
    { const opened_file opened(sensor.text()); }
    EXPECT_EQ(opened_name, u"");
    EXPECT_EQ(sensor.set(false), STATUS_SUCCESS);
    EXPECT_EQ(open(file, sensor.text()), STATUS_OBJECT_NAME_NOT_FOUND);
}

TEST_P(DeviceInterfaces, StateThatItHas_IsReported) {
    registered_interface sensor(device);
    EXPECT_EQ(sensor.set(false), STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT_EQ(sensor.set(true), STATUS_SUCCESS);
    EXPECT_EQ(sensor.set(true), STATUS_OBJECT_NAME_EXISTS);
    unicode nothing(u"\\??\\Nothing");
    EXPECT_EQ(IoSetDeviceInterfaceState(nothing.get(), TRUE), STATUS_OBJECT_NAME_NOT_FOUND);
}

TEST_P(DeviceInterfaces, ReferenceString_IsTheNameOfTheOpenedFile) {
    registered_interface first(device, u"first");
    registered_interface second(device, u"second");
    EXPECT_EQ(first.set(true), STATUS_SUCCESS);
    EXPECT_EQ(second.set(true), STATUS_SUCCESS);
    EXPECT_EQ(first.set(false), STATUS_SUCCESS); // the link stays, for the second
    { const opened_file opened(second.text()); }
    EXPECT_EQ(opened_name, u"\\second");
    EXPECT_EQ(second.set(false), STATUS_SUCCESS);
    HANDLE file = nullptr;
    EXPECT_EQ(open(file, second.text()), STATUS_OBJECT_PATH_NOT_FOUND);
}

TEST_P(DeviceInterfaces, List_HoldsTheEnabledOnesOfTheClass) {
    const pnp_device other;
    registered_interface sensor(device);
    registered_interface further(other);
    registered_interface unlike(device, u"", other_interface);
    EXPECT_EQ(list_of(sensors), u"");
    sensor.set(true);
    further.set(true);
    unlike.set(true);
    EXPECT_EQ(list_of(sensors), u'/' + sensor.text() + u'/' + further.text());
    EXPECT_EQ(list_of(sensors, other.physical_device()), u'/' + further.text());
    sensor.set(false);
    EXPECT_EQ(list_of(sensors), u'/' + further.text());
    EXPECT_EQ(list_of(sensors, device.physical_device(), DEVICE_INTERFACE_INCLUDE_NONACTIVE),
              u'/' + sensor.text());
}

TEST_P(DeviceInterfaces, DeviceOfNoBus_IsRefused) {
    const file_driver legacy;
    UNICODE_STRING link{};
    PZZWSTR list = nullptr;
    ULONG length = 0;
    HANDLE key = nullptr;
    DEVICE_OBJECT* const none = legacy.device();
    EXPECT_EQ(IoRegisterDeviceInterface(none, &sensors, nullptr, &link),
              STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(IoGetDeviceInterfaces(&sensors, none, 0, &list), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(IoGetDeviceProperty(none, DevicePropertyClassName, 0, nullptr, &length),
              STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(IoOpenDeviceRegistryKey(none, PLUGPLAY_REGKEY_DEVICE, KEY_READ, &key),
              STATUS_INVALID_DEVICE_REQUEST);
    unicode path(u"a\\b");
    EXPECT_EQ(IoRegisterDeviceInterface(device.physical_device(), &sensors, path.get(), &link),
              STATUS_INVALID_DEVICE_REQUEST);
}

TEST_P(DeviceInterfaces, RemovedDevice_TakesItsInterfacesAlong) {
    auto short_lived = std::make_unique<pnp_device>(succeed);
    registered_interface sensor(*short_lived);
    sensor.set(true);
    short_lived.reset();
    HANDLE file = nullptr;
    EXPECT_EQ(open(file, sensor.text()), STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT_EQ(list_of(sensors, nullptr, DEVICE_INTERFACE_INCLUDE_NONACTIVE), u"");
    EXPECT_EQ(sensor.set(true), STATUS_OBJECT_NAME_NOT_FOUND);
}

TEST_P(DeviceInterfaces, Property_IsReadFromTheDevicesKey) {
    WCHAR text[64];
    ULONG length = 0;
    const auto property = [&](DEVICE_REGISTRY_PROPERTY which, ULONG space) {
        return IoGetDeviceProperty(device.physical_device(), which, space, text, &length);
    };
    EXPECT_EQ(property(DevicePropertyEnumeratorName, sizeof text), STATUS_SUCCESS);
    EXPECT_EQ(std::u16string(reinterpret_cast<const char16_t*>(text)), u"ROOT");
    EXPECT_EQ(length, 10u);
    EXPECT_EQ(property(DevicePropertyEnumeratorName, 9), STATUS_BUFFER_TOO_SMALL);
    EXPECT_EQ(property(DevicePropertyHardwareID, sizeof text), STATUS_SUCCESS);
    EXPECT_EQ(property(DevicePropertyPhysicalDeviceObjectName, sizeof text), STATUS_SUCCESS);
    { const opened_file by_name(reinterpret_cast<const char16_t*>(text)); }
    EXPECT_EQ(property(DevicePropertyFriendlyName, sizeof text), STATUS_OBJECT_NAME_NOT_FOUND);
    WCHAR path[] = u"\\Registry\\Machine\\System\\CurrentControlSet\\Enum\\ROOT\\IRPVERBS\\0000";
    WCHAR name[] = u"FriendlyName";
    WCHAR value[] = u"Sensor";
    EXPECT_EQ(RtlWriteRegistryValue(RTL_REGISTRY_ABSOLUTE, path, name, REG_SZ, value, sizeof value),
              STATUS_SUCCESS);
    EXPECT_EQ(property(DevicePropertyFriendlyName, sizeof text), STATUS_SUCCESS);
    EXPECT_EQ(std::u16string(reinterpret_cast<const char16_t*>(text)), u"Sensor");
    EXPECT_EQ(property(DevicePropertyBusNumber, sizeof text), STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT_EQ(property(static_cast<DEVICE_REGISTRY_PROPERTY>(31), 0), STATUS_INVALID_PARAMETER_2);
}

TEST_P(DeviceInterfaces, Keys_AreThoseOfDeviceDriverAndInterface) {
    registered_interface sensor(device);
    const auto path_of = [](HANDLE key) {
        alignas(8) std::byte buffer[512];
        ULONG length = 0;
        EXPECT_EQ(ZwQueryKey(key, KeyNameInformation, buffer, sizeof buffer, &length),
                  STATUS_SUCCESS);
        ZwClose(key);
        const auto& name = *reinterpret_cast<KEY_NAME_INFORMATION*>(buffer);
        return std::u16string(reinterpret_cast<const char16_t*>(name.Name), name.NameLength / 2)
            .substr(std::size(u"\\REGISTRY\\Machine\\System\\CurrentControlSet"));
    };
    HANDLE key = nullptr;
    const auto open_for = [&](ULONG type) {
        return IoOpenDeviceRegistryKey(device.physical_device(), type, KEY_READ, &key);
    };
    EXPECT_EQ(open_for(PLUGPLAY_REGKEY_DEVICE | PLUGPLAY_REGKEY_CURRENT_HWPROFILE), STATUS_SUCCESS);
    EXPECT_EQ(path_of(key), u"Enum\\ROOT\\IRPVERBS\\0000\\Device Parameters");
    EXPECT_EQ(open_for(PLUGPLAY_REGKEY_DRIVER), STATUS_SUCCESS);
    EXPECT_EQ(path_of(key), u"Control\\Class\\{4d36e97d-e325-11ce-bfc1-08002be10318}\\0000");
    EXPECT_EQ(open_for(3), STATUS_INVALID_PARAMETER);
    const auto set_driver = [](std::u16string text) { // without a terminator
        RtlWriteRegistryValue(
            RTL_REGISTRY_ABSOLUTE,
            u"\\Registry\\Machine\\System\\CurrentControlSet\\Enum\\ROOT\\IRPVERBS\\0000",
            u"Driver", REG_SZ, text.data(), static_cast<ULONG>(text.size() * sizeof(WCHAR)));
    };
    set_driver(u"Unterminated");
    EXPECT_EQ(open_for(PLUGPLAY_REGKEY_DRIVER), STATUS_SUCCESS);
    EXPECT_EQ(path_of(key), u"Control\\Class\\Unterminated");
    set_driver(u"an\\\\empty part");
    EXPECT_EQ(open_for(PLUGPLAY_REGKEY_DRIVER), STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT_EQ(IoOpenDeviceInterfaceRegistryKey(sensor.link(), KEY_READ, &key), STATUS_SUCCESS);
    EXPECT_EQ(path_of(key), u"Control\\DeviceClasses\\" + sensors_text +
                                u"\\##?#ROOT#IRPVERBS#0000#" + sensors_text +
                                u"\\#\\Device Parameters");
    unicode nothing(u"\\??\\Nothing");
    EXPECT_EQ(IoOpenDeviceInterfaceRegistryKey(nothing.get(), KEY_READ, &key),
              STATUS_OBJECT_NAME_NOT_FOUND);
}

IRPVERBS_ON_BOTH_MACHINES(DeviceInterfaces);

/// Is notified of the class; the driver is the test's.
struct listener {
    std::u16string received; // "+link" and "-link", in order
    KSEMAPHORE calls{};
    void* entry = nullptr;

    explicit listener(DRIVER_OBJECT* driver, ULONG flags = 0, const GUID& type = sensors) {
        KeInitializeSemaphore(&calls, 0, 1000);
        GUID copy = type;
        EXPECT_EQ(IoRegisterPlugPlayNotification(EventCategoryDeviceInterfaceChange, flags, &copy,
                                                 driver, receive, this, &entry),
                  STATUS_SUCCESS);
    }
    ~listener() { EXPECT_EQ(IoUnregisterPlugPlayNotificationEx(entry), STATUS_SUCCESS); }
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;

    static NTSTATUS receive(PVOID text, PVOID context) {
        const auto& what = *static_cast<DEVICE_INTERFACE_CHANGE_NOTIFICATION*>(text);
        auto& self = *static_cast<listener*>(context);
        EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
        EXPECT_EQ(what.Version, 1);
        const bool arrival = std::memcmp(&what.Event, &GUID_DEVICE_INTERFACE_ARRIVAL, 16) == 0;
        self.received += arrival ? u'+' : u'-';
        self.received.append(reinterpret_cast<const char16_t*>(what.SymbolicLinkName->Buffer),
                             what.SymbolicLinkName->Length / sizeof(WCHAR));
        KeReleaseSemaphore(&self.calls, 0, 1, FALSE);
        return STATUS_SUCCESS;
    }
    void await(int count) {
        for (int i = 0; i < count; ++i)
            KeWaitForSingleObject(&calls, Executive, KernelMode, FALSE, nullptr);
    }
};

NTSTATUS empty_entry(PDRIVER_OBJECT driver, PUNICODE_STRING) {
    driver->DriverUnload = [](PDRIVER_OBJECT) {};
    return STATUS_SUCCESS;
}

class InterfaceNotifications : public BothMachines {
protected:
    irp::loaded_driver driver{empty_entry};
    pnp_device device;
    registered_interface sensor{device};
};

TEST_P(InterfaceNotifications, ArrivalAndRemoval_AreReceivedInOrder) {
    listener here(driver.get());
    listener elsewhere(driver.get(), 0, other_interface);
    sensor.set(true);
    sensor.set(false);
    here.await(2);
    EXPECT_EQ(here.received, u'+' + sensor.text() + u'-' + sensor.text());
    EXPECT_EQ(elsewhere.received, u"");
}

TEST_P(InterfaceNotifications, ExistingInterfaces_AreReceivedInsideTheRegistration) {
    {
        listener first(driver.get());
        sensor.set(true);
        first.await(1);
    }
    listener without(driver.get());
    EXPECT_EQ(without.received, u"");
    listener with(driver.get(), PNPNOTIFY_DEVICE_INTERFACE_INCLUDE_EXISTING_INTERFACES);
    EXPECT_EQ(with.received, u'+' + sensor.text());
}

TEST_P(InterfaceNotifications, RegisteredCallback_KeepsTheDriver) {
    {
        const listener here(driver.get());
        EXPECT_EQ(driver.unload(), STATUS_CANNOT_DELETE);
    }
    EXPECT_EQ(driver.unload(), STATUS_SUCCESS);
}

TEST_P(InterfaceNotifications, OtherCategories_AreNeverReceivedOrRefused) {
    void* entry = nullptr;
    EXPECT_EQ(IoRegisterPlugPlayNotification(EventCategoryTargetDeviceChange, 0, nullptr,
                                             driver.get(), listener::receive, nullptr, &entry),
              STATUS_NOT_SUPPORTED);
    EXPECT_EQ(IoRegisterPlugPlayNotification(EventCategoryHardwareProfileChange, 0, nullptr,
                                             driver.get(), listener::receive, nullptr, &entry),
              STATUS_SUCCESS);
    EXPECT_EQ(IoUnregisterPlugPlayNotification(entry), STATUS_SUCCESS);
    EXPECT_EQ(IoUnregisterPlugPlayNotification(entry), STATUS_INVALID_PARAMETER);
}

TEST_P(InterfaceNotifications, CallbackThatUnregistersItself_DoesNotWaitForItself) {
    struct once {
        void* entry = nullptr;
        KEVENT done{};
    } self;
    KeInitializeEvent(&self.done, NotificationEvent, FALSE);
    GUID type = sensors;
    ASSERT_EQ(IoRegisterPlugPlayNotification(
                  EventCategoryDeviceInterfaceChange, 0, &type, driver.get(),
                  [](PVOID, PVOID context) {
                      auto& mine = *static_cast<once*>(context);
                      const NTSTATUS status = IoUnregisterPlugPlayNotificationEx(mine.entry);
                      KeSetEvent(&mine.done, 0, FALSE);
                      return status;
                  },
                  &self, &self.entry),
              STATUS_SUCCESS);
    sensor.set(true);
    KeWaitForSingleObject(&self.done, Executive, KernelMode, FALSE, nullptr);
    EXPECT_EQ(driver.unload(), STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(InterfaceNotifications);

// After IoUnregisterPlugPlayNotificationEx no call uses the context.
void unregister_while_announced(dispatch::sim_machine& sim) {
    irp::loaded_driver driver(empty_entry);
    pnp_device device;
    registered_interface sensor(device);
    bool alive = true;
    void* entry = nullptr;
    GUID type = sensors;
    const auto use = [](PVOID, PVOID context) {
        EXPECT_TRUE(*static_cast<bool*>(context));
        dynamic_cast<dispatch::sim_machine&>(dispatch::machine::current()).yield();
        EXPECT_TRUE(*static_cast<bool*>(context));
        return NTSTATUS{STATUS_SUCCESS};
    };
    EXPECT_EQ(IoRegisterPlugPlayNotification(EventCategoryDeviceInterfaceChange, 0, &type,
                                             driver.get(), use, &alive, &entry),
              STATUS_SUCCESS);
    sim.spawn("device", [&] {
        sensor.set(true);
        sensor.set(false);
    });
    sim.spawn("driver", [&] {
        IoUnregisterPlugPlayNotificationEx(entry);
        alive = false;
    });
    sim.run();
    EXPECT_EQ(driver.unload(), STATUS_SUCCESS);
}

TEST(InterfaceNotificationRaces, UnregisterEx_IsTheEndOfTheCalls) {
    const irp::verifier_scope verified("default");
    dispatch::explore_options options;
    options.random_runs = options.pct_runs = 300;
    expect_explored(options, unregister_while_announced);
}

} // namespace
