/* Protection domains, memory regions and memory windows: their verbs, and the parameters of these.
   The rules at the top of ci/ci.h apply. Names are those of WinOF. Source: IBA 10.2.3 (protection
   domains), 10.6 (memory management), 11.2.7 (verbs of memory). */
#ifndef IRPVERBS_CI_MEMORY_H
#define IRPVERBS_CI_MEMORY_H

#include <ci/ib_types.h>
#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

struct _CI_UDATA;
struct _IB_CA;
struct _IB_MR;
struct _IB_PD;

typedef ULONG ib_pd_type_t;
enum _ib_pd_type {
    IB_PDT_NORMAL = 0,
    IB_PDT_ALIAS = 1, /* reserved, like the next two */
    IB_PDT_SQP = 2,
    IB_PDT_UD = 3
};

/* Access rights. Local reads are always allowed. Source: IBA 10.6.3 (access to memory); the first
   five have WinOF's values, the others those of ibv_reg_mr(3). */
typedef ULONG ib_access_t;
#define IB_AC_RDMA_READ 0x01u
#define IB_AC_RDMA_WRITE 0x02u  /* requires IB_AC_LOCAL_WRITE */
#define IB_AC_ATOMIC 0x04u      /* requires IB_AC_LOCAL_WRITE */
#define IB_AC_LOCAL_WRITE 0x08u /* receives, and results of reads and atomics */
#define IB_AC_MW_BIND 0x10u     /* memory windows may be bound to the region */
#define IB_AC_ZERO_BASED 0x20u  /* work requests count addresses from the region's first byte */
#define IB_AC_ON_DEMAND 0x40u   /* the region's pages are not locked in memory */

/* The rights of a region that a queue pair grants its peer (ib_qp_mod_t.access_ctrl). */
#define IB_AC_REMOTE (IB_AC_RDMA_READ | IB_AC_RDMA_WRITE | IB_AC_ATOMIC)

/* A memory region to be registered. */
typedef struct _ib_mr_create {
    VOID* vaddr;
    ULONGLONG length; /* bytes; 0: no work request reaches a byte by the region */
    ib_access_t access_ctrl;
    ULONGLONG iova; /* the address of the first byte in work requests; 0: vaddr, or with
                       IB_AC_ZERO_BASED 0 */
} ib_mr_create_t;

/* A range of physical memory, in whole pages. */
typedef struct _ib_phys_range {
    ULONGLONG base_addr;
    ULONGLONG size; /* bytes */
} ib_phys_range_t;

/* A memory region of physical pages to be registered: the bytes behind the first buf_offset ones
   of the ranges, in their order. */
typedef struct _ib_phys_create {
    ULONGLONG length; /* bytes */
    ULONG num_ranges;
    ULONG buf_offset; /* bytes; less than hca_page_size */
    const ib_phys_range_t* range_array;
    ULONGLONG vaddr;     /* the address of the first byte in work requests */
    ULONG hca_page_size; /* bytes; one of IB_CA_ATTR.PageSizes */
    ib_access_t access_ctrl;
} ib_phys_create_t;

/* A memory region to be registered with the pages of another one. */
typedef struct _ib_smr_create {
    struct _IB_MR* h_mr; /* of CiRegisterMr, CiRegisterPmr or CiRegisterSmr */
    VOID* vaddr;         /* the address of the first byte in work requests */
    ib_access_t access_ctrl;
} ib_smr_create_t;

/* ib_mr_mod_t.opts and ib_phys_mod_t.opts: the members that are valid. Values of
   ibv_rereg_mr(3). */
#define IB_MR_MOD_ADDR 0x1u   /* the members of create, except access_ctrl */
#define IB_MR_MOD_PD 0x2u     /* h_pd */
#define IB_MR_MOD_ACCESS 0x4u /* create.access_ctrl */

/* A change of a memory region. */
typedef struct _ib_mr_mod {
    ULONG opts; /* IB_MR_MOD_* */
    struct _IB_PD* h_pd;
    ib_mr_create_t create;
} ib_mr_mod_t;

/* A change of a memory region of physical pages. */
typedef struct _ib_phys_mod {
    ULONG opts; /* IB_MR_MOD_* */
    struct _IB_PD* h_pd;
    ib_phys_create_t create;
} ib_phys_mod_t;

