/* Files: their objects, options and what is asked of them. Source: WDK wdm.h, ntddk.h and ntifs.h
   reference. */
#ifndef IRPVERBS_WINDOWS_FILES_H
#define IRPVERBS_WINDOWS_FILES_H

#include <irp/file.h>
#include <windows/wdk/function_types.h>
#include <windows/wdk/security.h>

#define FILE_ATTRIBUTE_READONLY 0x1
#define FILE_ATTRIBUTE_HIDDEN 0x2
#define FILE_ATTRIBUTE_SYSTEM 0x4
#define FILE_ATTRIBUTE_DIRECTORY 0x10
#define FILE_ATTRIBUTE_ARCHIVE 0x20
#define FILE_ATTRIBUTE_DEVICE 0x40
#define FILE_ATTRIBUTE_NORMAL 0x80
#define FILE_ATTRIBUTE_TEMPORARY 0x100
#define FILE_ATTRIBUTE_SPARSE_FILE 0x200
#define FILE_ATTRIBUTE_REPARSE_POINT 0x400
#define FILE_ATTRIBUTE_COMPRESSED 0x800
#define FILE_ATTRIBUTE_OFFLINE 0x1000
#define FILE_ATTRIBUTE_NOT_CONTENT_INDEXED 0x2000
#define FILE_ATTRIBUTE_ENCRYPTED 0x4000
#define FILE_ATTRIBUTE_INTEGRITY_STREAM 0x8000
#define FILE_ATTRIBUTE_VIRTUAL 0x10000
#define FILE_ATTRIBUTE_NO_SCRUB_DATA 0x20000
#define FILE_ATTRIBUTE_EA 0x40000
#define FILE_ATTRIBUTE_RECALL_ON_OPEN 0x40000
#define FILE_ATTRIBUTE_PINNED 0x80000
#define FILE_ATTRIBUTE_UNPINNED 0x100000
#define FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS 0x400000
#define FILE_ATTRIBUTE_VALID_FLAGS 0x7fb7
#define FILE_ATTRIBUTE_VALID_SET_FLAGS 0x31a7
#define FILE_BYTE_ALIGNMENT 0
#define FILE_WORD_ALIGNMENT 0x1
#define FILE_LONG_ALIGNMENT 0x3
#define FILE_QUAD_ALIGNMENT 0x7
#define FILE_OCTA_ALIGNMENT 0xf
#define FILE_32_BYTE_ALIGNMENT 0x1f
#define FILE_64_BYTE_ALIGNMENT 0x3f
#define FILE_128_BYTE_ALIGNMENT 0x7f
#define FILE_256_BYTE_ALIGNMENT 0xff
#define FILE_512_BYTE_ALIGNMENT 0x1ff
#define FILE_CASE_SENSITIVE_SEARCH 0x1
#define FILE_CASE_PRESERVED_NAMES 0x2
#define FILE_UNICODE_ON_DISK 0x4
#define FILE_PERSISTENT_ACLS 0x8
#define FILE_FILE_COMPRESSION 0x10
#define FILE_VOLUME_QUOTAS 0x20
#define FILE_SUPPORTS_SPARSE_FILES 0x40
#define FILE_SUPPORTS_REPARSE_POINTS 0x80
#define FILE_SUPPORTS_REMOTE_STORAGE 0x100
#define FILE_VOLUME_IS_COMPRESSED 0x8000
#define FILE_SUPPORTS_OBJECT_IDS 0x10000
#define FILE_SUPPORTS_ENCRYPTION 0x20000
#define FILE_NAMED_STREAMS 0x40000
#define FILE_READ_ONLY_VOLUME 0x80000
#define FILE_SEQUENTIAL_WRITE_ONCE 0x100000
#define FILE_SUPPORTS_TRANSACTIONS 0x200000
#define FILE_SUPPORTS_OPEN_BY_FILE_ID 0x1000000
#define FILE_SUPPORTS_USN_JOURNAL 0x2000000
#define FILE_DAX_VOLUME 0x20000000
#define FILE_NOTIFY_CHANGE_FILE_NAME 0x1
#define FILE_NOTIFY_CHANGE_DIR_NAME 0x2
#define FILE_NOTIFY_CHANGE_NAME 0x3
#define FILE_NOTIFY_CHANGE_ATTRIBUTES 0x4
#define FILE_NOTIFY_CHANGE_SIZE 0x8
#define FILE_NOTIFY_CHANGE_LAST_WRITE 0x10
#define FILE_NOTIFY_CHANGE_LAST_ACCESS 0x20
#define FILE_NOTIFY_CHANGE_CREATION 0x40
#define FILE_NOTIFY_CHANGE_EA 0x80
#define FILE_NOTIFY_CHANGE_SECURITY 0x100
#define FILE_NOTIFY_CHANGE_STREAM_NAME 0x200
#define FILE_NOTIFY_CHANGE_STREAM_SIZE 0x400
#define FILE_NOTIFY_CHANGE_STREAM_WRITE 0x800
#define FILE_NOTIFY_VALID_MASK 0xfff
#define FILE_ACTION_ADDED 1
#define FILE_ACTION_REMOVED 2
#define FILE_ACTION_MODIFIED 3
#define FILE_ACTION_RENAMED_OLD_NAME 4
#define FILE_ACTION_RENAMED_NEW_NAME 5
#define FILE_ACTION_ADDED_STREAM 6
#define FILE_ACTION_REMOVED_STREAM 7
#define FILE_ACTION_MODIFIED_STREAM 8
#define FILE_NEED_EA 0x80
#define FILE_EA_TYPE_BINARY 0xfffe
#define FILE_PIPE_BYTE_STREAM_TYPE 0
#define FILE_PIPE_MESSAGE_TYPE 1
/* IO_STACK_LOCATION.Flags */
#define SL_KEY_SPECIFIED 0x01
#define SL_OVERRIDE_VERIFY_VOLUME 0x02
#define SL_WRITE_THROUGH 0x04
#define SL_FT_SEQUENTIAL_WRITE 0x08
#define SL_FORCE_DIRECT_WRITE 0x10
#define SL_REALTIME_STREAM 0x20
#define SL_PERSISTENT_MEMORY_FIXED_MAPPING 0x20
#define SL_BYPASS_IO 0x40
#define SL_READ_ACCESS_GRANTED 0x01
#define SL_WRITE_ACCESS_GRANTED 0x04
#define SL_FAIL_IF_LOCKED 0x01
#define SL_EXCLUSIVE_LOCK 0x02
#define SL_RESTART_SCAN 0x01
#define SL_RETURN_SINGLE_ENTRY 0x02
#define SL_INDEX_SPECIFIED 0x04
#define SL_RETURN_ON_DISK_ENTRIES_ONLY 0x08
#define SL_NO_CURSOR_UPDATE 0x10
#define SL_QUERY_DIRECTORY_MASK 0x1b
#define SL_WATCH_TREE 0x01
#define SL_ALLOW_RAW_MOUNT 0x01
#define SL_FORCE_ACCESS_CHECK 0x01
#define SL_OPEN_PAGING_FILE 0x02
#define SL_OPEN_TARGET_DIRECTORY 0x04
#define SL_STOP_ON_SYMLINK 0x08
#define SL_IGNORE_READONLY_ATTRIBUTE 0x40
#define SL_CASE_SENSITIVE 0x80

