/* The storage class library: device extensions and routines of class drivers. Declarations only:
   a driver that calls its routines needs the class library's own sources. Source: WDK classpnp.h
   reference. */
#ifndef IRPVERBS_WINDOWS_CLASSPNP_H
#define IRPVERBS_WINDOWS_CLASSPNP_H

#include <ntddcdrm.h>
#include <ntdddisk.h>
#include <ntddscsi.h>
#include <ntddstor.h>
#include <ntddtape.h>
#include <ntiologc.h>
#include <scsi.h>
#include <windows/wdk/class_drivers.h>
#include <windows/wdk/wdm.h>
#include <windows/wdk/wmi.h>
#include <wmilib.h>

#define GUID_CLASSPNP_QUERY_REGINFOEX                                                              \
    {                                                                                              \
        0x00e34b11, 0x2444, 0x4745, { 0xa5, 0x3d, 0x62, 0x01, 0x00, 0xcd, 0x82, 0xf7 }             \
    }
#define GUID_CLASSPNP_SENSEINFO2                                                                   \
    {                                                                                              \
        0x509a8c5f, 0x71d7, 0x48f6, { 0x82, 0x1e, 0x17, 0x3c, 0x49, 0xbf, 0x2f, 0x18 }             \
    }
#define GUID_CLASSPNP_WORKING_SET                                                                  \
    {                                                                                              \
        0x105701b0, 0x9e9b, 0x47cb, { 0x97, 0x80, 0x81, 0x19, 0x8a, 0xf7, 0xb5, 0x24 }             \
    }
#define GUID_CLASSPNP_SRB_SUPPORT                                                                  \
    {                                                                                              \
        0x0a483941, 0xbdfd, 0x4f7b, { 0xbe, 0x95, 0xce, 0xe2, 0xa2, 0x16, 0x09, 0x0c }             \
    }
#define SRB_CLASS_FLAGS_LOW_PRIORITY 0x10000000
#define SRB_CLASS_FLAGS_PERSISTANT 0x20000000
#define SRB_CLASS_FLAGS_PAGING 0x40000000
#define SRB_CLASS_FLAGS_FREE_MDL 0x80000000
#define MAXIMUM_RETRIES 4
#define CLASS_DRIVER_EXTENSION_KEY ((PVOID)ClassInitialize)
#define CLASS_TAG_AUTORUN_DISABLE 'ALcS'
#define CLASS_TAG_FILE_OBJECT_EXTENSION 'FLcS'
#define CLASS_TAG_MEDIA_CHANGE_DETECTION 'MLcS'
#define CLASS_TAG_MOUNT 'mLcS'
#define CLASS_TAG_RELEASE_QUEUE 'qLcS'
#define CLASS_TAG_POWER 'WLcS'
#define CLASS_TAG_WMI 'wLcS'
#define CLASS_TAG_FAILURE_PREDICT 'fLcS'
#define CLASS_TAG_DEVICE_CONTROL 'OIcS'
#define CLASS_TAG_MODE_DATA 'oLcS'
#define CLASS_TAG_MULTIPATH 'mPcS'
#define CLASS_TAG_LOCK_TRACKING 'TLcS'
#define CLASS_TAG_LB_PROVISIONING 'PLcS'
#define CLASS_TAG_MANAGE_DATASET 'MDcS'
#define DEV_WRITE_CACHE 0x00000001
#define DEV_USE_SCSI1 0x00000002
#define DEV_SAFE_START_UNIT 0x00000004
#define DEV_NO_12BYTE_CDB 0x00000008
#define DEV_POWER_PROTECTED 0x00000010
#define DEV_USE_16BYTE_CDB 0x00000020
#define NO_REMOVE 0
#define REMOVE_PENDING 1
#define REMOVE_COMPLETE 2
#define CLASS_SPECIAL_DISABLE_SPIN_DOWN 0x00000001
#define CLASS_SPECIAL_DISABLE_SPIN_UP 0x00000002
#define CLASS_SPECIAL_NO_QUEUE_LOCK 0x00000008
#define CLASS_SPECIAL_DISABLE_WRITE_CACHE 0x00000010
#define CLASS_SPECIAL_CAUSE_NOT_REPORTABLE_HACK 0x00000020
#define CLASS_SPECIAL_DISABLE_WRITE_CACHE_NOT_SUPPORTED 0x00000040
#define CLASS_SPECIAL_MODIFY_CACHE_UNSUCCESSFUL 0x00000040
#define CLASS_SPECIAL_FUA_NOT_SUPPORTED 0x00000080
#define CLASS_SPECIAL_VALID_MASK 0x000000FB
#define CLASS_SPECIAL_RESERVED (~CLASS_SPECIAL_VALID_MASK)
#define CLASS_INTERPRET_SENSE_INFO2_MAXIMUM_HISTORY_COUNT 30000
#define CLASS_WORKING_SET_MAXIMUM 2048
#define CLASS_SRB_SCSI_REQUEST_BLOCK 0x1
#define CLASS_SRB_STORAGE_REQUEST_BLOCK 0x2
#define CLASS_SRBEX_SCSI_CDB16_BUFFER_SIZE                                                         \
    (sizeof(STORAGE_REQUEST_BLOCK) + sizeof(STOR_ADDR_BTL8) + sizeof(SRBEX_DATA_SCSI_CDB16))
