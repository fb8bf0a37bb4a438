/* The rest of the run-time library: bit maps, tables, integers, time, versions. Source: WDK wdm.h
   and ntddk.h reference, "Run-time library". */
#ifndef IRPVERBS_WINDOWS_RTL_H
#define IRPVERBS_WINDOWS_RTL_H

#include <windows/wdk/objects.h>
#include <windows/wdk/strings.h>

NT_EXTERN_C_BEGIN

/* Bit maps. Bit 0 is the lowest of the first ULONG. Searches return 0xffffffff when nothing is
   found. IRQL: any for non-paged memory. Source: WDK RtlInitializeBitMap and so on. */
typedef struct _RTL_BITMAP {
    ULONG SizeOfBitMap; /* bits */
    PULONG Buffer;
} RTL_BITMAP, *PRTL_BITMAP;
typedef struct _RTL_BITMAP_RUN {
    ULONG StartingIndex;
    ULONG NumberOfBits;
} RTL_BITMAP_RUN, *PRTL_BITMAP_RUN;
NT_API void RtlInitializeBitMap(PRTL_BITMAP BitMapHeader, PULONG BitMapBuffer,
                                ULONG SizeOfBitMap) NT_NOEXCEPT;
NT_API void RtlClearBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber) NT_NOEXCEPT;
NT_API void RtlSetBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber) NT_NOEXCEPT;
NT_API BOOLEAN RtlTestBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber) NT_NOEXCEPT;
#define RtlCheckBit(map, bit) ((((map)->Buffer[(bit) / 32]) >> ((bit) % 32)) & 1)
NT_API void RtlClearAllBits(PRTL_BITMAP BitMapHeader) NT_NOEXCEPT;
NT_API void RtlSetAllBits(PRTL_BITMAP BitMapHeader) NT_NOEXCEPT;
NT_API void RtlClearBits(PRTL_BITMAP BitMapHeader, ULONG StartingIndex,
                         ULONG NumberToClear) NT_NOEXCEPT;
NT_API void RtlSetBits(PRTL_BITMAP BitMapHeader, ULONG StartingIndex,
                       ULONG NumberToSet) NT_NOEXCEPT;
NT_API BOOLEAN RtlAreBitsClear(PRTL_BITMAP BitMapHeader, ULONG StartingIndex,
                               ULONG Length) NT_NOEXCEPT;
NT_API BOOLEAN RtlAreBitsSet(PRTL_BITMAP BitMapHeader, ULONG StartingIndex,
                             ULONG Length) NT_NOEXCEPT;
NT_API ULONG RtlFindClearBits(PRTL_BITMAP BitMapHeader, ULONG NumberToFind,
                              ULONG HintIndex) NT_NOEXCEPT;
NT_API ULONG RtlFindSetBits(PRTL_BITMAP BitMapHeader, ULONG NumberToFind,
                            ULONG HintIndex) NT_NOEXCEPT;
NT_API ULONG RtlFindClearBitsAndSet(PRTL_BITMAP BitMapHeader, ULONG NumberToFind,
                                    ULONG HintIndex) NT_NOEXCEPT;
NT_API ULONG RtlFindSetBitsAndClear(PRTL_BITMAP BitMapHeader, ULONG NumberToFind,
                                    ULONG HintIndex) NT_NOEXCEPT;
NT_API ULONG RtlFindFirstRunClear(PRTL_BITMAP BitMapHeader, PULONG StartingIndex) NT_NOEXCEPT;
NT_API ULONG RtlFindNextForwardRunClear(PRTL_BITMAP BitMapHeader, ULONG FromIndex,
                                        PULONG StartingRunIndex) NT_NOEXCEPT;
NT_API ULONG RtlFindLastBackwardRunClear(PRTL_BITMAP BitMapHeader, ULONG FromIndex,
                                         PULONG StartingRunIndex) NT_NOEXCEPT;