/* IRP.Flags that the library itself gives no meaning. */
#define IRP_NOCACHE 0x00000001
#define IRP_PAGING_IO 0x00000002
#define IRP_MOUNT_COMPLETION 0x00000002
#define IRP_SYNCHRONOUS_PAGING_IO 0x00000040
#define IRP_CREATE_OPERATION 0x00000080
#define IRP_READ_OPERATION 0x00000100
#define IRP_WRITE_OPERATION 0x00000200
#define IRP_CLOSE_OPERATION 0x00000400
#define IRP_DEFER_IO_COMPLETION 0x00000800
#define IRP_OB_QUERY_NAME 0x00001000
#define IRP_HOLD_DEVICE_QUEUE 0x00002000
#define IRP_UM_DRIVER_INITIATED_IO 0x00400000
#define IRP_QUOTA_CHARGED 0x01
#define IRP_ALLOCATED_MUST_SUCCEED 0x02
#define IRP_ALLOCATED_FIXED_SIZE 0x04

#define IRP_MN_QUERY_DIRECTORY 0x01
#define IRP_MN_NOTIFY_CHANGE_DIRECTORY 0x02
#define IRP_MN_NOTIFY_CHANGE_DIRECTORY_EX 0x03
#define IRP_MN_USER_FS_REQUEST 0x00
#define IRP_MN_MOUNT_VOLUME 0x01
#define IRP_MN_VERIFY_VOLUME 0x02
#define IRP_MN_LOAD_FILE_SYSTEM 0x03
#define IRP_MN_TRACK_LINK 0x04
#define IRP_MN_KERNEL_CALL 0x04
#define IRP_MN_LOCK 0x01
#define IRP_MN_UNLOCK_SINGLE 0x02
#define IRP_MN_UNLOCK_ALL 0x03
#define IRP_MN_UNLOCK_ALL_BY_KEY 0x04
#define IRP_MN_FLUSH_AND_PURGE 0x01
#define IRP_MN_FLUSH_DATA_ONLY 0x02
#define IRP_MN_FLUSH_NO_SYNC 0x03
#define IRP_MN_FLUSH_DATA_SYNC_ONLY 0x04
#define IRP_MN_NORMAL 0x00
#define IRP_MN_DPC 0x01
#define IRP_MN_MDL 0x02
#define IRP_MN_COMPLETE 0x04
#define IRP_MN_COMPRESSED 0x08
#define IRP_MN_MDL_DPC (IRP_MN_MDL | IRP_MN_DPC)
#define IRP_MN_COMPLETE_MDL (IRP_MN_COMPLETE | IRP_MN_MDL)
#define IRP_MN_COMPLETE_MDL_DPC (IRP_MN_COMPLETE_MDL | IRP_MN_DPC)
#define IRP_MN_QUERY_LEGACY_BUS_INFORMATION 0x18
#define IRP_MN_SCSI_CLASS 0x01

