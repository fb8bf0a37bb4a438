/* Memory descriptor lists: they describe to a driver a buffer that is not copied. Memory of a Linux
   process is always accessible, so an MDL is only an address and a length. */
#ifndef IRPVERBS_IRP_MDL_H
#define IRPVERBS_IRP_MDL_H

#include <irp/irp.h>

NT_EXTERN_C_BEGIN

#define PAGE_SIZE 0x1000

/* MDL.MdlFlags */
#define MDL_PAGES_LOCKED 0x0002
#define MDL_SOURCE_IS_NONPAGED_POOL 0x0004
#define MDL_WRITE_OPERATION 0x0080

typedef struct _MDL {
    struct _MDL* Next;
    CSHORT Size;
    CSHORT MdlFlags;
    PVOID StartVa; /* start of the page */
    ULONG ByteCount;
    ULONG ByteOffset;     /* in the page */
    PVOID MappedSystemVa; /* the address of the buffer */
} MDL, *PMDL;

typedef enum _LOCK_OPERATION { IoReadAccess, IoWriteAccess, IoModifyAccess } LOCK_OPERATION;
typedef enum _MM_PAGE_PRIORITY {
    LowPagePriority,
    NormalPagePriority = 16,
    HighPagePriority = 32
} MM_PAGE_PRIORITY;

/* Allocates and frees an MDL for Length bytes; NULL without memory. With an IRP, the MDL becomes
   its MdlAddress or, as SecondaryBuffer, the last of that chain. ChargeQuota is ignored. Ownership:
   the caller's; IoFreeMdl. IRQL: <= DISPATCH_LEVEL. Source: WDK IoAllocateMdl, IoFreeMdl. */
NT_API PMDL IoAllocateMdl(PVOID VirtualAddress, ULONG Length, BOOLEAN SecondaryBuffer,
                          BOOLEAN ChargeQuota, PIRP Irp);
NT_API void IoFreeMdl(PMDL Mdl);

/* Set and clear the flags of the MDL; no page is locked. IRQL: <= DISPATCH_LEVEL. Source: WDK
   MmProbeAndLockPages, MmUnlockPages, MmBuildMdlForNonPagedPool. */
NT_API void MmProbeAndLockPages(PMDL MemoryDescriptorList, KPROCESSOR_MODE AccessMode,
                                LOCK_OPERATION Operation);
NT_API void MmUnlockPages(PMDL MemoryDescriptorList);
NT_API void MmBuildMdlForNonPagedPool(PMDL MemoryDescriptorList);

/* Address and length of the described buffer. IRQL: any. Source: WDK MmGetMdlVirtualAddress,
   MmGetMdlByteCount, MmGetMdlByteOffset. */
static inline PVOID MmGetMdlVirtualAddress(const MDL* mdl) NT_NOEXCEPT {
    return (char*)mdl->StartVa + mdl->ByteOffset;
}
static inline ULONG MmGetMdlByteCount(const MDL* mdl) NT_NOEXCEPT { return mdl->ByteCount; }
static inline ULONG MmGetMdlByteOffset(const MDL* mdl) NT_NOEXCEPT { return mdl->ByteOffset; }

/* The address that the driver uses. IRQL: <= DISPATCH_LEVEL. Source: WDK
   MmGetSystemAddressForMdlSafe. */
static inline PVOID MmGetSystemAddressForMdlSafe(const MDL* mdl, ULONG priority) NT_NOEXCEPT {
    (void)priority;
    return MmGetMdlVirtualAddress(mdl);
}

NT_EXTERN_C_END

#endif
