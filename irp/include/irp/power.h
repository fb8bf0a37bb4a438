/* Power requests that drivers make. */
#ifndef IRPVERBS_IRP_POWER_H
#define IRPVERBS_IRP_POWER_H

#include <irp/device.h>

NT_EXTERN_C_BEGIN

/* Called once the request has completed, at IRQL <= DISPATCH_LEVEL on any thread. */
typedef void REQUEST_POWER_COMPLETE(PDEVICE_OBJECT DeviceObject, UCHAR MinorFunction,
                                    POWER_STATE PowerState, PVOID Context,
                                    PIO_STATUS_BLOCK IoStatus);
typedef REQUEST_POWER_COMPLETE* PREQUEST_POWER_COMPLETE;

/* Sends a power request to the top of DeviceObject's stack: IRP_MN_SET_POWER or IRP_MN_QUERY_POWER
   for a device state, or IRP_MN_WAIT_WAKE for a system state. Ownership: the IRP is the library's;
   *Irp, where Irp is not NULL, receives it for the cancellation of an IRP_MN_WAIT_WAKE. IRQL: <=
   DISPATCH_LEVEL. STATUS_PENDING: CompletionFunction, where not NULL, is called, perhaps before
   this returns; STATUS_INVALID_PARAMETER_2: another MinorFunction; STATUS_INSUFFICIENT_RESOURCES.
   Cancellation: IoCancelIrp(*Irp). Source: WDK PoRequestPowerIrp. */
NT_API NTSTATUS PoRequestPowerIrp(PDEVICE_OBJECT DeviceObject, UCHAR MinorFunction,
                                  POWER_STATE PowerState,
                                  PREQUEST_POWER_COMPLETE CompletionFunction, PVOID Context,
                                  PIRP* Irp);

NT_EXTERN_C_END

#endif