#define IO_TYPE_ADAPTER 1
#define IO_TYPE_CONTROLLER 2
#define IO_TYPE_DEVICE 3
#define IO_TYPE_DRIVER 4
#define IO_TYPE_IRP 6
#define IO_TYPE_TIMER 8
#define IO_TYPE_VPB 10
#define IO_NO_PARAMETER_CHECKING 0x0100
#define IO_FORCE_ACCESS_CHECK 0x0001
#define IO_OPEN_PAGING_FILE 0x0002
#define IO_OPEN_TARGET_DIRECTORY 0x0004
#define IO_STOP_ON_SYMLINK 0x0008
#define IO_IGNORE_SHARE_ACCESS_CHECK 0x0800
#define IO_REPARSE 0x0
#define IO_REMOUNT 0x1
#define IO_REPARSE_TAG_RESERVED_ZERO 0
#define IO_REPARSE_TAG_RESERVED_ONE 1
#define IO_REPARSE_TAG_MOUNT_POINT 0xA0000003L
#define IO_REPARSE_TAG_SYMLINK 0xA000000CL

/* Volumes. */
#define MAXIMUM_VOLUME_LABEL_LENGTH (32 * sizeof(WCHAR))
#define MAXIMUM_VOLUME_LABEL 32
#define VPB_MOUNTED 0x0001
#define VPB_LOCKED 0x0002
#define VPB_PERSISTENT 0x0004
#define VPB_REMOVE_PENDING 0x0008
#define VPB_RAW_MOUNT 0x0010
#define VPB_DIRECT_WRITES_ALLOWED 0x0020
#define VPB_DISMOUNTING 0x0080
typedef struct _VPB {
    CSHORT Type;
    CSHORT Size;
    USHORT Flags;
    USHORT VolumeLabelLength; /* bytes */
    PDEVICE_OBJECT DeviceObject;
    PDEVICE_OBJECT RealDevice;
    ULONG SerialNumber;
    ULONG ReferenceCount;
    WCHAR VolumeLabel[MAXIMUM_VOLUME_LABEL];
} VPB, *PVPB;

