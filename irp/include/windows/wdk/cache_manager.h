/* The cache manager's interface for file systems. Declarations only: no cache stands behind them.
   Source: WDK ntifs.h reference, "Cache manager routines". */
#ifndef IRPVERBS_WINDOWS_CACHE_MANAGER_H
#define IRPVERBS_WINDOWS_CACHE_MANAGER_H

#include <windows/wdk/executive.h>
#include <windows/wdk/files.h>

#define PIN_WAIT 1
#define PIN_EXCLUSIVE 2
#define PIN_NO_READ 4
#define PIN_IF_BCB 8
#define PIN_CALLER_TRACKS_DIRTY_DATA 32
#define PIN_HIGH_PRIORITY 64
#define PIN_VERIFY_REQUIRED 128
#define MAP_WAIT 1
#define MAP_NO_READ 16
#define MAP_HIGH_PRIORITY 64
#define MAP_DISABLE_PAGEFAULT_CLUSTERING 256
#define UNINITIALIZE_CACHE_MAPS 0x1
#define DO_NOT_RETRY_PURGE 0x2
#define DO_NOT_PURGE_DIRTY_PAGES 0x4
#define PURGE_WITH_ACTIVE_VIEWS 0x8
#define CC_FLUSH_AND_PURGE_NO_PURGE 0x1
#define CC_FLUSH_AND_PURGE_GATHER_DIRTY_BITS 0x2
#define CC_FLUSH_AND_PURGE_WRITEABLE_VIEWS_NOTSEEN 0x4
#define CC_AGGRESSIVE_UNMAP_BEHIND 0x1
#define CC_DISABLE_READ_AHEAD 0x2
#define CC_DISABLE_WRITE_BEHIND 0x4
#define CC_DISABLE_DIRTY_PAGE_TRACKING 0x8
#define CC_DISABLE_UNMAP_BEHIND 0x10
#define CC_ENABLE_CPU_CACHE 0x10000000
#define CC_ENABLE_DISK_IO_ACCOUNTING 0x00000020
#define VACB_MAPPING_GRANULARITY 0x40000
#define VACB_OFFSET_SHIFT 18

typedef struct _CC_FILE_SIZES {
    LARGE_INTEGER AllocationSize;
    LARGE_INTEGER FileSize;
    LARGE_INTEGER ValidDataLength;
} CC_FILE_SIZES, *PCC_FILE_SIZES;
typedef struct _PUBLIC_BCB {
    CSHORT NodeTypeCode;
    CSHORT NodeByteSize;
    ULONG MappedLength;
    LARGE_INTEGER MappedFileOffset;
} PUBLIC_BCB, *PPUBLIC_BCB;
typedef struct _CACHE_UNINITIALIZE_EVENT {
    struct _CACHE_UNINITIALIZE_EVENT* Next;
    KEVENT Event;
} CACHE_UNINITIALIZE_EVENT, *PCACHE_UNINITIALIZE_EVENT;
typedef BOOLEAN (*PACQUIRE_FOR_LAZY_WRITE)(PVOID Context, BOOLEAN Wait);
typedef void (*PRELEASE_FROM_LAZY_WRITE)(PVOID Context);
typedef BOOLEAN (*PACQUIRE_FOR_READ_AHEAD)(PVOID Context, BOOLEAN Wait);
typedef void (*PRELEASE_FROM_READ_AHEAD)(PVOID Context);
typedef struct _CACHE_MANAGER_CALLBACKS {
    PACQUIRE_FOR_LAZY_WRITE AcquireForLazyWrite;
    PRELEASE_FROM_LAZY_WRITE ReleaseFromLazyWrite;
    PACQUIRE_FOR_READ_AHEAD AcquireForReadAhead;
    PRELEASE_FROM_READ_AHEAD ReleaseFromReadAhead;
} CACHE_MANAGER_CALLBACKS, *PCACHE_MANAGER_CALLBACKS;
typedef BOOLEAN (*PACQUIRE_FOR_LAZY_WRITE_EX)(PVOID Context, ULONG Flags);
typedef BOOLEAN (*PACQUIRE_FOR_READ_AHEAD_EX)(PVOID Context, ULONG Flags);
typedef struct _CACHE_MANAGER_CALLBACK_FUNCTIONS {
    PACQUIRE_FOR_LAZY_WRITE_EX AcquireForLazyWriteEx;
    PRELEASE_FROM_LAZY_WRITE ReleaseFromLazyWrite;
    PACQUIRE_FOR_READ_AHEAD_EX AcquireForReadAheadEx;
    PRELEASE_FROM_READ_AHEAD ReleaseFromReadAhead;
} CACHE_MANAGER_CALLBACK_FUNCTIONS;
typedef struct _CACHE_MANAGER_CALLBACKS_EX {
    USHORT Version;
    USHORT Size;
    CACHE_MANAGER_CALLBACK_FUNCTIONS Functions;
} CACHE_MANAGER_CALLBACKS_EX, *PCACHE_MANAGER_CALLBACKS_EX;
#define CACHE_MANAGER_CALLBACKS_EX_V1 1
typedef void DIRTY_PAGE_ROUTINE(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                                PLARGE_INTEGER OldestLsn, PLARGE_INTEGER NewestLsn, PVOID Context1,
                                PVOID Context2);
