/* StartIo: a device that serves one IRP at a time has the others wait in its device queue. */
#ifndef IRPVERBS_IRP_START_IO_H
#define IRPVERBS_IRP_START_IO_H

#include <irp/device.h>

NT_EXTERN_C_BEGIN

/* Device idle: makes the IRP its CurrentIrp and calls DriverStartIo. Device busy: queues the IRP,
   by *Key where Key is not NULL. The caller has marked it pending. DriverStartIo runs at
   DISPATCH_LEVEL.
   Cancellation: CancelFunction, where not NULL, becomes the cancel routine; an IRP that is
   cancelled already and would wait goes to it at once. It takes the IRP out of the queue with
   KeRemoveEntryDeviceQueue before it releases the cancel spin lock, or, when the IRP is CurrentIrp,
   calls IoStartNextPacket after that. DriverStartIo withdraws it under the cancel spin lock, first
   looking whether the IRP is still CurrentIrp and not cancelled.
   IRQL: <= DISPATCH_LEVEL. Source: WDK IoStartPacket. */
NT_API void IoStartPacket(PDEVICE_OBJECT DeviceObject, PIRP Irp, PULONG Key,
                          PDRIVER_CANCEL CancelFunction);

/* The device is done with CurrentIrp: the next that waits (by Key: with that key or the next above)
   becomes CurrentIrp and goes to DriverStartIo; when none does, the device is idle and CurrentIrp
   NULL. Cancelable: whether IRPs of this device have cancel routines.
   IRQL: = DISPATCH_LEVEL. Source: WDK IoStartNextPacket, IoStartNextPacketByKey. */
NT_API void IoStartNextPacket(PDEVICE_OBJECT DeviceObject, BOOLEAN Cancelable);
NT_API void IoStartNextPacketByKey(PDEVICE_OBJECT DeviceObject, BOOLEAN Cancelable, ULONG Key);

/* DeferredStartIo: DriverStartIo is not called again before it has returned. NonCancelable: an IRP
   loses its cancel routine before DriverStartIo sees it. Before the first IoStartPacket.
   IRQL: <= DISPATCH_LEVEL. Source: WDK IoSetStartIoAttributes. */
NT_API void IoSetStartIoAttributes(PDEVICE_OBJECT DeviceObject, BOOLEAN DeferredStartIo,
                                   BOOLEAN NonCancelable);

NT_EXTERN_C_END

#endif