NT_API ULONG RtlFindLongestRunClear(PRTL_BITMAP BitMapHeader, PULONG StartingIndex) NT_NOEXCEPT;
NT_API ULONG RtlFindClearRuns(PRTL_BITMAP BitMapHeader, PRTL_BITMAP_RUN RunArray,
                              ULONG SizeOfRunArray, BOOLEAN LocateLongestRuns) NT_NOEXCEPT;
NT_API ULONG RtlNumberOfClearBits(PRTL_BITMAP BitMapHeader) NT_NOEXCEPT;
NT_API ULONG RtlNumberOfSetBits(PRTL_BITMAP BitMapHeader) NT_NOEXCEPT;
NT_API ULONG RtlNumberOfSetBitsUlongPtr(ULONG_PTR Target) NT_NOEXCEPT;
NT_API CCHAR RtlFindMostSignificantBit(ULONGLONG Set) NT_NOEXCEPT;
NT_API CCHAR RtlFindLeastSignificantBit(ULONGLONG Set) NT_NOEXCEPT;

/* Splay links, which file systems use for their trees of names. The caller serializes their use.
   RtlSplay makes a node the root and returns it; RtlDelete returns the new root, or NULL. The
   subtree functions look below the node alone, the real ones in the whole tree; NULL: there is no
   such node. IRQL: any for non-paged memory. Source: WDK RtlSplay, RtlDelete and so on. */
typedef struct _RTL_SPLAY_LINKS {
    struct _RTL_SPLAY_LINKS* Parent;
    struct _RTL_SPLAY_LINKS* LeftChild;
    struct _RTL_SPLAY_LINKS* RightChild;
} RTL_SPLAY_LINKS, *PRTL_SPLAY_LINKS;
#define RtlInitializeSplayLinks(links)                                                             \
    ((links)->Parent = (links), (links)->LeftChild = NULL, (links)->RightChild = NULL)
#define RtlParent(links) ((links)->Parent)
#define RtlLeftChild(links) ((links)->LeftChild)
#define RtlRightChild(links) ((links)->RightChild)
#define RtlIsRoot(links) ((links)->Parent == (links))
#define RtlIsLeftChild(links) ((links)->Parent->LeftChild == (links))
#define RtlIsRightChild(links) ((links)->Parent->RightChild == (links))
#define RtlInsertAsLeftChild(parent, child)                                                        \
    ((parent)->LeftChild = (child), (child)->Parent = (parent))
#define RtlInsertAsRightChild(parent, child)                                                       \
    ((parent)->RightChild = (child), (child)->Parent = (parent))
NT_API PRTL_SPLAY_LINKS RtlSplay(PRTL_SPLAY_LINKS Links) NT_NOEXCEPT;
NT_API PRTL_SPLAY_LINKS RtlDelete(PRTL_SPLAY_LINKS Links) NT_NOEXCEPT;
NT_API void RtlDeleteNoSplay(PRTL_SPLAY_LINKS Links, PRTL_SPLAY_LINKS* Root) NT_NOEXCEPT;
NT_API PRTL_SPLAY_LINKS RtlSubtreeSuccessor(PRTL_SPLAY_LINKS Links) NT_NOEXCEPT;
NT_API PRTL_SPLAY_LINKS RtlSubtreePredecessor(PRTL_SPLAY_LINKS Links) NT_NOEXCEPT;
NT_API PRTL_SPLAY_LINKS RtlRealSuccessor(PRTL_SPLAY_LINKS Links) NT_NOEXCEPT;
NT_API PRTL_SPLAY_LINKS RtlRealPredecessor(PRTL_SPLAY_LINKS Links) NT_NOEXCEPT;

