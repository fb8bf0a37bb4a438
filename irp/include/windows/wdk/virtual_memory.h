/* Memory management: pages, MDLs, sections, physical memory. The memory of a Linux process is
   always there, so locking, probing and mapping return what is there. Source: WDK wdm.h and
   ntddk.h reference. */
#ifndef IRPVERBS_WINDOWS_VIRTUAL_MEMORY_H
#define IRPVERBS_WINDOWS_VIRTUAL_MEMORY_H

#include <windows/wdk/objects.h>

#define PAGE_SHIFT 12L
#define ROUND_TO_PAGES(size) (((ULONG_PTR)(size) + PAGE_SIZE - 1) & ~((ULONG_PTR)PAGE_SIZE - 1))
#define BYTES_TO_PAGES(size)                                                                       \
    (((ULONG_PTR)(size) >> PAGE_SHIFT) + (((ULONG_PTR)(size) & (PAGE_SIZE - 1)) != 0))
#define BYTE_OFFSET(address) ((ULONG)((LONG_PTR)(address) & (PAGE_SIZE - 1)))
#define PAGE_ALIGN(address) ((PVOID)((ULONG_PTR)(address) & ~((ULONG_PTR)PAGE_SIZE - 1)))
#define ADDRESS_AND_SIZE_TO_SPAN_PAGES(address, size)                                              \
    ((ULONG)((((ULONG_PTR)BYTE_OFFSET(address)) + (size) + (PAGE_SIZE - 1)) >> PAGE_SHIFT))
#define COMPUTE_PAGES_SPANNED ADDRESS_AND_SIZE_TO_SPAN_PAGES
#define MM_MAXIMUM_DISK_IO_SIZE 0x10000
#define PAGE_NOACCESS 0x01
#define PAGE_READONLY 0x02
#define PAGE_READWRITE 0x04
#define PAGE_WRITECOPY 0x08
#define PAGE_EXECUTE 0x10
#define PAGE_EXECUTE_READ 0x20
#define PAGE_EXECUTE_READWRITE 0x40
#define PAGE_GUARD 0x100
#define PAGE_NOCACHE 0x200
#define PAGE_WRITECOMBINE 0x400
#define MEM_COMMIT 0x00001000
#define MEM_RESERVE 0x00002000
#define MEM_DECOMMIT 0x00004000
#define MEM_RELEASE 0x00008000
#define MEM_TOP_DOWN 0x00100000
#define SEC_COMMIT 0x08000000
#define SEC_IMAGE 0x01000000
#define SEC_RESERVE 0x04000000

#define MDL_MAPPED_TO_SYSTEM_VA 0x0001
#define MDL_ALLOCATED_FIXED_SIZE 0x0008
#define MDL_PARTIAL 0x0010
#define MDL_PARTIAL_HAS_BEEN_MAPPED 0x0020
#define MDL_IO_PAGE_READ 0x0040
#define MDL_LOCKED_PAGE_TABLES 0x0100
#define MDL_PARENT_MAPPED_SYSTEM_VA 0x0100 /* its older name */
#define MDL_FREE_EXTRA_PTES 0x0200
#define MDL_DESCRIBES_AWE 0x0400
#define MDL_IO_SPACE 0x0800
#define MDL_NETWORK_HEADER 0x1000
#define MDL_MAPPING_CAN_FAIL 0x2000
#define MDL_PAGE_CONTENTS_INVARIANT 0x4000
#define MdlMappingNoWrite 0x80000000
#define MdlMappingNoExecute 0x40000000
#define MdlMappingWithGuardPtes 0x20000000
#define MM_ALLOCATE_FULLY_REQUIRED 0x00000004
#define MM_ALLOCATE_REQUIRE_CONTIGUOUS_CHUNKS 0x00000020
#define MM_ALLOCATE_PREFER_CONTIGUOUS 0x00000008
#define MM_DONT_ZERO_ALLOCATION 0x00000001
#define MM_ANY_NODE_OK 0x80000000

typedef ULONG_PTR PFN_NUMBER, *PPFN_NUMBER;
typedef PMDL PMDLX;
typedef enum _MEMORY_CACHING_TYPE {
    MmNonCached = FALSE,
    MmCached = TRUE,
    MmWriteCombined = 2,
    MmHardwareCoherentCached,
    MmNonCachedUnordered,
    MmUSWCCached,
    MmMaximumCacheType,
    MmNotMapped = -1
} MEMORY_CACHING_TYPE;
typedef enum _MM_SYSTEM_SIZE { MmSmallSystem, MmMediumSystem, MmLargeSystem } MM_SYSTEMSIZE;
typedef enum _SECTION_INHERIT { ViewShare = 1, ViewUnmap = 2 } SECTION_INHERIT;
typedef struct _PHYSICAL_MEMORY_RANGE {
    PHYSICAL_ADDRESS BaseAddress;
    LARGE_INTEGER NumberOfBytes;
} PHYSICAL_MEMORY_RANGE, *PPHYSICAL_MEMORY_RANGE;

