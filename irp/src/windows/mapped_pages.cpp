#include "standard.hpp"

#include <windows/wdk/kernel.h>
#include <windows/wdk/virtual_memory.h>

// Every page of a Linux process is mapped, so an MDL's memory is used where it lies.
extern "C" {

void IoBuildPartialMdl(PMDL SourceMdl, PMDL TargetMdl, PVOID VirtualAddress, ULONG Length) {
    const auto address = reinterpret_cast<ULONG_PTR>(VirtualAddress);
    const auto begin = reinterpret_cast<ULONG_PTR>(MmGetMdlVirtualAddress(SourceMdl));
    const auto rest = static_cast<ULONG>(begin + SourceMdl->ByteCount - address);
    TargetMdl->StartVa = PAGE_ALIGN(VirtualAddress);
    TargetMdl->ByteOffset = BYTE_OFFSET(VirtualAddress);
    TargetMdl->ByteCount = Length == 0 ? rest : Length;
    TargetMdl->MappedSystemVa = VirtualAddress;
    TargetMdl->MdlFlags = static_cast<CSHORT>(
        MDL_PARTIAL | (SourceMdl->MdlFlags & (MDL_SOURCE_IS_NONPAGED_POOL | MDL_IO_SPACE)));
}

SIZE_T MmSizeOfMdl(PVOID, SIZE_T) { return sizeof(MDL); }

PVOID MmMapLockedPages(PMDL MemoryDescriptorList, KPROCESSOR_MODE) {
    return MmGetMdlVirtualAddress(MemoryDescriptorList);
}

PVOID MmMapLockedPagesSpecifyCache(PMDL MemoryDescriptorList, KPROCESSOR_MODE, MEMORY_CACHING_TYPE,
                                   PVOID RequestedAddress, ULONG, ULONG) {
    return RequestedAddress != nullptr ? nullptr : MmGetMdlVirtualAddress(MemoryDescriptorList);
}

void MmUnmapLockedPages(PVOID, PMDL) {}
NTSTATUS MmProtectMdlSystemAddress(PMDL, ULONG) { return STATUS_SUCCESS; }
void KeFlushIoBuffers(PMDL, BOOLEAN, BOOLEAN) {}

PVOID MmLockPagableDataSection(PVOID AddressWithinSection) { return AddressWithinSection; }
void MmLockPagableSectionByHandle(PVOID) {}
void MmUnlockPagableImageSection(PVOID) {}
PVOID MmPageEntireDriver(PVOID AddressWithinSection) { return AddressWithinSection; }
void MmResetDriverPaging(PVOID) {}
BOOLEAN MmIsThisAnNtAsSystem(void) { return FALSE; }
MM_SYSTEMSIZE MmQuerySystemSize(void) { return MmLargeSystem; }

} // extern "C"
