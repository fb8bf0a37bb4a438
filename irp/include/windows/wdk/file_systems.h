/* All that ntifs.h gives a file system or a file system filter beyond wdm.h and ntddk.h.
   Declarations only: a driver that calls one of these functions fails to link. Source: WDK ntifs.h
   reference. */
#ifndef IRPVERBS_WINDOWS_FILE_SYSTEMS_H
#define IRPVERBS_WINDOWS_FILE_SYSTEMS_H

#include <windows/wdk/cache_manager.h>
#include <windows/wdk/file_controls.h>
#include <windows/wdk/file_information.h>
#include <windows/wdk/file_locks.h>
#include <windows/wdk/file_mapping.h>
#include <windows/wdk/file_system_runtime.h>
#include <windows/wdk/io.h>
#include <windows/wdk/prefix_tables.h>
#include <windows/wdk/wdm.h>

#ifndef FlagOn
#define FlagOn(flags, bits) ((flags) & (bits))
#endif
#ifndef BooleanFlagOn
#define BooleanFlagOn(flags, bits) ((BOOLEAN)(((flags) & (bits)) != 0))
#endif
#ifndef SetFlag
#define SetFlag(flags, bits) ((flags) |= (bits))
#endif
#ifndef ClearFlag
#define ClearFlag(flags, bits) ((flags) &= ~(bits))
#endif

typedef enum _MMFLUSH_TYPE { MmFlushForDelete, MmFlushForWrite } MMFLUSH_TYPE;
typedef union _FILE_SEGMENT_ELEMENT {
    PVOID Buffer;
    ULONGLONG Alignment;
} FILE_SEGMENT_ELEMENT, *PFILE_SEGMENT_ELEMENT;
typedef union _MM_PREFETCH_FLAGS {
    struct {
        ULONG Priority : 3;
        ULONG RepurposePriority : 2;
        ULONG PriorityProtection : 1;
    } Flags;
    ULONG AllFlags;
} MM_PREFETCH_FLAGS, *PMM_PREFETCH_FLAGS;
#define SYSTEM_PAGE_PRIORITY_BITS 3
#define SYSTEM_PAGE_PRIORITY_LEVELS (1 << SYSTEM_PAGE_PRIORITY_BITS)
typedef struct _READ_LIST {
    PFILE_OBJECT FileObject;
    ULONG NumberOfEntries;
    LOGICAL IsImage;
    FILE_SEGMENT_ELEMENT List[ANYSIZE_ARRAY];
} READ_LIST, *PREAD_LIST;
typedef enum _FILE_STORAGE_TYPE { StorageTypeDefault = 1, StorageTypeDirectory } FILE_STORAGE_TYPE;
typedef struct _IO_CREATE_STREAM_FILE_OPTIONS {
    USHORT Size;
    USHORT Flags;
    PDEVICE_OBJECT TargetDeviceObject;
} IO_CREATE_STREAM_FILE_OPTIONS, *PIO_CREATE_STREAM_FILE_OPTIONS;
typedef struct _IO_DRIVER_CREATE_CONTEXT {
    CSHORT Size;
    PECP_LIST ExtraCreateParameter;
    PVOID DeviceObjectHint;
    PVOID TxnParameters;
    PVOID SiloContext;
} IO_DRIVER_CREATE_CONTEXT, *PIO_DRIVER_CREATE_CONTEXT;
#define IoInitializeDriverCreateContext(context)                                                   \
    (RtlZeroMemory((context), sizeof(IO_DRIVER_CREATE_CONTEXT)),                                   \
     (context)->Size = sizeof(IO_DRIVER_CREATE_CONTEXT))
#define IO_IGNORE_READONLY_ATTRIBUTE 0x0040
#define IO_ATTACH_DEVICE 0x0400
#define IO_ATTACH_DEVICE_API 0x80000000
#define DRIVER_VERIFIER_SPECIAL_POOLING 0x0001
#define TOKEN_ASSIGN_PRIMARY 0x0001
#define TOKEN_DUPLICATE 0x0002
#define TOKEN_IMPERSONATE 0x0004
#define TOKEN_QUERY_SOURCE 0x0010
#define TOKEN_SOURCE_LENGTH 8
typedef struct _TOKEN_SOURCE {
    CHAR SourceName[TOKEN_SOURCE_LENGTH];
    LUID SourceIdentifier;
} TOKEN_SOURCE, *PTOKEN_SOURCE;