/* Attributes of a memory region. */
typedef struct _ib_mr_attr {
    ULONG size; /* bytes of the whole block: this */
    ib_access_t access_ctrl;
    struct _IB_PD* h_pd;
    ULONGLONG local_lb;  /* the range of addresses for work requests of this HCA: the first byte */
    ULONGLONG local_ub;  /* the byte behind the last */
    ULONGLONG remote_lb; /* the same for the peer; 0, like the next, without a remote right */
    ULONGLONG remote_ub;
    ULONG lkey;
    ULONG rkey; /* 0 without a remote right */
} ib_mr_attr_t;

/* Types of memory windows; the values are those of ibv_alloc_mw(3). Source: IBA 10.6.7.2. */
typedef ULONG ib_mw_type_t;
enum _ib_mw_type {
    IB_MWT_TYPE_1 = 1, /* for all queue pairs of its domain; CiBindMw binds it */
    IB_MWT_TYPE_2 = 2  /* for the queue pair whose WR_BIND_MW binds it */
};

/* Attributes of a memory window. */
typedef struct _ib_mw_attr {
    ULONG size; /* bytes of the whole block: this */
    ib_mw_type_t type;
    struct _IB_PD* h_pd;
    ULONG rkey; /* of the newest binding that has executed */
} ib_mw_attr_t;

/* A protection domain. */
typedef struct _IB_PD {
    ib_pd_type_t Type;
} IB_PD;

/* A memory region. Of CiAllocateFrmr: both are the key before the first WR_FAST_REG_MR, whose key
   replaces it without a change here. */
typedef struct _IB_MR {
    ULONG LKey;
    ULONG RKey; /* 0 without a remote right */
} IB_MR;

/* A memory window: a part of a region with rights and a key of its own for the peer. */
typedef struct _IB_MW {
    ib_mw_type_t Type;
    ULONG
    RKey; /* type 1: as CiBindMw has returned it; type 2: bits 31 to 8 are those of every key */
} IB_MW;

/* Allocates a protection domain: regions, address vectors and queue pairs work only with those of
   the same domain. Type is IB_PDT_NORMAL.
   Ownership: the IB_PD is the caller's until CiDeallocatePd completes.
   STATUS_SUCCESS: Information is the IB_PD*. STATUS_NOT_SUPPORTED: also another ib_pd_type_t. */
NT_API NTSTATUS CiAllocatePd(struct _IB_CA* pCa, ULONG Type, struct _CI_UDATA* pUserData,
                             IRP* pIrp);

/* Deallocates a protection domain. STATUS_SUCCESS.
   STATUS_DEVICE_BUSY: objects created with it remain; nothing changed. */
NT_API NTSTATUS CiDeallocatePd(IB_PD* pPd, struct _CI_UDATA* pUserData, IRP* pIrp);

/* Registers a memory region. The memory must stay mapped until CiDeregisterMr completes: a work
   request that touches a page that is not mapped completes IB_WC_LOCAL_PROTECTION_ERROR, or at its
   peer IB_WC_REMOTE_ACCESS_ERROR.
   Ownership: the IB_MR is the caller's until CiDeregisterMr completes; the memory stays the
   caller's.
   STATUS_SUCCESS: Information is the IB_MR*. STATUS_ACCESS_DENIED: IB_AC_RDMA_WRITE or IB_AC_ATOMIC
   without IB_AC_LOCAL_WRITE. STATUS_INVALID_PARAMETER: also a NULL vaddr, more bytes than the
   HCA supports (IB_CA_ATTR.MaxMrSize), a range beyond the last address, or an iova with
   IB_AC_ZERO_BASED; from the kernel's HCAs an iova with another offset in its page than vaddr, and
   a length of 0 at the beginning of a page, too.
   STATUS_NOT_SUPPORTED: also a right that the HCA does not support. STATUS_INSUFFICIENT_RESOURCES:
   also IB_CA_ATTR.MaxMrs regions exist. STATUS_ACCESS_VIOLATION: the HCA locks the pages in memory,
   and one is not mapped, or not writable with IB_AC_LOCAL_WRITE. */
NT_API NTSTATUS CiRegisterMr(IB_PD* pPd, const ib_mr_create_t* pCreate, struct _CI_UDATA* pUserData,
                             IRP* pIrp);

/* Deregisters a memory region. Its keys are invalid from the completion on: outstanding work
   requests that use them complete IB_WC_LOCAL_PROTECTION_ERROR.
   STATUS_SUCCESS. STATUS_DEVICE_BUSY: a memory window is bound to it, or a region shares its pages;
   nothing changed. */
NT_API NTSTATUS CiDeregisterMr(IB_MR* pMr, struct _CI_UDATA* pUserData, IRP* pIrp);

