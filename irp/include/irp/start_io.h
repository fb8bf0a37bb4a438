/* StartIo: a device serves one IRP at a time, and the others wait in its device queue. */
#ifndef IRPVERBS_IRP_START_IO_H
#define IRPVERBS_IRP_START_IO_H

#include <irp/device.h>

NT_EXTERN_C_BEGIN

/* Starts or queues an IRP that the caller has marked pending. If the device is idle, the IRP
   becomes CurrentIrp and DriverStartIo is called with it; otherwise the IRP is queued, by *Key
   where Key is not NULL. DriverStartIo runs at DISPATCH_LEVEL. IRQL: <= DISPATCH_LEVEL.
   Cancellation: CancelFunction, where not NULL, becomes the cancel routine; it is called at once
   for an IRP that is already cancelled and would wait. The cancel routine removes the IRP from the
   queue with KeRemoveEntryDeviceQueue before it releases the cancel spin lock; if the IRP is
   CurrentIrp, it releases that lock, raises the IRQL to DISPATCH_LEVEL and calls IoStartNextPacket
   instead. It completes the IRP in both cases. DriverStartIo removes the cancel routine under the
   cancel spin lock. If the IRP had one, DriverStartIo completes it, with STATUS_CANCELLED where
   Irp->Cancel is set: the IRP was cancelled before it was started. If it had none, its canceller
   completes it. Source: WDK IoStartPacket. */
NT_API void IoStartPacket(PDEVICE_OBJECT DeviceObject, PIRP Irp, PULONG Key,
                          PDRIVER_CANCEL CancelFunction);

/* Ends the service of CurrentIrp: the next waiting IRP (by Key: the next with that key or above)
   becomes CurrentIrp and is passed to DriverStartIo. If none waits, the device is idle and
   CurrentIrp is NULL. Cancelable: whether IRPs of this device have cancel routines. IRQL: =
   DISPATCH_LEVEL. Source: WDK IoStartNextPacket, IoStartNextPacketByKey. */
NT_API void IoStartNextPacket(PDEVICE_OBJECT DeviceObject, BOOLEAN Cancelable);
NT_API void IoStartNextPacketByKey(PDEVICE_OBJECT DeviceObject, BOOLEAN Cancelable, ULONG Key);

/* Sets how DriverStartIo is called; precedes the first IoStartPacket. DeferredStartIo:
   DriverStartIo is not called again before it has returned. NonCancelable: an IRP loses its cancel
   routine before DriverStartIo receives it. IRQL: <= DISPATCH_LEVEL. Source: WDK
   IoSetStartIoAttributes. */
NT_API void IoSetStartIoAttributes(PDEVICE_OBJECT DeviceObject, BOOLEAN DeferredStartIo,
                                   BOOLEAN NonCancelable);

NT_EXTERN_C_END

#endif
