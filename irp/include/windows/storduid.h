/* Unique identifiers of storage devices. Source: WDK storduid.h reference. */
#ifndef IRPVERBS_WINDOWS_STORDUID_H
#define IRPVERBS_WINDOWS_STORDUID_H

#include <ntdddisk.h>

#define DUID_VERSION_1 1
#define DUID_HARDWARE_IDS_ONLY 0
#define DUID_INCLUDE_SOFTWARE_IDS 1
typedef struct _STORAGE_DEVICE_LAYOUT_SIGNATURE {
    ULONG Version;
    ULONG Size;
    BOOLEAN Mbr;
    union {
        ULONG MbrSignature;
        GUID GptDiskId;
    } DeviceSpecific;
} STORAGE_DEVICE_LAYOUT_SIGNATURE, *PSTORAGE_DEVICE_LAYOUT_SIGNATURE;
typedef struct _STORAGE_DEVICE_UNIQUE_IDENTIFIER {
    ULONG Version;
    ULONG Size;
    ULONG StorageDeviceIdOffset;
    ULONG StorageDeviceOffset;
    ULONG DriveLayoutSignatureOffset;
} STORAGE_DEVICE_UNIQUE_IDENTIFIER, *PSTORAGE_DEVICE_UNIQUE_IDENTIFIER;
typedef enum _DUID_MATCH_STATUS {
    DuidExactMatch = 0,
    DuidSubIdMatch,
    DuidNoMatch,
    DuidErrorGeneral = 100,
    DuidErrorMissingDuid,
    DuidErrorVersionMismatch,
    DuidErrorInvalidDuid,
    DuidErrorInvalidDeviceIdDescSize,
    DuidErrorInvalidDeviceDescSize,
    DuidErrorInvalidLayoutSigSize,
    DuidErrorInvalidLayoutSigVersion,
    DuidErrorMaximum
} DUID_MATCH_STATUS;

#endif
