/* The rest of the I/O manager: names of devices, timers, DPCs for interrupts, error logging.
   Source: WDK wdm.h and ntddk.h reference. */
#ifndef IRPVERBS_WINDOWS_IO_H
#define IRPVERBS_WINDOWS_IO_H

#include <irp/device_stack.h>
#include <irp/driver_extension.h>
#include <irp/shutdown.h>
#include <windows/wdk/device_types.h>
#include <windows/wdk/files.h>
#include <windows/wdk/pnp.h>

#define IO_ERROR_LOG_MESSAGE_HEADER_LENGTH 40
#define PORT_MAXIMUM_MESSAGE_LENGTH 512
#define ERROR_LOG_MAXIMUM_SIZE 240
#define ERROR_LOG_LIMIT_SIZE 240
#define ERROR_LOG_MESSAGE_LIMIT_SIZE 240
typedef struct _IO_ERROR_LOG_PACKET {
    UCHAR MajorFunctionCode;
    UCHAR RetryCount;
    USHORT DumpDataSize;
    USHORT NumberOfStrings;
    USHORT StringOffset;
    USHORT EventCategory;
    NTSTATUS ErrorCode;
    ULONG UniqueErrorValue;
    NTSTATUS FinalStatus;
    ULONG SequenceNumber;
    ULONG IoControlCode;
    LARGE_INTEGER DeviceOffset;
    ULONG DumpData[1];
} IO_ERROR_LOG_PACKET, *PIO_ERROR_LOG_PACKET;
typedef struct _IO_CSQ* PIO_CSQ_FORWARD;
typedef struct _CONTROLLER_OBJECT {
    CSHORT Type;
    CSHORT Size;
    PVOID ControllerExtension;
} CONTROLLER_OBJECT, *PCONTROLLER_OBJECT;

typedef enum _IO_PAGING_PRIORITY {
    IoPagingPriorityInvalid,
    IoPagingPriorityNormal,
    IoPagingPriorityHigh,
    IoPagingPriorityReserved1,
    IoPagingPriorityReserved2
} IO_PAGING_PRIORITY;
#define IoGetPreviousIrpStackLocation(irp) (IoGetCurrentIrpStackLocation(irp) + 1)
#define IoMarkIrpPendingUnchecked IoMarkIrpPending
#define IoIsErrorUserInduced(status)                                                               \
    ((BOOLEAN)((status) == STATUS_DEVICE_NOT_READY || (status) == STATUS_IO_TIMEOUT ||             \
               (status) == STATUS_MEDIA_WRITE_PROTECTED ||                                         \
               (status) == STATUS_NO_MEDIA_IN_DEVICE || (status) == STATUS_VERIFY_REQUIRED ||      \
               (status) == STATUS_UNRECOGNIZED_MEDIA || (status) == STATUS_WRONG_VOLUME))
#define IoGetFunctionCodeFromCtlCode(code) (((code) >> 2) & 0x00000FFF)
#define IoUnmarkIrpPending(irp)                                                                    \
    (IoGetCurrentIrpStackLocation(irp)->Control &= (UCHAR)~SL_PENDING_RETURNED)
#define IoInitializeRemoveLockEx(lock, tag, minutes, mark, size)                                   \
    IoInitializeRemoveLock((lock), (tag), (minutes), (mark))
#define IoAcquireRemoveLockEx(lock, tag, file, line, size) IoAcquireRemoveLock((lock), (tag))
#define IoReleaseRemoveLockEx(lock, tag, size) IoReleaseRemoveLock((lock), (tag))
#define IoReleaseRemoveLockAndWaitEx(lock, tag, size) IoReleaseRemoveLockAndWait((lock), (tag))

NT_EXTERN_C_BEGIN
/* Is IoCreateSymbolicLink: links are protected from no account. */
NT_API NTSTATUS IoCreateUnprotectedSymbolicLink(PUNICODE_STRING SymbolicLinkName,
                                                PUNICODE_STRING DeviceName);
NT_API NTSTATUS IoAssignArcName(PUNICODE_STRING ArcName, PUNICODE_STRING DeviceName);
NT_API NTSTATUS IoDeassignArcName(PUNICODE_STRING ArcName);
NT_API NTSTATUS IoCreateDriver(PUNICODE_STRING DriverName, PDRIVER_INITIALIZE Initialization);
NT_API void IoRegisterDriverReinitialization(PDRIVER_OBJECT DriverObject,
                                             PDRIVER_REINITIALIZE Routine, PVOID Context);