#define CLASS_SRBEX_NO_SRBEX_DATA_BUFFER_SIZE                                                      \
    (sizeof(STORAGE_REQUEST_BLOCK) + sizeof(STOR_ADDR_BTL8))
#define GET_FDO_EXTENSON_SENSE_DATA_LENGTH(fdo)                                                    \
    (((fdo)->SenseData == NULL)                                                                    \
         ? 0                                                                                       \
         : (((fdo)->SenseDataLength > 0) ? (fdo)->SenseDataLength : SENSE_BUFFER_SIZE))
#define CONVERT_MSF_TO_LBA(minutes, seconds, frames)                                               \
    ((ULONG)(75 * 60 * (minutes) + 75 * (seconds) + (frames)-150))
#define PORT_ALLOCATED_SENSE(extension, srb)                                                       \
    ((BOOLEAN)(((srb)->SrbFlags &                                                                  \
                (SRB_FLAGS_PORT_DRIVER_ALLOCSENSE | SRB_FLAGS_FREE_SENSE_BUFFER)) ==               \
                   (SRB_FLAGS_PORT_DRIVER_ALLOCSENSE | SRB_FLAGS_FREE_SENSE_BUFFER) &&             \
               (srb)->SenseInfoBuffer != (extension)->SenseData))
#define FREE_PORT_ALLOCATED_SENSE_BUFFER(extension, srb)                                           \
    (ExFreePool((srb)->SenseInfoBuffer), (srb)->SenseInfoBuffer = (extension)->SenseData,          \
     (srb)->SenseInfoBufferLength = GET_FDO_EXTENSON_SENSE_DATA_LENGTH(extension),                 \
     (srb)->SrbFlags &= ~(ULONG)SRB_FLAGS_FREE_SENSE_BUFFER)
#define TEST_FLAG(flags, bit) (((flags) & (bit)) != 0)
#define SET_FLAG(flags, bit) ((flags) |= (bit))
#define CLEAR_FLAG(flags, bit) ((flags) &= ~(bit))
#define START_UNIT_TIMEOUT (60 * 4)
#define DEFAULT_FAILURE_PREDICTION_PERIOD (60 * 60 * 1)
#define MEDIA_CHANGE_DEFAULT_TIME 1
#define MEDIA_CHANGE_TIMEOUT_TIME 300
#define MAXIMUM_RETRY_FOR_SINGLE_IO_IN_100NS_UNITS 1000000000
#define AUTORUN_REGISTRY_ENABLED 1

#define FREE_POOL(pointer)                                                                         \
    {                                                                                              \
        if ((pointer) != NULL) {                                                                   \
            ExFreePool(pointer);                                                                   \
            (pointer) = NULL;                                                                      \
        }                                                                                          \
    }

typedef struct _COMPLETION_CONTEXT {
    PDEVICE_OBJECT DeviceObject;
    union {
        SCSI_REQUEST_BLOCK Srb;
        STORAGE_REQUEST_BLOCK SrbEx;
        UCHAR SrbExBuffer[CLASS_SRBEX_SCSI_CDB16_BUFFER_SIZE];
    } Srb;
} COMPLETION_CONTEXT, *PCOMPLETION_CONTEXT;
typedef enum _MEDIA_CHANGE_DETECTION_STATE {
    MediaUnknown,
    MediaPresent,
    MediaNotPresent,
    MediaUnavailable
} MEDIA_CHANGE_DETECTION_STATE,
    *PMEDIA_CHANGE_DETECTION_STATE;
typedef struct _MEDIA_CHANGE_DETECTION_INFO MEDIA_CHANGE_DETECTION_INFO,
    *PMEDIA_CHANGE_DETECTION_INFO;
/* Not structured exception handling: LEAVE goes to the one FINALLY of the function. */
#define TRY
#define LEAVE goto IrpverbsClassFinally
#define FINALLY                                                                                    \
    IrpverbsClassFinally:
typedef struct _DICTIONARY_HEADER DICTIONARY_HEADER, *PDICTIONARY_HEADER;
typedef struct _DICTIONARY {
    ULONGLONG Signature;
    struct _DICTIONARY_HEADER* List;
    KSPIN_LOCK SpinLock;
} DICTIONARY, *PDICTIONARY;
typedef struct _FILE_OBJECT_EXTENSION {
    PFILE_OBJECT FileObject;
    PDEVICE_OBJECT DeviceObject;
    ULONG LockCount;
    ULONG McnDisableCount;
} FILE_OBJECT_EXTENSION, *PFILE_OBJECT_EXTENSION;

/* Device extensions. */
typedef struct _COMMON_DEVICE_EXTENSION COMMON_DEVICE_EXTENSION, *PCOMMON_DEVICE_EXTENSION;
typedef struct _FUNCTIONAL_DEVICE_EXTENSION FUNCTIONAL_DEVICE_EXTENSION,
    *PFUNCTIONAL_DEVICE_EXTENSION;
typedef struct _PHYSICAL_DEVICE_EXTENSION PHYSICAL_DEVICE_EXTENSION, *PPHYSICAL_DEVICE_EXTENSION;
typedef struct _CLASS_PRIVATE_FDO_DATA CLASS_PRIVATE_FDO_DATA, *PCLASS_PRIVATE_FDO_DATA;
typedef struct _CLASS_PRIVATE_PDO_DATA CLASS_PRIVATE_PDO_DATA, *PCLASS_PRIVATE_PDO_DATA;
typedef struct _CLASS_PRIVATE_COMMON_DATA CLASS_PRIVATE_COMMON_DATA, *PCLASS_PRIVATE_COMMON_DATA;
struct _COMMON_DEVICE_EXTENSION {
    ULONG Version;
    PDEVICE_OBJECT DeviceObject;
    PDEVICE_OBJECT LowerDeviceObject;
    PFUNCTIONAL_DEVICE_EXTENSION PartitionZeroExtension;
    PCLASS_DRIVER_EXTENSION DriverExtension;
    LONG RemoveLock;
    KEVENT RemoveEvent;
    KSPIN_LOCK RemoveTrackingSpinlock;
    PVOID RemoveTrackingList;
    LONG RemoveTrackingUntrackedCount;
    PVOID DriverData;
    __extension__ struct {
        BOOLEAN IsFdo : 1;
        BOOLEAN IsInitialized : 1;
        BOOLEAN IsSrbLookasideListInitialized : 1;
    };
    UCHAR PreviousState;
    UCHAR CurrentState;
    ULONG IsRemoved;
    UNICODE_STRING DeviceName;
    PPHYSICAL_DEVICE_EXTENSION ChildList;
    ULONG PartitionNumber;
    LARGE_INTEGER PartitionLength;
    LARGE_INTEGER StartingOffset;
    PCLASS_DEV_INFO DevInfo;
    ULONG PagingPathCount;
    ULONG DumpPathCount;
    ULONG HibernationPathCount;
    KEVENT PathCountEvent;
    NPAGED_LOOKASIDE_LIST SrbLookasideList;
    UNICODE_STRING MountedDeviceInterfaceName;
    ULONG GuidCount;
    PGUIDREGINFO GuidRegInfo;
    DICTIONARY FileObjectDictionary;
    PCLASS_PRIVATE_COMMON_DATA PrivateCommonData;
    PDRIVER_DISPATCH* DispatchTable;
    ULONG_PTR Reserved3;
    ULONG_PTR Reserved4;
};
/* The class driver's memory beside an FDO's extension. Its members are not documented. */
typedef struct _ADDITIONAL_FDO_DATA {
    ULONG_PTR Reserved[8];
} ADDITIONAL_FDO_DATA, *PADDITIONAL_FDO_DATA;
struct _PHYSICAL_DEVICE_EXTENSION {
    __extension__ union {
        __extension__ struct {
            ULONG Version;
            PDEVICE_OBJECT DeviceObject;
        };
        COMMON_DEVICE_EXTENSION CommonExtension;
    };
    BOOLEAN IsMissing;
    BOOLEAN IsEnumerated;
    PCLASS_PRIVATE_PDO_DATA PrivatePdoData;
};
typedef enum {
    FailurePredictionNone = 0,
    FailurePredictionIoctl,
    FailurePredictionSmart,
    FailurePredictionSense
} FAILURE_PREDICTION_METHOD,
    *PFAILURE_PREDICTION_METHOD;
