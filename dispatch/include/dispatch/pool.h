/* Tagged pool memory and lookaside lists. */
#ifndef IRPVERBS_DISPATCH_POOL_H
#define IRPVERBS_DISPATCH_POOL_H

#include <dispatch/irql.h>

NT_EXTERN_C_BEGIN

typedef enum _POOL_TYPE { NonPagedPool = 0, PagedPool = 1, NonPagedPoolNx = 512 } POOL_TYPE;
typedef enum _EX_POOL_PRIORITY {
    LowPoolPriority = 0,
    NormalPoolPriority = 16,
    HighPoolPriority = 32
} EX_POOL_PRIORITY;
typedef ULONGLONG POOL_FLAGS;
#define POOL_FLAG_UNINITIALIZED 0x0000000000000002ull
#define POOL_FLAG_NON_PAGED 0x0000000000000040ull
#define POOL_FLAG_PAGED 0x0000000000000100ull

/* Allocates at least NumberOfBytes, aligned to 16. Page alignment of large blocks is not
   guaranteed. Tag: four characters that a leak report shows. NULL when memory is short. IRQL: <=
   DISPATCH_LEVEL; paged: <= APC_LEVEL. Source: WDK ExAllocatePoolWithTag. */
NT_API PVOID ExAllocatePoolWithTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag);

/* Allocates as ExAllocatePoolWithTag does; Priority is ignored. IRQL: <= DISPATCH_LEVEL; paged: <=
   APC_LEVEL. Source: WDK ExAllocatePoolWithTagPriority. */
NT_API PVOID ExAllocatePoolWithTagPriority(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag,
                                           EX_POOL_PRIORITY Priority);

/* Allocates at least NumberOfBytes, zeroed unless POOL_FLAG_UNINITIALIZED is given. Ownership: the
   caller frees it with ExFreePoolWithTag. NULL when memory is short. IRQL: <= DISPATCH_LEVEL; with
   POOL_FLAG_PAGED: <= APC_LEVEL. Source: WDK ExAllocatePool2. */
NT_API PVOID ExAllocatePool2(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag);

/* Frees pool memory. Tag 0 matches any tag. While the verifier is on: bug check 0xC2 for a wrong
   tag, 0xC4 for a bad address or a second free. IRQL: <= DISPATCH_LEVEL; paged: <= APC_LEVEL.
   Source: WDK ExFreePoolWithTag, ExFreePool. */
NT_API void ExFreePoolWithTag(PVOID P, ULONG Tag);
NT_API void ExFreePool(PVOID P);

/* Sums of the allocations under a tag while the verifier checked the pool. */
typedef struct _POOL_TAG_USAGE {
    ULONG Tag;
    ULONGLONG Allocations;
    ULONGLONG Frees;
    SIZE_T Bytes; /* not freed yet */
    SIZE_T PeakBytes;
} POOL_TAG_USAGE, *PPOOL_TAG_USAGE;

/* Stores the sums of a tag in *Usage; Tag 0: the sums of all tags. FALSE: no such allocation was
   recorded. IRQL: any. Ours. */
NT_API BOOLEAN ExQueryPoolTagUsage(ULONG Tag, PPOOL_TAG_USAGE Usage) NT_NOEXCEPT;

/* A list of free blocks of one size. Ownership: the caller keeps the list's memory. */
typedef struct _NPAGED_LOOKASIDE_LIST {
    ULONG_PTR Lock;
    SINGLE_LIST_ENTRY ListHead;
    USHORT Depth;
    USHORT MaximumDepth;
    ULONG Tag;
    SIZE_T Size;
    PVOID (*Allocate)(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag);
    void (*Free)(PVOID Buffer);
    ULONG TotalAllocates;
    ULONG AllocateMisses;
    ULONG TotalFrees;
    ULONG FreeMisses;
    POOL_TYPE Type;
} NPAGED_LOOKASIDE_LIST, *PNPAGED_LOOKASIDE_LIST, PAGED_LOOKASIDE_LIST, *PPAGED_LOOKASIDE_LIST;

/* Initializes a list of blocks of Size bytes. When Allocate or Free is NULL, the pool's function is
   used. Flags must be 0. Depth 0 lets the library choose. IRQL: <= DISPATCH_LEVEL; paged: <=
   APC_LEVEL. Source: WDK ExInitializeNPagedLookasideList. */
NT_API void ExInitializeNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside,
                                            PVOID (*Allocate)(POOL_TYPE, SIZE_T, ULONG),
                                            void (*Free)(PVOID), ULONG Flags, SIZE_T Size,
                                            ULONG Tag, USHORT Depth);
NT_API void ExInitializePagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside,
                                           PVOID (*Allocate)(POOL_TYPE, SIZE_T, ULONG),
                                           void (*Free)(PVOID), ULONG Flags, SIZE_T Size, ULONG Tag,
                                           USHORT Depth);

/* Frees the blocks that the list holds. IRQL: <= DISPATCH_LEVEL; paged: <= APC_LEVEL. Source: WDK
   ExDeleteNPagedLookasideList. */
NT_API void ExDeleteNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside);
NT_API void ExDeletePagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside);

/* Returns a block from the list, or a new one, or NULL when memory is short. Ownership: the caller
   frees it to the same list. IRQL: <= DISPATCH_LEVEL; paged: <= APC_LEVEL. Source: WDK
   ExAllocateFromNPagedLookasideList. */
NT_API PVOID ExAllocateFromNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside);
NT_API PVOID ExAllocateFromPagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside);

/* Frees a block to the list that it came from; NULL is not allowed. IRQL: <= DISPATCH_LEVEL; paged:
   <= APC_LEVEL. Source: WDK ExFreeToNPagedLookasideList. */
NT_API void ExFreeToNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside, PVOID Entry);
NT_API void ExFreeToPagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside, PVOID Entry);

NT_EXTERN_C_END

#endif
