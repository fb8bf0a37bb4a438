// What the core calls when instrumentation is on. All of it stands apart from the paths that every
// request takes; each function tests by itself what is watched.
#pragma once

#include <irp/device.h>
#include <irp/irp.h>
#include <irp/remove_lock.h>

#include <dispatch/detail/checks.hpp>

#include <cstdint>

namespace irpverbs::irp::verify {

namespace core = dispatch::detail;

enum class origin : std::uint8_t;

// The whole of IoCallDriver and IoCompleteRequest. `caller` is where IoCallDriver was called.
NTSTATUS call_driver(DEVICE_OBJECT* device, IRP* irp, const void* caller);
void complete_request(IRP* irp);

// The life of an IRP's memory. begin_life with origin::found: the IRP was made new in its place.
void begin_life(IRP* irp, origin made);
/// What was allocated is a request of that kind.
void built(IRP* irp, origin made);
void check_initialize(IRP* irp);
/// False: the IRP is not to be made new.
bool check_reuse(IRP* irp);
/// False: the IRP is not to be freed.
bool check_free(IRP* irp);
/// ExFreePool is given that address. True: it is an IRP of the library's own memory, and is told.
bool freed_as_pool(const void* memory);
/// Gives the memory back, in the end.
void end_life(IRP* irp);

/// The IRP's memory is used by that function, which no one calls who has handed the IRP on.
void check_use(IRP* irp, const char* function);

// Cancelling.
PDRIVER_CANCEL exchange_cancel_routine(IRP* irp, PDRIVER_CANCEL routine);
BOOLEAN cancel(IRP* irp);
void check_cancel_release();

// StartIo. `routine`: the cancel routine, or null.
void start_io_attributes(DEVICE_OBJECT* device, bool cancelable);
void given_to_start_io(DEVICE_OBJECT* device, IRP* irp, PDRIVER_CANCEL routine);
void check_start_next(DEVICE_OBJECT* device, bool deferred);
/// Calls DriverStartIo.
void call_start_io(DEVICE_OBJECT* device, IRP* irp);

// Completion routines that hold their device.
void routine_ex_set(DEVICE_OBJECT* device, IRP* irp);
void routine_ex_failed(IRP* irp);

// strict_sdv_irql: SDV asks for PASSIVE_LEVEL where the functions' own pages allow APC_LEVEL.
void check_strict_irql(const char* function);

// The level at which something is taken from a device queue, which lax_device_queue_irql widens.
void check_watched_queue_irql(core::irql_rule rule);
inline void check_queue_irql(const core::irql_rule& rule) {
    if (core::verifying()) check_watched_queue_irql(rule);
}

// Devices.
void device_created(DEVICE_OBJECT* device);
void device_deleted(DEVICE_OBJECT* device);
void device_lent(DEVICE_OBJECT* device);
void device_given_back(DEVICE_OBJECT* device);

// Remove locks.
void remove_lock_initialized(IO_REMOVE_LOCK* lock);
void remove_lock_acquired(IO_REMOVE_LOCK* lock, void* tag);
void remove_lock_released(IO_REMOVE_LOCK* lock, void* tag, bool and_wait);

} // namespace irpverbs::irp::verify