typedef enum _CLASS_POWER_DOWN_STATE {
    PowerDownDeviceInitial,
    PowerDownDeviceLocked,
    PowerDownDeviceStopped,
    PowerDownDeviceOff,
    PowerDownDeviceUnlocked,
    PowerDownDeviceQuiesced,
    PowerDownDeviceFlushed
} CLASS_POWER_DOWN_STATE;
typedef enum _CLASS_POWER_UP_STATE {
    PowerUpDeviceInitial,
    PowerUpDeviceLocked,
    PowerUpDeviceOn,
    PowerUpDeviceStarted,
    PowerUpDeviceUnlocked
} CLASS_POWER_UP_STATE;
typedef enum _CLASS_POWER_DOWN_STATE2 {
    PowerDownDeviceInitial2,
    PowerDownDeviceLocked2,
    PowerDownDeviceFlushed2,
    PowerDownDeviceStopped2,
    PowerDownDeviceOff2,
    PowerDownDeviceUnlocked2
} CLASS_POWER_DOWN_STATE2;
typedef enum _CLASS_POWER_DOWN_STATE3 {
    PowerDownDeviceInitial3 = 0,
    PowerDownDeviceLocked3,
    PowerDownDeviceQuiesced3,
    PowerDownDeviceFlushed3,
    PowerDownDeviceStopped3,
    PowerDownDeviceOff3,
    PowerDownDeviceUnlocked3
} CLASS_POWER_DOWN_STATE3;
typedef enum _CLASS_POWER_UP_STATE2 {
    PowerUpDeviceInitial2,
    PowerUpDeviceLocked2,
    PowerUpDeviceOn2,
    PowerUpDeviceStarted2,
    PowerUpDeviceUnlocked2
} CLASS_POWER_UP_STATE2;
typedef struct _CLASS_POWER_OPTIONS {
    ULONG PowerDown : 1;
    ULONG LockQueue : 1;
    ULONG HandleSpinDown : 1;
    ULONG HandleSpinUp : 1;
    ULONG Reserved : 27;
} CLASS_POWER_OPTIONS, *PCLASS_POWER_OPTIONS;
typedef struct _CLASS_POWER_CONTEXT {
    union {
        CLASS_POWER_DOWN_STATE PowerDown;
        CLASS_POWER_DOWN_STATE2 PowerDown2;
        CLASS_POWER_DOWN_STATE3 PowerDown3;
        CLASS_POWER_UP_STATE PowerUp;
        CLASS_POWER_UP_STATE2 PowerUp2;
    } PowerChangeState;
    CLASS_POWER_OPTIONS Options;
    BOOLEAN InUse;
    BOOLEAN QueueLocked;
    NTSTATUS FinalStatus;
    ULONG RetryCount;
    ULONG RetryInterval;
    PIO_COMPLETION_ROUTINE CompletionRoutine;
    PDEVICE_OBJECT DeviceObject;
    PIRP Irp;
    SCSI_REQUEST_BLOCK Srb;
} CLASS_POWER_CONTEXT, *PCLASS_POWER_CONTEXT;
#define CLASS_SRBEX_POWER_CONTEXT 1
struct _FUNCTIONAL_DEVICE_EXTENSION {
    __extension__ union {
        __extension__ struct {
            ULONG Version;
            PDEVICE_OBJECT DeviceObject;
        };
        COMMON_DEVICE_EXTENSION CommonExtension;
    };
    PDEVICE_OBJECT LowerPdo;
    PSTORAGE_DEVICE_DESCRIPTOR DeviceDescriptor;
    PSTORAGE_ADAPTER_DESCRIPTOR AdapterDescriptor;
    DEVICE_POWER_STATE DevicePowerState;
    ULONG DMByteSkew;
    ULONG DMSkew;
    BOOLEAN DMActive;
    DISK_GEOMETRY DiskGeometry;
    PSENSE_DATA SenseData;
    ULONG TimeOutValue;
    ULONG DeviceNumber;
    ULONG SrbFlags;
    ULONG ErrorCount;
    LONG LockCount;
    LONG ProtectedLockCount;
    LONG InternalLockCount;
    KEVENT EjectSynchronizationEvent;
    USHORT DeviceFlags;
    UCHAR SectorShift;
    UCHAR ReservedByte;
    PMEDIA_CHANGE_DETECTION_INFO MediaChangeDetectionInfo;
    PKEVENT Unused1;
    HANDLE Unused2;
    FILE_OBJECT_EXTENSION KernelModeMcnContext;
    ULONG MediaChangeCount;
    HANDLE DeviceDirectory;
    KSPIN_LOCK ReleaseQueueSpinLock;
    PIRP ReleaseQueueIrp;
    SCSI_REQUEST_BLOCK ReleaseQueueSrb;
    BOOLEAN ReleaseQueueNeeded;
    BOOLEAN ReleaseQueueInProgress;
    BOOLEAN ReleaseQueueIrpFromPool;
    BOOLEAN FailurePredicted;
    ULONG FailureReason;
    struct _FAILURE_PREDICTION_INFO* FailurePredictionInfo;
    BOOLEAN PowerDownInProgress;
    ULONG EnumerationInterlock;
    KEVENT ChildLock;
    PKTHREAD ChildLockOwner;
    ULONG ChildLockAcquisitionCount;
    ULONG ScanForSpecialFlags;
    KDPC PowerRetryDpc;
    KTIMER PowerRetryTimer;
    CLASS_POWER_CONTEXT PowerContext;
    PCLASS_PRIVATE_FDO_DATA PrivateFdoData;
    struct _CLASS_FUNCTION_SUPPORT_INFO* FunctionSupportInfo;
    PSTORAGE_MINIPORT_DESCRIPTOR MiniportDescriptor;
    PADDITIONAL_FDO_DATA AdditionalFdoData;
    UCHAR SenseDataLength;
    BOOLEAN CdbForceUnitAccess;
};
typedef struct _CLASS_READ_CAPACITY16_DATA {
    NTSTATUS CommandStatus;
    ULONG BytesPerLogicalSector;
    ULONG BytesPerPhysicalSector;
    ULONG BytesOffsetForSectorAlignment;
    BOOLEAN LBProvisioningEnabled;
    BOOLEAN LBProvisioningReadZeros;
    UCHAR Reserved0[2];
    ULONG Reserved1;
} CLASS_READ_CAPACITY16_DATA, *PCLASS_READ_CAPACITY16_DATA;
typedef struct _CLASS_VPD_B0_DATA {
    NTSTATUS CommandStatus;
    ULONG MaxUnmapLbaCount;
    ULONG MaxUnmapBlockDescrCount;
    ULONG OptimalUnmapGranularity;
    ULONG UnmapGranularityAlignment;
    BOOLEAN UGAVALID;
    UCHAR Reserved0;
    USHORT OptimalTransferLengthGranularity;
    ULONG MaximumTransferLength;
    ULONG OptimalTransferLength;
} CLASS_VPD_B0_DATA, *PCLASS_VPD_B0_DATA;
typedef struct _CLASS_VPD_B1_DATA {
    NTSTATUS CommandStatus;
    USHORT MediumRotationRate;
    UCHAR NominalFormFactor;
    UCHAR Zoned;
    ULONG MediumProductType;
    ULONG DepopulationTime;
} CLASS_VPD_B1_DATA, *PCLASS_VPD_B1_DATA;
typedef struct _CLASS_VPD_B2_DATA {
    NTSTATUS CommandStatus;
    UCHAR ThresholdExponent;
    UCHAR DP : 1;
    UCHAR ANC_SUP : 1;
    UCHAR Reserved0 : 2;
    UCHAR LBPRZ : 1;
    UCHAR LBPWS10 : 1;
    UCHAR LBPWS : 1;
    UCHAR LBPU : 1;
    UCHAR ProvisioningType : 3;
    UCHAR Reserved1 : 5;
    ULONG SoftThresholdEventPending;
} CLASS_VPD_B2_DATA, *PCLASS_VPD_B2_DATA;
typedef struct _CLASS_VPD_ECOP_BLOCK_DEVICE_ROD_LIMITS {
    NTSTATUS CommandStatus;
    USHORT MaximumRangeDescriptors;
    UCHAR Restricted;
    UCHAR Reserved;
    ULONG MaximumInactivityTimer;
    ULONG DefaultInactivityTimer;
    ULONGLONG MaximumTokenTransferSize;
    ULONGLONG OptimalTransferCount;
} CLASS_VPD_ECOP_BLOCK_DEVICE_ROD_LIMITS, *PCLASS_VPD_ECOP_BLOCK_DEVICE_ROD_LIMITS;
typedef enum _CLASS_FUNCTION_SUPPORT {
    SupportUnknown = 0,
    NotSupported,
    Supported
} CLASS_FUNCTION_SUPPORT;
typedef struct _CLASS_FUNCTION_SUPPORT_INFO {
    KSPIN_LOCK SyncLock;
    ULONG GenerationCount;
    volatile ULONG ChangeRequestCount;
    struct {
        ULONG BlockLimits : 1;
        ULONG BlockDeviceCharacteristics : 1;
        ULONG LBProvisioning : 1;
        ULONG BlockDeviceRODLimits : 1;
        ULONG ZonedBlockDeviceCharacteristics : 1;
        ULONG Reserved : 27;
        ULONG DeviceType;
    } ValidInquiryPages;
    struct {
        ULONG SeekPenaltyProperty : 1;
        ULONG AccessAlignmentProperty : 1;
        ULONG TrimProperty : 1;
        ULONG TrimProcess : 1;
        ULONG Reserved : 28;
    } LowerLayerSupport;
    BOOLEAN RegAccessAlignmentQueryNotSupported;
    BOOLEAN AsynchronousNotificationSupported;
    BOOLEAN UseModeSense10;
    UCHAR Reserved;
    CLASS_VPD_B0_DATA BlockLimitsData;
    CLASS_VPD_B1_DATA DeviceCharacteristicsData;
    CLASS_VPD_B2_DATA LBProvisioningData;
    CLASS_READ_CAPACITY16_DATA ReadCapacity16Data;
    CLASS_VPD_ECOP_BLOCK_DEVICE_ROD_LIMITS BlockDeviceRODLimitsData;
    struct {
        ULONG D3ColdSupported : 1;
        ULONG DeviceWakeable : 1;
        ULONG IdlePowerEnabled : 1;
        ULONG D3IdleTimeoutOverridden : 1;
        ULONG NoVerifyDuringIdlePower : 1;
        ULONG Reserved : 27;
        ULONG D3IdleTimeout;
    } IdlePower;
    CLASS_FUNCTION_SUPPORT HwFirmwareGetInfoSupport;
    PSTORAGE_HW_FIRMWARE_INFO HwFirmwareInfo;
} CLASS_FUNCTION_SUPPORT_INFO, *PCLASS_FUNCTION_SUPPORT_INFO;
typedef struct _CLASSPNP_SCAN_FOR_SPECIAL_INFO {
    PCHAR VendorId;
    PCHAR ProductId;
    PCHAR ProductRevision;
    ULONG_PTR Data;
} CLASSPNP_SCAN_FOR_SPECIAL_INFO, *PCLASSPNP_SCAN_FOR_SPECIAL_INFO;
typedef void CLASS_SCAN_FOR_SPECIAL_HANDLER(PFUNCTIONAL_DEVICE_EXTENSION DeviceExtension,
                                            ULONG_PTR Data);
