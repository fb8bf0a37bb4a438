/* Map control blocks: runs of a file's virtual blocks on its volume's logical ones. Declarations
   only. Source: WDK ntifs.h reference, FsRtlInitializeLargeMcb and so on. */
#ifndef IRPVERBS_WINDOWS_FILE_MAPPING_H
#define IRPVERBS_WINDOWS_FILE_MAPPING_H

#include <windows/wdk/executive.h>

typedef ULONG VBN, *PVBN, LBN, *PLBN;
typedef LONGLONG LARGE_VBN, *PLARGE_VBN, LARGE_LBN, *PLARGE_LBN;
typedef LONGLONG LSN, *PLSN;
typedef struct _BASE_MCB {
    ULONG MaximumPairCount;
    ULONG PairCount;
    USHORT PoolType;
    USHORT Flags;
    PVOID Mapping;
} BASE_MCB, *PBASE_MCB;
typedef struct _LARGE_MCB {
    PKGUARDED_MUTEX GuardedMutex;
    BASE_MCB BaseMcb;
} LARGE_MCB, *PLARGE_MCB;
typedef struct _MCB {
    LARGE_MCB DummyFieldThatSizesThisStructureCorrectly;
} MCB, *PMCB;
#define MCB_FLAG_RAISE_ON_ALLOCATION_FAILURE 1

NT_EXTERN_C_BEGIN
NT_API void FsRtlInitializeMcb(PMCB Mcb, POOL_TYPE PoolType);
NT_API void FsRtlUninitializeMcb(PMCB Mcb);
NT_API void FsRtlTruncateMcb(PMCB Mcb, VBN Vbn);
NT_API BOOLEAN FsRtlAddMcbEntry(PMCB Mcb, VBN Vbn, LBN Lbn, ULONG SectorCount);
NT_API void FsRtlRemoveMcbEntry(PMCB Mcb, VBN Vbn, ULONG SectorCount);
NT_API BOOLEAN FsRtlLookupMcbEntry(PMCB Mcb, VBN Vbn, PLBN Lbn, PULONG SectorCount, PULONG Index);
NT_API BOOLEAN FsRtlLookupLastMcbEntry(PMCB Mcb, PVBN Vbn, PLBN Lbn);
NT_API ULONG FsRtlNumberOfRunsInMcb(PMCB Mcb);
NT_API BOOLEAN FsRtlGetNextMcbEntry(PMCB Mcb, ULONG RunIndex, PVBN Vbn, PLBN Lbn,
                                    PULONG SectorCount);
NT_API void FsRtlInitializeLargeMcb(PLARGE_MCB Mcb, POOL_TYPE PoolType);
NT_API void FsRtlUninitializeLargeMcb(PLARGE_MCB Mcb);
NT_API void FsRtlResetLargeMcb(PLARGE_MCB Mcb, BOOLEAN SelfSynchronized);
NT_API void FsRtlTruncateLargeMcb(PLARGE_MCB Mcb, LONGLONG Vbn);
NT_API BOOLEAN FsRtlAddLargeMcbEntry(PLARGE_MCB Mcb, LONGLONG Vbn, LONGLONG Lbn,
                                     LONGLONG SectorCount);
NT_API void FsRtlRemoveLargeMcbEntry(PLARGE_MCB Mcb, LONGLONG Vbn, LONGLONG SectorCount);
NT_API BOOLEAN FsRtlLookupLargeMcbEntry(PLARGE_MCB Mcb, LONGLONG Vbn, PLONGLONG Lbn,
                                        PLONGLONG SectorCountFromLbn, PLONGLONG StartingLbn,
                                        PLONGLONG SectorCountFromStartingLbn, PULONG Index);
NT_API BOOLEAN FsRtlLookupLastLargeMcbEntry(PLARGE_MCB Mcb, PLONGLONG Vbn, PLONGLONG Lbn);
NT_API BOOLEAN FsRtlLookupLastLargeMcbEntryAndIndex(PLARGE_MCB Mcb, PLONGLONG LargeVbn,
                                                    PLONGLONG LargeLbn, PULONG Index);
NT_API ULONG FsRtlNumberOfRunsInLargeMcb(PLARGE_MCB Mcb);
NT_API BOOLEAN FsRtlGetNextLargeMcbEntry(PLARGE_MCB Mcb, ULONG RunIndex, PLONGLONG Vbn,
                                         PLONGLONG Lbn, PLONGLONG SectorCount);
NT_API BOOLEAN FsRtlSplitLargeMcb(PLARGE_MCB Mcb, LONGLONG Vbn, LONGLONG Amount);
NT_API void FsRtlInitializeBaseMcb(PBASE_MCB Mcb, POOL_TYPE PoolType);
NT_API BOOLEAN FsRtlInitializeBaseMcbEx(PBASE_MCB Mcb, POOL_TYPE PoolType, USHORT Flags);
NT_API void FsRtlUninitializeBaseMcb(PBASE_MCB Mcb);
NT_API void FsRtlResetBaseMcb(PBASE_MCB Mcb);
NT_API void FsRtlTruncateBaseMcb(PBASE_MCB Mcb, LONGLONG Vbn);
NT_API BOOLEAN FsRtlAddBaseMcbEntry(PBASE_MCB Mcb, LONGLONG Vbn, LONGLONG Lbn,
                                    LONGLONG SectorCount);
NT_API NTSTATUS FsRtlAddBaseMcbEntryEx(PBASE_MCB Mcb, LONGLONG Vbn, LONGLONG Lbn,
                                       LONGLONG SectorCount);
NT_API BOOLEAN FsRtlRemoveBaseMcbEntry(PBASE_MCB Mcb, LONGLONG Vbn, LONGLONG SectorCount);
NT_API BOOLEAN FsRtlLookupBaseMcbEntry(PBASE_MCB Mcb, LONGLONG Vbn, PLONGLONG Lbn,
                                       PLONGLONG SectorCountFromLbn, PLONGLONG StartingLbn,
                                       PLONGLONG SectorCountFromStartingLbn, PULONG Index);
NT_API BOOLEAN FsRtlLookupLastBaseMcbEntry(PBASE_MCB Mcb, PLONGLONG Vbn, PLONGLONG Lbn);
NT_API BOOLEAN FsRtlLookupLastBaseMcbEntryAndIndex(PBASE_MCB Mcb, PLONGLONG LargeVbn,
                                                   PLONGLONG LargeLbn, PULONG Index);
NT_API ULONG FsRtlNumberOfRunsInBaseMcb(PBASE_MCB Mcb);
NT_API BOOLEAN FsRtlGetNextBaseMcbEntry(PBASE_MCB Mcb, ULONG RunIndex, PLONGLONG Vbn, PLONGLONG Lbn,
                                        PLONGLONG SectorCount);
NT_API BOOLEAN FsRtlSplitBaseMcb(PBASE_MCB Mcb, LONGLONG Vbn, LONGLONG Amount);
NT_EXTERN_C_END

#endif
