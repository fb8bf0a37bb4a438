/* Disks: control codes, geometry, partitions, caches, SMART. Source: WDK ntdddisk.h reference. */
#ifndef IRPVERBS_WINDOWS_NTDDDISK_H
#define IRPVERBS_WINDOWS_NTDDDISK_H

#include <ntddstor.h>

#define DD_DISK_DEVICE_NAME_U L"\\Device\\UNKNOWN"
#define DD_DISK_DEVICE_NAME DD_DISK_DEVICE_NAME_U
#define IOCTL_DISK_BASE FILE_DEVICE_DISK
#define IRPVERBS_DISK_IOCTL(function, access)                                                      \
    CTL_CODE(IOCTL_DISK_BASE, function, METHOD_BUFFERED, access)
/* An initializer. */
#define WMI_DISK_GEOMETRY_GUID                                                                     \
    {                                                                                              \
        0x25007f51, 0x57c2, 0x11d1, { 0xa5, 0x28, 0x00, 0xa0, 0xc9, 0x06, 0x29, 0x10 }             \
    }
#define IOCTL_DISK_GET_DRIVE_GEOMETRY IRPVERBS_DISK_IOCTL(0x0000, FILE_ANY_ACCESS)
#define IOCTL_DISK_GET_PARTITION_INFO IRPVERBS_DISK_IOCTL(0x0001, FILE_READ_ACCESS)
#define IOCTL_DISK_SET_PARTITION_INFO                                                              \
    IRPVERBS_DISK_IOCTL(0x0002, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_GET_DRIVE_LAYOUT IRPVERBS_DISK_IOCTL(0x0003, FILE_READ_ACCESS)
#define IOCTL_DISK_SET_DRIVE_LAYOUT                                                                \
    IRPVERBS_DISK_IOCTL(0x0004, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_VERIFY IRPVERBS_DISK_IOCTL(0x0005, FILE_ANY_ACCESS)
#define IOCTL_DISK_FORMAT_TRACKS IRPVERBS_DISK_IOCTL(0x0006, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_REASSIGN_BLOCKS IRPVERBS_DISK_IOCTL(0x0007, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_PERFORMANCE IRPVERBS_DISK_IOCTL(0x0008, FILE_ANY_ACCESS)
#define IOCTL_DISK_IS_WRITABLE IRPVERBS_DISK_IOCTL(0x0009, FILE_ANY_ACCESS)
#define IOCTL_DISK_LOGGING IRPVERBS_DISK_IOCTL(0x000a, FILE_ANY_ACCESS)
#define IOCTL_DISK_FORMAT_TRACKS_EX                                                                \
    IRPVERBS_DISK_IOCTL(0x000b, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_HISTOGRAM_STRUCTURE IRPVERBS_DISK_IOCTL(0x000c, FILE_ANY_ACCESS)
#define IOCTL_DISK_HISTOGRAM_DATA IRPVERBS_DISK_IOCTL(0x000d, FILE_ANY_ACCESS)
#define IOCTL_DISK_HISTOGRAM_RESET IRPVERBS_DISK_IOCTL(0x000e, FILE_ANY_ACCESS)
#define IOCTL_DISK_REQUEST_STRUCTURE IRPVERBS_DISK_IOCTL(0x000f, FILE_ANY_ACCESS)
#define IOCTL_DISK_REQUEST_DATA IRPVERBS_DISK_IOCTL(0x0010, FILE_ANY_ACCESS)
#define IOCTL_DISK_CONTROLLER_NUMBER IRPVERBS_DISK_IOCTL(0x0011, FILE_ANY_ACCESS)
#define IOCTL_DISK_GET_PARTITION_INFO_EX IRPVERBS_DISK_IOCTL(0x0012, FILE_ANY_ACCESS)
#define IOCTL_DISK_SET_PARTITION_INFO_EX                                                           \
    IRPVERBS_DISK_IOCTL(0x0013, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_GET_DRIVE_LAYOUT_EX IRPVERBS_DISK_IOCTL(0x0014, FILE_ANY_ACCESS)
#define IOCTL_DISK_SET_DRIVE_LAYOUT_EX                                                             \
    IRPVERBS_DISK_IOCTL(0x0015, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_CREATE_DISK IRPVERBS_DISK_IOCTL(0x0016, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_GET_LENGTH_INFO IRPVERBS_DISK_IOCTL(0x0017, FILE_READ_ACCESS)
#define SMART_GET_VERSION IRPVERBS_DISK_IOCTL(0x0020, FILE_READ_ACCESS)
#define SMART_SEND_DRIVE_COMMAND IRPVERBS_DISK_IOCTL(0x0021, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define SMART_RCV_DRIVE_DATA IRPVERBS_DISK_IOCTL(0x0022, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define SMART_RCV_DRIVE_DATA_EX IRPVERBS_DISK_IOCTL(0x0023, FILE_ANY_ACCESS)
#define IOCTL_DISK_REASSIGN_BLOCKS_EX                                                              \
    IRPVERBS_DISK_IOCTL(0x0029, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_COPY_DATA IRPVERBS_DISK_IOCTL(0x0019, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_UPDATE_DRIVE_SIZE                                                               \
    IRPVERBS_DISK_IOCTL(0x0032, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_GROW_PARTITION IRPVERBS_DISK_IOCTL(0x0034, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_GET_CACHE_INFORMATION IRPVERBS_DISK_IOCTL(0x0035, FILE_READ_ACCESS)
#define IOCTL_DISK_SET_CACHE_INFORMATION                                                           \
    IRPVERBS_DISK_IOCTL(0x0036, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_GET_WRITE_CACHE_STATE IRPVERBS_DISK_IOCTL(0x0037, FILE_READ_ACCESS)
#define OBSOLETE_DISK_GET_WRITE_CACHE_STATE IOCTL_DISK_GET_WRITE_CACHE_STATE
#define IOCTL_DISK_GET_CACHE_SETTING IRPVERBS_DISK_IOCTL(0x0038, FILE_READ_ACCESS)
#define IOCTL_DISK_SET_CACHE_SETTING                                                               \
    IRPVERBS_DISK_IOCTL(0x0039, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_DELETE_DRIVE_LAYOUT                                                             \
    IRPVERBS_DISK_IOCTL(0x0040, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_UPDATE_PROPERTIES IRPVERBS_DISK_IOCTL(0x0050, FILE_ANY_ACCESS)
#define IOCTL_DISK_FORMAT_DRIVE IRPVERBS_DISK_IOCTL(0x00f3, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_SENSE_DEVICE IRPVERBS_DISK_IOCTL(0x00f8, FILE_ANY_ACCESS)
#define IOCTL_DISK_GET_DRIVE_GEOMETRY_EX IRPVERBS_DISK_IOCTL(0x0028, FILE_ANY_ACCESS)
#define IOCTL_DISK_GET_DISK_ATTRIBUTES IRPVERBS_DISK_IOCTL(0x003c, FILE_ANY_ACCESS)
#define IOCTL_DISK_SET_DISK_ATTRIBUTES                                                             \
    IRPVERBS_DISK_IOCTL(0x003d, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_IS_CLUSTERED IRPVERBS_DISK_IOCTL(0x003e, FILE_ANY_ACCESS)
#define IOCTL_DISK_RESET_SNAPSHOT_INFO                                                             \
    IRPVERBS_DISK_IOCTL(0x0084, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_CHECK_VERIFY IRPVERBS_DISK_IOCTL(0x0200, FILE_READ_ACCESS)
#define IOCTL_DISK_MEDIA_REMOVAL IRPVERBS_DISK_IOCTL(0x0201, FILE_READ_ACCESS)
#define IOCTL_DISK_EJECT_MEDIA IRPVERBS_DISK_IOCTL(0x0202, FILE_READ_ACCESS)
#define IOCTL_DISK_LOAD_MEDIA IRPVERBS_DISK_IOCTL(0x0203, FILE_READ_ACCESS)
#define IOCTL_DISK_RESERVE IRPVERBS_DISK_IOCTL(0x0204, FILE_READ_ACCESS)
#define IOCTL_DISK_RELEASE IRPVERBS_DISK_IOCTL(0x0205, FILE_READ_ACCESS)
#define IOCTL_DISK_FIND_NEW_DEVICES IRPVERBS_DISK_IOCTL(0x0206, FILE_READ_ACCESS)
#define IOCTL_DISK_GET_MEDIA_TYPES IRPVERBS_DISK_IOCTL(0x0300, FILE_ANY_ACCESS)
#define IOCTL_DISK_SIMBAD IRPVERBS_DISK_IOCTL(0x0400, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define IOCTL_DISK_INTERNAL_SET_VERIFY                                                             \
    CTL_CODE(IOCTL_DISK_BASE, 0x0100, METHOD_NEITHER, FILE_ANY_ACCESS)
#define IOCTL_DISK_INTERNAL_CLEAR_VERIFY                                                           \
    CTL_CODE(IOCTL_DISK_BASE, 0x0101, METHOD_NEITHER, FILE_ANY_ACCESS)
#define IOCTL_DISK_INTERNAL_SET_NOTIFY                                                             \
    CTL_CODE(IOCTL_DISK_BASE, 0x0102, METHOD_BUFFERED, FILE_ANY_ACCESS)

#define PARTITION_ENTRY_UNUSED 0x00
#define PARTITION_FAT_12 0x01
#define PARTITION_XENIX_1 0x02
#define PARTITION_XENIX_2 0x03
#define PARTITION_FAT_16 0x04
#define PARTITION_EXTENDED 0x05
#define PARTITION_HUGE 0x06
#define PARTITION_IFS 0x07
#define PARTITION_OS2BOOTMGR 0x0A
#define PARTITION_FAT32 0x0B
#define PARTITION_FAT32_XINT13 0x0C
#define PARTITION_XINT13 0x0E
#define PARTITION_XINT13_EXTENDED 0x0F
#define PARTITION_PREP 0x41
#define PARTITION_LDM 0x42
#define PARTITION_UNIX 0x63
#define PARTITION_SPACES 0xE7
#define PARTITION_GPT 0xEE
#define PARTITION_SYSTEM 0xEF
#define VALID_NTFT 0xC0
#define PARTITION_NTFT 0x80
#define IsRecognizedPartition(type)                                                                \
    ((type) == PARTITION_FAT_12 || (type) == PARTITION_FAT_16 || (type) == PARTITION_IFS ||        \
     (type) == PARTITION_HUGE || (type) == PARTITION_FAT32 || (type) == PARTITION_FAT32_XINT13 ||  \
     (type) == PARTITION_XINT13)
#define IsContainerPartition(type)                                                                 \
    ((type) == PARTITION_EXTENDED || (type) == PARTITION_XINT13_EXTENDED)
#define IsFTPartition(type) (((type)&PARTITION_NTFT) != 0 && IsRecognizedPartition((type)&0x3f))
#define GPT_ATTRIBUTE_PLATFORM_REQUIRED 0x0000000000000001ULL
#define GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER 0x8000000000000000ULL
#define GPT_BASIC_DATA_ATTRIBUTE_HIDDEN 0x4000000000000000ULL
#define GPT_BASIC_DATA_ATTRIBUTE_SHADOW_COPY 0x2000000000000000ULL
#define GPT_BASIC_DATA_ATTRIBUTE_READ_ONLY 0x1000000000000000ULL
#define DISK_LOGGING_START 0
#define DISK_LOGGING_STOP 1
#define DISK_LOGGING_DUMP 2
#define DISK_ATTRIBUTE_OFFLINE 0x0000000000000001ULL
#define DISK_ATTRIBUTE_READ_ONLY 0x0000000000000002ULL

typedef enum _MEDIA_TYPE {
    Unknown,
    F5_1Pt2_512,
    F3_1Pt44_512,
    F3_2Pt88_512,
    F3_20Pt8_512,
    F3_720_512,
    F5_360_512,
    F5_320_512,
    F5_320_1024,
    F5_180_512,
    F5_160_512,
    RemovableMedia,
    FixedMedia,
    F3_120M_512,
    F3_640_512,
    F5_640_512,
    F5_720_512,
    F3_1Pt2_512,
    F3_1Pt23_1024,
    F5_1Pt23_1024,
    F3_128Mb_512,
    F3_230Mb_512,
    F8_256_128,
    F3_200Mb_512,
    F3_240M_512,
    F3_32M_512
} MEDIA_TYPE,
    *PMEDIA_TYPE;
typedef struct _DISK_GEOMETRY {
    LARGE_INTEGER Cylinders;
    MEDIA_TYPE MediaType;
    ULONG TracksPerCylinder;
    ULONG SectorsPerTrack;
    ULONG BytesPerSector;
} DISK_GEOMETRY, *PDISK_GEOMETRY;
typedef struct _FORMAT_PARAMETERS {
    MEDIA_TYPE MediaType;
    ULONG StartCylinderNumber;
    ULONG EndCylinderNumber;
    ULONG StartHeadNumber;
    ULONG EndHeadNumber;
} FORMAT_PARAMETERS, *PFORMAT_PARAMETERS;
typedef struct _FORMAT_EX_PARAMETERS {
    MEDIA_TYPE MediaType;
    ULONG StartCylinderNumber;
    ULONG EndCylinderNumber;
    ULONG StartHeadNumber;
    ULONG EndHeadNumber;
    USHORT FormatGapLength;
    USHORT SectorsPerTrack;
    USHORT SectorNumber[1];
} FORMAT_EX_PARAMETERS, *PFORMAT_EX_PARAMETERS;
typedef USHORT BAD_TRACK_NUMBER, *PBAD_TRACK_NUMBER;
typedef struct _VERIFY_INFORMATION {
    LARGE_INTEGER StartingOffset;
    ULONG Length;
} VERIFY_INFORMATION, *PVERIFY_INFORMATION;
typedef struct _REASSIGN_BLOCKS {
    USHORT Reserved;
    USHORT Count;
    ULONG BlockNumber[1];
} REASSIGN_BLOCKS, *PREASSIGN_BLOCKS;
typedef struct __attribute__((__packed__)) _REASSIGN_BLOCKS_EX {
    USHORT Reserved;
    USHORT Count;
    LARGE_INTEGER BlockNumber[1];
} REASSIGN_BLOCKS_EX, *PREASSIGN_BLOCKS_EX;
typedef struct _GET_LENGTH_INFORMATION {
    LARGE_INTEGER Length;
} GET_LENGTH_INFORMATION, *PGET_LENGTH_INFORMATION;
typedef struct _DISK_GROW_PARTITION {
    ULONG PartitionNumber;
    LARGE_INTEGER BytesToGrow;
} DISK_GROW_PARTITION, *PDISK_GROW_PARTITION;
typedef struct _DISK_CONTROLLER_NUMBER {
    ULONG ControllerNumber;
    ULONG DiskNumber;
} DISK_CONTROLLER_NUMBER, *PDISK_CONTROLLER_NUMBER;
typedef struct _DISK_PERFORMANCE {
    LARGE_INTEGER BytesRead;
    LARGE_INTEGER BytesWritten;
    LARGE_INTEGER ReadTime;
    LARGE_INTEGER WriteTime;
    LARGE_INTEGER IdleTime;
    ULONG ReadCount;
    ULONG WriteCount;
    ULONG QueueDepth;
    ULONG SplitCount;
    LARGE_INTEGER QueryTime;
    ULONG StorageDeviceNumber;
    WCHAR StorageManagerName[8];
} DISK_PERFORMANCE, *PDISK_PERFORMANCE;

/* Partitions. */
typedef enum _PARTITION_STYLE {
    PARTITION_STYLE_MBR,
    PARTITION_STYLE_GPT,
    PARTITION_STYLE_RAW
} PARTITION_STYLE;
typedef struct _PARTITION_INFORMATION {
    LARGE_INTEGER StartingOffset;
    LARGE_INTEGER PartitionLength;
    ULONG HiddenSectors;
    ULONG PartitionNumber;
    UCHAR PartitionType;
    BOOLEAN BootIndicator;
    BOOLEAN RecognizedPartition;
    BOOLEAN RewritePartition;
} PARTITION_INFORMATION, *PPARTITION_INFORMATION;
typedef struct _SET_PARTITION_INFORMATION {
    UCHAR PartitionType;
} SET_PARTITION_INFORMATION, *PSET_PARTITION_INFORMATION, SET_PARTITION_INFORMATION_MBR;
typedef struct _DRIVE_LAYOUT_INFORMATION {
    ULONG PartitionCount;
    ULONG Signature;
    PARTITION_INFORMATION PartitionEntry[1];
} DRIVE_LAYOUT_INFORMATION, *PDRIVE_LAYOUT_INFORMATION;
typedef struct _PARTITION_INFORMATION_GPT {
    GUID PartitionType;
    GUID PartitionId;
    ULONG64 Attributes;
    WCHAR Name[36];
} PARTITION_INFORMATION_GPT, *PPARTITION_INFORMATION_GPT, SET_PARTITION_INFORMATION_GPT;
typedef struct _PARTITION_INFORMATION_MBR {
    UCHAR PartitionType;
    BOOLEAN BootIndicator;
    BOOLEAN RecognizedPartition;
    ULONG HiddenSectors;
    GUID PartitionId;
} PARTITION_INFORMATION_MBR, *PPARTITION_INFORMATION_MBR;
typedef struct _PARTITION_INFORMATION_EX {
    PARTITION_STYLE PartitionStyle;
    LARGE_INTEGER StartingOffset;
    LARGE_INTEGER PartitionLength;
    ULONG PartitionNumber;
    BOOLEAN RewritePartition;
    BOOLEAN IsServicePartition;
    __extension__ union {
        PARTITION_INFORMATION_MBR Mbr;
        PARTITION_INFORMATION_GPT Gpt;
    };
} PARTITION_INFORMATION_EX, *PPARTITION_INFORMATION_EX;
typedef struct _SET_PARTITION_INFORMATION_EX {
    PARTITION_STYLE PartitionStyle;
    __extension__ union {
        SET_PARTITION_INFORMATION_MBR Mbr;
        SET_PARTITION_INFORMATION_GPT Gpt;
    };
} SET_PARTITION_INFORMATION_EX, *PSET_PARTITION_INFORMATION_EX;
typedef struct _DRIVE_LAYOUT_INFORMATION_GPT {
    GUID DiskId;
    LARGE_INTEGER StartingUsableOffset;
    LARGE_INTEGER UsableLength;
    ULONG MaxPartitionCount;
} DRIVE_LAYOUT_INFORMATION_GPT, *PDRIVE_LAYOUT_INFORMATION_GPT;
typedef struct _DRIVE_LAYOUT_INFORMATION_MBR {
    ULONG Signature;
    ULONG CheckSum;
} DRIVE_LAYOUT_INFORMATION_MBR, *PDRIVE_LAYOUT_INFORMATION_MBR;
typedef struct _DRIVE_LAYOUT_INFORMATION_EX {
    ULONG PartitionStyle;
    ULONG PartitionCount;
    __extension__ union {
        DRIVE_LAYOUT_INFORMATION_MBR Mbr;
        DRIVE_LAYOUT_INFORMATION_GPT Gpt;
    };
    PARTITION_INFORMATION_EX PartitionEntry[1];
} DRIVE_LAYOUT_INFORMATION_EX, *PDRIVE_LAYOUT_INFORMATION_EX;
typedef struct _CREATE_DISK_GPT {
    GUID DiskId;
    ULONG MaxPartitionCount;
} CREATE_DISK_GPT, *PCREATE_DISK_GPT;
typedef struct _CREATE_DISK_MBR {
    ULONG Signature;
} CREATE_DISK_MBR, *PCREATE_DISK_MBR;
typedef struct _CREATE_DISK {
    PARTITION_STYLE PartitionStyle;
    __extension__ union {
        CREATE_DISK_MBR Mbr;
        CREATE_DISK_GPT Gpt;
    };
} CREATE_DISK, *PCREATE_DISK;
typedef struct _DISK_SIGNATURE {
    ULONG PartitionStyle;
    __extension__ union {
        struct {
            ULONG Signature;
            ULONG CheckSum;
        } Mbr;
        struct {
            GUID DiskId;
        } Gpt;
    };
} DISK_SIGNATURE, *PDISK_SIGNATURE;

/* Geometry as the firmware sees it. */
typedef enum _DETECTION_TYPE { DetectNone, DetectInt13, DetectExInt13 } DETECTION_TYPE;
typedef struct _DISK_INT13_INFO {
    USHORT DriveSelect;
    ULONG MaxCylinders;
    USHORT SectorsPerTrack;
    USHORT MaxHeads;
    USHORT NumberDrives;
} DISK_INT13_INFO, *PDISK_INT13_INFO;
typedef struct _DISK_EX_INT13_INFO {
    USHORT ExBufferSize;
    USHORT ExFlags;
    ULONG ExCylinders;
    ULONG ExHeads;
    ULONG ExSectorsPerTrack;
    ULONG64 ExSectorsPerDrive;
    USHORT ExSectorSize;
    USHORT ExReserved;
} DISK_EX_INT13_INFO, *PDISK_EX_INT13_INFO;
typedef struct _DISK_DETECTION_INFO {
    ULONG SizeOfDetectInfo;
    DETECTION_TYPE DetectionType;
    __extension__ union {
        __extension__ struct {
            DISK_INT13_INFO Int13;
            DISK_EX_INT13_INFO ExInt13;
        };
    };
} DISK_DETECTION_INFO, *PDISK_DETECTION_INFO;
typedef struct _DISK_PARTITION_INFO {
    ULONG SizeOfPartitionInfo;
    PARTITION_STYLE PartitionStyle;
    __extension__ union {
        struct {
            ULONG Signature;
            ULONG CheckSum;
        } Mbr;
        struct {
            GUID DiskId;
        } Gpt;
    };
} DISK_PARTITION_INFO, *PDISK_PARTITION_INFO;
typedef struct _DISK_GEOMETRY_EX {
    DISK_GEOMETRY Geometry;
    LARGE_INTEGER DiskSize;
    UCHAR Data[1]; /* a DISK_PARTITION_INFO, then a DISK_DETECTION_INFO */
} DISK_GEOMETRY_EX, *PDISK_GEOMETRY_EX;
#define DiskGeometryGetPartition(geometry) ((PDISK_PARTITION_INFO)((geometry)->Data))
#define DiskGeometryGetDetect(geometry)                                                            \
    ((PDISK_DETECTION_INFO)((PUCHAR)DiskGeometryGetPartition(geometry) +                           \
                            DiskGeometryGetPartition(geometry)->SizeOfPartitionInfo))

/* Caches. */
typedef enum { EqualPriority, KeepPrefetchedData, KeepReadData } DISK_CACHE_RETENTION_PRIORITY;
typedef struct _DISK_CACHE_INFORMATION {
    BOOLEAN ParametersSavable;
    BOOLEAN ReadCacheEnabled;
    BOOLEAN WriteCacheEnabled;
    DISK_CACHE_RETENTION_PRIORITY ReadRetentionPriority;
    DISK_CACHE_RETENTION_PRIORITY WriteRetentionPriority;
    USHORT DisablePrefetchTransferLength;
    BOOLEAN PrefetchScalar;
    __extension__ union {
        struct {
            USHORT Minimum;
            USHORT Maximum;
            USHORT MaximumBlocks;
        } ScalarPrefetch;
        struct {
            USHORT Minimum;
            USHORT Maximum;
        } BlockPrefetch;
    };
} DISK_CACHE_INFORMATION, *PDISK_CACHE_INFORMATION;
typedef enum _DISK_WRITE_CACHE_STATE {
    DiskWriteCacheNormal,
    DiskWriteCacheForceDisable,
    DiskWriteCacheDisableNotSupported
} DISK_WRITE_CACHE_STATE;
typedef enum _DISK_CACHE_STATE {
    DiskCacheNormal,
    DiskCacheWriteThroughNotSupported,
    DiskCacheModifyUnsuccessful
} DISK_CACHE_STATE;
typedef struct _DISK_CACHE_SETTING {
    ULONG Version;
    DISK_CACHE_STATE State;
    BOOLEAN IsPowerProtected;
} DISK_CACHE_SETTING, *PDISK_CACHE_SETTING;
typedef struct _GET_DISK_ATTRIBUTES {
    ULONG Version;
    ULONG Reserved1;
    ULONGLONG Attributes;
} GET_DISK_ATTRIBUTES, *PGET_DISK_ATTRIBUTES;
typedef struct _SET_DISK_ATTRIBUTES {
    ULONG Version;
    BOOLEAN Persist;
    BOOLEAN RelinquishOwnership;
    BOOLEAN Reserved1[2];
    ULONGLONG Attributes;
    ULONGLONG AttributesMask;
    GUID Owner;
} SET_DISK_ATTRIBUTES, *PSET_DISK_ATTRIBUTES;
typedef enum _ELEMENT_TYPE {
    AllElements,
    ChangerTransport,
    ChangerSlot,
    ChangerIEPort,
    ChangerDrive,
    ChangerDoor,
    ChangerKeypad,
    ChangerMaxElement
} ELEMENT_TYPE,
    *PELEMENT_TYPE;

/* SMART. */
#define CAP_ATA_ID_CMD 1
#define CAP_ATAPI_ID_CMD 2
#define CAP_SMART_CMD 4
#define ATAPI_ID_CMD 0xA1
#define ID_CMD 0xEC
#define SMART_CMD 0xB0
#define SMART_CYL_LOW 0x4F
#define SMART_CYL_HI 0xC2
#define SMART_NO_ERROR 0
#define SMART_IDE_ERROR 1
#define SMART_INVALID_FLAG 2
#define SMART_INVALID_COMMAND 3
#define SMART_INVALID_BUFFER 4
#define SMART_INVALID_DRIVE 5
#define SMART_INVALID_IOCTL 6
#define SMART_ERROR_NO_MEM 7
#define SMART_INVALID_REGISTER 8
#define SMART_NOT_SUPPORTED 9
#define SMART_NO_IDE_DEVICE 10
#define SMART_OFFLINE_ROUTINE_OFFLINE 0
#define SMART_SHORT_SELFTEST_OFFLINE 1
#define SMART_EXTENDED_SELFTEST_OFFLINE 2
#define SMART_ABORT_OFFLINE_SELFTEST 127
#define SMART_SHORT_SELFTEST_CAPTIVE 129
#define SMART_EXTENDED_SELFTEST_CAPTIVE 130
#define READ_ATTRIBUTE_BUFFER_SIZE 512
#define IDENTIFY_BUFFER_SIZE 512
#define READ_THRESHOLD_BUFFER_SIZE 512
#define SMART_LOG_SECTOR_SIZE 512
#define READ_ATTRIBUTES 0xD0
#define READ_THRESHOLDS 0xD1
#define ENABLE_DISABLE_AUTOSAVE 0xD2
#define SAVE_ATTRIBUTE_VALUES 0xD3
#define EXECUTE_OFFLINE_DIAGS 0xD4
#define SMART_READ_LOG 0xD5
#define SMART_WRITE_LOG 0xD6
#define ENABLE_SMART 0xD8
#define DISABLE_SMART 0xD9
#define RETURN_SMART_STATUS 0xDA
#define ENABLE_DISABLE_AUTO_OFFLINE 0xDB
typedef struct __attribute__((__packed__)) _GETVERSIONINPARAMS {
    UCHAR bVersion;
    UCHAR bRevision;
    UCHAR bReserved;
    UCHAR bIDEDeviceMap;
    ULONG fCapabilities;
    ULONG dwReserved[4];
} GETVERSIONINPARAMS, *PGETVERSIONINPARAMS, *LPGETVERSIONINPARAMS;
typedef struct _IDEREGS {
    UCHAR bFeaturesReg;
    UCHAR bSectorCountReg;
    UCHAR bSectorNumberReg;
    UCHAR bCylLowReg;
    UCHAR bCylHighReg;
    UCHAR bDriveHeadReg;
    UCHAR bCommandReg;
    UCHAR bReserved;
} IDEREGS, *PIDEREGS, *LPIDEREGS;
typedef struct __attribute__((__packed__)) _SENDCMDINPARAMS {
    ULONG cBufferSize;
    IDEREGS irDriveRegs;
    UCHAR bDriveNumber;
    UCHAR bReserved[3];
    ULONG dwReserved[4];
    UCHAR bBuffer[1];
} SENDCMDINPARAMS, *PSENDCMDINPARAMS, *LPSENDCMDINPARAMS;
typedef struct __attribute__((__packed__)) _DRIVERSTATUS {
    UCHAR bDriverError;
    UCHAR bIDEError;
    UCHAR bReserved[2];
    ULONG dwReserved[2];
} DRIVERSTATUS, *PDRIVERSTATUS, *LPDRIVERSTATUS;
typedef struct __attribute__((__packed__)) _SENDCMDOUTPARAMS {
    ULONG cBufferSize;
    DRIVERSTATUS DriverStatus;
    UCHAR bBuffer[1];
} SENDCMDOUTPARAMS, *PSENDCMDOUTPARAMS, *LPSENDCMDOUTPARAMS;

/* Partition tables, as ntddk.h declares them. Declarations only. */
NT_EXTERN_C_BEGIN
NT_API NTSTATUS IoReadPartitionTable(PDEVICE_OBJECT DeviceObject, ULONG SectorSize,
                                     BOOLEAN ReturnRecognizedPartitions,
                                     PDRIVE_LAYOUT_INFORMATION* PartitionBuffer);
NT_API NTSTATUS IoReadPartitionTableEx(PDEVICE_OBJECT DeviceObject,
                                       PDRIVE_LAYOUT_INFORMATION_EX* PartitionBuffer);
NT_API NTSTATUS IoWritePartitionTableEx(PDEVICE_OBJECT DeviceObject,
                                        PDRIVE_LAYOUT_INFORMATION_EX DriveLayout);
NT_API NTSTATUS IoSetPartitionInformation(PDEVICE_OBJECT DeviceObject, ULONG SectorSize,
                                          ULONG PartitionNumber, ULONG PartitionType);
NT_API NTSTATUS IoSetPartitionInformationEx(PDEVICE_OBJECT DeviceObject, ULONG PartitionNumber,
                                            PSET_PARTITION_INFORMATION_EX PartitionInfo);
NT_API NTSTATUS IoCreateDisk(PDEVICE_OBJECT DeviceObject, PCREATE_DISK Disk);
NT_API NTSTATUS IoReadDiskSignature(PDEVICE_OBJECT DeviceObject, ULONG BytesPerSector,
                                    PDISK_SIGNATURE Signature);
NT_API NTSTATUS IoVerifyPartitionTable(PDEVICE_OBJECT DeviceObject, BOOLEAN FixErrors);
NT_EXTERN_C_END

#endif

#ifndef IRPVERBS_WINDOWS_NTDDDISK_GUIDS
#ifdef INITGUID
#define IRPVERBS_WINDOWS_NTDDDISK_GUIDS
#endif
DEFINE_GUID(GUID_DEVINTERFACE_DISK, 0x53f56307, 0xb6bf, 0x11d0, 0x94, 0xf2, 0x00, 0xa0, 0xc9, 0x1e,
            0xfb, 0x8b);
#endif