#define MmInitializeMdl(mdl, address, length)                                                      \
    do {                                                                                           \
        (mdl)->Next = NULL;                                                                        \
        (mdl)->Size = (CSHORT)sizeof(MDL);                                                         \
        (mdl)->MdlFlags = 0;                                                                       \
        (mdl)->StartVa = PAGE_ALIGN(address);                                                      \
        (mdl)->ByteOffset = BYTE_OFFSET(address);                                                  \
        (mdl)->MappedSystemVa = (PVOID)(address);                                                  \
        (mdl)->ByteCount = (ULONG)(length);                                                        \
    } while (0)
#define MmPrepareMdlForReuse(mdl) ((void)(mdl))
#define MmGetMdlBaseVa(mdl) ((mdl)->StartVa)
#define MmGetSystemAddressForMdl(mdl) MmGetMdlVirtualAddress(mdl)
#define MmGetProcedureAddress(address) (address)
#define MmLockPagableCodeSection(address) MmLockPagableDataSection(address)

NT_EXTERN_C_BEGIN
/* Describes part of Source's buffer by Target. IRQL: <= DISPATCH_LEVEL. Source: WDK
   IoBuildPartialMdl. */
NT_API void IoBuildPartialMdl(PMDL SourceMdl, PMDL TargetMdl, PVOID VirtualAddress, ULONG Length);
NT_API SIZE_T MmSizeOfMdl(PVOID Base, SIZE_T Length);
NT_API PVOID MmMapLockedPages(PMDL MemoryDescriptorList, KPROCESSOR_MODE AccessMode);
NT_API PVOID MmMapLockedPagesSpecifyCache(PMDL MemoryDescriptorList, KPROCESSOR_MODE AccessMode,
                                          MEMORY_CACHING_TYPE CacheType, PVOID RequestedAddress,
                                          ULONG BugCheckOnFailure, ULONG Priority);
NT_API void MmUnmapLockedPages(PVOID BaseAddress, PMDL MemoryDescriptorList);
NT_API NTSTATUS MmProtectMdlSystemAddress(PMDL MemoryDescriptorList, ULONG NewProtect);
/* Zeroed pages, and an MDL of them: MmFreePagesFromMdl frees the pages, ExFreePool the MDL. NULL:
   no memory. Ranges of physical addresses are ignored. IRQL: <= APC_LEVEL. Source: WDK
   MmAllocatePagesForMdlEx. */
NT_API PMDL MmAllocatePagesForMdl(PHYSICAL_ADDRESS LowAddress, PHYSICAL_ADDRESS HighAddress,
                                  PHYSICAL_ADDRESS SkipBytes, SIZE_T TotalBytes);
NT_API PMDL MmAllocatePagesForMdlEx(PHYSICAL_ADDRESS LowAddress, PHYSICAL_ADDRESS HighAddress,
                                    PHYSICAL_ADDRESS SkipBytes, SIZE_T TotalBytes,
                                    MEMORY_CACHING_TYPE CacheType, ULONG Flags);
NT_API void MmFreePagesFromMdl(PMDL MemoryDescriptorList);
NT_API PPFN_NUMBER MmGetMdlPfnArray(PMDL Mdl);
/* Code and data are never paged: a handle that means nothing. */
NT_API PVOID MmLockPagableDataSection(PVOID AddressWithinSection);
NT_API void MmLockPagableSectionByHandle(PVOID ImageSectionHandle);
NT_API void MmUnlockPagableImageSection(PVOID ImageSectionHandle);
NT_API PVOID MmPageEntireDriver(PVOID AddressWithinSection);
NT_API void MmResetDriverPaging(PVOID AddressWithinSection);
/* TRUE: a read of the byte there does not fault. IRQL: <= DISPATCH_LEVEL. Source: WDK
   MmIsAddressValid. */
NT_API BOOLEAN MmIsAddressValid(PVOID VirtualAddress);
NT_API BOOLEAN MmIsNonPagedSystemAddressValid(PVOID VirtualAddress);
NT_API BOOLEAN MmIsThisAnNtAsSystem(void);
NT_API MM_SYSTEMSIZE MmQuerySystemSize(void);
NT_API LOGICAL MmIsDriverVerifying(PDRIVER_OBJECT DriverObject);
NT_API LOGICAL MmIsDriverVerifyingByAddress(PVOID AddressWithinSection);
NT_API NTSTATUS MmIsVerifierEnabled(PULONG VerifierFlags);
/* Physical addresses are those of the process: memory has its virtual address as the physical one,
   and there is no memory of devices, so that MmMapIoSpace returns NULL for any other address. IRQL:
   <= DISPATCH_LEVEL. Source: WDK MmGetPhysicalAddress, MmMapIoSpace. */
