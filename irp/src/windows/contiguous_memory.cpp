// Memory for devices. Physical addresses are those of the process: a page of its memory has the
// physical address that is its address, and there is no device memory.
#include "standard.hpp"

#include <irp/mdl.h>
#include <sys/uio.h>
#include <unistd.h>
#include <windows/wdk/executive.h>
#include <windows/wdk/memory.h>
#include <windows/wdk/virtual_memory.h>

namespace {

constexpr ULONG tag = 0x746e6f43; // Cont

/* A block of the pool has its address right before the page at which its user's part begins. */
void* allocate_pages(SIZE_T bytes) {
    void* const block = ExAllocatePoolWithTag(NonPagedPoolNx, bytes + PAGE_SIZE, tag);
    if (block == nullptr) return nullptr;
    auto* const page = static_cast<char*>(PAGE_ALIGN(static_cast<char*>(block) + PAGE_SIZE));
    memcpy(page - sizeof block, &block, sizeof block);
    return page;
}

void free_pages(void* page) {
    void* block;
    memcpy(&block, static_cast<char*>(page) - sizeof block, sizeof block);
    ExFreePoolWithTag(block, tag);
}

/* Reads a byte by a call that fails where the processor would fault. */
bool is_readable(const void* address) {
    char byte;
    iovec here{&byte, 1};
    iovec there{const_cast<void*>(address), 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

} // namespace

extern "C" {

PVOID MmAllocateContiguousMemory(SIZE_T NumberOfBytes, PHYSICAL_ADDRESS) {
    return allocate_pages(NumberOfBytes);
}
void MmFreeContiguousMemory(PVOID BaseAddress) { free_pages(BaseAddress); }

PVOID MmAllocateContiguousMemorySpecifyCache(SIZE_T NumberOfBytes, PHYSICAL_ADDRESS,
                                             PHYSICAL_ADDRESS, PHYSICAL_ADDRESS,
                                             MEMORY_CACHING_TYPE) {
    return allocate_pages(NumberOfBytes);
}
void MmFreeContiguousMemorySpecifyCache(PVOID BaseAddress, SIZE_T, MEMORY_CACHING_TYPE) {
    free_pages(BaseAddress);
}

PVOID MmAllocateNonCachedMemory(SIZE_T NumberOfBytes) { return allocate_pages(NumberOfBytes); }
void MmFreeNonCachedMemory(PVOID BaseAddress, SIZE_T) { free_pages(BaseAddress); }

PMDL MmAllocatePagesForMdl(PHYSICAL_ADDRESS LowAddress, PHYSICAL_ADDRESS HighAddress,
                           PHYSICAL_ADDRESS SkipBytes, SIZE_T TotalBytes) {
    return MmAllocatePagesForMdlEx(LowAddress, HighAddress, SkipBytes, TotalBytes, MmCached, 0);
}

PMDL MmAllocatePagesForMdlEx(PHYSICAL_ADDRESS, PHYSICAL_ADDRESS, PHYSICAL_ADDRESS,
                             SIZE_T TotalBytes, MEMORY_CACHING_TYPE, ULONG) {
    const SIZE_T bytes = ROUND_TO_PAGES(TotalBytes);
    auto* const mdl = static_cast<MDL*>(ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(MDL), tag));
    void* const memory = mdl == nullptr ? nullptr : allocate_pages(bytes);
    if (memory == nullptr) {
        if (mdl != nullptr) ExFreePoolWithTag(mdl, tag);
        return nullptr;
    }
    memset(memory, 0, bytes);
    MmInitializeMdl(mdl, memory, bytes);
    mdl->MdlFlags = MDL_PAGES_LOCKED;
    return mdl;
}

void MmFreePagesFromMdl(PMDL MemoryDescriptorList) {
    free_pages(MmGetMdlVirtualAddress(MemoryDescriptorList));
}

BOOLEAN MmIsAddressValid(PVOID VirtualAddress) { return is_readable(VirtualAddress); }
BOOLEAN MmIsNonPagedSystemAddressValid(PVOID VirtualAddress) { return is_readable(VirtualAddress); }

PHYSICAL_ADDRESS MmGetPhysicalAddress(PVOID BaseAddress) {
    PHYSICAL_ADDRESS address;
    address.QuadPart = static_cast<LONGLONG>(reinterpret_cast<ULONG_PTR>(BaseAddress));
    return address;
}
PVOID MmGetVirtualForPhysical(PHYSICAL_ADDRESS PhysicalAddress) {
    return reinterpret_cast<PVOID>(static_cast<ULONG_PTR>(PhysicalAddress.QuadPart));
}

PVOID MmMapIoSpace(PHYSICAL_ADDRESS PhysicalAddress, SIZE_T, MEMORY_CACHING_TYPE) {
    void* const address = MmGetVirtualForPhysical(PhysicalAddress);
    return is_readable(address) ? address : nullptr;
}
PVOID MmMapIoSpaceEx(PHYSICAL_ADDRESS PhysicalAddress, SIZE_T NumberOfBytes, ULONG) {
    return MmMapIoSpace(PhysicalAddress, NumberOfBytes, MmCached);
}
void MmUnmapIoSpace(PVOID, SIZE_T) {}

} // extern "C"
