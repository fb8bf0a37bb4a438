/* The interface that an HCA's driver implements. The common half, in this package, decodes the
   verbs, keeps the objects, their events and their closing, and completes IRPs; the driver supplies
   HCA_OPERATIONS and reports events. samples/minimal_hca.c is a whole driver. */
#ifndef IRPVERBS_CI_DRIVER_H
#define IRPVERBS_CI_DRIVER_H

#include <ci/ci.h>
#include <stddef.h>
#include <string.h>

NT_EXTERN_C_BEGIN

/* MinorFunction of a verb's stack location, of which Parameters.Others.Argument1 is the HCA_CA*,
   HCA_CQ* or another such structure. ci/verbs.def lists the numbers, which never change, and the
   other arguments. */
typedef enum _HCA_MINOR_FUNCTION {
#define CI_OBJECT(object, block)
#define CI_VERB(NAME, Name, code, ...) HCA_MN_##NAME = code,
#include <ci/verbs.def>
    HCA_MN_MAXIMUM_FUNCTION = 0xEF
} HCA_MINOR_FUNCTION;

/* An open HCA, as its driver sees it. Ownership: the common half's. */
typedef struct _HCA_CA {
    IB_CA Ca;
    PDEVICE_OBJECT Device;
    VOID* Context;   /* the client's */
    VOID* Extension; /* the driver's: CaExtensionSize bytes, zeroed */
    VOID* Reserved;  /* the common half's */
} HCA_CA;

/* A completion queue, as its driver sees it. Ownership: the common half's. */
typedef struct _HCA_CQ {
    IB_CQ Cq; /* NumCqes: requested; CreateCq and ResizeCq raise it to the actual one */
    HCA_DIRECT_POLL Direct; /* the common half's: see HcaEnableDirectPoll */
    HCA_CA* Ca;
    VOID* Context;
    VOID* Extension; /* CqExtensionSize bytes, zeroed */
    VOID* Reserved;
} HCA_CQ;

NT_STATIC_ASSERT(offsetof(HCA_CQ, Direct) == sizeof(IB_CQ), "CiGetCqResults finds it there");

/* A MAD agent, as its driver sees it. Ownership: the common half's. */
typedef struct _HCA_MAD_AGENT {
    IB_MAD_AGENT Agent; /* Attr.Qp: RegisterMadAgent fills it in, for a QP of its own */
    HCA_CA* Ca;
    VOID* Context;
    VOID* Extension; /* MadAgentExtensionSize bytes, zeroed */
    VOID* Reserved;
} HCA_MAD_AGENT;

/* A protection domain, as its driver sees it. Ownership: the common half's. */
typedef struct _HCA_PD {
    IB_PD Pd;
    HCA_CA* Ca;
    VOID* Extension; /* PdExtensionSize bytes, zeroed */
    VOID* Reserved;
} HCA_PD;

/* A memory region, as its driver sees it. Ownership: the common half's. */
typedef struct _HCA_MR {
    IB_MR Mr;              /* the verb that creates it sets the keys, and a change */
    HCA_PD* Pd;            /* of the verb that creates it, or the last change */
    DEVICE_OBJECT* Device; /* the FDO */
    ib_mr_create_t Create; /* address, length and rights, unless it is of AllocateFrmr */
    ULONG MaxPages;        /* of AllocateFrmr; 0: of another verb */
    VOID* Extension;       /* MrExtensionSize bytes, zeroed */
    VOID* Reserved;
    /* Of RegisterPmr, or the last ModifyPmr, until whose end range_array exists; num_ranges is 0:
       of another verb. */
    ib_phys_create_t Physical;
    /* Of RegisterSmr; h_mr outlives the region, and is NULL: of another verb. */
    ib_smr_create_t Sharing;
} HCA_MR;

/* A memory window, as its driver sees it. Ownership: the common half's. */
typedef struct _HCA_MW {
    IB_MW Mw; /* AllocateMw sets the key; BindMw's result replaces it */
    HCA_PD* Pd;
    VOID* Extension; /* MwExtensionSize bytes, zeroed */
    VOID* Reserved;
} HCA_MW;

