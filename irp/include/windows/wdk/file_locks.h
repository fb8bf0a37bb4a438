/* Byte-range locks and opportunistic locks of file systems. Declarations only. Source: WDK ntifs.h
   reference, "FsRtl routines". */
#ifndef IRPVERBS_WINDOWS_FILE_LOCKS_H
#define IRPVERBS_WINDOWS_FILE_LOCKS_H

#include <windows/wdk/executive.h>
#include <windows/wdk/files.h>

typedef struct _FILE_LOCK_INFO {
    LARGE_INTEGER StartingByte;
    LARGE_INTEGER Length;
    BOOLEAN ExclusiveLock;
    ULONG Key;
    PFILE_OBJECT FileObject;
    PVOID ProcessId;
    LARGE_INTEGER EndingByte;
} FILE_LOCK_INFO, *PFILE_LOCK_INFO;
typedef NTSTATUS COMPLETE_LOCK_IRP_ROUTINE(PVOID Context, PIRP Irp);
typedef COMPLETE_LOCK_IRP_ROUTINE* PCOMPLETE_LOCK_IRP_ROUTINE;
typedef void UNLOCK_ROUTINE(PVOID Context, PFILE_LOCK_INFO FileLockInfo);
typedef UNLOCK_ROUTINE* PUNLOCK_ROUTINE;
typedef struct _FILE_LOCK {
    PCOMPLETE_LOCK_IRP_ROUTINE CompleteLockIrpRoutine;
    PUNLOCK_ROUTINE UnlockRoutine;
    BOOLEAN FastIoIsQuestionable;
    BOOLEAN SpareC[3];
    PVOID LockInformation;
    FILE_LOCK_INFO LastReturnedLockInfo;
    PVOID LastReturnedLock;
    LONG volatile LockRequestsInProgress;
} FILE_LOCK, *PFILE_LOCK;

#define FsRtlAreThereCurrentFileLocks(lock) ((lock)->FastIoIsQuestionable)
#define FsRtlAreThereCurrentOrInProgressFileLocks(lock)                                            \
    ((lock)->FastIoIsQuestionable || (lock)->LockRequestsInProgress != 0)
#define FsRtlAreThereWaitingFileLocks(lock) ((BOOLEAN)((lock)->LockRequestsInProgress != 0))
#define FsRtlFastLock(lock, file, offset, length, process, key, fail, exclusive, status, context,  \
                      posted)                                                                      \
    FsRtlPrivateLock((lock), (file), (offset), (length), (process), (key), (fail), (exclusive),    \
                     (status), NULL, (context), (posted))

