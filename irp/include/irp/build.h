/* Requests built in one step, sent and waited for, or taken apart into several.

   The last stage of such a request, after the last completion routine: output is copied back from
   the system buffer, buffer and MDLs are freed, *IoStatusBlock is written, the event set, the IRP
   freed. Windows does this in an APC to the thread that asked; here the thread that completes the
   IRP does it, at its IRQL. Windows tells nothing of a request that failed inside IoCallDriver;
   here IoStatusBlock and event always tell. The same holds for UserIosb and UserEvent that an
   originator sets itself. */
#ifndef IRPVERBS_IRP_BUILD_H
#define IRPVERBS_IRP_BUILD_H

#include <irp/device.h>
#include <irp/ioctl.h>

NT_EXTERN_C_BEGIN

/* A device control request (InternalDeviceIoControl: IRP_MJ_INTERNAL_DEVICE_CONTROL), its buffers
   as the code's METHOD_ says, or NULL without memory. Ownership: the IRP and the buffers are the
   system's from IoCallDriver until *IoStatusBlock is written; never IoFreeIrp. Event: NULL, or set
   at the end. A device with a completion port (completion_port.h), and Event NULL: the request is
   posted there at the end, with IoStatusBlock as its ApcContext.
   Completed with more Information than OutputBufferLength: bug check 0xC9, 0x312.
   IRQL: <= APC_LEVEL. Source: WDK IoBuildDeviceIoControlRequest. */
NT_API PIRP IoBuildDeviceIoControlRequest(ULONG IoControlCode, PDEVICE_OBJECT DeviceObject,
                                          PVOID InputBuffer, ULONG InputBufferLength,
                                          PVOID OutputBuffer, ULONG OutputBufferLength,
                                          BOOLEAN InternalDeviceIoControl, PKEVENT Event,
                                          PIO_STATUS_BLOCK IoStatusBlock);

/* A read, write, flush or shutdown request, or NULL without memory. The buffer goes as the device's
   Flags say: DO_BUFFERED_IO by system buffer, DO_DIRECT_IO by MDL, else as UserBuffer; flush and
   shutdown have none. StartingOffset may be NULL for them. IoStatusBlock: NULL, or written at the
   end. Ownership: the caller's; its completion routine frees system buffer (ExFreePool, when Flags
   has IRP_DEALLOCATE_BUFFER), MDL and IRP, and takes the IRP back; without one the last stage does.
   IRQL: <= APC_LEVEL. Source: WDK IoBuildAsynchronousFsdRequest. */
NT_API PIRP IoBuildAsynchronousFsdRequest(ULONG MajorFunction, PDEVICE_OBJECT DeviceObject,
                                          PVOID Buffer, ULONG Length, PLARGE_INTEGER StartingOffset,
                                          PIO_STATUS_BLOCK IoStatusBlock);

/* The same with an event; ownership as IoBuildDeviceIoControlRequest.
   IRQL: <= APC_LEVEL. Source: WDK IoBuildSynchronousFsdRequest. */
NT_API PIRP IoBuildSynchronousFsdRequest(ULONG MajorFunction, PDEVICE_OBJECT DeviceObject,
                                         PVOID Buffer, ULONG Length, PLARGE_INTEGER StartingOffset,
                                         PKEVENT Event, PIO_STATUS_BLOCK IoStatusBlock);

/* Sends a copy of the caller's location down, waits, and has the IRP back: TRUE, Irp->IoStatus
   tells. FALSE: there is no location below the caller's. IRQL: <= APC_LEVEL.
   Source: WDK IoForwardIrpSynchronously. */
NT_API BOOLEAN IoForwardIrpSynchronously(PDEVICE_OBJECT DeviceObject, PIRP Irp);

/* An IRP that carries part of Irp's work, or NULL. The caller sets Irp->AssociatedIrp.IrpCount to
   how many it makes before it sends the first, marks Irp pending, and sets its IoStatus (they
   don't). Completion of the last one completes Irp, in its originator's place. Ownership: each is
   freed by its completion. IRQL: <= DISPATCH_LEVEL. Source: WDK IoMakeAssociatedIrp. */
NT_API PIRP IoMakeAssociatedIrp(PIRP Irp, CCHAR StackSize);

NT_EXTERN_C_END

#endif