/* Ordered tables: a generic table is a splay tree, an AVL table an AVL tree. The caller serializes
   their use, also of lookups in a generic table, which move the element to the root. An element's
   memory is a header and the data, of which the table keeps a copy. RtlGetElementGenericTable
   counts the elements from 0 in the order of their insertion, RtlGetElementGenericTableAvl in the
   order of the compare routine. RtlEnumerateGenericTable continues after the element that any
   function used last. A RestartKey that is NULL begins at the first element; it must not name a
   deleted one. IRQL: any for non-paged memory. Source: WDK RtlInitializeGenericTable(Avl) and so
   on. */
typedef enum _TABLE_SEARCH_RESULT {
    TableEmptyTree,
    TableFoundNode,
    TableInsertAsLeft,
    TableInsertAsRight
} TABLE_SEARCH_RESULT;
typedef enum _RTL_GENERIC_COMPARE_RESULTS {
    GenericLessThan,
    GenericGreaterThan,
    GenericEqual
} RTL_GENERIC_COMPARE_RESULTS;

typedef struct _RTL_BALANCED_LINKS {
    struct _RTL_BALANCED_LINKS* Parent;
    struct _RTL_BALANCED_LINKS* LeftChild;
    struct _RTL_BALANCED_LINKS* RightChild;
    CHAR Balance;
    UCHAR Reserved[3];
} RTL_BALANCED_LINKS, *PRTL_BALANCED_LINKS;

struct _RTL_AVL_TABLE;
typedef RTL_GENERIC_COMPARE_RESULTS RTL_AVL_COMPARE_ROUTINE(struct _RTL_AVL_TABLE* Table,
                                                            PVOID FirstStruct, PVOID SecondStruct);
typedef RTL_AVL_COMPARE_ROUTINE* PRTL_AVL_COMPARE_ROUTINE;
typedef PVOID RTL_AVL_ALLOCATE_ROUTINE(struct _RTL_AVL_TABLE* Table, CLONG ByteSize);
typedef RTL_AVL_ALLOCATE_ROUTINE* PRTL_AVL_ALLOCATE_ROUTINE;
typedef void RTL_AVL_FREE_ROUTINE(struct _RTL_AVL_TABLE* Table, PVOID Buffer);
typedef RTL_AVL_FREE_ROUTINE* PRTL_AVL_FREE_ROUTINE;

typedef struct _RTL_AVL_TABLE {
    RTL_BALANCED_LINKS BalancedRoot; /* RightChild is the root of the tree */
    PVOID OrderedPointer;
    ULONG WhichOrderedElement;
    ULONG NumberGenericTableElements;
    ULONG DepthOfTree;
    PRTL_BALANCED_LINKS RestartKey;
    ULONG DeleteCount;
    PRTL_AVL_COMPARE_ROUTINE CompareRoutine;
    PRTL_AVL_ALLOCATE_ROUTINE AllocateRoutine;
    PRTL_AVL_FREE_ROUTINE FreeRoutine;
    PVOID TableContext;
} RTL_AVL_TABLE, *PRTL_AVL_TABLE;

NT_API void RtlInitializeGenericTableAvl(PRTL_AVL_TABLE Table,
                                         PRTL_AVL_COMPARE_ROUTINE CompareRoutine,
                                         PRTL_AVL_ALLOCATE_ROUTINE AllocateRoutine,
                                         PRTL_AVL_FREE_ROUTINE FreeRoutine,
                                         PVOID TableContext) NT_NOEXCEPT;
/* Returns the data of the new element, or of the equal one that is there (*NewElement: FALSE), or
   NULL without memory. */
NT_API PVOID RtlInsertElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer, CLONG BufferSize,
                                             PBOOLEAN NewElement);
NT_API PVOID RtlInsertElementGenericTableFullAvl(PRTL_AVL_TABLE Table, PVOID Buffer,
                                                 CLONG BufferSize, PBOOLEAN NewElement,
                                                 PVOID NodeOrParent,
                                                 TABLE_SEARCH_RESULT SearchResult);