typedef PVOID OPLOCK, *POPLOCK;
typedef void OPLOCK_WAIT_COMPLETE_ROUTINE(PVOID Context, PIRP Irp);
typedef OPLOCK_WAIT_COMPLETE_ROUTINE* POPLOCK_WAIT_COMPLETE_ROUTINE;
typedef void OPLOCK_FS_PREPOST_IRP(PVOID Context, PIRP Irp);
typedef OPLOCK_FS_PREPOST_IRP* POPLOCK_FS_PREPOST_IRP;
typedef enum _OPLOCK_NOTIFY_REASON {
    OPLOCK_NOTIFY_BREAK_WAIT_INTERIM_TIMEOUT = 0,
    OPLOCK_NOTIFY_BREAK_WAIT_TERMINATED = 1
} OPLOCK_NOTIFY_REASON;
#define OPLOCK_FLAG_COMPLETE_IF_OPLOCKED 0x00000001
#define OPLOCK_FLAG_OPLOCK_KEY_CHECK_ONLY 0x00000002
#define OPLOCK_FLAG_BACK_OUT_ATOMIC_OPLOCK 0x00000004
#define OPLOCK_FLAG_IGNORE_OPLOCK_KEYS 0x00000008
#define OPLOCK_FLAG_PARENT_OBJECT 0x00000010
#define OPLOCK_FLAG_CLOSING_DELETE_ON_CLOSE 0x00000020
#define OPLOCK_FLAG_REMOVING_FILE_OR_LINK 0x00000040
#define OPLOCK_FSCTRL_FLAG_ALL_KEYS_MATCH 0x00000001
#define OPLOCK_UPPER_FLAG_CHECK_NO_BREAK 0x00010000
#define OPLOCK_UPPER_FLAG_NOTIFY_REFRESH_READ 0x00020000
#define OPLOCK_LEVEL_CACHE_READ 0x00000001
#define OPLOCK_LEVEL_CACHE_HANDLE 0x00000002
#define OPLOCK_LEVEL_CACHE_WRITE 0x00000004
#define REQUEST_OPLOCK_INPUT_FLAG_REQUEST 0x00000001
#define REQUEST_OPLOCK_INPUT_FLAG_ACK 0x00000002
#define REQUEST_OPLOCK_INPUT_FLAG_COMPLETE_ACK_ON_CLOSE 0x00000004
#define REQUEST_OPLOCK_CURRENT_VERSION 1
typedef struct _REQUEST_OPLOCK_INPUT_BUFFER {
    USHORT StructureVersion;
    USHORT StructureLength;
    ULONG RequestedOplockLevel;
    ULONG Flags;
} REQUEST_OPLOCK_INPUT_BUFFER, *PREQUEST_OPLOCK_INPUT_BUFFER;
#define REQUEST_OPLOCK_OUTPUT_FLAG_ACK_REQUIRED 0x00000001
#define REQUEST_OPLOCK_OUTPUT_FLAG_MODES_PROVIDED 0x00000002
typedef struct _REQUEST_OPLOCK_OUTPUT_BUFFER {
    USHORT StructureVersion;
    USHORT StructureLength;
    ULONG OriginalOplockLevel;
    ULONG NewOplockLevel;
    ULONG Flags;
    ACCESS_MASK AccessMode;
    USHORT ShareMode;
} REQUEST_OPLOCK_OUTPUT_BUFFER, *PREQUEST_OPLOCK_OUTPUT_BUFFER;
#define FILE_OPLOCK_BROKEN_TO_LEVEL_2 0x00000007
#define FILE_OPLOCK_BROKEN_TO_NONE 0x00000008
#define FILE_OPBATCH_BREAK_UNDERWAY 0x00000009

NT_EXTERN_C_BEGIN
NT_API PFILE_LOCK FsRtlAllocateFileLock(PCOMPLETE_LOCK_IRP_ROUTINE CompleteLockIrpRoutine,
                                        PUNLOCK_ROUTINE UnlockRoutine);
NT_API void FsRtlFreeFileLock(PFILE_LOCK FileLock);
NT_API void FsRtlInitializeFileLock(PFILE_LOCK FileLock,
                                    PCOMPLETE_LOCK_IRP_ROUTINE CompleteLockIrpRoutine,
                                    PUNLOCK_ROUTINE UnlockRoutine);
NT_API void FsRtlUninitializeFileLock(PFILE_LOCK FileLock);
NT_API NTSTATUS FsRtlProcessFileLock(PFILE_LOCK FileLock, PIRP Irp, PVOID Context);
NT_API BOOLEAN FsRtlCheckLockForReadAccess(PFILE_LOCK FileLock, PIRP Irp);
NT_API BOOLEAN FsRtlCheckLockForWriteAccess(PFILE_LOCK FileLock, PIRP Irp);
NT_API BOOLEAN FsRtlCheckLockForOplockRequest(PFILE_LOCK FileLock, PLARGE_INTEGER AllocationSize);
NT_API BOOLEAN FsRtlFastCheckLockForRead(PFILE_LOCK FileLock, PLARGE_INTEGER StartingByte,
                                         PLARGE_INTEGER Length, ULONG Key, PFILE_OBJECT FileObject,
                                         PVOID Process);
NT_API BOOLEAN FsRtlFastCheckLockForWrite(PFILE_LOCK FileLock, PLARGE_INTEGER StartingByte,
                                          PLARGE_INTEGER Length, ULONG Key, PVOID FileObject,
                                          PVOID Process);
NT_API PFILE_LOCK_INFO FsRtlGetNextFileLock(PFILE_LOCK FileLock, BOOLEAN Restart);
NT_API NTSTATUS FsRtlFastUnlockSingle(PFILE_LOCK FileLock, PFILE_OBJECT FileObject,
                                      PLARGE_INTEGER FileOffset, PLARGE_INTEGER Length,
                                      PEPROCESS Process, ULONG Key, PVOID Context,
                                      BOOLEAN AlreadySynchronized);
