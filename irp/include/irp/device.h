/* Drivers, devices and device stacks. */
#ifndef IRPVERBS_IRP_DEVICE_H
#define IRPVERBS_IRP_DEVICE_H

#include <irp/irp.h>

NT_EXTERN_C_BEGIN

struct _DRIVER_OBJECT;
struct _FAST_IO_DISPATCH;
struct _VPB;

typedef NTSTATUS (*PDRIVER_DISPATCH)(struct _DEVICE_OBJECT* DeviceObject, PIRP Irp);
typedef void (*PDRIVER_UNLOAD)(struct _DRIVER_OBJECT* DriverObject);
/* See start_io.h. */
typedef void (*PDRIVER_STARTIO)(struct _DEVICE_OBJECT* DeviceObject, PIRP Irp);

typedef NTSTATUS (*PDRIVER_INITIALIZE)(struct _DRIVER_OBJECT* DriverObject,
                                       PUNICODE_STRING RegistryPath);
typedef NTSTATUS (*PDRIVER_ADD_DEVICE)(struct _DRIVER_OBJECT* DriverObject,
                                       struct _DEVICE_OBJECT* PhysicalDeviceObject);

/* What DriverEntry sets for Plug and Play. The code that allocates the driver object allocates it.
 */
typedef struct _DRIVER_EXTENSION {
    struct _DRIVER_OBJECT* DriverObject;
    PDRIVER_ADD_DEVICE AddDevice;
    ULONG Count;
    UNICODE_STRING ServiceKeyName;
} DRIVER_EXTENSION, *PDRIVER_EXTENSION;

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
    PDRIVER_EXTENSION DriverExtension; /* this and all below: of the driver and its loader */
    struct _FAST_IO_DISPATCH* FastIoDispatch;
    PUNICODE_STRING HardwareDatabase;
    PDRIVER_INITIALIZE DriverInit;
    PVOID DriverStart;
    ULONG DriverSize;
    ULONG Flags;
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
    ULONG Characteristics; /* this and all below: of the driver */
    ULONG AlignmentRequirement;
    USHORT SectorSize;
    LONG ReferenceCount;
    struct _VPB* Vpb;
    KDPC Dpc;
    union {
        LIST_ENTRY ListEntry;
    } Queue;
    KEVENT DeviceLock;
    PVOID SecurityDescriptor;
    PVOID DeviceObjectExtension;
    PVOID Reserved;
} DEVICE_OBJECT, *PDEVICE_OBJECT;

/* Creates a device of the driver with a zeroed extension. DeviceName and Exclusive are
   ignored; the device keeps DeviceCharacteristics. Ownership: the driver's, until IoDeleteDevice.
   IRQL: <= APC_LEVEL. STATUS_SUCCESS, or STATUS_INSUFFICIENT_RESOURCES. Bug check 0xC9 when
   DriverObject or DeviceObject is NULL, here and in each function below. Source: WDK
   IoCreateDevice. */
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