NT_API BOOLEAN RtlDeleteElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer);
NT_API void RtlDeleteElementGenericTableAvlEx(PRTL_AVL_TABLE Table, PVOID NodeOrParent);
NT_API PVOID RtlLookupElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer);
NT_API PVOID RtlLookupElementGenericTableFullAvl(PRTL_AVL_TABLE Table, PVOID Buffer,
                                                 PVOID* NodeOrParent,
                                                 TABLE_SEARCH_RESULT* SearchResult);
NT_API PVOID RtlLookupFirstMatchingElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer,
                                                          PVOID* RestartKey);
NT_API PVOID RtlEnumerateGenericTableAvl(PRTL_AVL_TABLE Table, BOOLEAN Restart);
NT_API PVOID RtlEnumerateGenericTableWithoutSplayingAvl(PRTL_AVL_TABLE Table, PVOID* RestartKey);
NT_API PVOID RtlGetElementGenericTableAvl(PRTL_AVL_TABLE Table, ULONG I);
NT_API ULONG RtlNumberGenericTableElementsAvl(PRTL_AVL_TABLE Table) NT_NOEXCEPT;
NT_API BOOLEAN RtlIsGenericTableEmptyAvl(PRTL_AVL_TABLE Table) NT_NOEXCEPT;

#ifdef RTL_USE_AVL_TABLES
#define RTL_GENERIC_TABLE RTL_AVL_TABLE
#define PRTL_GENERIC_TABLE PRTL_AVL_TABLE
#define _RTL_GENERIC_TABLE _RTL_AVL_TABLE
#define PRTL_GENERIC_COMPARE_ROUTINE PRTL_AVL_COMPARE_ROUTINE
#define PRTL_GENERIC_ALLOCATE_ROUTINE PRTL_AVL_ALLOCATE_ROUTINE
#define PRTL_GENERIC_FREE_ROUTINE PRTL_AVL_FREE_ROUTINE
#define RTL_GENERIC_COMPARE_ROUTINE RTL_AVL_COMPARE_ROUTINE
#define RTL_GENERIC_ALLOCATE_ROUTINE RTL_AVL_ALLOCATE_ROUTINE
#define RTL_GENERIC_FREE_ROUTINE RTL_AVL_FREE_ROUTINE
#define RtlInitializeGenericTable RtlInitializeGenericTableAvl
#define RtlInsertElementGenericTable RtlInsertElementGenericTableAvl
#define RtlInsertElementGenericTableFull RtlInsertElementGenericTableFullAvl
#define RtlDeleteElementGenericTable RtlDeleteElementGenericTableAvl
#define RtlLookupElementGenericTable RtlLookupElementGenericTableAvl
#define RtlLookupElementGenericTableFull RtlLookupElementGenericTableFullAvl
#define RtlEnumerateGenericTable RtlEnumerateGenericTableAvl
#define RtlEnumerateGenericTableWithoutSplaying RtlEnumerateGenericTableWithoutSplayingAvl
#define RtlGetElementGenericTable RtlGetElementGenericTableAvl
#define RtlNumberGenericTableElements RtlNumberGenericTableElementsAvl
#define RtlIsGenericTableEmpty RtlIsGenericTableEmptyAvl
#else
struct _RTL_GENERIC_TABLE;
typedef RTL_GENERIC_COMPARE_RESULTS RTL_GENERIC_COMPARE_ROUTINE(struct _RTL_GENERIC_TABLE* Table,
                                                                PVOID FirstStruct,
                                                                PVOID SecondStruct);