/* An address vector, as its driver sees it. Ownership: the common half's. */
typedef struct _HCA_AV {
    IB_AV Av; /* Attr: requested; ModifyAv replaces it */
    HCA_PD* Pd;
    VOID* Extension; /* AvExtensionSize bytes, zeroed */
    VOID* Reserved;
} HCA_AV;

/* A queue pair, as its driver sees it. Ownership: the common half's. */
typedef struct _HCA_QP {
    IB_QP Qp; /* requested; CreateQp sets Num, and raises the others to the granted numbers */
    HCA_QP_POSTS Posts; /* CreateQp sets Queue, which then stays; see HcaSetQpPosts */
    HCA_PD* Pd;
    ib_qp_create_t Create;
    ULONG State;     /* ib_qp_state_t; see HcaSetQpState */
    VOID* Extension; /* QpExtensionSize bytes, zeroed */
    VOID* Reserved;
} HCA_QP;

/* A shared receive queue, as its driver sees it. Ownership: the common half's. */
typedef struct _HCA_SRQ {
    IB_SRQ Srq; /* requested; CreateSrq and ModifySrq raise it to the granted numbers; CreateSrq
                   sets Num of a queue with an XRC domain */
    HCA_SRQ_POST Post; /* CreateSrq sets Queue, which then stays; see HcaSetSrqPost */
    HCA_PD* Pd;
    ib_srq_create_t Create;
    VOID* Extension; /* SrqExtensionSize bytes, zeroed */
    VOID* Reserved;
} HCA_SRQ;

/* An XRC domain, as its driver sees it. Ownership: the common half's. */
typedef struct _HCA_XRCD {
    IB_XRCD Xrcd;
    HCA_CA* Ca;
    VOID* Extension; /* XrcdExtensionSize bytes, zeroed */
    VOID* Reserved;
} HCA_XRCD;

/* The attachment of a queue pair to a multicast group, as its driver sees it. Ownership: the common
   half's. */
typedef struct _HCA_MCAST {
    IB_MCAST Mcast;
    HCA_QP* Qp;
    VOID* Extension; /* McastExtensionSize bytes, zeroed */
    VOID* Reserved;
} HCA_MCAST;

NT_STATIC_ASSERT(offsetof(HCA_QP, Posts) == sizeof(IB_QP), "CiPostSend finds it there");
NT_STATIC_ASSERT(offsetof(HCA_SRQ, Post) == sizeof(IB_SRQ), "CiPostSrqRecv finds it there");

/* The version of this header's tables. A new member stands at the end of its table, which grows by
   it; every other change increments the version. */
#define HCA_DRIVER_VERSION 1u

/* The first members of a table, in an initialiser. HCA_OPERATIONS_INIT and HCA_DEVICE_INIT set them
   in a variable. */
#define HCA_SIZE_AND_VERSION(table) .Size = sizeof(table), .Version = HCA_DRIVER_VERSION

/* The driver's part of the verbs. IRQL: <= DISPATCH_LEVEL, or the level at which Submit executes.
   An operation returns the status with which the common half then completes Irp, and sets
   Irp->IoStatus.Information, which is 0 on entry; or it marks Irp pending, makes it cancellable,
   returns STATUS_PENDING, and completes it by HcaComplete. The common half has checked the
   parameters: ports exist, flags are known, buffers have 4 bytes. Information is at most the bytes
   or entries of the verb's buffer: more is a bug check. A verb whose member is NULL, or beyond
   Size, completes STATUS_NOT_SUPPORTED; OpenCa and the verbs that end an object then succeed.
   An operation that ends an object must succeed, except DeregisterMr, which returns
   STATUS_DEVICE_BUSY and changes nothing while a window is bound to the region; no other operation
   of the object is under way.
   UserData may be NULL; its OutputSize is the size of the output buffer on entry, and on return the
   size of the output that the operation wrote, 0 for none (HcaCopyUserData). */