NT_API NTSTATUS FsRtlFastUnlockAll(PFILE_LOCK FileLock, PFILE_OBJECT FileObject, PEPROCESS Process,
                                   PVOID Context);
NT_API NTSTATUS FsRtlFastUnlockAllByKey(PFILE_LOCK FileLock, PFILE_OBJECT FileObject,
                                        PEPROCESS Process, ULONG Key, PVOID Context);
NT_API BOOLEAN FsRtlPrivateLock(PFILE_LOCK FileLock, PFILE_OBJECT FileObject,
                                PLARGE_INTEGER FileOffset, PLARGE_INTEGER Length, PEPROCESS Process,
                                ULONG Key, BOOLEAN FailImmediately, BOOLEAN ExclusiveLock,
                                PIO_STATUS_BLOCK IoStatus, PIRP Irp, PVOID Context,
                                BOOLEAN AlreadySynchronized);

NT_API void FsRtlInitializeOplock(POPLOCK Oplock);
NT_API void FsRtlUninitializeOplock(POPLOCK Oplock);
NT_API NTSTATUS FsRtlOplockFsctrl(POPLOCK Oplock, PIRP Irp, ULONG OpenCount);
NT_API NTSTATUS FsRtlOplockFsctrlEx(POPLOCK Oplock, PIRP Irp, ULONG OpenCount, ULONG Flags);
NT_API NTSTATUS FsRtlCheckOplock(POPLOCK Oplock, PIRP Irp, PVOID Context,
                                 POPLOCK_WAIT_COMPLETE_ROUTINE CompletionRoutine,
                                 POPLOCK_FS_PREPOST_IRP PostIrpRoutine);
NT_API NTSTATUS FsRtlCheckOplockEx(POPLOCK Oplock, PIRP Irp, ULONG Flags, PVOID Context,
                                   POPLOCK_WAIT_COMPLETE_ROUTINE CompletionRoutine,
                                   POPLOCK_FS_PREPOST_IRP PostIrpRoutine);
NT_API NTSTATUS FsRtlOplockBreakToNone(POPLOCK Oplock, PIO_STACK_LOCATION IrpSp, PIRP Irp,
                                       PVOID Context,
                                       POPLOCK_WAIT_COMPLETE_ROUTINE CompletionRoutine,
                                       POPLOCK_FS_PREPOST_IRP PostIrpRoutine);
NT_API NTSTATUS FsRtlOplockBreakToNoneEx(POPLOCK Oplock, PIRP Irp, ULONG Flags, PVOID Context,
                                         POPLOCK_WAIT_COMPLETE_ROUTINE CompletionRoutine,
                                         POPLOCK_FS_PREPOST_IRP PostIrpRoutine);
NT_API NTSTATUS FsRtlOplockBreakH(POPLOCK Oplock, PIRP Irp, ULONG Flags, PVOID Context,
                                  POPLOCK_WAIT_COMPLETE_ROUTINE CompletionRoutine,
                                  POPLOCK_FS_PREPOST_IRP PostIrpRoutine);
NT_API BOOLEAN FsRtlOplockIsFastIoPossible(POPLOCK Oplock);
NT_API BOOLEAN FsRtlOplockIsSharedRequest(PIRP Irp);
NT_API BOOLEAN FsRtlOplockKeysEqual(PFILE_OBJECT Fo1, PFILE_OBJECT Fo2);
NT_API NTSTATUS FsRtlOplockGetAnyBreakOwnerProcess(POPLOCK Oplock, PVOID* Owner);
NT_API BOOLEAN FsRtlCurrentBatchOplock(POPLOCK Oplock);
NT_API BOOLEAN FsRtlCurrentOplock(POPLOCK Oplock);
NT_API BOOLEAN FsRtlCurrentOplockH(POPLOCK Oplock);
NT_API NTSTATUS FsRtlCheckUpperOplock(POPLOCK Oplock, ULONG NewLowerOplockState,
                                      PVOID CompletionRoutineContext,
                                      POPLOCK_WAIT_COMPLETE_ROUTINE CompletionRoutine,
                                      POPLOCK_FS_PREPOST_IRP PrePendRoutine, ULONG Flags);
NT_API NTSTATUS FsRtlUpperOplockFsctrl(POPLOCK Oplock, PIRP Irp, ULONG OpenCount,
                                       ULONG LowerOplockState, ULONG Flags);
NT_EXTERN_C_END

#endif