typedef RTL_GENERIC_COMPARE_ROUTINE* PRTL_GENERIC_COMPARE_ROUTINE;
typedef PVOID RTL_GENERIC_ALLOCATE_ROUTINE(struct _RTL_GENERIC_TABLE* Table, CLONG ByteSize);
typedef RTL_GENERIC_ALLOCATE_ROUTINE* PRTL_GENERIC_ALLOCATE_ROUTINE;
typedef void RTL_GENERIC_FREE_ROUTINE(struct _RTL_GENERIC_TABLE* Table, PVOID Buffer);
typedef RTL_GENERIC_FREE_ROUTINE* PRTL_GENERIC_FREE_ROUTINE;
typedef struct _RTL_GENERIC_TABLE {
    PRTL_SPLAY_LINKS TableRoot;
    LIST_ENTRY InsertOrderList;
    PLIST_ENTRY OrderedPointer;
    ULONG WhichOrderedElement;
    ULONG NumberGenericTableElements;
    PRTL_GENERIC_COMPARE_ROUTINE CompareRoutine;
    PRTL_GENERIC_ALLOCATE_ROUTINE AllocateRoutine;
    PRTL_GENERIC_FREE_ROUTINE FreeRoutine;
    PVOID TableContext;
} RTL_GENERIC_TABLE, *PRTL_GENERIC_TABLE;
NT_API void RtlInitializeGenericTable(PRTL_GENERIC_TABLE Table,
                                      PRTL_GENERIC_COMPARE_ROUTINE CompareRoutine,
                                      PRTL_GENERIC_ALLOCATE_ROUTINE AllocateRoutine,
                                      PRTL_GENERIC_FREE_ROUTINE FreeRoutine,
                                      PVOID TableContext) NT_NOEXCEPT;
NT_API PVOID RtlInsertElementGenericTable(PRTL_GENERIC_TABLE Table, PVOID Buffer, CLONG BufferSize,
                                          PBOOLEAN NewElement);
NT_API PVOID RtlInsertElementGenericTableFull(PRTL_GENERIC_TABLE Table, PVOID Buffer,
                                              CLONG BufferSize, PBOOLEAN NewElement,
                                              PVOID NodeOrParent, TABLE_SEARCH_RESULT SearchResult);
NT_API BOOLEAN RtlDeleteElementGenericTable(PRTL_GENERIC_TABLE Table, PVOID Buffer);
NT_API PVOID RtlLookupElementGenericTable(PRTL_GENERIC_TABLE Table, PVOID Buffer);
NT_API PVOID RtlLookupElementGenericTableFull(PRTL_GENERIC_TABLE Table, PVOID Buffer,
                                              PVOID* NodeOrParent,
                                              TABLE_SEARCH_RESULT* SearchResult);
NT_API PVOID RtlEnumerateGenericTable(PRTL_GENERIC_TABLE Table, BOOLEAN Restart);
NT_API PVOID RtlEnumerateGenericTableWithoutSplaying(PRTL_GENERIC_TABLE Table, PVOID* RestartKey);
NT_API PVOID RtlGetElementGenericTable(PRTL_GENERIC_TABLE Table, ULONG I);
NT_API ULONG RtlNumberGenericTableElements(PRTL_GENERIC_TABLE Table) NT_NOEXCEPT;
NT_API BOOLEAN RtlIsGenericTableEmpty(PRTL_GENERIC_TABLE Table) NT_NOEXCEPT;
#endif

/* 64-bit arithmetic of times when the compiler had none. IRQL: any. */
static inline LARGE_INTEGER IrpverbsLarge(LONGLONG value) NT_NOEXCEPT {
    LARGE_INTEGER large;
    large.QuadPart = value;
    return large;
}
#define RtlConvertLongToLargeInteger(value) IrpverbsLarge((LONG)(value))
#define RtlConvertUlongToLargeInteger(value) IrpverbsLarge((LONGLONG)(ULONG)(value))
#define RtlLargeIntegerAdd(a, b) IrpverbsLarge((a).QuadPart + (b).QuadPart)
#define RtlLargeIntegerSubtract(a, b) IrpverbsLarge((a).QuadPart - (b).QuadPart)
#define RtlLargeIntegerNegate(a) IrpverbsLarge(-(a).QuadPart)
#define RtlLargeIntegerShiftLeft(a, bits)                                                          \
    IrpverbsLarge((LONGLONG)((ULONGLONG)(a).QuadPart << (bits)))
