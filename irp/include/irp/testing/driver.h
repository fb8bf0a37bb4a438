/* Loading a driver: its entry point runs, its devices become usable, and at the end it is
   unloaded. */
#ifndef IRPVERBS_IRP_TESTING_DRIVER_H
#define IRPVERBS_IRP_TESTING_DRIVER_H

#include <irp/device.h>

NT_EXTERN_C_BEGIN

/* Allocates a driver object, with a DriverExtension, named \Driver\<Name>, and calls Entry with it
   and the path of its registry key, which is created if it does not exist. After a success, files
   may be opened on the devices that Entry created. Ownership: the library's, until IrpUnloadDriver.
   IRQL: PASSIVE_LEVEL. Entry's status, or STATUS_INSUFFICIENT_RESOURCES; after a failure there is
   no driver. Ours; as ZwLoadDriver. */
NT_API NTSTATUS IrpLoadDriver(PDRIVER_INITIALIZE Entry, PUNICODE_STRING Name,
                              PDRIVER_OBJECT* DriverObject);

/* Calls DriverUnload, waits until the DPCs that are queued by then have run, and frees the driver
   object. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_INVALID_DEVICE_REQUEST: the driver has no
   DriverUnload; STATUS_DEVICE_BUSY: a file is open on one of its devices, or another device is
   attached to one; STATUS_CANNOT_DELETE: DriverUnload did not delete every device, or left a
   callback of IoRegisterPlugPlayNotification registered. After a failure
   the driver is still loaded. Ours; as ZwUnloadDriver. */
NT_API NTSTATUS IrpUnloadDriver(PDRIVER_OBJECT DriverObject);

NT_EXTERN_C_END

#endif
