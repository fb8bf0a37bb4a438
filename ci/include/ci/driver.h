/* What an HCA's driver implements. The common half, in this package, takes the verbs apart, keeps
   the objects, their events and their closing, and completes IRPs; the driver supplies
   HCA_OPERATIONS and reports events. samples/minimal_hca.c is a whole driver. */
#ifndef IRPVERBS_CI_DRIVER_H
#define IRPVERBS_CI_DRIVER_H

#include <ci/ci.h>

NT_EXTERN_C_BEGIN

/* MinorFunction of a verb's stack location, of which Parameters.Others.Argument1 is the HCA_CA*,
   HCA_CQ* or HCA_MAD_AGENT*. ci/verbs.def has the numbers, which stay, and the other arguments. */
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

/* A completion queue, likewise. */
typedef struct _HCA_CQ {
    IB_CQ Cq; /* NumCqes: asked for; CreateCq and ResizeCq raise it to what there is */
    HCA_CA* Ca;
    VOID* Context;
    VOID* Extension; /* CqExtensionSize bytes, zeroed */
    VOID* Reserved;
} HCA_CQ;

/* A MAD agent, likewise. */
typedef struct _HCA_MAD_AGENT {
    IB_MAD_AGENT Agent; /* Attr.Qp: RegisterMadAgent fills it in, for a QP of its own */
    HCA_CA* Ca;
    VOID* Context;
    VOID* Extension; /* MadAgentExtensionSize bytes, zeroed */
    VOID* Reserved;
} HCA_MAD_AGENT;

/* What the driver does for a verb. IRQL: <= DISPATCH_LEVEL, or what Submit makes it. Returns the
   status that the common half then completes Irp with, Irp->IoStatus.Information set by the
   operation (it is 0 on entry); or marks Irp pending, has it cancellable, and returns
   STATUS_PENDING, and ends it with HcaComplete. Parameters are checked: ports exist, unknown flags
   do not come, buffers have 4 bytes. A NULL operation answers STATUS_NOT_SUPPORTED, but OpenCa and
   those that end an object have nothing to do then. CloseCa, DestroyCq and DeregisterMadAgent must
   succeed; nothing else is under way for the object. UserData may be NULL; OutputSize is the room
   there is, and becomes what the operation wrote, 0 for nothing (HcaReturnUserData). */
typedef struct _HCA_OPERATIONS {
    /* Optional: decides where and when the others run. Calls HcaExecute and returns its status, or
       hands Irp to a command queue and returns STATUS_PENDING (HcaQueueCommand). Not asked for
       PollCq and ArmCq. IRQL: <= DISPATCH_LEVEL. */
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
    NTSTATUS (*ResizeCq)(HCA_CQ* Cq, ULONG NumCqes, CI_UDATA* UserData, PIRP Irp);
    /* Has no IRP, and neither pends nor blocks. *Taken: how many; 0 on entry. */
    NTSTATUS (*PollCq)(HCA_CQ* Cq, ULONG NumEntries, IB_WC* Entries, ULONG* Taken);
    NTSTATUS (*ArmCq)(HCA_CQ* Cq, ULONG Flags, PIRP Irp);
    NTSTATUS (*RegisterMadAgent)(HCA_MAD_AGENT* Agent, PIRP Irp);
    NTSTATUS (*DeregisterMadAgent)(HCA_MAD_AGENT* Agent, PIRP Irp);
    NTSTATUS (*SendMad)(HCA_MAD_AGENT* Agent, const IB_MAD_SEND* Send, PIRP Irp);
    /* NULL: agents have no QPs of their own, and RegisterMadAgent is not asked for any. */
    NTSTATUS (*ModifyMadAgent)(HCA_MAD_AGENT* Agent, const IB_MAD_KEYS* Keys, PIRP Irp);
} HCA_OPERATIONS;

