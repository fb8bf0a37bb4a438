/* The run-time library of file systems: headers of control blocks, names, notifications, tunnels,
   contexts of streams, extra create parameters. Declarations only, save for the inline ones.
   Source: WDK ntifs.h reference, "FsRtl routines". */
#ifndef IRPVERBS_WINDOWS_FILE_SYSTEM_RUNTIME_H
#define IRPVERBS_WINDOWS_FILE_SYSTEM_RUNTIME_H

#include <windows/wdk/fast_io.h>
#include <windows/wdk/file_locks.h>
#include <windows/wdk/pnp.h>
#include <windows/wdk/processes.h>
#include <windows/wdk/rtl.h>

/* First members of a file system's control block. */
#define FSRTL_FLAG_FILE_MODIFIED 0x01
#define FSRTL_FLAG_FILE_LENGTH_CHANGED 0x02
#define FSRTL_FLAG_LIMIT_MODIFIED_PAGES 0x04
#define FSRTL_FLAG_ACQUIRE_MAIN_RSRC_EX 0x08
#define FSRTL_FLAG_ACQUIRE_MAIN_RSRC_SH 0x10
#define FSRTL_FLAG_USER_MAPPED_FILE 0x20
#define FSRTL_FLAG_ADVANCED_HEADER 0x40
#define FSRTL_FLAG_EOF_ADVANCE_ACTIVE 0x80
#define FSRTL_FLAG2_DO_MODIFIED_WRITE 0x01
#define FSRTL_FLAG2_SUPPORTS_FILTER_CONTEXTS 0x02
#define FSRTL_FLAG2_PURGE_WHEN_MAPPED 0x04
#define FSRTL_FLAG2_IS_PAGING_FILE 0x08
#define FSRTL_FLAG2_WRITABLE_USER_MAPPED_FILE 0x20
#define FSRTL_FCB_HEADER_V0 0x00
#define FSRTL_FCB_HEADER_V1 0x01
#define FSRTL_FCB_HEADER_V2 0x02
#define FSRTL_FCB_HEADER_V3 0x03
#define FSRTL_AUXILIARY_FLAG_DEALLOCATE 0x00000001
#define FSRTL_FSP_TOP_LEVEL_IRP 1
#define FSRTL_CACHE_TOP_LEVEL_IRP 2
#define FSRTL_MOD_WRITE_TOP_LEVEL_IRP 3
#define FSRTL_FAST_IO_TOP_LEVEL_IRP 4
#define FSRTL_NETWORK1_TOP_LEVEL_IRP 5
#define FSRTL_NETWORK2_TOP_LEVEL_IRP 6
#define FSRTL_MAX_TOP_LEVEL_IRP_FLAG 0xFFFF
typedef enum _FAST_IO_POSSIBLE {
    FastIoIsNotPossible = 0,
    FastIoIsPossible,
    FastIoIsQuestionable
} FAST_IO_POSSIBLE;
typedef struct _FSRTL_COMMON_FCB_HEADER {
    CSHORT NodeTypeCode;
    CSHORT NodeByteSize;
    UCHAR Flags;
    UCHAR IsFastIoPossible;
    UCHAR Flags2;
    UCHAR Reserved : 4;
    UCHAR Version : 4;
    PERESOURCE Resource;
    PERESOURCE PagingIoResource;
    LARGE_INTEGER AllocationSize;
    LARGE_INTEGER FileSize;
    LARGE_INTEGER ValidDataLength;
} FSRTL_COMMON_FCB_HEADER, *PFSRTL_COMMON_FCB_HEADER;
#define IRPVERBS_ADVANCED_FIELDS                                                                   \
    PFAST_MUTEX FastMutex;                                                                         \
    LIST_ENTRY FilterContexts;                                                                     \
    EX_PUSH_LOCK PushLock;                                                                         \
    PVOID* FileContextSupportPointer;                                                              \
    __extension__ union {                                                                          \
        OPLOCK Oplock;                                                                             \
        PVOID ReservedForRemote;                                                                   \
    };                                                                                             \
    PVOID ReservedContext;
#ifdef __cplusplus
typedef struct _FSRTL_ADVANCED_FCB_HEADER
    : FSRTL_COMMON_FCB_HEADER{IRPVERBS_ADVANCED_FIELDS} FSRTL_ADVANCED_FCB_HEADER,
      *PFSRTL_ADVANCED_FCB_HEADER;
