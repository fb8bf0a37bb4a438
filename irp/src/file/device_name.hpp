// The name of a device, from IoCreateDevice to IoDeleteDevice.
#pragma once

#include <irp/device.h>

#include <string>

namespace irpverbs::irp {

/// Inserts the device into the machine's namespace: under `name`, or with null under a name of the
/// library's. STATUS_SUCCESS; STATUS_INSUFFICIENT_RESOURCES; statuses of
/// object_namespace::insert_device.
NTSTATUS name_device(DEVICE_OBJECT& device, const UNICODE_STRING* name);

/// Returns the name that the device was created with, or that of the library's; empty: it has none.
std::u16string name_of_device(const DEVICE_OBJECT& device);

/// Removes the name of the device, if it has one.
void remove_device_name(DEVICE_OBJECT& device);

} // namespace irpverbs::irp
