/* SCSI: all that a class driver knows of commands, and the data of some of them. Source: WDK scsi.h
   reference; T10 SPC and SBC. */
#ifndef IRPVERBS_WINDOWS_SCSI_H
#define IRPVERBS_WINDOWS_SCSI_H

#include <srb.h>
#include <windows/wdk/scsi_cdb.h>
#include <windows/wdk/scsi_commands.h>
#include <windows/wdk/scsi_pages.h>
#include <windows/wdk/scsi_sense.h>

/* Notifications of media. */
typedef struct _NOTIFICATION_EVENT_STATUS_HEADER {
    UCHAR EventDataLength[2];
    UCHAR NotificationClass : 3;
    UCHAR Reserved : 4;
    UCHAR NEA : 1;
    UCHAR SupportedEventClasses;
    UCHAR ClassEventData[0];
} NOTIFICATION_EVENT_STATUS_HEADER, *PNOTIFICATION_EVENT_STATUS_HEADER;
typedef struct _NOTIFICATION_OPERATIONAL_STATUS {
    UCHAR OperationalEvent : 4;
    UCHAR Reserved1 : 4;
    UCHAR OperationalStatus : 4;
    UCHAR Reserved2 : 3;
    UCHAR PersistentPrevented : 1;
    UCHAR Operation[2];
} NOTIFICATION_OPERATIONAL_STATUS, *PNOTIFICATION_OPERATIONAL_STATUS;
typedef struct _NOTIFICATION_POWER_STATUS {
    UCHAR PowerEvent : 4;
    UCHAR Reserved : 4;
    UCHAR PowerStatus;
    UCHAR Reserved2[2];
} NOTIFICATION_POWER_STATUS, *PNOTIFICATION_POWER_STATUS;
typedef struct _NOTIFICATION_EXTERNAL_STATUS {
    UCHAR ExternalEvent : 4;
    UCHAR Reserved1 : 4;
    UCHAR ExternalStatus : 4;
    UCHAR Reserved2 : 3;
    UCHAR PersistentPrevented : 1;
    UCHAR Request[2];
} NOTIFICATION_EXTERNAL_STATUS, *PNOTIFICATION_EXTERNAL_STATUS;
typedef struct _NOTIFICATION_MEDIA_STATUS {
    UCHAR MediaEvent : 4;
    UCHAR Reserved : 4;
    __extension__ union {
        UCHAR PowerStatus;
        UCHAR MediaStatus;
        __extension__ struct {
            UCHAR DoorTrayOpen : 1;
            UCHAR MediaPresent : 1;
            UCHAR ReservedX : 6;
        };
    };
    UCHAR StartSlot;
    UCHAR EndSlot;
} NOTIFICATION_MEDIA_STATUS, *PNOTIFICATION_MEDIA_STATUS;
typedef struct _NOTIFICATION_BUSY_STATUS {
    UCHAR DeviceBusyEvent : 4;
    UCHAR Reserved : 4;
    UCHAR DeviceBusyStatus;
    UCHAR Time[2];
} NOTIFICATION_BUSY_STATUS, *PNOTIFICATION_BUSY_STATUS;