#else
typedef struct _FSRTL_ADVANCED_FCB_HEADER {
    struct _FSRTL_COMMON_FCB_HEADER;
    IRPVERBS_ADVANCED_FIELDS
} FSRTL_ADVANCED_FCB_HEADER, *PFSRTL_ADVANCED_FCB_HEADER;
#endif
typedef struct _FSRTL_AUXILIARY_BUFFER {
    PVOID Buffer;
    ULONG Length;
    ULONG Flags;
    PMDL Mdl;
} FSRTL_AUXILIARY_BUFFER, *PFSRTL_AUXILIARY_BUFFER;
typedef struct _EOF_WAIT_BLOCK {
    LIST_ENTRY EofWaitLinks;
    KEVENT EofWaitEvent;
} EOF_WAIT_BLOCK, *PEOF_WAIT_BLOCK;
typedef struct _COMPRESSED_DATA_INFO {
    USHORT CompressionFormatAndEngine;
    UCHAR CompressionUnitShift;
    UCHAR ChunkShift;
    UCHAR ClusterShift;
    UCHAR Reserved;
    USHORT NumberOfChunks;
    ULONG CompressedChunkSizes[ANYSIZE_ARRAY];
} COMPRESSED_DATA_INFO, *PCOMPRESSED_DATA_INFO;
typedef enum _FSRTL_COMPARISON_RESULT {
    LessThan = -1,
    EqualTo = 0,
    GreaterThan = 1
} FSRTL_COMPARISON_RESULT;

/* Characters of names, one byte each. The table's bits are FSRTL_*_LEGAL. */
#define FSRTL_FAT_LEGAL 0x01
#define FSRTL_HPFS_LEGAL 0x02
#define FSRTL_NTFS_LEGAL 0x04
#define FSRTL_WILD_CHARACTER 0x08
#define FSRTL_OLE_LEGAL 0x10
#define FSRTL_NTFS_STREAM_LEGAL (FSRTL_NTFS_LEGAL | FSRTL_OLE_LEGAL)
#define DOS_STAR (L'<')
#define DOS_QM (L'>')
#define DOS_DOT (L'"')
#define ANSI_DOS_STAR ('<')
#define ANSI_DOS_QM ('>')
#define ANSI_DOS_DOT ('"')
#define FsRtlTestAnsiCharacter(character, otherwise, wild, flags)                                  \
    (((CHAR)(character) < 0) ? (otherwise)                                                         \
                             : ((FsRtlLegalAnsiCharacterArray[(UCHAR)(character)] &                \
                                 ((flags) | ((wild) ? FSRTL_WILD_CHARACTER : 0))) != 0))
#define FsRtlIsAnsiCharacterWild(character)                                                        \
    FsRtlTestAnsiCharacter((character), FALSE, FALSE, FSRTL_WILD_CHARACTER)
#define FsRtlIsAnsiCharacterLegalFat(character, wild)                                              \
    FsRtlTestAnsiCharacter((character), TRUE, (wild), FSRTL_FAT_LEGAL)
#define FsRtlIsAnsiCharacterLegalHpfs(character, wild)                                             \
    FsRtlTestAnsiCharacter((character), TRUE, (wild), FSRTL_HPFS_LEGAL)
#define FsRtlIsAnsiCharacterLegalNtfs(character, wild)                                             \
    FsRtlTestAnsiCharacter((character), TRUE, (wild), FSRTL_NTFS_LEGAL)
#define FsRtlIsAnsiCharacterLegalNtfsStream(character, wild)                                       \
    FsRtlTestAnsiCharacter((character), TRUE, (wild), FSRTL_NTFS_STREAM_LEGAL)
#define FsRtlIsAnsiCharacterLegal(character, flags)                                                \
    FsRtlTestAnsiCharacter((character), TRUE, FALSE, (flags))
#define FsRtlIsUnicodeCharacterWild(character)                                                     \
    ((character) < 0x40 && (FsRtlLegalAnsiCharacterArray[(character)] & FSRTL_WILD_CHARACTER) != 0)
#define FsRtlIsLeadDbcsCharacter(character)                                                        \
    ((BOOLEAN)((UCHAR)(character) >= 0x80 && NLS_MB_CODE_PAGE_TAG &&                               \
               NLS_OEM_LEAD_BYTE_INFO[(UCHAR)(character)] != 0))

/* Calls that a driver makes at entry and exit, so that no APC stops it while it owns a resource. */
#define FsRtlEnterFileSystem() KeEnterCriticalRegion()
#define FsRtlExitFileSystem() KeLeaveCriticalRegion()
#define FsRtlCompleteRequest(irp, status)                                                          \
    do {                                                                                           \
        (irp)->IoStatus.Status = (status);                                                         \
        IoCompleteRequest((irp), IO_DISK_INCREMENT);                                               \
    } while (0)

/* Contexts of streams, files and open files. */
typedef void (*PFREE_FUNCTION_CONTEXT)(PVOID Context);
typedef struct _FSRTL_PER_STREAM_CONTEXT {
    LIST_ENTRY Links;
    PVOID OwnerId;
    PVOID InstanceId;
    PFREE_FUNCTION_CONTEXT FreeCallback;
} FSRTL_PER_STREAM_CONTEXT, *PFSRTL_PER_STREAM_CONTEXT;
typedef struct _FSRTL_PER_FILE_CONTEXT {
    LIST_ENTRY Links;
    PVOID OwnerId;
    PVOID InstanceId;
    PFREE_FUNCTION_CONTEXT FreeCallback;
} FSRTL_PER_FILE_CONTEXT, *PFSRTL_PER_FILE_CONTEXT;
typedef struct _FSRTL_PER_FILEOBJECT_CONTEXT {
    LIST_ENTRY Links;
    PVOID OwnerId;
    PVOID InstanceId;
} FSRTL_PER_FILEOBJECT_CONTEXT, *PFSRTL_PER_FILEOBJECT_CONTEXT;
#define FsRtlInitPerStreamContext(context, owner, instance, callback)                              \
    ((context)->OwnerId = (owner), (context)->InstanceId = (instance),                             \
     (context)->FreeCallback = (callback))