typedef struct _SECTION_OBJECT_POINTERS {
    PVOID DataSectionObject;
    PVOID SharedCacheMap;
    PVOID ImageSectionObject;
} SECTION_OBJECT_POINTERS, *PSECTION_OBJECT_POINTERS;
typedef struct _SHARE_ACCESS {
    ULONG OpenCount;
    ULONG Readers;
    ULONG Writers;
    ULONG Deleters;
    ULONG SharedRead;
    ULONG SharedWrite;
    ULONG SharedDelete;
} SHARE_ACCESS, *PSHARE_ACCESS;

/* Information on files. */
typedef struct _FILE_BASIC_INFORMATION {
    LARGE_INTEGER CreationTime;
    LARGE_INTEGER LastAccessTime;
    LARGE_INTEGER LastWriteTime;
    LARGE_INTEGER ChangeTime;
    ULONG FileAttributes;
} FILE_BASIC_INFORMATION, *PFILE_BASIC_INFORMATION;
typedef struct _FILE_STANDARD_INFORMATION {
    LARGE_INTEGER AllocationSize;
    LARGE_INTEGER EndOfFile;
    ULONG NumberOfLinks;
    BOOLEAN DeletePending;
    BOOLEAN Directory;
} FILE_STANDARD_INFORMATION, *PFILE_STANDARD_INFORMATION;
typedef struct _FILE_POSITION_INFORMATION {
    LARGE_INTEGER CurrentByteOffset;
} FILE_POSITION_INFORMATION, *PFILE_POSITION_INFORMATION;
typedef struct _FILE_NETWORK_OPEN_INFORMATION {
    LARGE_INTEGER CreationTime;
    LARGE_INTEGER LastAccessTime;
    LARGE_INTEGER LastWriteTime;
    LARGE_INTEGER ChangeTime;
    LARGE_INTEGER AllocationSize;
    LARGE_INTEGER EndOfFile;
    ULONG FileAttributes;
} FILE_NETWORK_OPEN_INFORMATION, *PFILE_NETWORK_OPEN_INFORMATION;
typedef struct _FILE_ATTRIBUTE_TAG_INFORMATION {
    ULONG FileAttributes;
    ULONG ReparseTag;
} FILE_ATTRIBUTE_TAG_INFORMATION, *PFILE_ATTRIBUTE_TAG_INFORMATION;
typedef struct _FILE_DISPOSITION_INFORMATION {
    BOOLEAN DeleteFile;
} FILE_DISPOSITION_INFORMATION, *PFILE_DISPOSITION_INFORMATION;
typedef struct _FILE_DISPOSITION_INFORMATION_EX {
    ULONG Flags;
} FILE_DISPOSITION_INFORMATION_EX, *PFILE_DISPOSITION_INFORMATION_EX;
typedef struct _FILE_END_OF_FILE_INFORMATION {
    LARGE_INTEGER EndOfFile;
} FILE_END_OF_FILE_INFORMATION, *PFILE_END_OF_FILE_INFORMATION;
typedef struct _FILE_ALLOCATION_INFORMATION {
    LARGE_INTEGER AllocationSize;
} FILE_ALLOCATION_INFORMATION, *PFILE_ALLOCATION_INFORMATION;
typedef struct _FILE_VALID_DATA_LENGTH_INFORMATION {
    LARGE_INTEGER ValidDataLength;
} FILE_VALID_DATA_LENGTH_INFORMATION, *PFILE_VALID_DATA_LENGTH_INFORMATION;
typedef struct _FILE_ALIGNMENT_INFORMATION {
    ULONG AlignmentRequirement;
} FILE_ALIGNMENT_INFORMATION, *PFILE_ALIGNMENT_INFORMATION;
typedef struct _FILE_NAME_INFORMATION {
    ULONG FileNameLength;
    WCHAR FileName[1];
} FILE_NAME_INFORMATION, *PFILE_NAME_INFORMATION;
typedef struct _FILE_FULL_EA_INFORMATION {
    ULONG NextEntryOffset;
    UCHAR Flags;
    UCHAR EaNameLength;
    USHORT EaValueLength;
    CHAR EaName[1];
} FILE_FULL_EA_INFORMATION, *PFILE_FULL_EA_INFORMATION;
typedef struct _FILE_FS_DEVICE_INFORMATION {
    DEVICE_TYPE DeviceType;
    ULONG Characteristics;
} FILE_FS_DEVICE_INFORMATION, *PFILE_FS_DEVICE_INFORMATION;
typedef struct _FILE_FS_VOLUME_INFORMATION {
    LARGE_INTEGER VolumeCreationTime;
    ULONG VolumeSerialNumber;
    ULONG VolumeLabelLength;
    BOOLEAN SupportsObjects;
    WCHAR VolumeLabel[1];
} FILE_FS_VOLUME_INFORMATION, *PFILE_FS_VOLUME_INFORMATION;
typedef struct _FILE_FS_SIZE_INFORMATION {
    LARGE_INTEGER TotalAllocationUnits;
    LARGE_INTEGER AvailableAllocationUnits;
    ULONG SectorsPerAllocationUnit;
    ULONG BytesPerSector;
} FILE_FS_SIZE_INFORMATION, *PFILE_FS_SIZE_INFORMATION;
typedef struct _FILE_FS_FULL_SIZE_INFORMATION {
    LARGE_INTEGER TotalAllocationUnits;
    LARGE_INTEGER CallerAvailableAllocationUnits;
    LARGE_INTEGER ActualAvailableAllocationUnits;
    ULONG SectorsPerAllocationUnit;
    ULONG BytesPerSector;
} FILE_FS_FULL_SIZE_INFORMATION, *PFILE_FS_FULL_SIZE_INFORMATION;
typedef struct _FILE_FS_LABEL_INFORMATION {
    ULONG VolumeLabelLength;
    WCHAR VolumeLabel[1];
} FILE_FS_LABEL_INFORMATION, *PFILE_FS_LABEL_INFORMATION;
typedef struct _FILE_FS_OBJECTID_INFORMATION {
    UCHAR ObjectId[16];
    UCHAR ExtendedInfo[48];
} FILE_FS_OBJECTID_INFORMATION, *PFILE_FS_OBJECTID_INFORMATION;
typedef struct _FILE_FS_ATTRIBUTE_INFORMATION {
    ULONG FileSystemAttributes;
    LONG MaximumComponentNameLength;
    ULONG FileSystemNameLength;
    WCHAR FileSystemName[1];
} FILE_FS_ATTRIBUTE_INFORMATION, *PFILE_FS_ATTRIBUTE_INFORMATION;
typedef struct _FILE_FS_SECTOR_SIZE_INFORMATION {
    ULONG LogicalBytesPerSector;
    ULONG PhysicalBytesPerSectorForAtomicity;
    ULONG PhysicalBytesPerSectorForPerformance;
    ULONG FileSystemEffectivePhysicalBytesPerSectorForAtomicity;
    ULONG Flags;
    ULONG ByteOffsetForSectorAlignment;
    ULONG ByteOffsetForPartitionAlignment;
} FILE_FS_SECTOR_SIZE_INFORMATION, *PFILE_FS_SECTOR_SIZE_INFORMATION;
#define SSINFO_FLAGS_ALIGNED_DEVICE 0x1
#define SSINFO_FLAGS_PARTITION_ALIGNED_ON_DEVICE 0x2
#define SSINFO_FLAGS_NO_SEEK_PENALTY 0x4
#define SSINFO_FLAGS_TRIM_ENABLED 0x8
#define SSINFO_OFFSET_UNKNOWN 0xffffffff