/* Persistent reservations. */
#define RESERVATION_ACTION_READ_KEYS 0x00
#define RESERVATION_ACTION_READ_RESERVATIONS 0x01
#define RESERVATION_ACTION_REGISTER 0x00
#define RESERVATION_ACTION_RESERVE 0x01
#define RESERVATION_ACTION_RELEASE 0x02
#define RESERVATION_ACTION_CLEAR 0x03
#define RESERVATION_ACTION_PREEMPT 0x04
#define RESERVATION_ACTION_PREEMPT_ABORT 0x05
#define RESERVATION_ACTION_REGISTER_IGNORE_EXISTING 0x06
#define RESERVATION_SCOPE_LU 0x00
#define RESERVATION_SCOPE_ELEMENT 0x02
#define RESERVATION_TYPE_WRITE_EXCLUSIVE 0x01
#define RESERVATION_TYPE_EXCLUSIVE 0x03
#define RESERVATION_TYPE_WRITE_EXCLUSIVE_REGISTRANTS 0x05
#define RESERVATION_TYPE_EXCLUSIVE_REGISTRANTS 0x06
typedef struct _PRI_REGISTRATION_LIST {
    UCHAR Generation[4];
    UCHAR AdditionalLength[4];
    UCHAR ReservationKeyList[0][8];
} PRI_REGISTRATION_LIST, *PPRI_REGISTRATION_LIST;
typedef struct _PRI_RESERVATION_DESCRIPTOR {
    UCHAR ReservationKey[8];
    UCHAR ScopeSpecificAddress[4];
    UCHAR Reserved;
    UCHAR Type : 4;
    UCHAR Scope : 4;
    UCHAR Obsolete[2];
} PRI_RESERVATION_DESCRIPTOR, *PPRI_RESERVATION_DESCRIPTOR;
typedef struct _PRI_RESERVATION_LIST {
    UCHAR Generation[4];
    UCHAR AdditionalLength[4];
    PRI_RESERVATION_DESCRIPTOR Reservations[0];
} PRI_RESERVATION_LIST, *PPRI_RESERVATION_LIST;
typedef struct _PRO_PARAMETER_LIST {
    UCHAR ReservationKey[8];
    UCHAR ServiceActionReservationKey[8];
    UCHAR ScopeSpecificAddress[4];
    UCHAR ActivatePersistThroughPowerLoss : 1;
    UCHAR Reserved1 : 7;
    UCHAR Reserved2;
    UCHAR Obsolete[2];
} PRO_PARAMETER_LIST, *PPRO_PARAMETER_LIST;

