/* Memory that clients attach to a driver object. */
#ifndef IRPVERBS_IRP_DRIVER_EXTENSION_H
#define IRPVERBS_IRP_DRIVER_EXTENSION_H

#include <irp/device.h>

NT_EXTERN_C_BEGIN

/* Attaches zeroed memory to a driver object under an address of the client's. Ownership: the
   driver object's, until the driver is unloaded or the machine ends. IRQL: <= DISPATCH_LEVEL.
   STATUS_SUCCESS; STATUS_OBJECT_NAME_COLLISION: the address has memory already;
   STATUS_INSUFFICIENT_RESOURCES. Source: WDK IoAllocateDriverObjectExtension. */
NT_API NTSTATUS IoAllocateDriverObjectExtension(PDRIVER_OBJECT DriverObject,
                                                PVOID ClientIdentificationAddress,
                                                ULONG DriverObjectExtensionSize,
                                                PVOID* DriverObjectExtension);

/* Returns that memory, or NULL. IRQL: <= DISPATCH_LEVEL. Source: WDK IoGetDriverObjectExtension. */
NT_API PVOID IoGetDriverObjectExtension(PDRIVER_OBJECT DriverObject,
                                        PVOID ClientIdentificationAddress);

NT_EXTERN_C_END

#endif