NT_API PHYSICAL_ADDRESS MmGetPhysicalAddress(PVOID BaseAddress);
NT_API PVOID MmGetVirtualForPhysical(PHYSICAL_ADDRESS PhysicalAddress);
NT_API PVOID MmMapIoSpace(PHYSICAL_ADDRESS PhysicalAddress, SIZE_T NumberOfBytes,
                          MEMORY_CACHING_TYPE CacheType);
NT_API PVOID MmMapIoSpaceEx(PHYSICAL_ADDRESS PhysicalAddress, SIZE_T NumberOfBytes, ULONG Protect);
NT_API void MmUnmapIoSpace(PVOID BaseAddress, SIZE_T NumberOfBytes);
/* Memory that begins at a page; NULL: there is none. Ranges of physical addresses, boundaries and
   cache types are ignored. IRQL: <= DISPATCH_LEVEL. Source: WDK MmAllocateContiguousMemory,
   MmAllocateNonCachedMemory. */
NT_API PVOID MmAllocateContiguousMemory(SIZE_T NumberOfBytes,
                                        PHYSICAL_ADDRESS HighestAcceptableAddress);
NT_API PVOID MmAllocateContiguousMemorySpecifyCache(SIZE_T NumberOfBytes, PHYSICAL_ADDRESS Lowest,
                                                    PHYSICAL_ADDRESS Highest,
                                                    PHYSICAL_ADDRESS BoundaryAddressMultiple,
                                                    MEMORY_CACHING_TYPE CacheType);
NT_API void MmFreeContiguousMemory(PVOID BaseAddress);
NT_API void MmFreeContiguousMemorySpecifyCache(PVOID BaseAddress, SIZE_T NumberOfBytes,
                                               MEMORY_CACHING_TYPE CacheType);
NT_API PVOID MmAllocateNonCachedMemory(SIZE_T NumberOfBytes);
NT_API void MmFreeNonCachedMemory(PVOID BaseAddress, SIZE_T NumberOfBytes);
NT_API PVOID MmAllocateMappingAddress(SIZE_T NumberOfBytes, ULONG PoolTag);
NT_API void MmFreeMappingAddress(PVOID BaseAddress, ULONG PoolTag);
NT_API PPHYSICAL_MEMORY_RANGE MmGetPhysicalMemoryRanges(void);
NT_API HANDLE MmSecureVirtualMemory(PVOID Address, SIZE_T Size, ULONG ProbeMode);
NT_API void MmUnsecureVirtualMemory(HANDLE SecureHandle);
NT_API NTSTATUS MmCopyVirtualMemory(PEPROCESS FromProcess, PVOID FromAddress, PEPROCESS ToProcess,
                                    PVOID ToAddress, SIZE_T Size, KPROCESSOR_MODE Mode,
                                    PSIZE_T Copied);
NT_API NTSTATUS ZwAllocateVirtualMemory(HANDLE ProcessHandle, PVOID* BaseAddress,
                                        ULONG_PTR ZeroBits, PSIZE_T RegionSize,
                                        ULONG AllocationType, ULONG Protect);
NT_API NTSTATUS ZwFreeVirtualMemory(HANDLE ProcessHandle, PVOID* BaseAddress, PSIZE_T RegionSize,
                                    ULONG FreeType);
NT_API NTSTATUS ZwCreateSection(PHANDLE SectionHandle, ACCESS_MASK DesiredAccess,
                                POBJECT_ATTRIBUTES ObjectAttributes, PLARGE_INTEGER MaximumSize,
                                ULONG SectionPageProtection, ULONG AllocationAttributes,
                                HANDLE FileHandle);
NT_API NTSTATUS ZwOpenSection(PHANDLE SectionHandle, ACCESS_MASK DesiredAccess,
                              POBJECT_ATTRIBUTES ObjectAttributes);
NT_API NTSTATUS ZwMapViewOfSection(HANDLE SectionHandle, HANDLE ProcessHandle, PVOID* BaseAddress,
                                   ULONG_PTR ZeroBits, SIZE_T CommitSize,
                                   PLARGE_INTEGER SectionOffset, PSIZE_T ViewSize,
                                   SECTION_INHERIT InheritDisposition, ULONG AllocationType,
                                   ULONG Win32Protect);
NT_API NTSTATUS ZwUnmapViewOfSection(HANDLE ProcessHandle, PVOID BaseAddress);
NT_API extern PVOID MmHighestUserAddress;
NT_API extern PVOID MmSystemRangeStart;
NT_API extern ULONG_PTR MmUserProbeAddress;
#define MM_HIGHEST_USER_ADDRESS MmHighestUserAddress
#define MM_SYSTEM_RANGE_START MmSystemRangeStart
#define MM_USER_PROBE_ADDRESS MmUserProbeAddress
#define MM_LOWEST_USER_ADDRESS ((PVOID)0x10000)
NT_EXTERN_C_END

#endif
