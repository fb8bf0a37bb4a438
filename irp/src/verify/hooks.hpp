// The hooks that the core calls while instrumentation is on, and all that the core includes of this
// folder. They are apart from the common paths; each function itself tests whether its check is
// enabled.
#pragma once

#include <irp/csq.h>
#include <irp/device.h>
#include <irp/irp.h>
#include <irp/remove_lock.h>

#include <dispatch/support/checks.hpp>
#include <dispatch/support/verify.hpp>

#include <cstdint>
#include <vector>

namespace irpverbs::irp::verify {

namespace core = dispatch::detail;

/// True when any check of IRPs is on: then they have records.
inline bool tracking() noexcept { return core::enabled(~(core::first_package_check - 1)); }

/// The function that made memory an IRP.
enum class origin : std::uint8_t {
    found, // older than the verifier, or initialised without a call that it saw
    allocated,
    initialized,
    built_device_control,
    built_async_fsd,
    built_sync_fsd,
    associated,
};

// IoCallDriver and IoCompleteRequest with all checks. `caller` is the call site of IoCallDriver.
NTSTATUS call_driver(DEVICE_OBJECT* device, IRP* irp, const void* caller);
void complete_request(IRP* irp);

// The lifetime of an IRP's memory. begin_lifetime with origin::found: the IRP was initialised again
// in place.
void begin_lifetime(IRP* irp, origin made);
/// Sets the kind of request that an allocated IRP was built as.
void set_origin(IRP* irp, origin made);
void check_initialize(IRP* irp);
/// False: the IRP must not be initialised again.
bool check_reuse(IRP* irp);
/// False: the IRP must not be freed.
bool check_free(IRP* irp);
/// Called by ExFreePool with its address. True: it is an IRP in the library's own memory, and the
/// finding was emitted.
bool on_pool_free(const void* memory);
/// Frees the memory; while IRPs are tracked, after quarantine.
void end_lifetime(IRP* irp);

/// The memory at `address` is read or written; emits a finding if it is a freed IRP's.
void check_access(const void* address);

/// An MDL is freed whose pages are locked.
void locked_pages_freed();

/// `function` touches `irp`; emits a finding if the caller no longer owns the IRP.
void check_use(IRP* irp, const char* function);

// Cancellation.
PDRIVER_CANCEL exchange_cancel_routine(IRP* irp, PDRIVER_CANCEL routine);
BOOLEAN cancel(IRP* irp);
void check_cancel_release();
/// A cancel-safe queue is about to complete an IRP that was cancelled before it was inserted; the
/// dispatch routine that inserts it does not know, and returns STATUS_PENDING.
void cancelled_on_insert(const IRP* irp);
/// A cancel-safe queue is about to insert the IRP under that key.
void csq_key_given(const IRP* irp, const IO_CSQ_IRP_CONTEXT* key);

// StartIo. `routine`: the cancel routine, or null.
void start_io_attributes(DEVICE_OBJECT* device, bool cancelable);
void given_to_start_io(DEVICE_OBJECT* device, IRP* irp, PDRIVER_CANCEL routine);
void check_start_next(DEVICE_OBJECT* device, bool deferred);
/// Calls DriverStartIo.
void call_start_io(DEVICE_OBJECT* device, IRP* irp);

// Completion routines that reference their device.
void routine_ex_set(DEVICE_OBJECT* device, IRP* irp);
void routine_ex_failed(IRP* irp);

// strict_sdv_irql: SDV demands PASSIVE_LEVEL where the functions' own pages allow APC_LEVEL.
void check_strict_irql(const char* function);

// Checks the IRQL of a removal from a device queue, which lax_device_queue_irql widens.
void check_device_queue_irql(core::irql_rule rule);
inline void check_queue_irql(const core::irql_rule& rule) {
    if (core::verifying()) check_device_queue_irql(rule);
}

// Devices.
void device_created(DEVICE_OBJECT* device);
void device_deleted(DEVICE_OBJECT* device);
void device_referenced(DEVICE_OBJECT* device);
void device_dereferenced(DEVICE_OBJECT* device);
/// IoDetachDevice is about to detach the device from the one below.
void device_detached(DEVICE_OBJECT* device);

// The Plug and Play manager's view of a device. Each function tests whether its check is enabled.

/// AddDevice has attached the device.
void check_added(DEVICE_OBJECT* device);
/// The top device of a stack has received a request that no driver knows, with
/// STATUS_NOT_SUPPORTED; `status` is that of its completion.
void check_unknown_request(DEVICE_OBJECT* device, NTSTATUS status);
/// IRP_MN_REMOVE_DEVICE has come back from these devices, of which some may be freed. `detached`:
/// no device is attached to the physical one any more.
void check_removed(const std::vector<DEVICE_OBJECT*>& stack, bool detached);

// Remove locks.
void remove_lock_initialized(IO_REMOVE_LOCK* lock);
void remove_lock_acquired(IO_REMOVE_LOCK* lock, void* tag);
void remove_lock_released(IO_REMOVE_LOCK* lock, void* tag, bool and_wait);

} // namespace irpverbs::irp::verify