/* Of a device to be. */
typedef struct _HCA_DEVICE {
    const HCA_OPERATIONS* Operations; /* kept */
    const char* Name;                 /* copied */
    ib_guid_t NodeGuid;
    UCHAR PortCount;
    SIZE_T ExtensionSize; /* bytes */
    SIZE_T CaExtensionSize;
    SIZE_T CqExtensionSize;
    SIZE_T MadAgentExtensionSize;
} HCA_DEVICE;

/* Makes an FDO and enters it into the registry of the caller's machine. STATUS_SUCCESS.
   STATUS_OBJECT_NAME_COLLISION: the GUID is taken. STATUS_INSUFFICIENT_RESOURCES. Ownership: the
   driver's, until HcaDeleteDevice. IRQL: PASSIVE_LEVEL. */
NT_API NTSTATUS HcaCreateDevice(const HCA_DEVICE* Description, PDEVICE_OBJECT* Device);

/* From now on CiOpenCa completes STATUS_DELETE_PENDING. STATUS_SUCCESS. STATUS_DEVICE_BUSY: the
   device is open; nothing changed. Undone by HcaAllowOpen. IRQL: <= DISPATCH_LEVEL. */
NT_API NTSTATUS HcaRefuseOpen(PDEVICE_OBJECT Device);
NT_API void HcaAllowOpen(PDEVICE_OBJECT Device);

/* Takes the device out of the registry and deletes it. It is not open, and stays so.
   IRQL: PASSIVE_LEVEL. */
NT_API void HcaDeleteDevice(PDEVICE_OBJECT Device);

/* The driver's part of a device: ExtensionSize bytes, zeroed when made. IRQL: any. */
NT_API VOID* HcaDeviceExtension(PDEVICE_OBJECT Device) NT_NOEXCEPT;

/* Whose device it is: the Operations that it was made with. IRQL: any. */
NT_API const HCA_OPERATIONS* HcaDeviceOperations(const DEVICE_OBJECT* Device) NT_NOEXCEPT;

/* Runs the operation of the verb in Irp and completes Irp, unless the operation pends. Gives back
   the status. IRQL: <= DISPATCH_LEVEL. */
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

/* Prepares a queue. Execute runs a command: NULL is HcaExecute. Ownership: the caller keeps the
   memory until HcaRundownCommandQueue. IRQL: <= APC_LEVEL. */
NT_API void HcaInitializeCommandQueue(HCA_COMMAND_QUEUE* Queue, HCA_SERVICE Service,
                                      NTSTATUS (*Execute)(PIRP Irp));

/* Queues a command; STATUS_PENDING, or STATUS_CANCELLED when it was cancelled before, which Submit
   returns. While it waits a cancel completes it STATUS_CANCELLED, unless it is a close or destroy.
   Uses Tail.Overlay.ListEntry and DriverContext[0]. IRQL: <= DISPATCH_LEVEL. */
NT_API NTSTATUS HcaQueueCommand(HCA_COMMAND_QUEUE* Queue, PIRP Irp);

/* Waits until the last server is gone; no command is queued any more. IRQL: PASSIVE_LEVEL. */
NT_API void HcaRundownCommandQueue(HCA_COMMAND_QUEUE* Queue);

/* Tells every client of the device of an event of a port, or of a fatal error (once; verbs fail
   from then on). The caller holds no lock, and makes one call at a time when their order matters.
   IRQL: <= DISPATCH_LEVEL. */
NT_API void HcaReportPortEvent(PDEVICE_OBJECT Device, UCHAR PortNumber, IB_ASYNC_EVENT Event);
NT_API void HcaReportFatal(PDEVICE_OBJECT Device);

/* The completion event of an armed queue, and an error of a queue. The caller holds no lock, and
   makes sure that DestroyCq is not called meanwhile. IRQL: <= DISPATCH_LEVEL. */
