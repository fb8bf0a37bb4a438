#include "device/driver_extensions.hpp"
#include "irql_rules.hpp"
#include "names.hpp"
#include "plug_and_play/plug_and_play.hpp"
#include "registry/registry.hpp"
#include "require.hpp"

#include <dispatch/status.hpp>
#include <dispatch/support/faults.hpp>
#include <dispatch/support/verify.hpp>
#include <irp/testing/driver.hpp>

#include <cstdlib>
#include <memory>
#include <new>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

namespace {

// A driver object with the memory that it points to.
struct driver_memory {
    DRIVER_OBJECT object{};
    DRIVER_EXTENSION extension{};
    std::u16string name;
    std::u16string registry_path;
};

struct free_driver {
    void operator()(driver_memory* gone) const {
        gone->~driver_memory();
        free_to_special_pool(gone, sizeof *gone, "driver object");
    }
};
using owned_driver = std::unique_ptr<driver_memory, free_driver>;

owned_driver make_driver(PDRIVER_INITIALIZE entry, std::u16string_view name) {
    void* const place = std::malloc(sizeof(driver_memory));
    if (place == nullptr) throw std::bad_alloc();
    owned_driver made(new (place) driver_memory);
    made->name = u"\\Driver\\";
    made->name += name;
    made->registry_path = registry::services;
    made->registry_path += u'\\';
    made->registry_path += name;
    registry::current().ensure(made->registry_path);
    made->object.DriverName = string_of(made->name);
    made->object.DriverExtension = &made->extension;
    made->object.DriverInit = entry;
    made->extension.DriverObject = &made->object;
    made->extension.ServiceKeyName = string_of(made->registry_path);
    return made;
}

void allow_files(const DRIVER_OBJECT& driver) {
    for (DEVICE_OBJECT* each = driver.DeviceObject; each != nullptr; each = each->NextDevice)
        each->Flags &= ~static_cast<ULONG>(DO_DEVICE_INITIALIZING);
}

bool is_in_use(const DRIVER_OBJECT& driver) {
    for (const DEVICE_OBJECT* each = driver.DeviceObject; each != nullptr; each = each->NextDevice)
        if (each->AttachedDevice != nullptr ||
            __atomic_load_n(&each->ReferenceCount, __ATOMIC_ACQUIRE) != 0)
            return true;
    return false;
}

} // namespace

extern "C" {

NTSTATUS IrpLoadDriver(PDRIVER_INITIALIZE Entry, PUNICODE_STRING Name,
                       PDRIVER_OBJECT* DriverObject) try {
    VERIFY_IRQL(IrpLoadDriver);
    if (fault_point("irp.load_driver")) return STATUS_INSUFFICIENT_RESOURCES;
    auto made = make_driver(
        Entry, {reinterpret_cast<const char16_t*>(Name->Buffer), Name->Length / sizeof(WCHAR)});
    const NTSTATUS status = Entry(&made->object, &made->extension.ServiceKeyName);
    if (!NT_SUCCESS(status)) {
        driver_extensions::current().release(&made->object);
        return status;
    }
    allow_files(made->object);
    *DriverObject = &made.release()->object;
    return status;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS IrpUnloadDriver(PDRIVER_OBJECT DriverObject) {
    require(DriverObject, "IrpUnloadDriver: the driver is NULL");
    if (verifying()) check_freed_use(DriverObject, "a driver is unloaded");
    VERIFY_IRQL(IrpUnloadDriver);
    if (DriverObject->DriverUnload == nullptr) return STATUS_INVALID_DEVICE_REQUEST;
    if (is_in_use(*DriverObject)) return STATUS_DEVICE_BUSY;
    DriverObject->DriverUnload(DriverObject);
    KeFlushQueuedDpcs();
    if (DriverObject->DeviceObject != nullptr ||
        plug_and_play::current()->callbacks().has_any_of(*DriverObject))
        return STATUS_CANNOT_DELETE;
    driver_extensions::current().release(DriverObject);
    owned_driver(CONTAINING_RECORD(DriverObject, driver_memory, object)).reset();
    return STATUS_SUCCESS;
}

} // extern "C"

namespace irpverbs::irp {

loaded_driver::loaded_driver(PDRIVER_INITIALIZE entry, std::u16string_view name) {
    const NTSTATUS status = load_driver(entry, name, driver_);
    if (!NT_SUCCESS(status)) throw dispatch::status_error(status, "the driver was not loaded");
}

loaded_driver::~loaded_driver() { unload(); }

NTSTATUS loaded_driver::unload() {
    if (driver_ == nullptr) return STATUS_SUCCESS;
    const NTSTATUS status = unload_driver(driver_);
    if (NT_SUCCESS(status)) driver_ = nullptr;
    return status;
}

} // namespace irpverbs::irp
