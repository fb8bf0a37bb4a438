#include "irql_rules.hpp"
#include "verify/hooks.hpp"

#include <irp/mdl.h>
#include <irp/support/user_memory.hpp>

#include <dispatch/pool.h>

#include <cstdint>
#include <new>

namespace {

constexpr ULONG mdl_tag = 0x206c644d; // "Mdl "

void add_to_chain(IRP* irp, MDL* mdl) {
    MDL** place = &irp->MdlAddress;
    while (*place != nullptr)
        place = &(*place)->Next;
    *place = mdl;
}

} // namespace

extern "C" {

PMDL IoAllocateMdl(PVOID VirtualAddress, ULONG Length, BOOLEAN SecondaryBuffer, BOOLEAN, PIRP Irp) {
    VERIFY_IRQL(IoAllocateMdl);
    void* const memory = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(MDL), mdl_tag);
    if (memory == nullptr) return nullptr;
    auto* mdl = new (memory) MDL{};
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(VirtualAddress) % PAGE_SIZE;
    mdl->Size = sizeof(MDL);
    mdl->StartVa = static_cast<char*>(VirtualAddress) - offset;
    mdl->ByteOffset = static_cast<ULONG>(offset);
    mdl->ByteCount = Length;
    mdl->MappedSystemVa = VirtualAddress;
    if (Irp != nullptr && SecondaryBuffer)
        add_to_chain(Irp, mdl);
    else if (Irp != nullptr)
        Irp->MdlAddress = mdl;
    return mdl;
}

void IoFreeMdl(PMDL Mdl) {
    VERIFY_IRQL(IoFreeMdl);
    if (irpverbs::dispatch::detail::verifying() && (Mdl->MdlFlags & MDL_PAGES_LOCKED) != 0)
        irpverbs::irp::verify::locked_pages_freed();
    ExFreePoolWithTag(Mdl, mdl_tag);
}

void MmProbeAndLockPages(PMDL MemoryDescriptorList, KPROCESSOR_MODE, LOCK_OPERATION Operation) {
    VERIFY_IRQL(MmProbeAndLockPages);
    irpverbs::irp::verify::user_memory_probed(MmGetMdlVirtualAddress(MemoryDescriptorList),
                                              MmGetMdlByteCount(MemoryDescriptorList));
    MemoryDescriptorList->MdlFlags |= MDL_PAGES_LOCKED;
    if (Operation != IoReadAccess) MemoryDescriptorList->MdlFlags |= MDL_WRITE_OPERATION;
}

void MmUnlockPages(PMDL MemoryDescriptorList) {
    VERIFY_IRQL(MmUnlockPages);
    MemoryDescriptorList->MdlFlags &= ~(MDL_PAGES_LOCKED | MDL_WRITE_OPERATION);
}

void MmBuildMdlForNonPagedPool(PMDL MemoryDescriptorList) {
    VERIFY_IRQL(MmBuildMdlForNonPagedPool);
    MemoryDescriptorList->MdlFlags |= MDL_SOURCE_IS_NONPAGED_POOL;
}

} // extern "C"
