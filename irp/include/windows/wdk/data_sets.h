/* Ranges of a storage device: trimming, offloaded copies, provisioning. Source: WDK ntddstor.h
   reference, IOCTL_STORAGE_MANAGE_DATA_SET_ATTRIBUTES. */
#ifndef IRPVERBS_WINDOWS_DATA_SETS_H
#define IRPVERBS_WINDOWS_DATA_SETS_H

#include <windows/wdk/types.h>

typedef ULONG DEVICE_DATA_MANAGEMENT_SET_ACTION, DEVICE_DSM_ACTION;
#define DeviceDsmActionFlag_NonDestructive 0x80000000
#define DeviceDsmAction_None 0
#define DeviceDsmAction_Trim 1
#define DeviceDsmAction_Notification (2 | DeviceDsmActionFlag_NonDestructive)
#define DeviceDsmAction_OffloadRead (3 | DeviceDsmActionFlag_NonDestructive)
#define DeviceDsmAction_OffloadWrite 4
#define DeviceDsmAction_Allocation (5 | DeviceDsmActionFlag_NonDestructive)
#define DeviceDsmAction_Repair (6 | DeviceDsmActionFlag_NonDestructive)
#define DeviceDsmAction_Scrub (7 | DeviceDsmActionFlag_NonDestructive)
#define IsDsmActionNonDestructive(action) (((action)&DeviceDsmActionFlag_NonDestructive) != 0)
#define DEVICE_DSM_FLAG_ENTIRE_DATA_SET_RANGE 0x00000001
#define DEVICE_DSM_FLAG_TRIM_NOT_FS_ALLOCATED 0x80000000
#define DEVICE_DSM_FLAG_ALLOCATION_CONSOLIDATEABLE_ONLY 0x40000000
typedef struct _DEVICE_DATA_SET_RANGE {
    LONGLONG StartingOffset;
    ULONGLONG LengthInBytes;
} DEVICE_DATA_SET_RANGE, *PDEVICE_DATA_SET_RANGE, DEVICE_DSM_RANGE, *PDEVICE_DSM_RANGE;
typedef struct _DEVICE_MANAGE_DATA_SET_ATTRIBUTES {
    ULONG Size;
    DEVICE_DSM_ACTION Action;
    ULONG Flags;
    ULONG ParameterBlockOffset;
    ULONG ParameterBlockLength;
    ULONG DataSetRangesOffset;
    ULONG DataSetRangesLength;
} DEVICE_MANAGE_DATA_SET_ATTRIBUTES, *PDEVICE_MANAGE_DATA_SET_ATTRIBUTES;
typedef struct _DEVICE_MANAGE_DATA_SET_ATTRIBUTES_OUTPUT {
    ULONG Size;
    DEVICE_DSM_ACTION Action;
    ULONG Flags;
    ULONG OperationStatus;
    ULONG ExtendedError;
    ULONG TargetDetailedError;
    ULONG ReservedStatus;
    ULONG OutputBlockOffset;
    ULONG OutputBlockLength;
} DEVICE_MANAGE_DATA_SET_ATTRIBUTES_OUTPUT, *PDEVICE_MANAGE_DATA_SET_ATTRIBUTES_OUTPUT;
#define STORAGE_OFFLOAD_MAX_TOKEN_LENGTH 512
#define STORAGE_OFFLOAD_TOKEN_ID_LENGTH 0x1F8
#define STORAGE_OFFLOAD_TOKEN_TYPE_ZERO_DATA 0xFFFF0001
#define STORAGE_OFFLOAD_READ_RANGE_TRUNCATED 0x00000001
#define STORAGE_OFFLOAD_WRITE_RANGE_TRUNCATED 0x0001
#define STORAGE_OFFLOAD_TOKEN_INVALID 0x0002
typedef struct _STORAGE_OFFLOAD_TOKEN {
    UCHAR TokenType[4];
    UCHAR Reserved[2];
    UCHAR TokenIdLength[2];
    __extension__ union {
        struct {
            UCHAR Reserved2[STORAGE_OFFLOAD_TOKEN_ID_LENGTH];
        } StorageOffloadZeroDataToken;
        UCHAR Token[STORAGE_OFFLOAD_TOKEN_ID_LENGTH];
    };
} STORAGE_OFFLOAD_TOKEN, *PSTORAGE_OFFLOAD_TOKEN;
typedef struct _DEVICE_DSM_OFFLOAD_READ_PARAMETERS {
    ULONG Flags;
    ULONG TimeToLive;
    ULONG Reserved[2];
} DEVICE_DSM_OFFLOAD_READ_PARAMETERS, *PDEVICE_DSM_OFFLOAD_READ_PARAMETERS;
typedef struct _STORAGE_OFFLOAD_READ_OUTPUT {
    ULONG OffloadReadFlags;
    ULONG Reserved;
    ULONGLONG LengthProtected;
    ULONG TokenLength;
    STORAGE_OFFLOAD_TOKEN Token;
} STORAGE_OFFLOAD_READ_OUTPUT, *PSTORAGE_OFFLOAD_READ_OUTPUT;
typedef struct _DEVICE_DSM_OFFLOAD_WRITE_PARAMETERS {
    ULONG Flags;
    ULONG Reserved;
    ULONGLONG TokenOffset;
    STORAGE_OFFLOAD_TOKEN Token;
} DEVICE_DSM_OFFLOAD_WRITE_PARAMETERS, *PDEVICE_DSM_OFFLOAD_WRITE_PARAMETERS;
typedef struct _STORAGE_OFFLOAD_WRITE_OUTPUT {
    ULONG OffloadWriteFlags;
    ULONG Reserved;
    ULONGLONG LengthCopied;
} STORAGE_OFFLOAD_WRITE_OUTPUT, *PSTORAGE_OFFLOAD_WRITE_OUTPUT;
typedef struct _DEVICE_DATA_SET_LBP_STATE_PARAMETERS {
    ULONG Version;
    ULONG Size;
    ULONG Flags;
    ULONG OutputVersion;
} DEVICE_DATA_SET_LBP_STATE_PARAMETERS, *PDEVICE_DATA_SET_LBP_STATE_PARAMETERS;
#define DEVICE_DATA_SET_LBP_STATE_PARAMETERS_VERSION_V1 1
typedef struct _DEVICE_DATA_SET_LB_PROVISIONING_STATE {
    ULONG Size;
    ULONG Version;
    ULONGLONG SlabSizeInBytes;
    ULONG SlabOffsetDeltaInBytes;
    ULONG SlabAllocationBitMapBitCount;
    ULONG SlabAllocationBitMapLength;
    ULONG SlabAllocationBitMap[ANYSIZE_ARRAY];
} DEVICE_DATA_SET_LB_PROVISIONING_STATE, *PDEVICE_DATA_SET_LB_PROVISIONING_STATE;
#define DEVICE_DATA_SET_LB_PROVISIONING_STATE_VERSION_V1                                           \
    sizeof(DEVICE_DATA_SET_LB_PROVISIONING_STATE)
typedef struct _DEVICE_DATA_SET_LB_PROVISIONING_STATE_V2 {
    ULONG Size;
    ULONG Version;
    ULONGLONG SlabSizeInBytes;
    ULONGLONG SlabOffsetDeltaInBytes;
    ULONG SlabAllocationBitMapBitCount;
    ULONG SlabAllocationBitMapLength;
    ULONG SlabAllocationBitMap[ANYSIZE_ARRAY];
} DEVICE_DATA_SET_LB_PROVISIONING_STATE_V2, *PDEVICE_DATA_SET_LB_PROVISIONING_STATE_V2;
#define DEVICE_DATA_SET_LB_PROVISIONING_STATE_VERSION_V2                                           \
    sizeof(DEVICE_DATA_SET_LB_PROVISIONING_STATE_V2)

#endif