typedef struct _HCA_OPERATIONS {
    ULONG Size;    /* sizeof(HCA_OPERATIONS) of the header that the driver was compiled with */
    ULONG Version; /* HCA_DRIVER_VERSION */

    /* Optional: decides where and when the other operations run. Calls HcaExecute and returns its
       status, or inserts Irp into a command queue and returns STATUS_PENDING (HcaQueueCommand). Not
       called for PollCq and ArmCq. IRQL: <= DISPATCH_LEVEL. */
    NTSTATUS (*Submit)(PDEVICE_OBJECT Device, PIRP Irp);

    NTSTATUS (*OpenCa)(HCA_CA* Ca, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS (*CloseCa)(HCA_CA* Ca, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS (*QueryCa)(HCA_CA* Ca, IB_CA_ATTR* Attr, SIZE_T AttrSize, PIRP Irp);
    NTSTATUS(*QueryPort)
    (HCA_CA* Ca, UCHAR PortNumber, IB_PORT_ATTR* Attr, SIZE_T AttrSize, PIRP Irp);
    NTSTATUS (*ModifyCa)(HCA_CA* Ca, ULONG Flags, const IB_MODIFY_CA* Modify, PIRP Irp);
    NTSTATUS(*ModifyPort)
    (HCA_CA* Ca, UCHAR PortNumber, ULONG Flags, const IB_MODIFY_PORT* Modify, PIRP Irp);
    NTSTATUS (*CreateCq)(HCA_CQ* Cq, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS (*DestroyCq)(HCA_CQ* Cq, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS (*QueryCq)(HCA_CQ* Cq, IB_CQ_ATTR* Attr, SIZE_T AttrSize, PIRP Irp);
    /* ResizeCq of a completion queue is called one at a time. */
    NTSTATUS (*ResizeCq)(HCA_CQ* Cq, ULONG NumCqes, CI_UDATA* UserData, PIRP Irp);
    /* Has no IRP, and neither pends nor blocks. *Taken: the number of entries; 0 on entry. */
    NTSTATUS (*PollCq)(HCA_CQ* Cq, ULONG NumEntries, IB_WC* Entries, ULONG* Taken);
    NTSTATUS (*ArmCq)(HCA_CQ* Cq, ULONG Flags, PIRP Irp); /* Irp is NULL for a call without one */
    NTSTATUS (*RegisterMadAgent)(HCA_MAD_AGENT* Agent, PIRP Irp);
    NTSTATUS (*DeregisterMadAgent)(HCA_MAD_AGENT* Agent, PIRP Irp);
    NTSTATUS (*SendMad)(HCA_MAD_AGENT* Agent, const IB_MAD_SEND* Send, PIRP Irp);
    /* NULL: agents have no QPs of their own, and RegisterMadAgent never receives a request for
       one. */
    NTSTATUS (*ModifyMadAgent)(HCA_MAD_AGENT* Agent, const IB_MAD_KEYS* Keys, PIRP Irp);

    NTSTATUS (*AllocatePd)(HCA_PD* Pd, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS (*DeallocatePd)(HCA_PD* Pd, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS (*RegisterMr)(HCA_MR* Mr, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS (*DeregisterMr)(HCA_MR* Mr, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS(*QueryMr)
    (HCA_MR* Mr, ib_mr_attr_t* Attr, SIZE_T AttrSize, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS (*CreateQp)(HCA_QP* Qp, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS (*DestroyQp)(HCA_QP* Qp, CI_UDATA* UserData, PIRP Irp);
    /* ModifyQp and FlushQp of a queue pair are called one at a time, and call HcaSetQpState before
       they succeed. ModifyQp receives no request that HcaCheckQpModify fails; a driver whose queue
       pairs change their state by themselves calls it again under its lock. */
    NTSTATUS (*ModifyQp)(HCA_QP* Qp, const ib_qp_mod_t* Modify, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS(*QueryQp)
    (HCA_QP* Qp, ib_qp_attr_t* Attr, SIZE_T AttrSize, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS (*FlushQp)(HCA_QP* Qp, PIRP Irp);

    NTSTATUS (*CreateAv)(HCA_AV* Av, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS (*DestroyAv)(HCA_AV* Av, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS (*ModifyAv)(HCA_AV* Av, const ib_av_attr_t* Attr, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS(*QueryAv)
    (HCA_AV* Av, ib_av_query_t* Attr, SIZE_T AttrSize, CI_UDATA* UserData, PIRP Irp);

    NTSTATUS (*AttachMcast)(HCA_MCAST* Mcast, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS (*DetachMcast)(HCA_MCAST* Mcast, CI_UDATA* UserData, PIRP Irp);

    NTSTATUS (*CreateSrq)(HCA_SRQ* Srq, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS (*DestroySrq)(HCA_SRQ* Srq, CI_UDATA* UserData, PIRP Irp);
    /* ModifySrq of a queue is called one at a time. */
    NTSTATUS(*ModifySrq)
    (HCA_SRQ* Srq, const ib_srq_mod_t* Modify, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS(*QuerySrq)
    (HCA_SRQ* Srq, ib_srq_attr_t* Attr, SIZE_T AttrSize, CI_UDATA* UserData, PIRP Irp);

    NTSTATUS (*AllocateMw)(HCA_MW* Mw, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS (*DeallocateMw)(HCA_MW* Mw, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS(*QueryMw)
    (HCA_MW* Mw, ib_mw_attr_t* Attr, SIZE_T AttrSize, CI_UDATA* UserData, PIRP Irp);
    /* Has no IRP, and neither pends nor blocks; returns the status of CiBindMw, which has checked
       everything but current_rkey and the state of the queue pair. *RKey: the new key. */
    NTSTATUS (*BindMw)(HCA_MW* Mw, HCA_QP* Qp, const ib_bind_wr_t* Bind, ULONG* RKey);

    /* ModifyMr, ModifyPmr and QueryMr of a region are called one at a time. HcaModifiedMr returns
       the whole region that is wanted, whose values have been checked. Mr->Create and Mr->Pd are
       still those of before; the common half replaces them when this has succeeded. */
    NTSTATUS (*ModifyMr)(HCA_MR* Mr, const ib_mr_mod_t* Modify, CI_UDATA* UserData, PIRP Irp);
    /* DeregisterMr ends the region, too. */
    NTSTATUS (*AllocateFrmr)(HCA_MR* Mr, CI_UDATA* UserData, PIRP Irp);

    /* A driver with these creates shared receive queues with XRC domains, and queue pairs of the
       types of XRC. */
    NTSTATUS (*AllocateXrcd)(HCA_XRCD* Xrcd, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS (*DeallocateXrcd)(HCA_XRCD* Xrcd, CI_UDATA* UserData, PIRP Irp);

    /* DeregisterMr ends the regions of these, too. ModifyMr is not called for them, nor, like
       ModifyPmr, for a region whose pages another one shares. */
    NTSTATUS (*RegisterPmr)(HCA_MR* Mr, CI_UDATA* UserData, PIRP Irp);
    NTSTATUS (*RegisterSmr)(HCA_MR* Mr, CI_UDATA* UserData, PIRP Irp);
    /* Called for regions of RegisterPmr. HcaModifiedPmr returns the whole region that is wanted, as
       HcaModifiedMr for ModifyMr; its range_array exists with IB_MR_MOD_ADDR alone. Mr->Physical,
       too, is replaced when this has succeeded. */
    NTSTATUS (*ModifyPmr)(HCA_MR* Mr, const ib_phys_mod_t* Modify, CI_UDATA* UserData, PIRP Irp);
} HCA_OPERATIONS;

/* Initialises a table without operations. IRQL: any. */
static inline void HCA_OPERATIONS_INIT(HCA_OPERATIONS* Operations) {
    memset(Operations, 0, sizeof(*Operations));
    Operations->Size = sizeof(*Operations);
    Operations->Version = HCA_DRIVER_VERSION;
}

/* The description of a device for HcaCreateDevice. */
typedef struct _HCA_DEVICE {
    ULONG Size;                       /* sizeof(HCA_DEVICE) */
    ULONG Version;                    /* HCA_DRIVER_VERSION */
    const HCA_OPERATIONS* Operations; /* copied; HcaDeviceOperations returns this address */
    const char* Name;                 /* copied */
    ib_guid_t NodeGuid;
    UCHAR PortCount;
    SIZE_T ExtensionSize; /* bytes */
    SIZE_T CaExtensionSize;
    SIZE_T CqExtensionSize;
    SIZE_T MadAgentExtensionSize;
    SIZE_T PdExtensionSize;
    SIZE_T MrExtensionSize;
    SIZE_T QpExtensionSize;
    SIZE_T AvExtensionSize;
    SIZE_T McastExtensionSize;
    SIZE_T SrqExtensionSize;
    SIZE_T MwExtensionSize;
    SIZE_T XrcdExtensionSize;
} HCA_DEVICE;

/* Initialises a description without values. IRQL: any. */
static inline void HCA_DEVICE_INIT(HCA_DEVICE* Description) {
    memset(Description, 0, sizeof(*Description));
    Description->Size = sizeof(*Description);
    Description->Version = HCA_DRIVER_VERSION;
}

/* Creates an FDO and inserts it into the registry of the caller's machine. Ownership: the FDO is
   the driver's, until HcaDeleteDevice. IRQL: PASSIVE_LEVEL.
   STATUS_SUCCESS. STATUS_OBJECT_NAME_COLLISION: the GUID is taken. STATUS_REVISION_MISMATCH: the
   Version of a table is not HCA_DRIVER_VERSION, or its Size is that of a later header; the message
   of HcaAttachEx names the table, unless the driver's Attach has a message of its own.
   STATUS_INVALID_PARAMETER: Operations or Name is NULL. STATUS_INSUFFICIENT_RESOURCES. */
NT_API NTSTATUS HcaCreateDevice(const HCA_DEVICE* Description, PDEVICE_OBJECT* Device);

/* Makes every later CiOpenCa complete STATUS_DELETE_PENDING, until HcaAllowOpen. Waits first for
   the ends of objects whose C++ handles were destroyed. STATUS_SUCCESS. STATUS_DEVICE_BUSY: the
   device is open; nothing changed. IRQL: PASSIVE_LEVEL. */
NT_API NTSTATUS HcaRefuseOpen(PDEVICE_OBJECT Device);
/* IRQL: <= DISPATCH_LEVEL. */
NT_API void HcaAllowOpen(PDEVICE_OBJECT Device);

/* Removes the device from the registry and deletes it. The caller makes sure that it is not open
   and can't be opened (HcaRefuseOpen). IRQL: PASSIVE_LEVEL. */
NT_API void HcaDeleteDevice(PDEVICE_OBJECT Device);

/* The driver's part of a device: ExtensionSize bytes, zero at creation. IRQL: any. */
NT_API VOID* HcaDeviceExtension(PDEVICE_OBJECT Device) NT_NOEXCEPT;

/* The Operations that HcaCreateDevice received, by which a driver recognises its devices. IRQL:
   any. */
NT_API const HCA_OPERATIONS* HcaDeviceOperations(const DEVICE_OBJECT* Device) NT_NOEXCEPT;

/* Runs the operation of the verb in Irp and completes Irp, unless the operation pends. Returns the
   status. IRQL: <= DISPATCH_LEVEL. */
NT_API NTSTATUS HcaExecute(PIRP Irp);

/* Completes an IRP that an operation has pended. IRQL: <= DISPATCH_LEVEL. */
NT_API void HcaComplete(PIRP Irp, NTSTATUS Status, ULONG_PTR Information);

/* A driver's queue of commands, served one at a time, oldest first. */
typedef enum _HCA_SERVICE {
    HcaServeByDpc,     /* commands run at DISPATCH_LEVEL */
    HcaServeByWorkItem /* commands run at PASSIVE_LEVEL, and may block */
} HCA_SERVICE;

typedef struct _HCA_COMMAND_QUEUE {
    KSPIN_LOCK Lock;
    LIST_ENTRY Waiting;
    BOOLEAN Serving;
    KEVENT* Stopped; /* set when the server stops */
    HCA_SERVICE Service;
    NTSTATUS (*Execute)(PIRP Irp);
    KDPC Dpc;
    WORK_QUEUE_ITEM WorkItem;
} HCA_COMMAND_QUEUE;

/* Initialises a queue. Execute runs a command; NULL stands for HcaExecute. Ownership: the caller
   keeps the memory until HcaRundownCommandQueue. IRQL: <= APC_LEVEL. */
NT_API void HcaInitializeCommandQueue(HCA_COMMAND_QUEUE* Queue, HCA_SERVICE Service,
                                      NTSTATUS (*Execute)(PIRP Irp));

/* Inserts a command. Submit returns the status of this: STATUS_PENDING, or STATUS_CANCELLED when
   the IRP was already cancelled. A cancel of a waiting command completes it STATUS_CANCELLED,
   unless it is a close or destroy. Uses Tail.Overlay.ListEntry and DriverContext[0]. IRQL: <=
   DISPATCH_LEVEL. */
NT_API NTSTATUS HcaQueueCommand(HCA_COMMAND_QUEUE* Queue, PIRP Irp);

/* Waits until the last server has stopped. No command is inserted any more. IRQL: PASSIVE_LEVEL. */
NT_API void HcaRundownCommandQueue(HCA_COMMAND_QUEUE* Queue);

/* Reports to every client of the device an event of a port, or a fatal error (once; verbs fail from
   then on). A port that the device does not have, or a code that is no port's event, is a bug
   check. The caller holds no lock, and makes one call at a time when their order matters. IRQL: <=
   DISPATCH_LEVEL. */
NT_API void HcaReportPortEvent(PDEVICE_OBJECT Device, UCHAR PortNumber, IB_ASYNC_EVENT Event);
NT_API void HcaReportFatal(PDEVICE_OBJECT Device);

/* Reports an event of a port to one client, for a driver that receives the events of each client
   apart. The caller holds no lock, and makes sure that CloseCa is not called before this returns.
   Otherwise as HcaReportPortEvent. IRQL: <= DISPATCH_LEVEL. */
NT_API void HcaReportCaPortEvent(HCA_CA* Ca, UCHAR PortNumber, IB_ASYNC_EVENT Event);

/* Report the completion event of an armed queue, and an error of a queue. A code that is no queue's
   event is a bug check. The caller holds no lock, and makes sure that DestroyCq is not called
   before this returns. IRQL: <= DISPATCH_LEVEL. */
NT_API void HcaReportCqCompletion(HCA_CQ* Cq);
NT_API void HcaReportCqEvent(HCA_CQ* Cq, IB_ASYNC_EVENT Event);

/* Enables the path of CiGetCqResults that acquires no lock of the driver. PollCq calls this each
   time when Poll(Queue) would do what PollCq does. After 32 such calls in a row CiGetCqResults
   calls Poll directly, until HcaRevokeDirectPoll or a fatal event; when Poll returns a negative
   number, CiGetCqResults calls PollCq. Has no effect while the verifier or the simulator is on. The
   caller holds the lock under which it calls HcaRevokeDirectPoll. IRQL: <= DISPATCH_LEVEL. */
NT_API void HcaEnableDirectPoll(HCA_CQ* Cq, PFN_HCA_DIRECT_POLL Poll, struct ibv_cq* Queue);

/* Disables direct polls: when this returns no caller is inside Poll, and no caller enters it until
   32 calls of HcaEnableDirectPoll enable it again. Takes about a microsecond when Poll was in use,
   and no time otherwise. IRQL: <= DISPATCH_LEVEL. */
NT_API void HcaRevokeDirectPoll(HCA_CQ* Cq);

/* Reports an event of a queue pair. A code that is no queue pair's event is a bug check. The caller
   holds no lock, and makes sure that DestroyQp is not called before this returns. IRQL: <=
   DISPATCH_LEVEL. */
NT_API void HcaReportQpEvent(HCA_QP* Qp, IB_ASYNC_EVENT Event);

/* Reports an event of a shared receive queue, as HcaReportQpEvent; DestroySrq is not called before
   this returns. IRQL: <= DISPATCH_LEVEL. */
NT_API void HcaReportSrqEvent(HCA_SRQ* Srq, IB_ASYNC_EVENT Event);

/* The state of a queue pair, by which modifies are checked. The driver stores each new state, also
   those that it enters by itself, IB_QPS_SQD_DRAINING before IB_QPS_SQD_DRAINED. IRQL: any. */
static inline ib_qp_state_t HcaQpState(const HCA_QP* Qp) {
    return __atomic_load_n(&Qp->State, __ATOMIC_ACQUIRE);
}
static inline void HcaSetQpState(HCA_QP* Qp, ib_qp_state_t State) {
    __atomic_store_n(&Qp->State, State, __ATOMIC_RELEASE);
}

/* Checks a modify against the state of the queue pair: the transition exists for its type, the
   attributes are those of the transition, and the values are in their ranges. The table of
   transitions is that of IBA 11.2.5.2. Returns the status of CiModifyQp. Limits of the HCA and the
   port's MTU and tables remain to the driver. IRQL: any. */
NT_API NTSTATUS HcaCheckQpModify(const HCA_QP* Qp, const ib_qp_mod_t* Modify);

/* The address of a region's first byte in work requests. IRQL: any. */
static inline ULONGLONG HcaMrBase(const ib_mr_create_t* Create) {
    if (Create->iova != 0 || (Create->access_ctrl & IB_AC_ZERO_BASED) != 0) return Create->iova;
    return (ULONGLONG)(ULONG_PTR)Create->vaddr;
}

/* The region after a change. IRQL: any. */
static inline ib_mr_create_t HcaModifiedMr(const HCA_MR* Mr, const ib_mr_mod_t* Modify) {
    ib_mr_create_t Made = Mr->Create;
    if ((Modify->opts & IB_MR_MOD_ADDR) != 0) {
        Made.vaddr = Modify->create.vaddr;
        Made.length = Modify->create.length;
        Made.iova = Modify->create.iova;
    }
    if ((Modify->opts & IB_MR_MOD_ACCESS) != 0) Made.access_ctrl = Modify->create.access_ctrl;
    return Made;
}

/* The protection domain of a region after a change. IRQL: any. */
static inline HCA_PD* HcaModifiedPd(const HCA_MR* Mr, const ib_mr_mod_t* Modify) {
    return (Modify->opts & IB_MR_MOD_PD) != 0 ? (HCA_PD*)(VOID*)Modify->h_pd : Mr->Pd;
}

/* As the two above, of a region of RegisterPmr. IRQL: any. */
static inline ib_phys_create_t HcaModifiedPmr(const HCA_MR* Mr, const ib_phys_mod_t* Modify) {
    const BOOLEAN Pages = (Modify->opts & IB_MR_MOD_ADDR) != 0;
    const BOOLEAN Rights = (Modify->opts & IB_MR_MOD_ACCESS) != 0;
    ib_phys_create_t Made = Pages ? Modify->create : Mr->Physical;
    Made.access_ctrl = Rights ? Modify->create.access_ctrl : Mr->Physical.access_ctrl;
    return Made;
}
static inline HCA_PD* HcaModifiedPmrPd(const HCA_MR* Mr, const ib_phys_mod_t* Modify) {
    return (Modify->opts & IB_MR_MOD_PD) != 0 ? (HCA_PD*)(VOID*)Modify->h_pd : Mr->Pd;
}

/* Sets the functions that CiPostSend and CiPostRecv call with Posts.Queue; NULL stands for one that
   returns STATUS_NOT_SUPPORTED, as before the first call of this. A driver may have a function for
   each state. A post that began earlier may still be inside the earlier function. After a fatal
   event posts return STATUS_FILE_FORCED_CLOSED. The caller makes one call at a time for a queue
   pair. PostRecv has no effect with a shared receive queue and on a type of XRC, PostSend none
   on IB_QPT_XRC_TGT: CiPostRecv and CiPostSend return STATUS_INVALID_DEVICE_REQUEST. IRQL: any. */
NT_API void HcaSetQpPosts(HCA_QP* Qp, PFN_HCA_POST_SEND PostSend, PFN_HCA_POST_RECV PostRecv);

/* Sets the function that CiPostSrqRecv calls with Post.Queue, as HcaSetQpPosts does. IRQL: any. */
NT_API void HcaSetSrqPost(HCA_SRQ* Srq, PFN_HCA_POST_RECV PostRecv);

/* Delivers a datagram to an agent; the datagram is copied. The caller holds no lock, makes one call
   at a time for an agent, and makes sure that DeregisterMadAgent is not called before this returns.
   IRQL: <= DISPATCH_LEVEL. */
NT_API void HcaReportMad(HCA_MAD_AGENT* Agent, const IB_MAD_RECEIVED* Received);

/* Adds datagrams that were lost before they reached this driver to IB_MAD_RECEIVE.Lost of the
   agent's next datagram. The rules of HcaReportMad apply. IRQL: <= DISPATCH_LEVEL. */
NT_API void HcaReportMadsLost(HCA_MAD_AGENT* Agent, ULONG Count);

/* TRUE while a capture of the device exists (ci/capture.h). IRQL: any. */
NT_API BOOLEAN HcaIsCaptured(PDEVICE_OBJECT Device) NT_NOEXCEPT;

/* Passes a packet of a queue pair that a port has sent or received to the capture of the device, if
   there is one. Packet: from the local route header to the variant CRC, or an Ethernet frame where
   LinkLayer is IB_LINK_LAYER_ETHERNET; it is copied. The caller may hold spin locks. IRQL: <=
   DISPATCH_LEVEL. */
NT_API void HcaReportPacket(PDEVICE_OBJECT Device, UCHAR PortNumber, const VOID* Packet,
                            SIZE_T Length);

/* TRUE after HcaReportFatal. IRQL: any. */
NT_API BOOLEAN HcaIsFailed(PDEVICE_OBJECT Device) NT_NOEXCEPT;

/* Write a block of attributes by the size protocol of CiQueryCa: Fixed with Size and the offsets of
   the tables filled in, then Ports (PortCount of them) and the tables. Each returns the status, and
   stores the bytes written in Irp->IoStatus.Information. IRQL: any. */
typedef struct _HCA_PORT_TABLES {
    const ib_gid_t* Gids;   /* GidCount of them */
    const ib_pkey_t* PKeys; /* PKeyCount of them */
} HCA_PORT_TABLES;
NT_API NTSTATUS HcaCopyPortAttributes(const IB_PORT_ATTR* Fixed, const HCA_PORT_TABLES* Tables,
                                      IB_PORT_ATTR* Attr, SIZE_T AttrSize, PIRP Irp);
NT_API NTSTATUS HcaCopyCaAttributes(const IB_CA_ATTR* Fixed, const IB_PORT_ATTR* Ports,
                                    const HCA_PORT_TABLES* Tables, IB_CA_ATTR* Attr,
                                    SIZE_T AttrSize, PIRP Irp);
NT_API NTSTATUS HcaCopyAttributes(const VOID* Block, ULONG Size, VOID* Attr, SIZE_T AttrSize,
                                  PIRP Irp);

/* Writes the Size bytes of Data to UserData's output buffer, as far as they fit, and their number
   to OutputSize; Size 0 returns no bytes to the user. UserData may be NULL. IRQL: any. */
NT_API void HcaCopyUserData(CI_UDATA* UserData, const VOID* Data, SIZE_T Size) NT_NOEXCEPT;

/* A driver, as HcaAttach sees it. Attach creates the devices of a location (the text behind
   "scheme:") and returns their number and a handle; a failed Attach leaves no device behind and
   writes the reason to Message. Detach: STATUS_DEVICE_BUSY and nothing changed, or STATUS_SUCCESS.
   IRQL: PASSIVE_LEVEL. */
typedef struct _HCA_DRIVER {
    const char* Scheme;
    NTSTATUS(*Attach)
    (const char* Location, ULONG* Count, VOID** Attachment, char* Message, SIZE_T MessageSize);
    NTSTATUS (*Detach)(VOID* Attachment);
    struct _HCA_DRIVER* Next; /* the registry's */
} HCA_DRIVER;

/* Registers a driver permanently; called from a constructor function or main. A second registration
   has no effect. IRQL: any. */
NT_API void HcaRegisterDriver(HCA_DRIVER* Driver);

NT_EXTERN_C_END

#endif