/* Attributes of a memory region; sizes and statuses as CiQueryCa. CiQueryMr, CiModifyMr and
   CiModifyPmr of a region execute one after the other, in the order of their calls; one that waits
   for its turn is cancellable. */
NT_API NTSTATUS CiQueryMr(IB_MR* pMr, SIZE_T AttrSize, ib_mr_attr_t* pAttr,
                          struct _CI_UDATA* pUserData, IRP* pIrp);

/* Changes the protection domain of a memory region, its range, its rights, or several of these, as
   if it were deregistered and registered again in one step; what opts does not name stays.
   pMr->LKey and pMr->RKey are the keys from the completion on, which may be the same. A failure
   changes nothing, except where its status says so.
   Ownership: until the completion the caller posts no work requests that use the region;
   outstanding ones see it as before or as after the change. The region counts as created with the
   new domain. Other changes and queries of the region wait for the end of this one.
   STATUS_SUCCESS. STATUS_DEVICE_BUSY: a memory window is bound to it, or a region shares its pages.
   STATUS_INVALID_PARAMETER: also opts that are 0 or unknown, a domain of another channel adapter,
   and a range that CiRegisterMr refuses. STATUS_INVALID_DEVICE_REQUEST: the region is not one of
   CiRegisterMr. STATUS_ACCESS_DENIED, STATUS_NOT_SUPPORTED,
   STATUS_INSUFFICIENT_RESOURCES, STATUS_ACCESS_VIOLATION: as CiRegisterMr; STATUS_NOT_SUPPORTED:
   also the HCA changes no regions, or none to a range with an iova or without bytes.
   STATUS_IO_DEVICE_ERROR: the HCA failed while it changed the region, whose keys are invalid now;
   CiDeregisterMr ends it. Source: IBA 11.2.8.5, 11.2.8.6 (Reregister Memory Region); ci_modify_mr
   of WinOF. */
NT_API NTSTATUS CiModifyMr(IB_MR* pMr, const ib_mr_mod_t* pModify, struct _CI_UDATA* pUserData,
                           IRP* pIrp);

/* Allocates a memory region for fast registration, without memory: no key gives access by it.
   WR_FAST_REG_MR registers up to MaxPages pages with it, and chooses the low byte of its key.
   WR_LOCAL_INV, or a send of the peer with IB_SEND_OPT_INVALIDATE, makes the key invalid, and then
   the region can be registered again. CiDeregisterMr ends it in either state.
   Ownership: the IB_MR is the caller's until CiDeregisterMr completes.
   STATUS_SUCCESS: Information is the IB_MR*. STATUS_INVALID_PARAMETER: also a MaxPages of 0 or
   above IB_CA_ATTR.MaxFastRegistrationPages. STATUS_NOT_SUPPORTED: also when Irp->RequestorMode is
   UserMode, since pages have physical addresses. STATUS_INSUFFICIENT_RESOURCES: also
   IB_CA_ATTR.MaxMrs regions exist. Source: IBA 11.2.8.2 (Allocate L_Key); alloc_fast_reg_mr of
   WinOF. */
NT_API NTSTATUS CiAllocateFrmr(IB_PD* pPd, ULONG MaxPages, struct _CI_UDATA* pUserData, IRP* pIrp);

/* Registers a memory region whose memory is physical pages, which need not lie side by side. Their
   physical addresses are those that WR_FAST_REG_MR takes.
   Ownership: pCreate->range_array is the driver's until completion. The IB_MR is the caller's until
   CiDeregisterMr completes; the memory, which is not pageable, stays the caller's.
   STATUS_SUCCESS: Information is the IB_MR*. STATUS_ACCESS_DENIED, STATUS_INSUFFICIENT_RESOURCES:
   as CiRegisterMr. STATUS_INVALID_PARAMETER: also no ranges; a range that is empty, not in whole
   pages or beyond the last address; ranges shorter than the region; a length of 0 or above
   IB_CA_ATTR.MaxMrSize; a hca_page_size that IB_CA_ATTR.PageSizes does not name; a vaddr that has
   not the offset buf_offset in its page, or whose region ends beyond the last address.
   STATUS_NOT_SUPPORTED: also a right that the HCA does not support for pages, and when
   Irp->RequestorMode is UserMode, since pages have physical addresses. Source: IBA 11.2.8.4
   (Register Physical Memory Region); ci_register_pmr of WinOF and of seed 004. */