#define FsRtlInitPerFileContext FsRtlInitPerStreamContext
#define FsRtlInitPerFileObjectContext(context, owner, instance)                                    \
    ((context)->OwnerId = (owner), (context)->InstanceId = (instance))
#define FsRtlGetPerStreamContextPointer(file) ((PFSRTL_ADVANCED_FCB_HEADER)(file)->FsContext)
#define FsRtlGetPerFileContextPointer(file)                                                        \
    (((PFSRTL_ADVANCED_FCB_HEADER)(file)->FsContext)->FileContextSupportPointer)
#define FsRtlSupportsPerStreamContexts(file)                                                       \
    ((BOOLEAN)((file)->FsContext != NULL && (FsRtlGetPerStreamContextPointer(file)->Flags2 &       \
                                             FSRTL_FLAG2_SUPPORTS_FILTER_CONTEXTS) != 0))
#define FsRtlSupportsPerFileContexts(file)                                                         \
    ((BOOLEAN)((file)->FsContext != NULL &&                                                        \
               FsRtlGetPerStreamContextPointer(file)->Version >= FSRTL_FCB_HEADER_V1 &&            \
               FsRtlGetPerFileContextPointer(file) != NULL))
#define FsRtlSetupAdvancedHeader(header, mutex) FsRtlSetupAdvancedHeaderEx((header), (mutex), NULL)
static inline void FsRtlSetupAdvancedHeaderEx2(PVOID Header, PFAST_MUTEX FastMutex,
                                               PVOID FileContextSupportPointer,
                                               PVOID ReservedContext) {
    PFSRTL_ADVANCED_FCB_HEADER header = (PFSRTL_ADVANCED_FCB_HEADER)Header;
    header->Flags |= FSRTL_FLAG_ADVANCED_HEADER;
    header->Flags2 |= FSRTL_FLAG2_SUPPORTS_FILTER_CONTEXTS;
    header->Version = FSRTL_FCB_HEADER_V3;
    InitializeListHead(&header->FilterContexts);
    if (FastMutex != NULL) header->FastMutex = FastMutex;
    header->FileContextSupportPointer = (PVOID*)FileContextSupportPointer;
    header->Oplock = NULL;
    header->ReservedContext = ReservedContext;
}
static inline void FsRtlSetupAdvancedHeaderEx(PVOID Header, PFAST_MUTEX FastMutex,
                                              PVOID FileContextSupportPointer) {
    FsRtlSetupAdvancedHeaderEx2(Header, FastMutex, FileContextSupportPointer, NULL);
}

/* Callbacks around the operations of the memory manager and the cache manager. */
typedef enum _FS_FILTER_SECTION_SYNC_TYPE {
    SyncTypeOther = 0,
    SyncTypeCreateSection
} FS_FILTER_SECTION_SYNC_TYPE;
typedef enum _FS_FILTER_STREAM_FO_NOTIFICATION_TYPE {
    NotifyTypeCreate = 0,
    NotifyTypeRetired
} FS_FILTER_STREAM_FO_NOTIFICATION_TYPE;
typedef union _FS_FILTER_PARAMETERS {
    struct {
        PLARGE_INTEGER EndingOffset;
        PERESOURCE* ResourceToRelease;
    } AcquireForModifiedPageWriter;
    struct {
        PERESOURCE ResourceToRelease;
    } ReleaseForModifiedPageWriter;
    struct {
        FS_FILTER_SECTION_SYNC_TYPE SyncType;
        ULONG PageProtection;
        PVOID OutputInformation;
        ULONG Flags;
    } AcquireForSectionSynchronization;
    struct {
        FS_FILTER_STREAM_FO_NOTIFICATION_TYPE NotificationType;
        BOOLEAN SafeToRecurse;
    } NotifyStreamFileObject;
    struct {
        PIRP Irp;
        PVOID FileInformation;
        PULONG Length;
        FILE_INFORMATION_CLASS FileInformationClass;
        NTSTATUS CompletionStatus;
    } QueryOpen;
    struct {
        PVOID Argument1;
        PVOID Argument2;
        PVOID Argument3;
        PVOID Argument4;
        PVOID Argument5;
    } Others;
} FS_FILTER_PARAMETERS, *PFS_FILTER_PARAMETERS;
typedef struct _FS_FILTER_CALLBACK_DATA {
    ULONG SizeOfFsFilterCallbackData;
    UCHAR Operation;
    UCHAR Reserved;
    PDEVICE_OBJECT DeviceObject;
    PFILE_OBJECT FileObject;
    FS_FILTER_PARAMETERS Parameters;
} FS_FILTER_CALLBACK_DATA, *PFS_FILTER_CALLBACK_DATA;
typedef NTSTATUS FS_FILTER_CALLBACK(PFS_FILTER_CALLBACK_DATA Data, PVOID* CompletionContext);
typedef FS_FILTER_CALLBACK* PFS_FILTER_CALLBACK;
typedef void FS_FILTER_COMPLETION_CALLBACK(PFS_FILTER_CALLBACK_DATA Data, NTSTATUS OperationStatus,
                                           PVOID CompletionContext);