typedef CLASS_SCAN_FOR_SPECIAL_HANDLER* PCLASS_SCAN_FOR_SPECIAL_HANDLER;
typedef enum _CLASS_DEBUG_LEVEL {
    ClassDebugError = 0,
    ClassDebugWarning = 1,
    ClassDebugTrace = 2,
    ClassDebugInfo = 3,
    ClassDebugMediaLocks = 8,
    ClassDebugMCN = 9,
    ClassDebugDelayedRetry = 10,
    ClassDebugSenseInfo = 11,
    ClassDebugRemoveLock = 12,
    ClassDebugExternal4 = 13,
    ClassDebugExternal3 = 14,
    ClassDebugExternal2 = 15,
    ClassDebugExternal1 = 16
} CLASS_DEBUG_LEVEL,
    *PCLASS_DEBUG_LEVEL;

#if DBG
#define DebugPrint(arguments) ClassDebugPrint arguments
#else
#define DebugPrint(arguments) ((void)0)
#endif

NT_EXTERN_C_BEGIN
NT_API void ClassDebugPrint(CLASS_DEBUG_LEVEL DebugPrintLevel, PCCHAR DebugMessage, ...);
NT_API ULONG ClassInitialize(PVOID Argument1, PVOID Argument2, PCLASS_INIT_DATA InitializationData);
NT_API ULONG ClassInitializeEx(PDRIVER_OBJECT DriverObject, LPGUID Guid, PVOID Data);
NT_API NTSTATUS ClassCreateDeviceObject(PDRIVER_OBJECT DriverObject, PCCHAR ObjectNameBuffer,
                                        PDEVICE_OBJECT LowerDeviceObject, BOOLEAN IsFdo,
                                        PDEVICE_OBJECT* DeviceObject);