NT_EXTERN_C_BEGIN
NT_API BOOLEAN MmFlushImageSection(PSECTION_OBJECT_POINTERS SectionObjectPointer,
                                   MMFLUSH_TYPE FlushType);
NT_API BOOLEAN MmForceSectionClosed(PSECTION_OBJECT_POINTERS SectionObjectPointer,
                                    BOOLEAN DelayClose);
NT_API BOOLEAN MmForceSectionClosedEx(PSECTION_OBJECT_POINTERS SectionObjectPointer,
                                      ULONG ForceCloseFlags);
NT_API BOOLEAN MmCanFileBeTruncated(PSECTION_OBJECT_POINTERS SectionPointer,
                                    PLARGE_INTEGER NewFileSize);
NT_API ULONG MmDoesFileHaveUserWritableReferences(PSECTION_OBJECT_POINTERS SectionPointer);
NT_API BOOLEAN MmSetAddressRangeModified(PVOID Address, SIZE_T Length);
NT_API BOOLEAN MmIsRecursiveIoFault(void);
NT_API BOOLEAN MmIsFileSectionActive(PSECTION_OBJECT_POINTERS SectionPointer, ULONG Flags,
                                     PULONG OutputFlags);
NT_API NTSTATUS MmPrefetchPages(ULONG NumberOfLists, PREAD_LIST* ReadLists);
#define MM_FORCE_CLOSED_DATA 0x0001
#define MM_FORCE_CLOSED_IMAGE 0x0002
#define MM_FORCE_CLOSED_LATER_OK 0x0004

NT_API NTSTATUS IoCreateFileEx(PHANDLE FileHandle, ACCESS_MASK DesiredAccess,
                               POBJECT_ATTRIBUTES ObjectAttributes, PIO_STATUS_BLOCK IoStatusBlock,
                               PLARGE_INTEGER AllocationSize, ULONG FileAttributes,
                               ULONG ShareAccess, ULONG Disposition, ULONG CreateOptions,
                               PVOID EaBuffer, ULONG EaLength, CREATE_FILE_TYPE CreateFileType,
                               PVOID InternalParameters, ULONG Options,
                               PIO_DRIVER_CREATE_CONTEXT DriverContext);
NT_API NTSTATUS IoCreateStreamFileObjectEx2(PIO_CREATE_STREAM_FILE_OPTIONS CreateOptions,
                                            PFILE_OBJECT FileObject, PDEVICE_OBJECT DeviceObject,
                                            PFILE_OBJECT* StreamFileObject, PHANDLE Handle);
NT_API PFILE_OBJECT IoCreateStreamFileObjectEx(PFILE_OBJECT FileObject, PDEVICE_OBJECT DeviceObject,
                                               PHANDLE FileObjectHandle);
NT_API NTSTATUS IoReplaceFileObjectName(PFILE_OBJECT FileObject, PWSTR NewFileName,
                                        USHORT FileNameLength);
NT_API NTSTATUS IoCheckFunctionAccess(ACCESS_MASK GrantedAccess, UCHAR MajorFunction,
                                      UCHAR MinorFunction, ULONG IoControlCode, PVOID Argument1,
                                      PVOID Argument2);
NT_API NTSTATUS IoCheckQuerySetFileInformation(FILE_INFORMATION_CLASS FileInformationClass,
                                               ULONG Length, BOOLEAN SetOperation);
NT_API NTSTATUS IoCheckQuerySetVolumeInformation(FS_INFORMATION_CLASS FsInformationClass,
                                                 ULONG Length, BOOLEAN SetOperation);
NT_API NTSTATUS IoCheckQuotaBufferValidity(PFILE_QUOTA_INFORMATION QuotaBuffer, ULONG QuotaLength,
                                           PULONG ErrorOffset);
NT_API NTSTATUS IoCheckDesiredAccess(PACCESS_MASK DesiredAccess, ACCESS_MASK GrantedAccess);
NT_API NTSTATUS IoCheckShareAccessEx(ACCESS_MASK DesiredAccess, ULONG DesiredShareAccess,
                                     PFILE_OBJECT FileObject, PSHARE_ACCESS ShareAccess,
                                     BOOLEAN Update, PBOOLEAN WritePermission);