/* Thin provisioning and offloaded copies. */
typedef struct _UNMAP_BLOCK_DESCRIPTOR {
    UCHAR StartingLba[8];
    UCHAR LbaCount[4];
    UCHAR Reserved[4];
} UNMAP_BLOCK_DESCRIPTOR, *PUNMAP_BLOCK_DESCRIPTOR;
typedef struct _UNMAP_LIST_HEADER {
    UCHAR DataLength[2];
    UCHAR BlockDescrDataLength[2];
    UCHAR Reserved[4];
    UNMAP_BLOCK_DESCRIPTOR Descriptors[0];
} UNMAP_LIST_HEADER, *PUNMAP_LIST_HEADER;
#define LBA_STATUS_MAPPED 0x0
#define LBA_STATUS_DEALLOCATED 0x1
#define LBA_STATUS_ANCHORED 0x2
typedef struct _LBA_STATUS_DESCRIPTOR {
    ULONGLONG StartingLBA;
    ULONG LogicalBlockCount;
    UCHAR ProvisioningStatus : 4;
    UCHAR Reserved1 : 4;
    UCHAR Reserved2[3];
} LBA_STATUS_DESCRIPTOR, *PLBA_STATUS_DESCRIPTOR;
typedef struct _LBA_STATUS_LIST_HEADER {
    ULONG ParameterLength;
    ULONG Reserved;
    LBA_STATUS_DESCRIPTOR Descriptors[0];
} LBA_STATUS_LIST_HEADER, *PLBA_STATUS_LIST_HEADER;
typedef struct _BLOCK_DEVICE_RANGE_DESCRIPTOR {
    UCHAR LogicalBlockAddress[8];
    UCHAR TransferLength[4];
    UCHAR Reserved[4];
} BLOCK_DEVICE_RANGE_DESCRIPTOR, *PBLOCK_DEVICE_RANGE_DESCRIPTOR;
#define BLOCK_DEVICE_TOKEN_SIZE 512
typedef struct _POPULATE_TOKEN_HEADER {
    UCHAR PopulateTokenDataLength[2];
    UCHAR Immediate : 1;
    UCHAR Reserved1 : 7;
    UCHAR Reserved2[1];
    UCHAR InactivityTimeout[4];
    UCHAR Reserved3[6];
    UCHAR BlockDeviceRangeDescriptorListLength[2];
    UCHAR BlockDeviceRangeDescriptor[ANYSIZE_ARRAY];
} POPULATE_TOKEN_HEADER, *PPOPULATE_TOKEN_HEADER;
typedef struct _WRITE_USING_TOKEN_HEADER {
    UCHAR WriteUsingTokenDataLength[2];
    UCHAR Immediate : 1;
    UCHAR Reserved1 : 7;
    UCHAR Reserved2[5];
    UCHAR BlockOffsetIntoToken[8];
    UCHAR Token[BLOCK_DEVICE_TOKEN_SIZE];
    UCHAR Reserved3[6];
    UCHAR BlockDeviceRangeDescriptorListLength[2];
    UCHAR BlockDeviceRangeDescriptor[ANYSIZE_ARRAY];
} WRITE_USING_TOKEN_HEADER, *PWRITE_USING_TOKEN_HEADER;
#define OPERATION_COMPLETED_WITH_SUCCESS 0x01
#define OPERATION_COMPLETED_WITH_ERROR 0x02
#define OPERATION_COMPLETED_WITH_RESIDUAL_DATA 0x03
#define OPERATION_IN_PROGRESS_WITHIN_FOREGROUND 0x11
#define OPERATION_IN_PROGRESS_WITHIN_BACKGROUND 0x12
#define OPERATION_TERMINATED 0x60
#define TRANSFER_COUNT_UNITS_BYTES 0
#define TRANSFER_COUNT_UNITS_KIBIBYTES 1
#define TRANSFER_COUNT_UNITS_MEBIBYTES 2
#define TRANSFER_COUNT_UNITS_GIBIBYTES 3
#define TRANSFER_COUNT_UNITS_NUMBER_BLOCKS 0xF1
typedef struct _RECEIVE_TOKEN_INFORMATION_HEADER {
    UCHAR AvailableData[4];
    UCHAR ResponseToServiceAction : 5;
    UCHAR Reserved1 : 3;
    UCHAR OperationStatus : 7;
    UCHAR Reserved2 : 1;
    UCHAR OperationCounter[2];
    UCHAR EstimatedStatusUpdateDelay[4];
    UCHAR CompletionStatus;
    UCHAR SenseDataFieldLength;
    UCHAR SenseDataLength;
    UCHAR TransferCountUnits;
    UCHAR TransferCount[8];
    UCHAR SegmentsProcessed[2];
    UCHAR Reserved3[6];
    UCHAR SenseData[ANYSIZE_ARRAY];
} RECEIVE_TOKEN_INFORMATION_HEADER, *PRECEIVE_TOKEN_INFORMATION_HEADER;
typedef struct _RECEIVE_TOKEN_INFORMATION_RESPONSE_HEADER {
    UCHAR TokenDescriptorsLength[4];
    UCHAR TokenDescriptor[ANYSIZE_ARRAY];
} RECEIVE_TOKEN_INFORMATION_RESPONSE_HEADER, *PRECEIVE_TOKEN_INFORMATION_RESPONSE_HEADER;
typedef struct _BLOCK_DEVICE_TOKEN_DESCRIPTOR {
    UCHAR TokenIdentifier[2];
    UCHAR Token[ANYSIZE_ARRAY];
} BLOCK_DEVICE_TOKEN_DESCRIPTOR, *PBLOCK_DEVICE_TOKEN_DESCRIPTOR;