NT_API NTSTATUS ClassReadDriveCapacity(PDEVICE_OBJECT DeviceObject);
NT_API void ClassReleaseQueue(PDEVICE_OBJECT DeviceObject);
NT_API void ClassSplitRequest(PDEVICE_OBJECT DeviceObject, PIRP Irp, ULONG MaximumBytes);
NT_API NTSTATUS ClassDeviceControl(PDEVICE_OBJECT DeviceObject, PIRP Irp);
NT_API IO_COMPLETION_ROUTINE ClassIoComplete;
NT_API IO_COMPLETION_ROUTINE ClassIoCompleteAssociated;
NT_API BOOLEAN ClassInterpretSenseInfo(PDEVICE_OBJECT DeviceObject, PSCSI_REQUEST_BLOCK Srb,
                                       UCHAR MajorFunctionCode, ULONG IoDeviceCode,
                                       ULONG RetryCount, NTSTATUS* Status, ULONG* RetryInterval);
NT_API void ClassSendDeviceIoControlSynchronous(ULONG IoControlCode,
                                                PDEVICE_OBJECT TargetDeviceObject, PVOID Buffer,
                                                ULONG InputBufferLength, ULONG OutputBufferLength,
                                                BOOLEAN InternalDeviceIoControl,
                                                PIO_STATUS_BLOCK IoStatus);