typedef FS_FILTER_COMPLETION_CALLBACK* PFS_FILTER_COMPLETION_CALLBACK;
typedef struct _FS_FILTER_CALLBACKS {
    ULONG SizeOfFsFilterCallbacks;
    ULONG Reserved;
    PFS_FILTER_CALLBACK PreAcquireForSectionSynchronization;
    PFS_FILTER_COMPLETION_CALLBACK PostAcquireForSectionSynchronization;
    PFS_FILTER_CALLBACK PreReleaseForSectionSynchronization;
    PFS_FILTER_COMPLETION_CALLBACK PostReleaseForSectionSynchronization;
    PFS_FILTER_CALLBACK PreAcquireForCcFlush;
    PFS_FILTER_COMPLETION_CALLBACK PostAcquireForCcFlush;
    PFS_FILTER_CALLBACK PreReleaseForCcFlush;
    PFS_FILTER_COMPLETION_CALLBACK PostReleaseForCcFlush;
    PFS_FILTER_CALLBACK PreAcquireForModifiedPageWriter;
    PFS_FILTER_COMPLETION_CALLBACK PostAcquireForModifiedPageWriter;
    PFS_FILTER_CALLBACK PreReleaseForModifiedPageWriter;
    PFS_FILTER_COMPLETION_CALLBACK PostReleaseForModifiedPageWriter;
    PFS_FILTER_CALLBACK PreQueryOpen;
    PFS_FILTER_COMPLETION_CALLBACK PostQueryOpen;
} FS_FILTER_CALLBACKS, *PFS_FILTER_CALLBACKS;
#define FS_FILTER_ACQUIRE_FOR_SECTION_SYNCHRONIZATION ((UCHAR)-1)
#define FS_FILTER_RELEASE_FOR_SECTION_SYNCHRONIZATION ((UCHAR)-2)
#define FS_FILTER_ACQUIRE_FOR_MOD_WRITE ((UCHAR)-3)
#define FS_FILTER_RELEASE_FOR_MOD_WRITE ((UCHAR)-4)
#define FS_FILTER_ACQUIRE_FOR_CC_FLUSH ((UCHAR)-5)
#define FS_FILTER_RELEASE_FOR_CC_FLUSH ((UCHAR)-6)

/* Notifications of directory changes and of volumes. */
typedef struct _REAL_NOTIFY_SYNC *PNOTIFY_SYNC, NOTIFY_SYNC;
typedef BOOLEAN (*PCHECK_FOR_TRAVERSE_ACCESS)(PVOID NotifyContext, PVOID TargetContext,
                                              PSECURITY_SUBJECT_CONTEXT SubjectContext);
typedef BOOLEAN (*PFILTER_REPORT_CHANGE)(PVOID NotifyContext, PVOID FilterContext);
#define FSRTL_VOLUME_DISMOUNT 1
#define FSRTL_VOLUME_DISMOUNT_FAILED 2
#define FSRTL_VOLUME_LOCK 3
#define FSRTL_VOLUME_LOCK_FAILED 4
#define FSRTL_VOLUME_UNLOCK 5
#define FSRTL_VOLUME_MOUNT 6
#define FSRTL_VOLUME_NEEDS_CHKDSK 7
#define FSRTL_VOLUME_WORM_NEAR_FULL 8
#define FSRTL_VOLUME_WEARING_OUT 9
#define FSRTL_VOLUME_FORCED_CLOSED 10
#define FSRTL_VOLUME_INFO_MAKE_COMPAT 11
#define FSRTL_VOLUME_PREPARING_EJECT 12
#define FSRTL_VOLUME_CHANGE_SIZE 13
#define FSRTL_VOLUME_BACKGROUND_FORMAT 14

/* Names of files that were deleted a short while ago. */
typedef struct {
    FAST_MUTEX Mutex;
    PRTL_SPLAY_LINKS Cache;
    LIST_ENTRY TimerQueue;
    USHORT NumEntries;
} TUNNEL, *PTUNNEL;