typedef DIRTY_PAGE_ROUTINE* PDIRTY_PAGE_ROUTINE;
typedef void (*PFLUSH_TO_LSN)(PVOID LogHandle, LARGE_INTEGER Lsn);
typedef void (*PCC_POST_DEFERRED_WRITE)(PVOID Context1, PVOID Context2);
typedef void (*PCC_ASYNC_READ_COMPLETION_CALLBACK)(PVOID Context);
typedef struct _CC_ASYNC_READ_CONTEXT {
    PCC_ASYNC_READ_COMPLETION_CALLBACK CompletionRoutine;
    PVOID Context;
    PMDL Mdl;
    KPROCESSOR_MODE RequestorMode;
    ULONG NestingLevel;
} CC_ASYNC_READ_CONTEXT, *PCC_ASYNC_READ_CONTEXT;

NT_EXTERN_C_BEGIN
NT_API void CcInitializeCacheMap(PFILE_OBJECT FileObject, PCC_FILE_SIZES FileSizes,
                                 BOOLEAN PinAccess, PCACHE_MANAGER_CALLBACKS Callbacks,
                                 PVOID LazyWriteContext);
NT_API void CcInitializeCacheMapEx(PFILE_OBJECT FileObject, PCC_FILE_SIZES FileSizes,
                                   BOOLEAN PinAccess, PCACHE_MANAGER_CALLBACKS Callbacks,
                                   PVOID LazyWriteContext, ULONG Flags);
NT_API BOOLEAN CcUninitializeCacheMap(PFILE_OBJECT FileObject, PLARGE_INTEGER TruncateSize,
                                      PCACHE_UNINITIALIZE_EVENT UninitializeEvent);
NT_API void CcSetFileSizes(PFILE_OBJECT FileObject, PCC_FILE_SIZES FileSizes);
NT_API NTSTATUS CcSetFileSizesEx(PFILE_OBJECT FileObject, PCC_FILE_SIZES FileSizes);
NT_API BOOLEAN CcPurgeCacheSection(PSECTION_OBJECT_POINTERS SectionObjectPointer,
                                   PLARGE_INTEGER FileOffset, ULONG Length, ULONG Flags);
NT_API void CcFlushCache(PSECTION_OBJECT_POINTERS SectionObjectPointer, PLARGE_INTEGER FileOffset,
                         ULONG Length, PIO_STATUS_BLOCK IoStatus);
NT_API void CcCoherencyFlushAndPurgeCache(PSECTION_OBJECT_POINTERS SectionObjectPointer,
                                          PLARGE_INTEGER FileOffset, ULONG Length,
                                          PIO_STATUS_BLOCK IoStatus, ULONG Flags);
NT_API LARGE_INTEGER CcGetFlushedValidData(PSECTION_OBJECT_POINTERS SectionObjectPointer,
                                           BOOLEAN BcbListHeld);
NT_API BOOLEAN CcZeroData(PFILE_OBJECT FileObject, PLARGE_INTEGER StartOffset,
                          PLARGE_INTEGER EndOffset, BOOLEAN Wait);
NT_API BOOLEAN CcZeroDataOnDisk(PFILE_OBJECT FileObject, PLARGE_INTEGER StartOffset,
                                PLARGE_INTEGER EndOffset, BOOLEAN Wait);
NT_API void CcSetDirtyPageThreshold(PFILE_OBJECT FileObject, ULONG DirtyPageThreshold);
NT_API PFILE_OBJECT CcGetFileObjectFromSectionPtrs(PSECTION_OBJECT_POINTERS SectionObjectPointer);
NT_API PFILE_OBJECT
CcGetFileObjectFromSectionPtrsRef(PSECTION_OBJECT_POINTERS SectionObjectPointer);
NT_API PFILE_OBJECT CcGetFileObjectFromBcb(PVOID Bcb);
NT_API BOOLEAN CcCanIWrite(PFILE_OBJECT FileObject, ULONG BytesToWrite, BOOLEAN Wait,
                           UCHAR Retrying);
NT_API void CcDeferWrite(PFILE_OBJECT FileObject, PCC_POST_DEFERRED_WRITE PostRoutine,
                         PVOID Context1, PVOID Context2, ULONG BytesToWrite, BOOLEAN Retrying);
NT_API BOOLEAN CcCopyRead(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                          BOOLEAN Wait, PVOID Buffer, PIO_STATUS_BLOCK IoStatus);
NT_API BOOLEAN CcCopyReadEx(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                            BOOLEAN Wait, PVOID Buffer, PIO_STATUS_BLOCK IoStatus,
                            PETHREAD IoIssuerThread);
NT_API BOOLEAN CcAsyncCopyRead(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                               BOOLEAN Wait, PVOID Buffer, PIO_STATUS_BLOCK IoStatus,
                               PETHREAD IoIssuerThread, PCC_ASYNC_READ_CONTEXT AsyncReadContext);