NT_API NTSTATUS IoGetDiskDeviceObject(PDEVICE_OBJECT FileSystemDeviceObject,
                                      PDEVICE_OBJECT* DiskDeviceObject);
typedef struct _TXN_PARAMETER_BLOCK {
    USHORT Length;
    USHORT TxFsContext;
    PVOID TransactionObject;
} TXN_PARAMETER_BLOCK, *PTXN_PARAMETER_BLOCK;
NT_API PTXN_PARAMETER_BLOCK IoGetTransactionParameterBlock(PFILE_OBJECT FileObject);
NT_API NTSTATUS IoSynchronousPageWrite(PFILE_OBJECT FileObject, PMDL Mdl, PLARGE_INTEGER Offset,
                                       PKEVENT Event, PIO_STATUS_BLOCK IoStatusBlock);
NT_API NTSTATUS IoPageRead(PFILE_OBJECT FileObject, PMDL Mdl, PLARGE_INTEGER Offset, PKEVENT Event,
                           PIO_STATUS_BLOCK IoStatusBlock);
NT_API NTSTATUS IoSetFileOrigin(PFILE_OBJECT FileObject, BOOLEAN Remote);
NT_API BOOLEAN IoFastQueryNetworkAttributes(POBJECT_ATTRIBUTES ObjectAttributes,
                                            ACCESS_MASK DesiredAccess, ULONG OpenOptions,
                                            PIO_STATUS_BLOCK IoStatus,
                                            PFILE_NETWORK_OPEN_INFORMATION Buffer);
NT_API NTSTATUS IoEnumerateRegisteredFiltersList(PDRIVER_OBJECT* DriverObjectList, ULONG ListSize,
                                                 PULONG ActualNumberDriverObjects);
NT_API NTSTATUS IoRegisterFsRegistrationChangeMountAware(PDRIVER_OBJECT DriverObject,
                                                         PDRIVER_FS_NOTIFICATION Routine,
                                                         BOOLEAN SynchronizeWithMounts);
NT_API NTSTATUS IoQueryFileInformationEx(PFILE_OBJECT FileObject, FILE_INFORMATION_CLASS Class,
                                         ULONG Length, PVOID Information, PULONG ReturnedLength);
NT_API PVOID IoGetFsTrackOffsetState(PIRP Irp, PLONGLONG* RetFsTrackOffsetBlob,
                                     PLONGLONG RetTrackedOffset);
NT_API NTSTATUS IoSetFsTrackOffsetState(PIRP Irp, PVOID FsTrackOffsetBlob, LONGLONG TrackedOffset);
#define IoIsFileOpenedExclusively(file)                                                            \
    (!((file)->SharedRead || (file)->SharedWrite || (file)->SharedDelete))

NT_API NTSTATUS ZwQueryEaFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock, PVOID Buffer,
                              ULONG Length, BOOLEAN ReturnSingleEntry, PVOID EaList,
                              ULONG EaListLength, PULONG EaIndex, BOOLEAN RestartScan);
NT_API NTSTATUS ZwSetEaFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock, PVOID Buffer,
                            ULONG Length);
NT_API NTSTATUS ZwNotifyChangeKey(HANDLE KeyHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine,
                                  PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock,
                                  ULONG CompletionFilter, BOOLEAN WatchTree, PVOID Buffer,
                                  ULONG BufferSize, BOOLEAN Asynchronous);
NT_API NTSTATUS ZwLockFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine,
                           PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock,
                           PLARGE_INTEGER ByteOffset, PLARGE_INTEGER Length, ULONG Key,
                           BOOLEAN FailImmediately, BOOLEAN ExclusiveLock);
NT_API NTSTATUS ZwUnlockFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock,
                             PLARGE_INTEGER ByteOffset, PLARGE_INTEGER Length, ULONG Key);
NT_API NTSTATUS ZwFlushVirtualMemory(HANDLE ProcessHandle, PVOID* BaseAddress, PSIZE_T RegionSize,
                                     PIO_STATUS_BLOCK IoStatus);
NT_API NTSTATUS ZwQueryVirtualMemory(HANDLE ProcessHandle, PVOID BaseAddress,
                                     int MemoryInformationClass, PVOID MemoryInformation,
                                     SIZE_T MemoryInformationLength, PSIZE_T ReturnLength);