typedef void (*PFSRTL_STACK_OVERFLOW_ROUTINE)(PVOID Context, PKEVENT Event);
#define FSRTL_ALLOCATE_ECPLIST_FLAG_CHARGE_QUOTA 0x00000001
#define FSRTL_ALLOCATE_ECP_FLAG_CHARGE_QUOTA 0x00000001
#define FSRTL_ALLOCATE_ECP_FLAG_NONPAGED_POOL 0x00000002
typedef struct _ECP_LIST *PECP_LIST, ECP_LIST;
typedef void FSRTL_EXTRA_CREATE_PARAMETER_CLEANUP_CALLBACK(PVOID EcpContext, LPCGUID EcpType);
typedef FSRTL_EXTRA_CREATE_PARAMETER_CLEANUP_CALLBACK*
    PFSRTL_EXTRA_CREATE_PARAMETER_CLEANUP_CALLBACK;
#define SUPPORTED_FS_FEATURES_OFFLOAD_READ 0x00000001
#define SUPPORTED_FS_FEATURES_OFFLOAD_WRITE 0x00000002
#define FSRTL_VIRTDISK_FULLY_ALLOCATED 0x00000001
#define FSRTL_VIRTDISK_NO_DRIVE_LETTER 0x00000002
#define FSRTL_CC_FLUSH_ERROR_FLAG_NO_HARD_ERROR 0x1
#define FSRTL_CC_FLUSH_ERROR_FLAG_NO_LOG_ENTRY 0x2
#define NETWORK_OPEN_ECP_IN_FLAG_DISABLE_HANDLE_COLLAPSING 0x1

NT_EXTERN_C_BEGIN
NT_API extern const UCHAR* FsRtlLegalAnsiCharacterArray;
NT_API extern PUSHORT NlsOemLeadByteInfo;
NT_API extern BOOLEAN NlsMbOemCodePageTag;
#define NLS_MB_CODE_PAGE_TAG NlsMbOemCodePageTag
#define NLS_MB_OEM_CODE_PAGE_TAG NlsMbOemCodePageTag
#define NLS_OEM_LEAD_BYTE_INFO NlsOemLeadByteInfo

NT_API BOOLEAN FsRtlCopyRead(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                             BOOLEAN Wait, ULONG LockKey, PVOID Buffer, PIO_STATUS_BLOCK IoStatus,
                             PDEVICE_OBJECT DeviceObject);
NT_API BOOLEAN FsRtlCopyWrite(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                              BOOLEAN Wait, ULONG LockKey, PVOID Buffer, PIO_STATUS_BLOCK IoStatus,
                              PDEVICE_OBJECT DeviceObject);
NT_API BOOLEAN FsRtlMdlRead(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                            ULONG LockKey, PMDL* MdlChain, PIO_STATUS_BLOCK IoStatus);
NT_API BOOLEAN FsRtlMdlReadDev(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                               ULONG LockKey, PMDL* MdlChain, PIO_STATUS_BLOCK IoStatus,
                               PDEVICE_OBJECT DeviceObject);
NT_API BOOLEAN FsRtlMdlReadComplete(PFILE_OBJECT FileObject, PMDL MdlChain);
NT_API BOOLEAN FsRtlMdlReadCompleteDev(PFILE_OBJECT FileObject, PMDL MdlChain,
                                       PDEVICE_OBJECT DeviceObject);
NT_API BOOLEAN FsRtlPrepareMdlWrite(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset,
                                    ULONG Length, ULONG LockKey, PMDL* MdlChain,
                                    PIO_STATUS_BLOCK IoStatus);
NT_API BOOLEAN FsRtlPrepareMdlWriteDev(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset,
                                       ULONG Length, ULONG LockKey, PMDL* MdlChain,
                                       PIO_STATUS_BLOCK IoStatus, PDEVICE_OBJECT DeviceObject);
NT_API BOOLEAN FsRtlMdlWriteComplete(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset,
                                     PMDL MdlChain);
NT_API BOOLEAN FsRtlMdlWriteCompleteDev(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset,
                                        PMDL MdlChain, PDEVICE_OBJECT DeviceObject);
NT_API NTSTATUS FsRtlGetFileSize(PFILE_OBJECT FileObject, PLARGE_INTEGER FileSize);
NT_API void FsRtlAcquireFileExclusive(PFILE_OBJECT FileObject);
NT_API void FsRtlReleaseFile(PFILE_OBJECT FileObject);
NT_API BOOLEAN FsRtlAcquireEofLock(PFSRTL_ADVANCED_FCB_HEADER Header);
NT_API void FsRtlIncrementCcFastReadNoWait(void);
NT_API void FsRtlIncrementCcFastReadNotPossible(void);
NT_API void FsRtlIncrementCcFastReadWait(void);
NT_API void FsRtlIncrementCcFastReadResourceMiss(void);
NT_API void FsRtlIncrementCcFastMdlReadWait(void);

NT_API PVOID FsRtlAllocatePool(POOL_TYPE PoolType, SIZE_T NumberOfBytes);
NT_API PVOID FsRtlAllocatePoolWithTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag);
NT_API PVOID FsRtlAllocatePoolWithQuota(POOL_TYPE PoolType, SIZE_T NumberOfBytes);
NT_API PVOID FsRtlAllocatePoolWithQuotaTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag);
NT_API PERESOURCE FsRtlAllocateResource(void);