NT_API void CcFastCopyRead(PFILE_OBJECT FileObject, ULONG FileOffset, ULONG Length, ULONG PageCount,
                           PVOID Buffer, PIO_STATUS_BLOCK IoStatus);
NT_API BOOLEAN CcCopyWrite(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                           BOOLEAN Wait, PVOID Buffer);
NT_API BOOLEAN CcCopyWriteEx(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                             BOOLEAN Wait, PVOID Buffer, PETHREAD IoIssuerThread);
NT_API void CcFastCopyWrite(PFILE_OBJECT FileObject, ULONG FileOffset, ULONG Length, PVOID Buffer);
NT_API BOOLEAN CcCopyWriteWontFlush(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset,
                                    ULONG Length);
NT_API void CcMdlRead(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                      PMDL* MdlChain, PIO_STATUS_BLOCK IoStatus);
NT_API void CcMdlReadComplete(PFILE_OBJECT FileObject, PMDL MdlChain);
NT_API void CcPrepareMdlWrite(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                              PMDL* MdlChain, PIO_STATUS_BLOCK IoStatus);
NT_API void CcMdlWriteComplete(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, PMDL MdlChain);
NT_API void CcMdlWriteAbort(PFILE_OBJECT FileObject, PMDL MdlChain);
NT_API void CcScheduleReadAhead(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length);
NT_API void CcScheduleReadAheadEx(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                                  PETHREAD IoIssuerThread);
NT_API NTSTATUS CcWaitForCurrentLazyWriterActivity(void);
NT_API void CcSetReadAheadGranularity(PFILE_OBJECT FileObject, ULONG Granularity);
NT_API void CcSetAdditionalCacheAttributes(PFILE_OBJECT FileObject, BOOLEAN DisableReadAhead,
                                           BOOLEAN DisableWriteBehind);
NT_API void CcSetAdditionalCacheAttributesEx(PFILE_OBJECT FileObject, ULONG Flags);
NT_API void CcSetParallelFlushFile(PFILE_OBJECT FileObject, BOOLEAN EnableParallelFlush);
NT_API void CcSetLogHandleForFile(PFILE_OBJECT FileObject, PVOID LogHandle,
                                  PFLUSH_TO_LSN FlushToLsnRoutine);
NT_API LARGE_INTEGER CcGetDirtyPages(PVOID LogHandle, PDIRTY_PAGE_ROUTINE DirtyPageRoutine,
                                     PVOID Context1, PVOID Context2);
NT_API BOOLEAN CcIsThereDirtyData(PVPB Vpb);
NT_API BOOLEAN CcIsThereDirtyDataEx(PVPB Vpb, PULONG NumberOfDirtyPages);
NT_API BOOLEAN CcIsThereDirtyLoggedPages(PDEVICE_OBJECT DeviceObject, PULONG NumberOfDirtyPages);
NT_API BOOLEAN CcPinRead(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                         ULONG Flags, PVOID* Bcb, PVOID* Buffer);
NT_API BOOLEAN CcMapData(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                         ULONG Flags, PVOID* Bcb, PVOID* Buffer);
NT_API BOOLEAN CcPinMappedData(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                               ULONG Flags, PVOID* Bcb);
NT_API BOOLEAN CcPreparePinWrite(PFILE_OBJECT FileObject, PLARGE_INTEGER FileOffset, ULONG Length,
                                 BOOLEAN Zero, ULONG Flags, PVOID* Bcb, PVOID* Buffer);
NT_API void CcSetDirtyPinnedData(PVOID Bcb, PLARGE_INTEGER Lsn);
NT_API void CcUnpinData(PVOID Bcb);
NT_API void CcUnpinDataForThread(PVOID Bcb, ERESOURCE_THREAD ResourceThreadId);
NT_API void CcSetBcbOwnerPointer(PVOID Bcb, PVOID OwnerPointer);
NT_API void CcRepinBcb(PVOID Bcb);
NT_API void CcUnpinRepinnedBcb(PVOID Bcb, BOOLEAN WriteThrough, PIO_STATUS_BLOCK IoStatus);
NT_API PVOID CcRemapBcb(PVOID Bcb);
NT_API PLARGE_INTEGER IrpverbsFileSizePointer(PFILE_OBJECT FileObject);
NT_API extern ULONG CcFastMdlReadWait;
NT_API extern ULONG CcFastMdlReadNotPossible;
NT_API extern ULONG CcFastReadNotPossible;
NT_API extern ULONG CcFastReadWait;
NT_API extern ULONG CcFastReadNoWait;
NT_API extern ULONG CcFastReadResourceMiss;
NT_EXTERN_C_END

#define CcIsFileCached(file)                                                                       \
    ((file)->SectionObjectPointer != NULL && (file)->SectionObjectPointer->SharedCacheMap != NULL)
#define CcGetFileSizePointer(file) IrpverbsFileSizePointer(file)
#define CcReadAhead(file, offset, length)                                                          \
    do {                                                                                           \
        if ((length) >= 256) CcScheduleReadAhead((file), (offset), (length));                      \
    } while (0)

#endif