NT_API NTSTATUS ZwDuplicateToken(HANDLE ExistingTokenHandle, ACCESS_MASK DesiredAccess,
                                 POBJECT_ATTRIBUTES ObjectAttributes, BOOLEAN EffectiveOnly,
                                 TOKEN_TYPE TokenType, PHANDLE NewTokenHandle);
NT_API NTSTATUS ZwSetInformationToken(HANDLE TokenHandle, TOKEN_INFORMATION_CLASS Class,
                                      PVOID TokenInformation, ULONG TokenInformationLength);

NT_API NTSTATUS RtlCompressBuffer(USHORT CompressionFormatAndEngine, PUCHAR UncompressedBuffer,
                                  ULONG UncompressedBufferSize, PUCHAR CompressedBuffer,
                                  ULONG CompressedBufferSize, ULONG UncompressedChunkSize,
                                  PULONG FinalCompressedSize, PVOID WorkSpace);
NT_API NTSTATUS RtlDecompressBuffer(USHORT CompressionFormat, PUCHAR UncompressedBuffer,
                                    ULONG UncompressedBufferSize, PUCHAR CompressedBuffer,
                                    ULONG CompressedBufferSize, PULONG FinalUncompressedSize);
NT_API NTSTATUS RtlGetCompressionWorkSpaceSize(USHORT CompressionFormatAndEngine,
                                               PULONG CompressBufferWorkSpaceSize,
                                               PULONG CompressFragmentWorkSpaceSize);
NT_API NTSTATUS RtlGetOwnerSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, PSID* Owner,
                                              PBOOLEAN OwnerDefaulted);
NT_API NTSTATUS RtlGetGroupSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, PSID* Group,
                                              PBOOLEAN GroupDefaulted);
NT_API NTSTATUS RtlGetSaclSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor,
                                             PBOOLEAN SaclPresent, PACL* Sacl,
                                             PBOOLEAN SaclDefaulted);
NT_API NTSTATUS RtlSetGroupSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, PSID Group,
                                              BOOLEAN GroupDefaulted);
NT_API NTSTATUS RtlSetSaclSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor,
                                             BOOLEAN SaclPresent, PACL Sacl, BOOLEAN SaclDefaulted);
NT_API NTSTATUS RtlSelfRelativeToAbsoluteSD(PSECURITY_DESCRIPTOR SelfRelative,
                                            PSECURITY_DESCRIPTOR Absolute, PULONG AbsoluteSize,
                                            PACL Dacl, PULONG DaclSize, PACL Sacl, PULONG SaclSize,
                                            PSID Owner, PULONG OwnerSize, PSID PrimaryGroup,
                                            PULONG PrimaryGroupSize);
NT_API NTSTATUS RtlAddAce(PACL Acl, ULONG AceRevision, ULONG StartingAceIndex, PVOID AceList,
                          ULONG AceListLength);
NT_API NTSTATUS RtlDeleteAce(PACL Acl, ULONG AceIndex);
NT_API BOOLEAN RtlValidAcl(PACL Acl);
NT_API NTSTATUS RtlAllocateAndInitializeSid(PSID_IDENTIFIER_AUTHORITY Authority, UCHAR Count,
                                            ULONG Sub0, ULONG Sub1, ULONG Sub2, ULONG Sub3,
                                            ULONG Sub4, ULONG Sub5, ULONG Sub6, ULONG Sub7,
                                            PSID* Sid);