NT_API BOOLEAN FsRtlIsTotalDeviceFailure(NTSTATUS Status);
NT_API BOOLEAN FsRtlIsNtstatusExpected(NTSTATUS Exception);
NT_API NTSTATUS FsRtlNormalizeNtstatus(NTSTATUS Exception, NTSTATUS GenericException);
NT_API void FsRtlPostStackOverflow(PVOID Context, PKEVENT Event,
                                   PFSRTL_STACK_OVERFLOW_ROUTINE StackOverflowRoutine);
NT_API void FsRtlPostPagingFileStackOverflow(PVOID Context, PKEVENT Event,
                                             PFSRTL_STACK_OVERFLOW_ROUTINE StackOverflowRoutine);
NT_API NTSTATUS FsRtlLogCcFlushError(PUNICODE_STRING FileName, PDEVICE_OBJECT DeviceObject,
                                     PSECTION_OBJECT_POINTERS SectionObjectPointer,
                                     NTSTATUS FlushError, ULONG Flags);
NT_API LOGICAL FsRtlIsPagingFile(PFILE_OBJECT FileObject);
NT_API LOGICAL FsRtlIsSystemPagingFile(PFILE_OBJECT FileObject);
NT_API NTSTATUS FsRtlDismountComplete(PDEVICE_OBJECT DeviceObject, NTSTATUS DismountStatus);
NT_API NTSTATUS FsRtlGetSectorSizeInformation(PDEVICE_OBJECT DeviceObject,
                                              PFILE_FS_SECTOR_SIZE_INFORMATION SectorSizeInfo);
NT_API NTSTATUS FsRtlGetSupportedFeatures(PDEVICE_OBJECT DeviceObject, PULONG SupportedFeatures);
NT_API NTSTATUS FsRtlKernelFsControlFile(PFILE_OBJECT FileObject, ULONG FsControlCode,
                                         PVOID InputBuffer, ULONG InputBufferLength,
                                         PVOID OutputBuffer, ULONG OutputBufferLength,
                                         PULONG RetOutputBufferSize);
NT_API NTSTATUS FsRtlIssueDeviceIoControl(PDEVICE_OBJECT DeviceObject, ULONG IoCtl, UCHAR Flags,
                                          PVOID InputBuffer, ULONG InputBufferLength,
                                          PVOID OutputBuffer, ULONG OutputBufferLength,
                                          PULONG_PTR IosbInformation);
NT_API NTSTATUS FsRtlQueryKernelEaFile(PFILE_OBJECT FileObject, PVOID ReturnedEaData, ULONG Length,
                                       BOOLEAN ReturnSingleEntry, PVOID EaList, ULONG EaListLength,
                                       PULONG EaIndex, BOOLEAN RestartScan, PULONG LengthReturned);
NT_API NTSTATUS FsRtlSetKernelEaFile(PFILE_OBJECT FileObject, PVOID EaBuffer, ULONG Length);
NT_API NTSTATUS FsRtlQueryInformationFile(PFILE_OBJECT FileObject, PVOID FileInformation,
                                          ULONG Length, FILE_INFORMATION_CLASS Class,
                                          PULONG RetFileInformationSize);
NT_API NTSTATUS FsRtlGetVirtualDiskNestingLevel(PDEVICE_OBJECT DeviceObject, PULONG NestingLevel,
                                                PULONG NestingFlags);
NT_API void FsRtlUpdateDiskCounters(ULONG64 BytesRead, ULONG64 BytesWritten);
NT_API BOOLEAN FsRtlAreVolumeStartupApplicationsComplete(void);
NT_API ULONG FsRtlQueryMaximumVirtualDiskNestingLevel(void);
NT_API NTSTATUS FsRtlValidateReparsePointBuffer(ULONG BufferLength,
                                                struct _REPARSE_DATA_BUFFER* ReparseBuffer);
NT_API BOOLEAN FsRtlIsMobileOS(void);

NT_API BOOLEAN FsRtlAreNamesEqual(PCUNICODE_STRING ConstantNameA, PCUNICODE_STRING ConstantNameB,
                                  BOOLEAN IgnoreCase, PCWCH UpcaseTable);
NT_API void FsRtlDissectDbcs(ANSI_STRING Path, PANSI_STRING FirstName, PANSI_STRING RemainingName);
NT_API void FsRtlDissectName(UNICODE_STRING Path, PUNICODE_STRING FirstName,
                             PUNICODE_STRING RemainingName);
NT_API BOOLEAN FsRtlDoesDbcsContainWildCards(PANSI_STRING Name);
NT_API BOOLEAN FsRtlDoesNameContainWildCards(PUNICODE_STRING Name);
NT_API BOOLEAN FsRtlIsDbcsInExpression(PANSI_STRING Expression, PANSI_STRING Name);
NT_API BOOLEAN FsRtlIsNameInExpression(PUNICODE_STRING Expression, PUNICODE_STRING Name,
                                       BOOLEAN IgnoreCase, PWCH UpcaseTable);