NT_API NTSTATUS CiRegisterPmr(IB_PD* pPd, const ib_phys_create_t* pCreate,
                              struct _CI_UDATA* pUserData, IRP* pIrp);

/* Changes the protection domain of a memory region of CiRegisterPmr, its pages with their address,
   its rights, or several of these; otherwise as CiModifyMr. A failure changes nothing, except where
   its status says so.
   Ownership: pModify->create.range_array is the driver's until completion; the former pages are the
   caller's alone from a successful completion on. Until then the caller posts no work requests that
   use the region, and registers no region that shares its pages; outstanding work requests see it
   as before or as after the change. The region counts as created with the new domain.
   STATUS_SUCCESS. STATUS_DEVICE_BUSY: a memory window is bound to it, or a region shares its pages.
   STATUS_INVALID_PARAMETER: also opts that are 0 or unknown, a domain of another channel adapter,
   and pages that CiRegisterPmr refuses. STATUS_INVALID_DEVICE_REQUEST: the region is not one of
   CiRegisterPmr. STATUS_ACCESS_DENIED, STATUS_NOT_SUPPORTED, STATUS_INSUFFICIENT_RESOURCES: as
   CiRegisterPmr. STATUS_IO_DEVICE_ERROR: as CiModifyMr. Source: IBA 11.2.8 (Reregister Physical
   Memory Region); ci_modify_pmr of WinOF and of seed 004. */
NT_API NTSTATUS CiModifyPmr(IB_MR* pMr, const ib_phys_mod_t* pModify, struct _CI_UDATA* pUserData,
                            IRP* pIrp);

/* Registers a memory region that shares the pages of another region of the same channel adapter,
   with keys, rights, an address and a protection domain of its own.
   Ownership: the IB_MR is the caller's until CiDeregisterMr completes. It holds the other region:
   CiDeregisterMr, CiModifyMr and CiModifyPmr of that one complete STATUS_DEVICE_BUSY.
   STATUS_SUCCESS: Information is the IB_MR*. STATUS_INVALID_DEVICE_REQUEST: the other region is one
   of CiAllocateFrmr. STATUS_FILE_CLOSED: also it is being deregistered. STATUS_ACCESS_DENIED,
   STATUS_INSUFFICIENT_RESOURCES: as CiRegisterMr. STATUS_INVALID_PARAMETER: also a region that is
   NULL or of another channel adapter, a NULL vaddr, one whose region ends beyond the last address,
   and, with pages of CiRegisterPmr, one with another offset in its page than the other region has.
   STATUS_NOT_SUPPORTED: as CiRegisterMr, with pages of CiRegisterPmr as there. Source: IBA 11.2.8.7
   (Register Shared Memory Region); register_smr of seed 004. */
NT_API NTSTATUS CiRegisterSmr(IB_PD* pPd, const ib_smr_create_t* pCreate,
                              struct _CI_UDATA* pUserData, IRP* pIrp);

/* Allocates a memory window, which is not bound: no key gives access by it. Type is one of
   ib_mw_type_t. A window that is bound holds its region: CiDeregisterMr completes
   STATUS_DEVICE_BUSY.
   Ownership: the IB_MW is the caller's until CiDeallocateMw completes.
   STATUS_SUCCESS: Information is the IB_MW*. STATUS_INVALID_PARAMETER: also a type that is none.
   STATUS_NOT_SUPPORTED: also a type that the HCA does not have (IB_CA_ATTR.Capabilities).
   STATUS_INSUFFICIENT_RESOURCES: also IB_CA_ATTR.MaxMws windows exist. Source: IBA 11.2.8.9
   (Allocate Memory Window). */
NT_API NTSTATUS CiAllocateMw(IB_PD* pPd, ULONG Type, struct _CI_UDATA* pUserData, IRP* pIrp);

/* Deallocates a memory window, after it has unbound it. Its key is invalid from the completion on.
   The caller has no outstanding work request that binds it. STATUS_SUCCESS. Source: IBA 11.2.8.11
   (Deallocate Memory Window). */
NT_API NTSTATUS CiDeallocateMw(IB_MW* pMw, struct _CI_UDATA* pUserData, IRP* pIrp);

/* Attributes of a memory window; sizes and statuses as CiQueryCa. */
NT_API NTSTATUS CiQueryMw(IB_MW* pMw, SIZE_T AttrSize, ib_mw_attr_t* pAttr,
                          struct _CI_UDATA* pUserData, IRP* pIrp);

NT_EXTERN_C_END

#endif
