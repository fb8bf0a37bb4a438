/* Devices below and beside a device. */
#ifndef IRPVERBS_IRP_DEVICE_STACK_H
#define IRPVERBS_IRP_DEVICE_STACK_H

#include <irp/device.h>

NT_EXTERN_C_BEGIN

/* Return the device right below, or NULL, and the lowest device of the stack. Ownership: the caller
   receives a reference to the result, which ObDereferenceObject drops. IRQL: <= DISPATCH_LEVEL.
   Source: WDK IoGetLowerDeviceObject, IoGetDeviceAttachmentBaseRef. */
NT_API PDEVICE_OBJECT IoGetLowerDeviceObject(PDEVICE_OBJECT DeviceObject);
NT_API PDEVICE_OBJECT IoGetDeviceAttachmentBaseRef(PDEVICE_OBJECT DeviceObject);

/* As IoAttachDeviceToDeviceStack; *AttachedToDeviceObject is set before any request can arrive at
   the source device. IRQL: <= DISPATCH_LEVEL. STATUS_SUCCESS; STATUS_NO_SUCH_DEVICE: the target is
   deleted. Source: WDK IoAttachDeviceToDeviceStackSafe. */
NT_API NTSTATUS IoAttachDeviceToDeviceStackSafe(PDEVICE_OBJECT SourceDevice,
                                                PDEVICE_OBJECT TargetDevice,
                                                PDEVICE_OBJECT* AttachedToDeviceObject);

/* Stores the driver's devices, as many as DeviceObjectListSize bytes hold, and their number in
   *ActualNumberDeviceObjects. Ownership: the caller receives a reference to each stored device.
   IRQL: <= DISPATCH_LEVEL. STATUS_SUCCESS; STATUS_BUFFER_TOO_SMALL: there are more. Source: WDK
   IoEnumerateDeviceObjectList. */
NT_API NTSTATUS IoEnumerateDeviceObjectList(PDRIVER_OBJECT DriverObject,
                                            PDEVICE_OBJECT* DeviceObjectList,
                                            ULONG DeviceObjectListSize,
                                            PULONG ActualNumberDeviceObjects);

NT_EXTERN_C_END

#endif
