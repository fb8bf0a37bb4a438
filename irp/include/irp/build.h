/* Requests that are built in one step, sent synchronously, or divided into several IRPs.

   The last stage of a built request follows its last completion routine: it copies the output from
   the system buffer, frees buffer and MDLs, writes *IoStatusBlock, sets the event and frees the
   IRP. Windows does this in an APC to the requesting thread; here the thread that completes the IRP
   does it, at its IRQL. Windows reports nothing for a request that failed inside IoCallDriver; here
   the last stage always writes IoStatusBlock and sets the event. Both rules also hold for UserIosb
   and UserEvent that an originator sets itself. */
#ifndef IRPVERBS_IRP_BUILD_H
#define IRPVERBS_IRP_BUILD_H

#include <irp/device.h>
#include <irp/ioctl.h>

NT_EXTERN_C_BEGIN

/* Builds a device control request (InternalDeviceIoControl: IRP_MJ_INTERNAL_DEVICE_CONTROL) with
   its buffers as the code's METHOD_ demands. Returns NULL without memory. Ownership: the system
   owns the IRP and the buffers from IoCallDriver until *IoStatusBlock is written; the caller never
   calls IoFreeIrp. Event: NULL, or an event that the last stage sets. If Event is NULL and the
   device has a completion port (completion_port.h), the last stage posts the request there, with
   IoStatusBlock as its ApcContext. Completion with more Information than OutputBufferLength is bug
   check 0xC9, 0x312.
   IRQL: <= APC_LEVEL. Source: WDK IoBuildDeviceIoControlRequest. */
NT_API PIRP IoBuildDeviceIoControlRequest(ULONG IoControlCode, PDEVICE_OBJECT DeviceObject,
                                          PVOID InputBuffer, ULONG InputBufferLength,
                                          PVOID OutputBuffer, ULONG OutputBufferLength,
                                          BOOLEAN InternalDeviceIoControl, PKEVENT Event,
                                          PIO_STATUS_BLOCK IoStatusBlock);

/* Builds a read, write, flush or shutdown request. Returns NULL without memory. The device's Flags
   select how the buffer is passed: DO_BUFFERED_IO by system buffer, DO_DIRECT_IO by MDL, otherwise
   as UserBuffer. Flush and shutdown have no buffer, and StartingOffset may be NULL for them.
   IoStatusBlock: NULL, or a block that the last stage writes. Ownership: the caller's. Its
   completion routine frees the system buffer (ExFreePool, when Flags has IRP_DEALLOCATE_BUFFER),
   MDL and IRP, and returns STATUS_MORE_PROCESSING_REQUIRED; without a completion routine the last
   stage frees them.
   IRQL: <= APC_LEVEL. Source: WDK IoBuildAsynchronousFsdRequest. */
NT_API PIRP IoBuildAsynchronousFsdRequest(ULONG MajorFunction, PDEVICE_OBJECT DeviceObject,
                                          PVOID Buffer, ULONG Length, PLARGE_INTEGER StartingOffset,
                                          PIO_STATUS_BLOCK IoStatusBlock);

/* Builds the request of IoBuildAsynchronousFsdRequest with an event that the last stage sets.
   Ownership: as IoBuildDeviceIoControlRequest. IRQL: <= APC_LEVEL. Source: WDK
   IoBuildSynchronousFsdRequest. */
NT_API PIRP IoBuildSynchronousFsdRequest(ULONG MajorFunction, PDEVICE_OBJECT DeviceObject,
                                         PVOID Buffer, ULONG Length, PLARGE_INTEGER StartingOffset,
                                         PKEVENT Event, PIO_STATUS_BLOCK IoStatusBlock);

/* Sends the IRP down with a copy of the caller's location and waits until it is completed. TRUE:
   the IRP belongs to the caller again, and Irp->IoStatus holds the result. FALSE: there is no
   location below the caller's. IRQL: <= APC_LEVEL. Source: WDK IoForwardIrpSynchronously. */
NT_API BOOLEAN IoForwardIrpSynchronously(PDEVICE_OBJECT DeviceObject, PIRP Irp);

/* Allocates an IRP that carries part of Irp's work, or returns NULL. Before the first one is sent,
   the caller sets Irp->AssociatedIrp.IrpCount to the number of associated IRPs, marks Irp pending,
   and sets its IoStatus (the associated IRPs do not). Completion of the last one completes Irp on
   behalf of its originator. Ownership: completion frees each associated IRP. IRQL: <=
   DISPATCH_LEVEL. Source: WDK IoMakeAssociatedIrp. */
NT_API PIRP IoMakeAssociatedIrp(PIRP Irp, CCHAR StackSize);

NT_EXTERN_C_END

#endif