#define RtlLargeIntegerShiftRight(a, bits)                                                         \
    IrpverbsLarge((LONGLONG)((ULONGLONG)(a).QuadPart >> (bits)))
#define RtlLargeIntegerArithmeticShift(a, bits) IrpverbsLarge((a).QuadPart >> (bits))
#define RtlLargeIntegerEqualTo(a, b) ((a).QuadPart == (b).QuadPart)
#define RtlLargeIntegerNotEqualTo(a, b) ((a).QuadPart != (b).QuadPart)
#define RtlLargeIntegerLessThan(a, b) ((a).QuadPart < (b).QuadPart)
#define RtlLargeIntegerLessThanOrEqualTo(a, b) ((a).QuadPart <= (b).QuadPart)
#define RtlLargeIntegerGreaterThan(a, b) ((a).QuadPart > (b).QuadPart)
#define RtlLargeIntegerGreaterThanOrEqualTo(a, b) ((a).QuadPart >= (b).QuadPart)
#define RtlLargeIntegerLessThanZero(a) ((a).QuadPart < 0)
#define RtlLargeIntegerLessOrEqualToZero(a) ((a).QuadPart <= 0)
#define RtlLargeIntegerGreaterThanZero(a) ((a).QuadPart > 0)
#define RtlLargeIntegerGreaterOrEqualToZero(a) ((a).QuadPart >= 0)
#define RtlLargeIntegerEqualToZero(a) ((a).QuadPart == 0)
#define RtlLargeIntegerNotEqualToZero(a) ((a).QuadPart != 0)
#define RtlEnlargedIntegerMultiply(a, b) IrpverbsLarge((LONGLONG)(LONG)(a) * (LONG)(b))
#define RtlEnlargedUnsignedMultiply(a, b)                                                          \
    IrpverbsLarge((LONGLONG)((ULONGLONG)(ULONG)(a) * (ULONG)(b)))
#define RtlExtendedIntegerMultiply(a, b) IrpverbsLarge((a).QuadPart*(LONG)(b))
NT_API ULONG RtlEnlargedUnsignedDivide(ULARGE_INTEGER Dividend, ULONG Divisor,
                                       PULONG Remainder) NT_NOEXCEPT;
NT_API LARGE_INTEGER RtlExtendedLargeIntegerDivide(LARGE_INTEGER Dividend, ULONG Divisor,
                                                   PULONG Remainder) NT_NOEXCEPT;
NT_API LARGE_INTEGER RtlLargeIntegerDivide(LARGE_INTEGER Dividend, LARGE_INTEGER Divisor,
                                           PLARGE_INTEGER Remainder) NT_NOEXCEPT;
NT_API LARGE_INTEGER RtlExtendedMagicDivide(LARGE_INTEGER Dividend, LARGE_INTEGER MagicDivisor,
                                            CCHAR ShiftCount) NT_NOEXCEPT;

/* Times. A LARGE_INTEGER counts 100 ns since 1601-01-01. FALSE: the fields are no time. IRQL: any.
   Source: WDK RtlTimeToTimeFields. */
typedef struct _TIME_FIELDS {
    CSHORT Year;
    CSHORT Month;
    CSHORT Day;
    CSHORT Hour;
    CSHORT Minute;
    CSHORT Second;
    CSHORT Milliseconds;
    CSHORT Weekday; /* 0: Sunday */
} TIME_FIELDS, *PTIME_FIELDS;
NT_API void RtlTimeToTimeFields(PLARGE_INTEGER Time, PTIME_FIELDS TimeFields) NT_NOEXCEPT;
NT_API BOOLEAN RtlTimeFieldsToTime(PTIME_FIELDS TimeFields, PLARGE_INTEGER Time) NT_NOEXCEPT;
NT_API BOOLEAN RtlTimeToSecondsSince1970(PLARGE_INTEGER Time, PULONG ElapsedSeconds) NT_NOEXCEPT;
NT_API BOOLEAN RtlTimeToSecondsSince1980(PLARGE_INTEGER Time, PULONG ElapsedSeconds) NT_NOEXCEPT;
NT_API void RtlSecondsSince1970ToTime(ULONG ElapsedSeconds, PLARGE_INTEGER Time) NT_NOEXCEPT;
NT_API void RtlSecondsSince1980ToTime(ULONG ElapsedSeconds, PLARGE_INTEGER Time) NT_NOEXCEPT;
/* Local time is UTC. */
NT_API void ExLocalTimeToSystemTime(PLARGE_INTEGER LocalTime,
                                    PLARGE_INTEGER SystemTime) NT_NOEXCEPT;