NT_API BOOLEAN FsRtlIsNameInUnUpcasedExpression(PUNICODE_STRING Expression, PUNICODE_STRING Name,
                                                BOOLEAN IgnoreCase, PWCH UpcaseTable);
NT_API BOOLEAN FsRtlIsFatDbcsLegal(ANSI_STRING DbcsName, BOOLEAN WildCardsPermissible,
                                   BOOLEAN PathNamePermissible,
                                   BOOLEAN LeadingBackslashPermissible);
NT_API BOOLEAN FsRtlIsHpfsDbcsLegal(ANSI_STRING DbcsName, BOOLEAN WildCardsPermissible,
                                    BOOLEAN PathNamePermissible,
                                    BOOLEAN LeadingBackslashPermissible);

NT_API void FsRtlNotifyInitializeSync(PNOTIFY_SYNC* NotifySync);
NT_API void FsRtlNotifyUninitializeSync(PNOTIFY_SYNC* NotifySync);
NT_API void FsRtlNotifyFullChangeDirectory(PNOTIFY_SYNC NotifySync, PLIST_ENTRY NotifyList,
                                           PVOID FsContext, PSTRING FullDirectoryName,
                                           BOOLEAN WatchTree, BOOLEAN IgnoreBuffer,
                                           ULONG CompletionFilter, PIRP NotifyIrp,
                                           PCHECK_FOR_TRAVERSE_ACCESS TraverseCallback,
                                           PSECURITY_SUBJECT_CONTEXT SubjectContext);
NT_API void FsRtlNotifyFilterChangeDirectory(PNOTIFY_SYNC NotifySync, PLIST_ENTRY NotifyList,
                                             PVOID FsContext, PSTRING FullDirectoryName,
                                             BOOLEAN WatchTree, BOOLEAN IgnoreBuffer,
                                             ULONG CompletionFilter, PIRP NotifyIrp,
                                             PCHECK_FOR_TRAVERSE_ACCESS TraverseCallback,
                                             PSECURITY_SUBJECT_CONTEXT SubjectContext,
                                             PFILTER_REPORT_CHANGE FilterCallback);
NT_API void FsRtlNotifyFullReportChange(PNOTIFY_SYNC NotifySync, PLIST_ENTRY NotifyList,
                                        PSTRING FullTargetName, USHORT TargetNameOffset,
                                        PSTRING StreamName, PSTRING NormalizedParentName,
                                        ULONG FilterMatch, ULONG Action, PVOID TargetContext);
NT_API void FsRtlNotifyFilterReportChange(PNOTIFY_SYNC NotifySync, PLIST_ENTRY NotifyList,
                                          PSTRING FullTargetName, USHORT TargetNameOffset,
                                          PSTRING StreamName, PSTRING NormalizedParentName,
                                          ULONG FilterMatch, ULONG Action, PVOID TargetContext,
                                          PVOID FilterContext);
NT_API void FsRtlNotifyCleanup(PNOTIFY_SYNC NotifySync, PLIST_ENTRY NotifyList, PVOID FsContext);
NT_API void FsRtlNotifyCleanupAll(PNOTIFY_SYNC NotifySync, PLIST_ENTRY NotifyList);
NT_API NTSTATUS FsRtlNotifyVolumeEvent(PFILE_OBJECT FileObject, ULONG EventCode);
NT_API NTSTATUS FsRtlNotifyVolumeEventEx(PFILE_OBJECT FileObject, ULONG EventCode,
                                         PTARGET_DEVICE_CUSTOM_NOTIFICATION Event);

NT_API void FsRtlInitializeTunnelCache(PTUNNEL Cache);
NT_API void FsRtlAddToTunnelCache(PTUNNEL Cache, ULONGLONG DirectoryKey, PUNICODE_STRING ShortName,
                                  PUNICODE_STRING LongName, BOOLEAN KeyByShortName,
                                  ULONG DataLength, PVOID Data);
NT_API BOOLEAN FsRtlFindInTunnelCache(PTUNNEL Cache, ULONGLONG DirectoryKey, PUNICODE_STRING Name,
                                      PUNICODE_STRING ShortName, PUNICODE_STRING LongName,
                                      PULONG DataLength, PVOID Data);
NT_API void FsRtlDeleteKeyFromTunnelCache(PTUNNEL Cache, ULONGLONG DirectoryKey);
NT_API void FsRtlDeleteTunnelCache(PTUNNEL Cache);

NT_API NTSTATUS FsRtlInsertPerStreamContext(PFSRTL_ADVANCED_FCB_HEADER StreamContext,
                                            PFSRTL_PER_STREAM_CONTEXT Context);
NT_API PFSRTL_PER_STREAM_CONTEXT FsRtlLookupPerStreamContextInternal(
    PFSRTL_ADVANCED_FCB_HEADER StreamContext, PVOID OwnerId, PVOID InstanceId);