NT_API NTSTATUS ClassSendIrpSynchronous(PDEVICE_OBJECT TargetDeviceObject, PIRP Irp);
NT_API NTSTATUS ClassForwardIrpSynchronous(PCOMMON_DEVICE_EXTENSION CommonExtension, PIRP Irp);
NT_API NTSTATUS ClassSendSrbSynchronous(PDEVICE_OBJECT DeviceObject, PSCSI_REQUEST_BLOCK Srb,
                                        PVOID BufferAddress, ULONG BufferLength,
                                        BOOLEAN WriteToDevice);
NT_API NTSTATUS ClassSendSrbAsynchronous(PDEVICE_OBJECT DeviceObject, PSCSI_REQUEST_BLOCK Srb,
                                         PIRP Irp, PVOID BufferAddress, ULONG BufferLength,
                                         BOOLEAN WriteToDevice);
NT_API NTSTATUS ClassBuildRequest(PDEVICE_OBJECT DeviceObject, PIRP Irp);
NT_API ULONG ClassModeSense(PDEVICE_OBJECT DeviceObject, PCHAR ModeSenseBuffer, ULONG Length,
                            UCHAR PageMode);
NT_API ULONG ClassModeSenseEx(PDEVICE_OBJECT DeviceObject, PCHAR ModeSenseBuffer, ULONG Length,
                              UCHAR PageMode, UCHAR PageControl);
NT_API NTSTATUS ClassModeSelect(PDEVICE_OBJECT DeviceObject, PCHAR ModeSelectBuffer, ULONG Length,
                                BOOLEAN SavePages);
NT_API PVOID ClassFindModePage(PCHAR ModeSenseBuffer, ULONG Length, UCHAR PageMode,
                               BOOLEAN Use6Byte);
NT_API NTSTATUS ClassClaimDevice(PDEVICE_OBJECT LowerDeviceObject, BOOLEAN Release);
NT_API NTSTATUS ClassInternalIoControl(PDEVICE_OBJECT DeviceObject, PIRP Irp);
NT_API void ClassInitializeSrbLookasideList(PCOMMON_DEVICE_EXTENSION CommonExtension,
                                            ULONG NumberElements);
NT_API void ClassDeleteSrbLookasideList(PCOMMON_DEVICE_EXTENSION CommonExtension);
NT_API ULONG ClassQueryTimeOutRegistryValue(PDEVICE_OBJECT DeviceObject);
NT_API NTSTATUS ClassGetDescriptor(PDEVICE_OBJECT DeviceObject, PSTORAGE_PROPERTY_ID PropertyId,
                                   PVOID* Descriptor);
NT_API void ClassInvalidateBusRelations(PDEVICE_OBJECT Fdo);
NT_API void ClassMarkChildrenMissing(PFUNCTIONAL_DEVICE_EXTENSION Fdo);
NT_API BOOLEAN ClassMarkChildMissing(PPHYSICAL_DEVICE_EXTENSION PdoExtension,
                                     BOOLEAN AcquireChildLock);
NT_API ULONG ClassAcquireRemoveLockEx(PDEVICE_OBJECT DeviceObject, PVOID Tag, PCSTR File,
                                      ULONG Line);
#define ClassAcquireRemoveLock(device, tag)                                                        \
    ClassAcquireRemoveLockEx((device), (tag), __FILE__, __LINE__)
NT_API void ClassReleaseRemoveLock(PDEVICE_OBJECT DeviceObject, PIRP Tag);
NT_API void ClassCompleteRequest(PDEVICE_OBJECT DeviceObject, PIRP Irp, CCHAR PriorityBoost);
NT_API void ClassResetMediaChangeTimer(PFUNCTIONAL_DEVICE_EXTENSION FdoExtension);
NT_API void ClassInitializeMediaChangeDetection(PFUNCTIONAL_DEVICE_EXTENSION FdoExtension,
                                                PUCHAR EventPrefix);
NT_API NTSTATUS ClassInitializeTestUnitPolling(PFUNCTIONAL_DEVICE_EXTENSION FdoExtension,
                                               BOOLEAN AllowDriveToSleep);
NT_API PVPB ClassGetVpb(PDEVICE_OBJECT DeviceObject);
NT_API NTSTATUS ClassSpinDownPowerHandler(PDEVICE_OBJECT DeviceObject, PIRP Irp);
NT_API NTSTATUS ClassStopUnitPowerHandler(PDEVICE_OBJECT DeviceObject, PIRP Irp);
NT_API NTSTATUS ClassSetFailurePredictionPoll(PFUNCTIONAL_DEVICE_EXTENSION FdoExtension,
                                              FAILURE_PREDICTION_METHOD FailurePredictionMethod,
                                              ULONG PollingPeriod);