typedef enum _CREATE_FILE_TYPE {
    CreateFileTypeNone,
    CreateFileTypeNamedPipe,
    CreateFileTypeMailslot
} CREATE_FILE_TYPE;
typedef enum _IO_PRIORITY_HINT {
    IoPriorityVeryLow = 0,
    IoPriorityLow,
    IoPriorityNormal,
    IoPriorityHigh,
    IoPriorityCritical,
    MaxIoPriorityTypes
} IO_PRIORITY_HINT;
typedef struct _IO_PRIORITY_INFO {
    ULONG Size;
    ULONG ThreadPriority;
    ULONG PagePriority;
    IO_PRIORITY_HINT IoPriority;
} IO_PRIORITY_INFO, *PIO_PRIORITY_INFO;

NT_EXTERN_C_BEGIN
NT_API NTSTATUS ZwFsControlFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine,
                                PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock,
                                ULONG FsControlCode, PVOID InputBuffer, ULONG InputBufferLength,
                                PVOID OutputBuffer, ULONG OutputBufferLength);
NT_API NTSTATUS ZwDeleteFile(POBJECT_ATTRIBUTES ObjectAttributes);
NT_API NTSTATUS ZwQueryFullAttributesFile(POBJECT_ATTRIBUTES ObjectAttributes,
                                          PFILE_NETWORK_OPEN_INFORMATION FileInformation);