#define FsRtlLookupPerStreamContext FsRtlLookupPerStreamContextInternal
NT_API PFSRTL_PER_STREAM_CONTEXT FsRtlRemovePerStreamContext(
    PFSRTL_ADVANCED_FCB_HEADER StreamContext, PVOID OwnerId, PVOID InstanceId);
NT_API void FsRtlTeardownPerStreamContexts(PFSRTL_ADVANCED_FCB_HEADER AdvancedHeader);
NT_API NTSTATUS FsRtlInsertPerFileContext(PVOID* PerFileContextPointer,
                                          PFSRTL_PER_FILE_CONTEXT Context);
NT_API PFSRTL_PER_FILE_CONTEXT FsRtlLookupPerFileContext(PVOID* PerFileContextPointer,
                                                         PVOID OwnerId, PVOID InstanceId);
NT_API PFSRTL_PER_FILE_CONTEXT FsRtlRemovePerFileContext(PVOID* PerFileContextPointer,
                                                         PVOID OwnerId, PVOID InstanceId);
NT_API void FsRtlTeardownPerFileContexts(PVOID* PerFileContextPointer);
NT_API NTSTATUS FsRtlInsertPerFileObjectContext(PFILE_OBJECT FileObject,
                                                PFSRTL_PER_FILEOBJECT_CONTEXT Context);
NT_API PFSRTL_PER_FILEOBJECT_CONTEXT FsRtlLookupPerFileObjectContext(PFILE_OBJECT FileObject,
                                                                     PVOID OwnerId,
                                                                     PVOID InstanceId);
NT_API PFSRTL_PER_FILEOBJECT_CONTEXT FsRtlRemovePerFileObjectContext(PFILE_OBJECT FileObject,
                                                                     PVOID OwnerId,
                                                                     PVOID InstanceId);
NT_API NTSTATUS FsRtlRegisterFileSystemFilterCallbacks(PDRIVER_OBJECT FilterDriverObject,
                                                       PFS_FILTER_CALLBACKS Callbacks);

NT_API NTSTATUS FsRtlAllocateExtraCreateParameterList(ULONG Flags, PECP_LIST* EcpList);
NT_API void FsRtlFreeExtraCreateParameterList(PECP_LIST EcpList);
NT_API NTSTATUS
FsRtlAllocateExtraCreateParameter(LPCGUID EcpType, ULONG SizeOfContext, ULONG Flags,
                                  PFSRTL_EXTRA_CREATE_PARAMETER_CLEANUP_CALLBACK CleanupCallback,
                                  ULONG PoolTag, PVOID* EcpContext);
NT_API void FsRtlFreeExtraCreateParameter(PVOID EcpContext);
NT_API NTSTATUS FsRtlInsertExtraCreateParameter(PECP_LIST EcpList, PVOID EcpContext);
NT_API NTSTATUS FsRtlFindExtraCreateParameter(PECP_LIST EcpList, LPCGUID EcpType, PVOID* EcpContext,
                                              ULONG* EcpContextSize);
NT_API NTSTATUS FsRtlRemoveExtraCreateParameter(PECP_LIST EcpList, LPCGUID EcpType,
                                                PVOID* EcpContext, ULONG* EcpContextSize);
NT_API NTSTATUS FsRtlGetEcpListFromIrp(PIRP Irp, PECP_LIST* EcpList);
NT_API NTSTATUS FsRtlSetEcpListIntoIrp(PIRP Irp, PECP_LIST EcpList);
NT_API NTSTATUS FsRtlGetNextExtraCreateParameter(PECP_LIST EcpList, PVOID CurrentEcpContext,
                                                 GUID* NextEcpType, PVOID* NextEcpContext,
                                                 ULONG* NextEcpContextSize);
NT_API void FsRtlAcknowledgeEcp(PVOID EcpContext);
NT_API BOOLEAN FsRtlIsEcpAcknowledged(PVOID EcpContext);
NT_API BOOLEAN FsRtlIsEcpFromUserMode(PVOID EcpContext);

NT_API NTSTATUS FsRtlRegisterUncProvider(PHANDLE MupHandle, PUNICODE_STRING RedirectorDeviceName,
                                         BOOLEAN MailslotsSupported);
NT_API NTSTATUS FsRtlRegisterUncProviderEx(PHANDLE MupHandle, PUNICODE_STRING RedirDevName,
                                           PDEVICE_OBJECT DeviceObject, ULONG Flags);
NT_API void FsRtlDeregisterUncProvider(HANDLE Handle);
NT_API NTSTATUS FsRtlCreateSectionForDataScan(PHANDLE SectionHandle, PVOID* SectionObject,
                                              PLARGE_INTEGER SectionFileSize,
                                              PFILE_OBJECT FileObject, ACCESS_MASK DesiredAccess,
                                              POBJECT_ATTRIBUTES ObjectAttributes,
                                              PLARGE_INTEGER MaximumSize,
                                              ULONG SectionPageProtection,
                                              ULONG AllocationAttributes, ULONG Flags);
NT_EXTERN_C_END

#endif