NT_API void ExSystemTimeToLocalTime(PLARGE_INTEGER SystemTime,
                                    PLARGE_INTEGER LocalTime) NT_NOEXCEPT;

/* A random number below 2^31 - 1 that follows *Seed. IRQL: any. Source: WDK RtlRandomEx. */
NT_API ULONG RtlRandom(PULONG Seed) NT_NOEXCEPT;
NT_API ULONG RtlRandomEx(PULONG Seed) NT_NOEXCEPT;
NT_API ULONG RtlUniform(PULONG Seed) NT_NOEXCEPT;

typedef struct _OSVERSIONINFOW {
    ULONG dwOSVersionInfoSize;
    ULONG dwMajorVersion;
    ULONG dwMinorVersion;
    ULONG dwBuildNumber;
    ULONG dwPlatformId;
    WCHAR szCSDVersion[128];
} OSVERSIONINFOW, *POSVERSIONINFOW, RTL_OSVERSIONINFOW, *PRTL_OSVERSIONINFOW;
typedef struct _OSVERSIONINFOEXW {
    ULONG dwOSVersionInfoSize;
    ULONG dwMajorVersion;
    ULONG dwMinorVersion;
    ULONG dwBuildNumber;
    ULONG dwPlatformId;
    WCHAR szCSDVersion[128];
    USHORT wServicePackMajor;
    USHORT wServicePackMinor;
    USHORT wSuiteMask;
    UCHAR wProductType;
    UCHAR wReserved;
} OSVERSIONINFOEXW, *POSVERSIONINFOEXW, RTL_OSVERSIONINFOEXW, *PRTL_OSVERSIONINFOEXW;
#define VER_MINORVERSION 0x0000001
#define VER_MAJORVERSION 0x0000002
#define VER_BUILDNUMBER 0x0000004
#define VER_PLATFORMID 0x0000008
#define VER_SERVICEPACKMINOR 0x0000010
#define VER_SERVICEPACKMAJOR 0x0000020
#define VER_SUITENAME 0x0000040
#define VER_PRODUCT_TYPE 0x0000080
#define VER_EQUAL 1
#define VER_GREATER 2
#define VER_GREATER_EQUAL 3
#define VER_LESS 4
#define VER_LESS_EQUAL 5
#define VER_NT_WORKSTATION 1
#define VER_NT_DOMAIN_CONTROLLER 2
#define VER_NT_SERVER 3
#define VER_SET_CONDITION(mask, type, condition)                                                   \
    ((mask) = VerSetConditionMask((mask), (type), (condition)))
/* The version is that of the interface, 10.0. IRQL: PASSIVE_LEVEL. Source: WDK RtlGetVersion. */
NT_API NTSTATUS RtlGetVersion(PRTL_OSVERSIONINFOW VersionInformation);
NT_API NTSTATUS RtlVerifyVersionInfo(PRTL_OSVERSIONINFOEXW VersionInfo, ULONG TypeMask,
                                     ULONGLONG ConditionMask);
NT_API ULONGLONG VerSetConditionMask(ULONGLONG ConditionMask, ULONG TypeMask, UCHAR Condition);
NT_API BOOLEAN RtlIsNtDdiVersionAvailable(ULONG Version);
NT_API BOOLEAN PsGetVersion(PULONG MajorVersion, PULONG MinorVersion, PULONG BuildNumber,
                            PUNICODE_STRING CSDVersion);