NT_API NTSTATUS ZwQueryVolumeInformationFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock,
                                             PVOID FsInformation, ULONG Length,
                                             FS_INFORMATION_CLASS FsInformationClass);
NT_API NTSTATUS ZwSetVolumeInformationFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock,
                                           PVOID FsInformation, ULONG Length,
                                           FS_INFORMATION_CLASS FsInformationClass);
NT_API NTSTATUS ZwQueryDirectoryFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine,
                                     PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock,
                                     PVOID FileInformation, ULONG Length,
                                     FILE_INFORMATION_CLASS FileInformationClass,
                                     BOOLEAN ReturnSingleEntry, PUNICODE_STRING FileName,
                                     BOOLEAN RestartScan);
NT_API NTSTATUS ZwLoadDriver(PUNICODE_STRING DriverServiceName);
NT_API NTSTATUS ZwUnloadDriver(PUNICODE_STRING DriverServiceName);
#define NtFsControlFile ZwFsControlFile
NT_API NTSTATUS IoCreateFile(PHANDLE FileHandle, ACCESS_MASK DesiredAccess,
                             POBJECT_ATTRIBUTES ObjectAttributes, PIO_STATUS_BLOCK IoStatusBlock,
                             PLARGE_INTEGER AllocationSize, ULONG FileAttributes, ULONG ShareAccess,
                             ULONG Disposition, ULONG CreateOptions, PVOID EaBuffer, ULONG EaLength,
                             CREATE_FILE_TYPE CreateFileType, PVOID InternalParameters,
                             ULONG Options);
NT_API NTSTATUS IoCreateFileSpecifyDeviceObjectHint(
    PHANDLE FileHandle, ACCESS_MASK DesiredAccess, POBJECT_ATTRIBUTES ObjectAttributes,
    PIO_STATUS_BLOCK IoStatusBlock, PLARGE_INTEGER AllocationSize, ULONG FileAttributes,
    ULONG ShareAccess, ULONG Disposition, ULONG CreateOptions, PVOID EaBuffer, ULONG EaLength,
    CREATE_FILE_TYPE CreateFileType, PVOID InternalParameters, ULONG Options, PVOID DeviceObject);