NT_API void IoRegisterBootDriverReinitialization(PDRIVER_OBJECT DriverObject,
                                                 PDRIVER_REINITIALIZE Routine, PVOID Context);

/* The DPC of a device: its routine receives the device, and the IRP and context of IoRequestDpc.
   IRQL: any. Source: WDK IoInitializeDpcRequest, IoRequestDpc. */
static inline void IoInitializeDpcRequest(PDEVICE_OBJECT DeviceObject, PIO_DPC_ROUTINE DpcRoutine) {
    KeInitializeDpc(&DeviceObject->Dpc, (PKDEFERRED_ROUTINE)(PVOID)DpcRoutine, DeviceObject);
}
static inline void IoRequestDpc(PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Context) {
    KeInsertQueueDpc(&DeviceObject->Dpc, Irp, Context);
}
static inline void IoInitializeThreadedDpcRequest(PDEVICE_OBJECT DeviceObject,
                                                  PIO_DPC_ROUTINE DpcRoutine) {
    KeInitializeThreadedDpc(&DeviceObject->Dpc, (PKDEFERRED_ROUTINE)(PVOID)DpcRoutine,
                            DeviceObject);
}
/* An entry of the error log, of EntrySize bytes, for a device or driver; NULL: EntrySize is below
   the size of a packet or above ERROR_LOG_MAXIMUM_SIZE, or there is no memory. IoWriteErrorLogEntry
   prints codes and unique value as a debugger message and frees the entry. IRQL: <= DISPATCH_LEVEL.
   Source: WDK IoAllocateErrorLogEntry. */
NT_API PVOID IoAllocateErrorLogEntry(PVOID IoObject, UCHAR EntrySize);
NT_API void IoWriteErrorLogEntry(PVOID ElEntry);
NT_API void IoFreeErrorLogEntry(PVOID ElEntry);
NT_API PCONTROLLER_OBJECT IoCreateController(ULONG Size);
NT_API void IoDeleteController(PCONTROLLER_OBJECT ControllerObject);
NT_API void IoAllocateController(PCONTROLLER_OBJECT ControllerObject, PDEVICE_OBJECT DeviceObject,
                                 PDRIVER_CONTROL ExecutionRoutine, PVOID Context);
NT_API void IoFreeController(PCONTROLLER_OBJECT ControllerObject);
NT_API PGENERIC_MAPPING IoGetFileObjectGenericMapping(void);
NT_API IO_PAGING_PRIORITY IoGetPagingIoPriority(PIRP Irp);
NT_API NTSTATUS IoRetrievePriorityInfo(PIRP Irp, PFILE_OBJECT FileObject, PKTHREAD Thread,
                                       PIO_PRIORITY_INFO PriorityInfo);
NT_API NTSTATUS IoApplyPriorityInfoThread(PIO_PRIORITY_INFO InputPriorityInfo,
                                          PIO_PRIORITY_INFO OutputPriorityInfo, PKTHREAD Thread);
#define IoInitializePriorityInfo(info)                                                             \
    ((info)->Size = sizeof(IO_PRIORITY_INFO), (info)->ThreadPriority = 0xffff,                     \
     (info)->PagePriority = 0, (info)->IoPriority = IoPriorityNormal)
NT_API NTSTATUS IoSetSystemPartition(PUNICODE_STRING VolumeNameString);
typedef struct _BOOTDISK_INFORMATION {
    LONGLONG BootPartitionOffset;
    LONGLONG SystemPartitionOffset;
    ULONG BootDeviceSignature;
    ULONG SystemDeviceSignature;
} BOOTDISK_INFORMATION, *PBOOTDISK_INFORMATION;
NT_API NTSTATUS IoGetBootDiskInformation(PBOOTDISK_INFORMATION BootDiskInformation, ULONG Size);
NT_API BOOLEAN IoSetThreadHardErrorMode(BOOLEAN EnableHardErrors);
NT_API void IoRaiseHardError(PIRP Irp, PVPB Vpb, PDEVICE_OBJECT RealDeviceObject);
NT_API BOOLEAN IoRaiseInformationalHardError(NTSTATUS ErrorStatus, PUNICODE_STRING String,
                                             PKTHREAD Thread);