NT_API void ClassNotifyFailurePredicted(PFUNCTIONAL_DEVICE_EXTENSION FdoExtension, PUCHAR Buffer,
                                        ULONG BufferSize, BOOLEAN LogError, ULONG UniqueErrorValue,
                                        UCHAR PathId, UCHAR TargetId, UCHAR Lun);
NT_API void ClassAcquireChildLock(PFUNCTIONAL_DEVICE_EXTENSION FdoExtension);
NT_API void ClassReleaseChildLock(PFUNCTIONAL_DEVICE_EXTENSION FdoExtension);
NT_API NTSTATUS ClassSignalCompletion(PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Event);
NT_API void ClassSendStartUnit(PDEVICE_OBJECT DeviceObject);
NT_API NTSTATUS ClassRemoveDevice(PDEVICE_OBJECT DeviceObject, UCHAR RemoveType);
NT_API NTSTATUS ClassAsynchronousCompletion(PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Event);
NT_API void ClassCheckMediaState(PFUNCTIONAL_DEVICE_EXTENSION FdoExtension);
NT_API NTSTATUS ClassCheckVerifyComplete(PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Context);
NT_API void ClassSetMediaChangeState(PFUNCTIONAL_DEVICE_EXTENSION FdoExtension,
                                     MEDIA_CHANGE_DETECTION_STATE State, BOOLEAN Wait);
NT_API void ClassEnableMediaChangeDetection(PFUNCTIONAL_DEVICE_EXTENSION FdoExtension);
NT_API void ClassDisableMediaChangeDetection(PFUNCTIONAL_DEVICE_EXTENSION FdoExtension);
NT_API void ClassCleanupMediaChangeDetection(PFUNCTIONAL_DEVICE_EXTENSION FdoExtension);
NT_API void ClassGetDeviceParameter(PFUNCTIONAL_DEVICE_EXTENSION FdoExtension, PWSTR SubkeyName,
                                    PWSTR ParameterName, PULONG ParameterValue);
NT_API NTSTATUS ClassSetDeviceParameter(PFUNCTIONAL_DEVICE_EXTENSION FdoExtension, PWSTR SubkeyName,
                                        PWSTR ParameterName, ULONG ParameterValue);
NT_API PFILE_OBJECT_EXTENSION ClassGetFsContext(PCOMMON_DEVICE_EXTENSION CommonExtension,
                                                PFILE_OBJECT FileObject);
NT_API void ClassSendNotification(PFUNCTIONAL_DEVICE_EXTENSION FdoExtension, const GUID* Guid,
                                  ULONG ExtraDataSize, PVOID ExtraData);
NT_API void ClassUpdateInformationInRegistry(PDEVICE_OBJECT Fdo, PCHAR DeviceName,
                                             ULONG DeviceNumber, PINQUIRYDATA InquiryData,
                                             ULONG InquiryDataLength);
NT_API NTSTATUS ClassWmiCompleteRequest(PDEVICE_OBJECT DeviceObject, PIRP Irp, NTSTATUS Status,
                                        ULONG BufferUsed, CCHAR PriorityBoost);
NT_API NTSTATUS ClassWmiFireEvent(PDEVICE_OBJECT DeviceObject, LPGUID Guid, ULONG InstanceIndex,
                                  ULONG EventDataSize, PVOID EventData);
NT_API PCLASS_DRIVER_EXTENSION ClassGetDriverExtension(PDRIVER_OBJECT DriverObject);
NT_API void ClassScanForSpecial(PFUNCTIONAL_DEVICE_EXTENSION FdoExtension,
                                CLASSPNP_SCAN_FOR_SPECIAL_INFO DeviceList[],
                                PCLASS_SCAN_FOR_SPECIAL_HANDLER Function);
NT_API NTSTATUS ClassQueryPnpCapabilities(PDEVICE_OBJECT DeviceObject,
                                          PDEVICE_CAPABILITIES Capabilities);
NT_API void ClassAddChild(PFUNCTIONAL_DEVICE_EXTENSION Parent, PPHYSICAL_DEVICE_EXTENSION Child,
                          BOOLEAN AcquireLock);
NT_API PPHYSICAL_DEVICE_EXTENSION ClassRemoveChild(PFUNCTIONAL_DEVICE_EXTENSION Parent,
                                                   PPHYSICAL_DEVICE_EXTENSION Child,
                                                   BOOLEAN AcquireLock);
NT_EXTERN_C_END

#endif