NT_API PFILE_OBJECT IoCreateStreamFileObject(PFILE_OBJECT FileObject, PDEVICE_OBJECT DeviceObject);
NT_API PFILE_OBJECT IoCreateStreamFileObjectLite(PFILE_OBJECT FileObject,
                                                 PDEVICE_OBJECT DeviceObject);

/* Share access: *ShareAccess counts the opens of one file, and the caller's lock guards it. Check:
   sets the access and sharing flags of FileObject, then compares them with the opens; Update TRUE
   adds it. Set: counts FileObject as the first. Update, remove: add it by its flags, and take it
   away. An open without read, execute, write, append or delete access is not counted. IRQL:
   PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_SHARING_VIOLATION: an open has what this one does not
   share, or does not share what this one asks for. Source: WDK IoCheckShareAccess,
   IoSetShareAccess, IoUpdateShareAccess, IoRemoveShareAccess. */
NT_API NTSTATUS IoCheckShareAccess(ACCESS_MASK DesiredAccess, ULONG DesiredShareAccess,
                                   PFILE_OBJECT FileObject, PSHARE_ACCESS ShareAccess,
                                   BOOLEAN Update);
NT_API void IoSetShareAccess(ACCESS_MASK DesiredAccess, ULONG DesiredShareAccess,
                             PFILE_OBJECT FileObject, PSHARE_ACCESS ShareAccess);
NT_API void IoUpdateShareAccess(PFILE_OBJECT FileObject, PSHARE_ACCESS ShareAccess);
NT_API void IoRemoveShareAccess(PFILE_OBJECT FileObject, PSHARE_ACCESS ShareAccess);

NT_API NTSTATUS IoQueryFileInformation(PFILE_OBJECT FileObject, FILE_INFORMATION_CLASS Class,
                                       ULONG Length, PVOID Information, PULONG ReturnedLength);
NT_API NTSTATUS IoQueryFileDosDeviceName(PFILE_OBJECT FileObject,
                                         POBJECT_NAME_INFORMATION* ObjectNameInformation);
NT_API NTSTATUS IoQueryVolumeInformation(PFILE_OBJECT FileObject, FS_INFORMATION_CLASS Class,
                                         ULONG Length, PVOID Information, PULONG ReturnedLength);
NT_API NTSTATUS IoSetInformation(PFILE_OBJECT FileObject, FILE_INFORMATION_CLASS Class,
                                 ULONG Length, PVOID Information);
NT_API PDEVICE_OBJECT IoGetBaseFileSystemDeviceObject(PFILE_OBJECT FileObject);
NT_API NTSTATUS IoAttachDevice(PDEVICE_OBJECT SourceDevice, PUNICODE_STRING TargetDevice,
                               PDEVICE_OBJECT* AttachedDevice);

/* Checks a list of extended attributes, of EaLength bytes: each entry lies in it, its name ends
   with a zero, and the next one begins at the next multiple of four bytes. IRQL: PASSIVE_LEVEL.
   STATUS_SUCCESS; STATUS_EA_LIST_INCONSISTENT: *ErrorOffset is the offset of the first wrong entry.
   Source: WDK IoCheckEaBufferValidity. */
NT_API NTSTATUS IoCheckEaBufferValidity(PFILE_FULL_EA_INFORMATION EaBuffer, ULONG EaLength,
                                        PULONG ErrorOffset);

NT_API BOOLEAN IoIsFileOriginRemote(PFILE_OBJECT FileObject);
NT_API IO_PRIORITY_HINT IoGetIoPriorityHint(PIRP Irp);
NT_API NTSTATUS IoSetIoPriorityHint(PIRP Irp, IO_PRIORITY_HINT PriorityHint);
NT_EXTERN_C_END

#endif
