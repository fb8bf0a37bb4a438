/* Devices that are notified when the system shuts down. */
#ifndef IRPVERBS_IRP_SHUTDOWN_H
#define IRPVERBS_IRP_SHUTDOWN_H

#include <irp/device.h>

NT_EXTERN_C_BEGIN

/* Registers a device for one IRP_MJ_SHUTDOWN, which it receives when the system shuts down: the
   device that was registered last first, devices of IoRegisterLastChanceShutdownNotification after
   all others. Ownership: the registration holds a reference to the device until
   IoUnregisterShutdownNotification or IoDeleteDevice. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS;
   STATUS_INSUFFICIENT_RESOURCES. Source: WDK IoRegisterShutdownNotification. */
NT_API NTSTATUS IoRegisterShutdownNotification(PDEVICE_OBJECT DeviceObject);
NT_API NTSTATUS IoRegisterLastChanceShutdownNotification(PDEVICE_OBJECT DeviceObject);

/* Ends the registrations of a device. IRQL: PASSIVE_LEVEL. Source: WDK
   IoUnregisterShutdownNotification. */
NT_API void IoUnregisterShutdownNotification(PDEVICE_OBJECT DeviceObject);

NT_EXTERN_C_END

#endif