/* Capacity. */
typedef struct _READ_CAPACITY_DATA {
    ULONG LogicalBlockAddress; /* big-endian, as BytesPerBlock */
    ULONG BytesPerBlock;
} READ_CAPACITY_DATA, *PREAD_CAPACITY_DATA;
typedef struct IRPVERBS_PACKED _READ_CAPACITY_DATA_EX {
    LARGE_INTEGER LogicalBlockAddress;
    ULONG BytesPerBlock;
} READ_CAPACITY_DATA_EX, *PREAD_CAPACITY_DATA_EX;
typedef struct IRPVERBS_PACKED _READ_CAPACITY16_DATA {
    LARGE_INTEGER LogicalBlockAddress;
    ULONG BytesPerBlock;
    UCHAR ProtectionEnable : 1;
    UCHAR ProtectionType : 3;
    UCHAR RcBasis : 2;
    UCHAR Reserved : 2;
    UCHAR LogicalPerPhysicalExponent : 4;
    UCHAR ProtectionInfoExponent : 4;
    UCHAR LowestAlignedBlock_MSB : 6;
    UCHAR LBPRZ : 1;
    UCHAR LBPME : 1;
    UCHAR LowestAlignedBlock_LSB;
    UCHAR Reserved3[16];
} READ_CAPACITY16_DATA, *PREAD_CAPACITY16_DATA;

/* Integers of any byte order by their bytes. */
typedef union IRPVERBS_PACKED _TWO_BYTE {
    struct IRPVERBS_PACKED {
        UCHAR Byte0;
        UCHAR Byte1;
    };
    USHORT AsUShort;
} TWO_BYTE, *PTWO_BYTE;
typedef union IRPVERBS_PACKED _FOUR_BYTE {
    struct IRPVERBS_PACKED {
        UCHAR Byte0;
        UCHAR Byte1;
        UCHAR Byte2;
        UCHAR Byte3;
    };
    ULONG AsULong;
} FOUR_BYTE, *PFOUR_BYTE;
typedef union IRPVERBS_PACKED _EIGHT_BYTE {
    struct IRPVERBS_PACKED {
        UCHAR Byte0;
        UCHAR Byte1;
        UCHAR Byte2;
        UCHAR Byte3;
        UCHAR Byte4;
        UCHAR Byte5;
        UCHAR Byte6;
        UCHAR Byte7;
    };
    ULONGLONG AsULongLong;
} EIGHT_BYTE, *PEIGHT_BYTE;
/* Blocks, since sources leave their semicolons out. */
#define REVERSE_BYTES_QUAD(destination, source)                                                    \
    {                                                                                              \
        ((PEIGHT_BYTE)(PVOID)(destination))->AsULongLong =                                         \
            __builtin_bswap64(((PEIGHT_BYTE)(PVOID)(source))->AsULongLong);                        \
    }
#define REVERSE_BYTES(destination, source)                                                         \
    {                                                                                              \
        ((PFOUR_BYTE)(PVOID)(destination))->AsULong =                                              \
            __builtin_bswap32(((PFOUR_BYTE)(PVOID)(source))->AsULong);                             \
    }
#define REVERSE_BYTES_SHORT(destination, source)                                                   \
    {                                                                                              \
        ((PTWO_BYTE)(PVOID)(destination))->AsUShort =                                              \
            __builtin_bswap16(((PTWO_BYTE)(PVOID)(source))->AsUShort);                             \
    }
#define REVERSE_BYTES_4 REVERSE_BYTES
#define REVERSE_BYTES_2 REVERSE_BYTES_SHORT
#define REVERSE_SHORT(address) REVERSE_BYTES_SHORT(address, address)
#define REVERSE_LONG(address) REVERSE_BYTES(address, address)
/* The number of the highest bit that is set. */
#define WHICH_BIT(data, bit)                                                                       \
    do {                                                                                           \
        UCHAR irpverbs_bit;                                                                        \
        for (irpverbs_bit = 0; irpverbs_bit < 32; ++irpverbs_bit) {                                \
            if (((data) >> irpverbs_bit) == 1) break;                                              \
        }                                                                                          \
        (bit) = irpverbs_bit;                                                                      \
    } while (0)

#endif