NT_API BOOLEAN IoIsWdmVersionAvailable(UCHAR MajorVersion, UCHAR MinorVersion);
/* TRUE: the file is opened for synchronous I/O, or the IRP's flags say that its sender waits. IRQL:
   <= DISPATCH_LEVEL. Source: WDK IoIsOperationSynchronous. */
NT_API BOOLEAN IoIsOperationSynchronous(PIRP Irp);
NT_API NTSTATUS IoGetDeviceNumaNode(PDEVICE_OBJECT Pdo, PUSHORT NodeNumber);
NT_API NTSTATUS IoVolumeDeviceToDosName(PVOID VolumeDeviceObject, PUNICODE_STRING DosName);
NT_API NTSTATUS IoQueryFullDriverPath(PDRIVER_OBJECT DriverObject, PUNICODE_STRING FullPath);
NT_API void IoReuseIrpEx(PIRP Irp, NTSTATUS Status);
/* The device that a thread is to verify; IoSetHardErrorOrVerifyDevice sets that of the thread that
   sent the IRP, if one is known. IRQL: <= DISPATCH_LEVEL. Source: WDK
   IoSetHardErrorOrVerifyDevice. */
NT_API void IoSetHardErrorOrVerifyDevice(PIRP Irp, PDEVICE_OBJECT DeviceObject);
NT_API PDEVICE_OBJECT IoGetDeviceToVerify(PKTHREAD Thread);
NT_API void IoSetDeviceToVerify(PKTHREAD Thread, PDEVICE_OBJECT DeviceObject);
NT_API NTSTATUS IoVerifyVolume(PDEVICE_OBJECT DeviceObject, BOOLEAN AllowRawMount);
struct _REPARSE_DATA_BUFFER;
NT_API BOOLEAN IoIsValidNameGraftingBuffer(PIRP Irp, struct _REPARSE_DATA_BUFFER* ReparseBuffer);
/* A value of the calling thread for file systems. IRQL: <= APC_LEVEL. Source: WDK IoGetTopLevelIrp.
 */
NT_API PIRP IoGetTopLevelIrp(void);
NT_API void IoSetTopLevelIrp(PIRP Irp);
NT_API BOOLEAN IoIsSystemThread(PETHREAD Thread);
NT_API NTSTATUS IoSetMasterIrpStatus(PIRP MasterIrp, NTSTATUS Status);
NT_API void IoQueueThreadIrp(PIRP Irp);
NT_API NTSTATUS IoGetActivityIdIrp(PIRP Irp, GUID* Guid);
NT_API NTSTATUS IoSetActivityIdIrp(PIRP Irp, const GUID* Guid);
NT_API NTSTATUS IoGetDeviceDirectory(PDEVICE_OBJECT Pdo, ULONG DirectoryType, ULONG Flags,
                                     PVOID Reserved, PHANDLE DeviceDirectoryHandle);
NT_API void IoRegisterFileSystem(PDEVICE_OBJECT DeviceObject);
NT_API void IoUnregisterFileSystem(PDEVICE_OBJECT DeviceObject);
typedef void DRIVER_FS_NOTIFICATION(PDEVICE_OBJECT DeviceObject, BOOLEAN FsActive);
typedef DRIVER_FS_NOTIFICATION* PDRIVER_FS_NOTIFICATION;
NT_API NTSTATUS IoRegisterFsRegistrationChange(PDRIVER_OBJECT DriverObject,
                                               PDRIVER_FS_NOTIFICATION Routine);
NT_API void IoUnregisterFsRegistrationChange(PDRIVER_OBJECT DriverObject,
                                             PDRIVER_FS_NOTIFICATION Routine);
/* One lock for the volumes of all devices. IRQL: <= DISPATCH_LEVEL. Source: WDK
   IoAcquireVpbSpinLock. */
NT_API void IoAcquireVpbSpinLock(PKIRQL Irql);
NT_API void IoReleaseVpbSpinLock(KIRQL Irql);
NT_API PVOID IoGetInitialStack(void);
NT_API PIRP IoAllocateIrpEx(PDEVICE_OBJECT DeviceObject, CCHAR StackSize, BOOLEAN ChargeQuota);
NT_API ULONG IoSizeofGenericIrpExtension(void);
typedef NTSTATUS (*PIO_QUEUE_IRP)(PIRP Irp);
typedef void (*PIO_SESSION_NOTIFICATION_FUNCTION)(void);
NT_API extern const UNICODE_STRING SDDL_DEVOBJ_INF_SUPPLIED;
NT_EXTERN_C_END

#endif