NT_API PVOID RtlFreeSid(PSID Sid);
NT_API PUCHAR RtlSubAuthorityCountSid(PSID Sid);
NT_API PSID_IDENTIFIER_AUTHORITY RtlIdentifierAuthoritySid(PSID Sid);
NT_API void RtlCopyLuid(PLUID DestinationLuid, PLUID SourceLuid);
NT_API PVOID RtlAllocateHeap(PVOID HeapHandle, ULONG Flags, SIZE_T Size);
NT_API ULONG RtlFreeHeap(PVOID HeapHandle, ULONG Flags, PVOID BaseAddress);
typedef NTSTATUS RTL_HEAP_COMMIT_ROUTINE(PVOID Base, PVOID* CommitAddress, PSIZE_T CommitSize);
typedef RTL_HEAP_COMMIT_ROUTINE* PRTL_HEAP_COMMIT_ROUTINE;
typedef struct _RTL_HEAP_PARAMETERS {
    ULONG Length;
    SIZE_T SegmentReserve;
    SIZE_T SegmentCommit;
    SIZE_T DeCommitFreeBlockThreshold;
    SIZE_T DeCommitTotalFreeThreshold;
    SIZE_T MaximumAllocationSize;
    SIZE_T VirtualMemoryThreshold;
    SIZE_T InitialCommit;
    SIZE_T InitialReserve;
    PRTL_HEAP_COMMIT_ROUTINE CommitRoutine;
    SIZE_T Reserved[2];
} RTL_HEAP_PARAMETERS, *PRTL_HEAP_PARAMETERS;
NT_API PVOID RtlCreateHeap(ULONG Flags, PVOID HeapBase, SIZE_T ReserveSize, SIZE_T CommitSize,
                           PVOID Lock, PRTL_HEAP_PARAMETERS Parameters);
NT_API PVOID RtlDestroyHeap(PVOID HeapHandle);
NT_API NTSTATUS SeFilterToken(PACCESS_TOKEN ExistingToken, ULONG Flags, PTOKEN_GROUPS SidsToDisable,
                              PTOKEN_PRIVILEGES PrivilegesToDelete, PTOKEN_GROUPS RestrictedSids,
                              PACCESS_TOKEN* FilteredToken);
NT_API NTSTATUS FsRtlBalanceReads(PDEVICE_OBJECT TargetDevice);
NT_API NTSTATUS FsRtlVolumeDeviceToCorrelationId(PDEVICE_OBJECT VolumeDeviceObject, GUID* Guid);
NT_API NTSTATUS IoVolumeDeviceToGuid(PVOID VolumeDeviceObject, GUID* Guid);
NT_API NTSTATUS IoVolumeDeviceToGuidPath(PVOID VolumeDeviceObject, PUNICODE_STRING GuidPath);
NT_API void SeImpersonateClient(PSECURITY_CLIENT_CONTEXT ClientContext, PETHREAD ServerThread);
NT_API NTSTATUS SeCreateClientSecurityFromSubjectContext(PSECURITY_SUBJECT_CONTEXT SubjectContext,
                                                         PSECURITY_QUALITY_OF_SERVICE ClientQos,
                                                         BOOLEAN ServerIsRemote,
                                                         PSECURITY_CLIENT_CONTEXT ClientContext);
NT_API void SeAuditHardLinkCreation(PUNICODE_STRING FileName, PUNICODE_STRING LinkName,
                                    BOOLEAN Success);
NT_API void SeDeleteObjectAuditAlarm(PVOID Object, HANDLE Handle);
NT_API void SeSetAccessStateGenericMapping(PACCESS_STATE AccessState,
                                           PGENERIC_MAPPING GenericMapping);
NT_API NTSTATUS SeMarkLogonSessionForTerminationNotification(PLUID LogonId);
NT_API PACCESS_TOKEN PsGetCurrentToken(void);
NT_API NTSTATUS PsImpersonateClient(PETHREAD Thread, PACCESS_TOKEN Token, BOOLEAN CopyOnOpen,
                                    BOOLEAN EffectiveOnly, SECURITY_IMPERSONATION_LEVEL Level);
typedef struct _SE_IMPERSONATION_STATE {
    PACCESS_TOKEN Token;
    BOOLEAN CopyOnOpen;
    BOOLEAN EffectiveOnly;
    SECURITY_IMPERSONATION_LEVEL Level;
} SE_IMPERSONATION_STATE, *PSE_IMPERSONATION_STATE;
NT_API BOOLEAN PsDisableImpersonation(PETHREAD Thread, PSE_IMPERSONATION_STATE ImpersonationState);
NT_API void PsRestoreImpersonation(PETHREAD Thread, PSE_IMPERSONATION_STATE ImpersonationState);
NT_API NTSTATUS PoQueueShutdownWorkItem(PWORK_QUEUE_ITEM WorkItem);
NT_API void ExDisableResourceBoost(PERESOURCE Resource);
NT_API SIZE_T ExQueryPoolBlockSize(PVOID PoolBlock, PBOOLEAN QuotaCharged);
NT_EXTERN_C_END

#endif
