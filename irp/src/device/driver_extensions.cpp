#include "driver_extensions.hpp"

#include "require.hpp"

#include <dispatch/support/faults.hpp>
#include <dispatch/support/locals.hpp>

#include <mutex>
#include <new>

using namespace irpverbs::dispatch::detail;

namespace irpverbs::irp {
namespace {

IRPVERBS_REGISTERED_EARLY const machine_local<driver_extensions> extensions_of_machine(0);

} // namespace

driver_extensions& driver_extensions::current() { return extensions_of_machine.current(); }

void* driver_extensions::add(const DRIVER_OBJECT* driver, const void* client, std::size_t size) {
    auto made = std::make_unique<char[]>(size);
    const std::lock_guard guard(lock_);
    const auto [place, is_new] = memory_.try_emplace({driver, client}, std::move(made));
    return is_new ? place->second.get() : nullptr;
}

void* driver_extensions::find(const DRIVER_OBJECT* driver, const void* client) {
    const std::lock_guard guard(lock_);
    const auto found = memory_.find({driver, client});
    return found == memory_.end() ? nullptr : found->second.get();
}

void driver_extensions::release(const DRIVER_OBJECT* driver) {
    const std::lock_guard guard(lock_);
    std::erase_if(memory_, [=](const auto& each) { return each.first.first == driver; });
}

} // namespace irpverbs::irp

using namespace irpverbs::irp;

extern "C" {

NTSTATUS IoAllocateDriverObjectExtension(PDRIVER_OBJECT DriverObject,
                                         PVOID ClientIdentificationAddress,
                                         ULONG DriverObjectExtensionSize,
                                         PVOID* DriverObjectExtension) try {
    require(DriverObject, "IoAllocateDriverObjectExtension: the driver is NULL");
    *DriverObjectExtension = nullptr;
    if (fault_point("irp.driver_extension")) return STATUS_INSUFFICIENT_RESOURCES;
    void* const made = driver_extensions::current().add(DriverObject, ClientIdentificationAddress,
                                                        DriverObjectExtensionSize);
    if (made == nullptr) return STATUS_OBJECT_NAME_COLLISION;
    *DriverObjectExtension = made;
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

PVOID IoGetDriverObjectExtension(PDRIVER_OBJECT DriverObject, PVOID ClientIdentificationAddress) {
    return driver_extensions::current().find(DriverObject, ClientIdentificationAddress);
}

} // extern "C"
