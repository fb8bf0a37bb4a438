/* Drivers and devices, and stacks of them. */
#ifndef IRPVERBS_IRP_DEVICE_H
#define IRPVERBS_IRP_DEVICE_H

#include <irp/irp.h>

NT_EXTERN_C_BEGIN

struct _DRIVER_OBJECT;

typedef NTSTATUS (*PDRIVER_DISPATCH)(struct _DEVICE_OBJECT* DeviceObject, PIRP Irp);
typedef void (*PDRIVER_UNLOAD)(struct _DRIVER_OBJECT* DriverObject);
/* See start_io.h. */
typedef void (*PDRIVER_STARTIO)(struct _DEVICE_OBJECT* DeviceObject, PIRP Irp);

/* Made by the caller, zeroed, and kept until its last device is gone; it is an object from its
   first device on. Without an entry in MajorFunction IRPs complete with
   STATUS_INVALID_DEVICE_REQUEST. */
typedef struct _DRIVER_OBJECT {
    OBJECT_HEADER Header;
    struct _DEVICE_OBJECT* DeviceObject; /* the driver's devices, by NextDevice */
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
    struct _DEVICE_OBJECT* AttachedDevice; /* the one above */
    struct _DEVICE_OBJECT* AttachedTo;     /* the one below */
    ULONG Flags;
    DEVICE_TYPE DeviceType;
    PVOID DeviceExtension;
    struct _IO_COMPLETION_CONTEXT* CompletionContext; /* see completion_port.h; or NULL */
    PIRP CurrentIrp;                                  /* what DriverStartIo works on */
    KDEVICE_QUEUE DeviceQueue;                        /* what waits for it */
    UCHAR StartIoFlags;                               /* the library's, as all below */
    UCHAR StartIoNext;
    ULONG StartIoKey;
    PIRP StartIoWaiting;
    LONG StartIoCount;
} DEVICE_OBJECT, *PDEVICE_OBJECT;

/* A device of the driver with a zeroed extension. STATUS_SUCCESS, or STATUS_INSUFFICIENT_RESOURCES.
   DeviceName, DeviceCharacteristics and Exclusive are ignored. Ownership: the driver's, until
   IoDeleteDevice. Bug check 0xC9 when DriverObject or DeviceObject is NULL, here and in each
   function below. IRQL: <= APC_LEVEL. Source: WDK IoCreateDevice. */
NT_API NTSTATUS IoCreateDevice(PDRIVER_OBJECT DriverObject, ULONG DeviceExtensionSize,
                               PUNICODE_STRING DeviceName, DEVICE_TYPE DeviceType,
                               ULONG DeviceCharacteristics, BOOLEAN Exclusive,
                               PDEVICE_OBJECT* DeviceObject);

/* Deletes a device; its memory is freed with the last reference. Bug check 0xC9 while another
   device is attached to it. IRQL: <= APC_LEVEL. Source: WDK IoDeleteDevice. */
NT_API void IoDeleteDevice(PDEVICE_OBJECT DeviceObject);

/* Puts SourceDevice on top of TargetDevice's stack; gives back the device right below, or NULL.
   IRQL: <= DISPATCH_LEVEL. Source: WDK IoAttachDeviceToDeviceStack. */
NT_API PDEVICE_OBJECT IoAttachDeviceToDeviceStack(PDEVICE_OBJECT SourceDevice,
                                                  PDEVICE_OBJECT TargetDevice);

/* Takes what is attached to TargetDevice off it. IRQL: PASSIVE_LEVEL. Source: WDK IoDetachDevice.
 */
NT_API void IoDetachDevice(PDEVICE_OBJECT TargetDevice);

/* The top of the stack; with a reference for the caller (ObDereferenceObject). IRQL: <=
   DISPATCH_LEVEL. Source: WDK IoGetAttachedDevice(Reference). */
NT_API PDEVICE_OBJECT IoGetAttachedDevice(PDEVICE_OBJECT DeviceObject);
NT_API PDEVICE_OBJECT IoGetAttachedDeviceReference(PDEVICE_OBJECT DeviceObject);

NT_EXTERN_C_END

#endif
