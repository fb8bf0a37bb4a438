/* StartIo: a device serves one IRP at a time, and the others wait in its device queue. */
#ifndef IRPVERBS_IRP_START_IO_H
#define IRPVERBS_IRP_START_IO_H

#include <irp/device.h>

NT_EXTERN_C_BEGIN

/* Starts or queues an IRP that the caller has marked pending. If the device is idle, the IRP
   becomes CurrentIrp and DriverStartIo is called with it; otherwise the IRP is queued, by *Key
   where Key is not NULL. DriverStartIo runs at DISPATCH_LEVEL. IRQL: <= DISPATCH_LEVEL.
   Cancellation: CancelFunction, where not NULL, becomes the cancel routine; it is called at once
   for an IRP that is already cancelled and would wait. A device with cancel routines sets
   NonCancelable (IoSetStartIoAttributes): only IRPs that wait are then given to a cancel routine,
   which removes the IRP with KeRemoveEntryDeviceQueue, releases the cancel spin lock and completes
   the IRP; DriverStartIo completes one whose Cancel is set with STATUS_CANCELLED. Without
   NonCancelable a cancel routine may meet CurrentIrp. Where it completes that IRP, DriverStartIo
   is still called with it, although it may be freed by then. Source: WDK IoStartPacket. */
NT_API void IoStartPacket(PDEVICE_OBJECT DeviceObject, PIRP Irp, PULONG Key,
                          PDRIVER_CANCEL CancelFunction);

/* Ends the service of CurrentIrp: the next waiting IRP (by Key: the next with that key or above)
   becomes CurrentIrp and is passed to DriverStartIo. If none waits, the device is idle and
   CurrentIrp is NULL. Cancelable: whether IRPs of this device have cancel routines. IRQL: =
   DISPATCH_LEVEL. Source: WDK IoStartNextPacket, IoStartNextPacketByKey. */
NT_API void IoStartNextPacket(PDEVICE_OBJECT DeviceObject, BOOLEAN Cancelable);
NT_API void IoStartNextPacketByKey(PDEVICE_OBJECT DeviceObject, BOOLEAN Cancelable, ULONG Key);

/* Sets how DriverStartIo is called; precedes the first IoStartPacket. DeferredStartIo:
   DriverStartIo is not called again before it has returned; it may then call IoStartNextPacket.
   NonCancelable: an IRP loses its cancel routine before DriverStartIo receives it, if Cancelable is
   TRUE for IoStartNextPacket. IRQL: <= DISPATCH_LEVEL. Source: WDK
   IoSetStartIoAttributes. */
NT_API void IoSetStartIoAttributes(PDEVICE_OBJECT DeviceObject, BOOLEAN DeferredStartIo,
                                   BOOLEAN NonCancelable);

NT_EXTERN_C_END

#endif