NT_API BOOLEAN RtlIsServicePackVersionInstalled(ULONG Version);

/* Returns the function of this library, or of another one of the process, that has the name; NULL:
   there is none. IRQL: PASSIVE_LEVEL. Source: WDK MmGetSystemRoutineAddress. */
NT_API PVOID MmGetSystemRoutineAddress(PUNICODE_STRING SystemRoutineName);
NT_API USHORT RtlCaptureStackBackTrace(ULONG FramesToSkip, ULONG FramesToCapture, PVOID* BackTrace,
                                       PULONG BackTraceHash);
NT_API void RtlGetCallersAddress(PVOID* CallersAddress, PVOID* CallersCaller);
/* Return the Win32 error of a status; 317, which is ERROR_MR_MID_NOT_FOUND: there is none. IRQL:
   any. Source: WDK RtlNtStatusToDosErrorNoTeb. */
NT_API ULONG RtlNtStatusToDosErrorNoTeb(NTSTATUS Status) NT_NOEXCEPT;
NT_API ULONG RtlNtStatusToDosError(NTSTATUS Status) NT_NOEXCEPT;
NT_API SIZE_T RtlGetSetBootStatusData(HANDLE FileHandle, BOOLEAN Get, ULONG Item, PVOID Buffer,
                                      ULONG BufferSize, PULONG ReturnLength);

/* Run-once initialization. ExecuteOnce calls InitFn in the first thread; the others wait until it
   returns, and the next one calls it again if it returned 0. *Context, which may be NULL, receives
   what InitFn stored there; its low two bits are 0. BeginInitialize and Complete are the two
   halves; with RTL_RUN_ONCE_ASYNC each thread initializes, and the first Complete counts. IRQL: <=
   APC_LEVEL. STATUS_SUCCESS: it is done; STATUS_PENDING: the caller initializes and calls Complete
   (begin); STATUS_UNSUCCESSFUL: InitFn failed (execute), it is not done (RTL_RUN_ONCE_CHECK_ONLY),
   or no initialization runs (complete); STATUS_OBJECT_NAME_COLLISION: another thread completed
   before (asynchronous complete); STATUS_INVALID_PARAMETER: unknown flags, a mixture of both kinds,
   or a context whose low bits are set. Source: WDK RtlRunOnceExecuteOnce,
   RtlRunOnceBeginInitialize, RtlRunOnceComplete. */
typedef union _RTL_RUN_ONCE {
    PVOID Ptr;
} RTL_RUN_ONCE, *PRTL_RUN_ONCE;
#define RTL_RUN_ONCE_INIT                                                                          \
    { 0 }
#define RTL_RUN_ONCE_CHECK_ONLY 0x00000001UL
#define RTL_RUN_ONCE_ASYNC 0x00000002UL
#define RTL_RUN_ONCE_INIT_FAILED 0x00000004UL
typedef ULONG RTL_RUN_ONCE_INIT_FN(PRTL_RUN_ONCE RunOnce, PVOID Parameter, PVOID* Context);
typedef RTL_RUN_ONCE_INIT_FN* PRTL_RUN_ONCE_INIT_FN;
NT_API void RtlRunOnceInitialize(PRTL_RUN_ONCE RunOnce) NT_NOEXCEPT;
NT_API NTSTATUS RtlRunOnceExecuteOnce(PRTL_RUN_ONCE RunOnce, PRTL_RUN_ONCE_INIT_FN InitFn,
                                      PVOID Parameter, PVOID* Context);
NT_API NTSTATUS RtlRunOnceBeginInitialize(PRTL_RUN_ONCE RunOnce, ULONG Flags, PVOID* Context);
NT_API NTSTATUS RtlRunOnceComplete(PRTL_RUN_ONCE RunOnce, ULONG Flags, PVOID Context);

NT_EXTERN_C_END

#endif