NT_API void HcaReportCqCompletion(HCA_CQ* Cq);
NT_API void HcaReportCqEvent(HCA_CQ* Cq, IB_ASYNC_EVENT Event);

/* Called by PollCq again and again, while Poll(Queue) would do the same for CiGetCqResults without
   the driver's lock. After 32 such offers in a row polls call it straight, until HcaTakePollBack or
   the HCA is dead; one for which it is negative goes to PollCq all the same. Not while anything is
   verified or simulated. The caller holds the lock under which polls are taken back. IRQL: <=
   DISPATCH_LEVEL. */
NT_API void HcaOfferPoll(HCA_CQ* Cq, PFN_IB_POLL Poll, struct ibv_cq* Queue);

/* When this returns nobody is inside an offered Poll, and nobody will be until it is offered again;
   the offers begin anew. Takes about a microsecond when polls called it, and no time otherwise.
   IRQL: <= DISPATCH_LEVEL. */
NT_API void HcaTakePollBack(HCA_CQ* Cq);

/* Gives an agent a datagram, which is copied. The caller holds no lock, makes one call at a time
   for an agent, and makes sure that DeregisterMadAgent is not called meanwhile. IRQL: <=
   DISPATCH_LEVEL. */
NT_API void HcaReportMad(HCA_MAD_AGENT* Agent, const IB_MAD_RECEIVED* Received);

/* TRUE after HcaReportFatal. IRQL: any. */
NT_API BOOLEAN HcaIsDead(PDEVICE_OBJECT Device) NT_NOEXCEPT;

/* Writes a block of attributes by the size protocol of CiQueryCa: Fixed, with the offsets and Size
   that belong to the tables filled in. Gives back the status, and the bytes written in
   Irp->IoStatus.Information. IRQL: any; Ports: PortCount of them. */
typedef struct _HCA_PORT_TABLES {
    const ib_gid_t* Gids;   /* GidCount of them */
    const ib_pkey_t* PKeys; /* PKeyCount of them */
} HCA_PORT_TABLES;
NT_API NTSTATUS HcaReturnPort(const IB_PORT_ATTR* Fixed, const HCA_PORT_TABLES* Tables,
                              IB_PORT_ATTR* Attr, SIZE_T AttrSize, PIRP Irp);
NT_API NTSTATUS HcaReturnCa(const IB_CA_ATTR* Fixed, const IB_PORT_ATTR* Ports,
                            const HCA_PORT_TABLES* Tables, IB_CA_ATTR* Attr, SIZE_T AttrSize,
                            PIRP Irp);
NT_API NTSTATUS HcaReturnBlock(const VOID* Block, ULONG Size, VOID* Attr, SIZE_T AttrSize,
                               PIRP Irp);

/* Writes as many of Size bytes as UserData has room for, and their number to its OutputSize; of
   Size 0 the user is told nothing. UserData may be NULL. IRQL: any. */
NT_API void HcaReturnUserData(CI_UDATA* UserData, const VOID* Data, SIZE_T Size) NT_NOEXCEPT;

/* A driver as HcaAttach knows it. Attach makes the devices of a location (what follows "scheme:")
   and gives back how many and a handle; a failure leaves nothing behind and is told in Message.
   Detach: STATUS_DEVICE_BUSY and nothing changed, or STATUS_SUCCESS. IRQL: PASSIVE_LEVEL. */
typedef struct _HCA_DRIVER {
    const char* Scheme;
    NTSTATUS(*Attach)
    (const char* Location, ULONG* Count, VOID** Attachment, char* Message, SIZE_T MessageSize);
    NTSTATUS (*Detach)(VOID* Attachment);
    struct _HCA_DRIVER* Next; /* the registry's */
} HCA_DRIVER;

/* Adds a driver, for good; from a constructor function or main. Registered twice counts once.
   IRQL: any. */
NT_API void HcaRegisterDriver(HCA_DRIVER* Driver);

NT_EXTERN_C_END

#endif
