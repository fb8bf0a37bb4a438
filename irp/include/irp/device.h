/* Drivers, devices and device stacks. */
#ifndef IRPVERBS_IRP_DEVICE_H
#define IRPVERBS_IRP_DEVICE_H

#include <irp/irp.h>

NT_EXTERN_C_BEGIN

struct _DRIVER_OBJECT;

typedef NTSTATUS (*PDRIVER_DISPATCH)(struct _DEVICE_OBJECT* DeviceObject, PIRP Irp);
typedef void (*PDRIVER_UNLOAD)(struct _DRIVER_OBJECT* DriverObject);
/* See start_io.h. */
typedef void (*PDRIVER_STARTIO)(struct _DEVICE_OBJECT* DeviceObject, PIRP Irp);

/* Allocated and zeroed by the caller, which keeps it until its last device is deleted; it becomes
   an object with its first device. An IRP whose major function has no entry in MajorFunction
   completes with STATUS_INVALID_DEVICE_REQUEST. */
typedef struct _DRIVER_OBJECT {
    OBJECT_HEADER Header;
    struct _DEVICE_OBJECT* DeviceObject; /* the driver's devices, linked by NextDevice */
    PDRIVER_STARTIO DriverStartIo;
    PDRIVER_UNLOAD DriverUnload;
    UNICODE_STRING DriverName;
    PDRIVER_DISPATCH MajorFunction[IRP_MJ_MAXIMUM_FUNCTION + 1];
} DRIVER_OBJECT, *PDRIVER_OBJECT;

typedef ULONG DEVICE_TYPE;
#define FILE_DEVICE_UNKNOWN 0x22
#define DO_BUFFERED_IO 0x04
#define DO_DIRECT_IO 0x10
#define DO_DEVICE_INITIALIZING 0x80

typedef struct _DEVICE_OBJECT {
    OBJECT_HEADER Header;
    CCHAR StackSize;
    UCHAR Deleted;
    ULONG ExtensionSize; /* bytes */
    struct _DRIVER_OBJECT* DriverObject;
    struct _DEVICE_OBJECT* NextDevice;
    struct _DEVICE_OBJECT* AttachedDevice; /* the device above */
    struct _DEVICE_OBJECT* AttachedTo;     /* the device below */
    ULONG Flags;
    DEVICE_TYPE DeviceType;
    PVOID DeviceExtension;
    struct _IO_COMPLETION_CONTEXT* CompletionContext; /* NULL, or see completion_port.h */
    PIRP CurrentIrp;                                  /* the IRP that DriverStartIo serves */
    KDEVICE_QUEUE DeviceQueue;                        /* the IRPs that wait for it */
    UCHAR StartIoFlags;                               /* this and all below: the library's */
    UCHAR StartIoNext;
    ULONG StartIoKey;
    PIRP StartIoWaiting;
    LONG StartIoCount;
} DEVICE_OBJECT, *PDEVICE_OBJECT;

/* Creates a device of the driver with a zeroed extension. DeviceName, DeviceCharacteristics and
   Exclusive are ignored. Ownership: the driver's, until IoDeleteDevice. IRQL: <= APC_LEVEL.
   STATUS_SUCCESS, or STATUS_INSUFFICIENT_RESOURCES. Bug check 0xC9 when DriverObject or
   DeviceObject is NULL, here and in each function below. Source: WDK IoCreateDevice. */
NT_API NTSTATUS IoCreateDevice(PDRIVER_OBJECT DriverObject, ULONG DeviceExtensionSize,
                               PUNICODE_STRING DeviceName, DEVICE_TYPE DeviceType,
                               ULONG DeviceCharacteristics, BOOLEAN Exclusive,
                               PDEVICE_OBJECT* DeviceObject);

/* Deletes a device; the last dereference frees its memory. Bug check 0xC9 while another device is
   attached to it. IRQL: <= APC_LEVEL. Source: WDK IoDeleteDevice. */
NT_API void IoDeleteDevice(PDEVICE_OBJECT DeviceObject);

/* Attaches SourceDevice on top of TargetDevice's stack; returns the device right below it, or NULL.
   IRQL: <= DISPATCH_LEVEL. Source: WDK IoAttachDeviceToDeviceStack. */
NT_API PDEVICE_OBJECT IoAttachDeviceToDeviceStack(PDEVICE_OBJECT SourceDevice,
                                                  PDEVICE_OBJECT TargetDevice);

/* Detaches the device that is attached to TargetDevice. IRQL: PASSIVE_LEVEL. Source: WDK
   IoDetachDevice. */
NT_API void IoDetachDevice(PDEVICE_OBJECT TargetDevice);

/* Returns the top of the stack; ...Reference also references it for the caller
   (ObDereferenceObject). IRQL: <= DISPATCH_LEVEL. Source: WDK IoGetAttachedDevice(Reference). */
NT_API PDEVICE_OBJECT IoGetAttachedDevice(PDEVICE_OBJECT DeviceObject);
NT_API PDEVICE_OBJECT IoGetAttachedDeviceReference(PDEVICE_OBJECT DeviceObject);

NT_EXTERN_C_END

#endif
