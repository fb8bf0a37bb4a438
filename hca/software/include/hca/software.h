/* The software HCA: simulated adapters and fabric, and functions that inject events and faults.

   HcaAttach("software:") attaches a built-in fabric: two switches, hosts host1 to host4; host1
   has two ports. HcaAttach("software:FILE") reads the output of ibnetdiscover or the input of
   ibsim. Each channel adapter is an HCA. The links come up configured if a subnet manager on the
   first linked port would reach them; the links of islands stay in IB_PORT_INIT. Options may
   follow the file, or the colon: "software:FILE?static?loss=0.01".

     ?unmanaged      all links stay in IB_PORT_INIT, without LIDs and with empty tables, until a
                     subnet manager configures them by datagrams
     ?static         no effect in this driver: it is an instruction to a program to run no
                     subnet manager of its own
     ?checked        a work request whose memory is not mapped any more fails with the status of a
                     page without access; the system copies all memory of regions, which takes a
                     call a copy, and atomic operations are IB_ATOMIC_HCA. Otherwise the access
                     ends the process, as its own would
     ?loss=P         each cable loses a packet, damaged, with probability P
     ?duplication=P  it delivers a packet twice
     ?reordering=P   a packet takes up to 5 ms longer, and others overtake it

   P is a number from 0 to 0.5; its effect is that of 1/N, with the integer N nearest to 1/P.
   Another option, or P, is STATUS_OBJECT_NAME_INVALID.

   Ports and switches have agents for subnet management (classes 0x01 and 0x81) and performance
   (0x04). A client's agent that receives the methods of class 0x04 takes the place of the
   built-in one. A Get or Set of another class without a receiver is answered with status 0x000C.
   Traps are sent to the subnet manager that has set up the port.

   All functions of this header act on the caller's machine. The HCA must not be detached during
   a call. A function with a port number also accepts the port of a switch.
   IRQL: <= DISPATCH_LEVEL.

   Statuses:
     STATUS_SUCCESS
     STATUS_OBJECT_NAME_NOT_FOUND  no software HCA has that GUID
     STATUS_INVALID_PARAMETER      the HCA does not have that port
   Events are reported before the call returns, unless another thread is reporting earlier ones. */
#ifndef IRPVERBS_HCA_SOFTWARE_H
#define IRPVERBS_HCA_SOFTWARE_H

#include <ci/ci.h>
#include <hca/hca.h>

NT_EXTERN_C_BEGIN

/* The reply of CiCreateCq and CiResizeCq to a user through CI_UDATA. The other verbs have no
   reply. */
typedef struct _HCA_SOFTWARE_CQ_REPLY {
    ULONG NumCqes; /* entries that the queue can hold */
} HCA_SOFTWARE_CQ_REPLY;

/* The way in which the verbs of an HCA are executed. */
typedef enum _HCA_SOFTWARE_COMMANDS {
    HcaCommandsInline,   /* asynchronous; done before the verb returns */
    HcaCommandsByDpc,    /* asynchronous; the verb pends */
    HcaCommandsEither,   /* one of the first two, chosen by the machine: for tests */
    HcaCommandsBlocking, /* the verb blocks until the firmware responds: below DISPATCH_LEVEL */
    HcaCommandsBlockingWorker, /* a work item blocks; the verb pends */
    HcaCommandsCount
} HCA_SOFTWARE_COMMANDS;

/* Selects how later commands are executed; initially HcaCommandsInline.
   STATUS_INVALID_PARAMETER: not a value of HCA_SOFTWARE_COMMANDS. */
NT_API NTSTATUS HcaSoftwareSetCommands(ib_guid_t guid, HCA_SOFTWARE_COMMANDS commands);

/* Breaks or mends the cable of a port. Both ends lose or gain their link (IB_AE_PORT_ERROR,
   IB_AE_PORT_ACTIVE). A call without a change causes no event. */
NT_API NTSTATUS HcaSoftwareSetLink(ib_guid_t guid, UCHAR port, BOOLEAN up);

/* Breaks the cable of a port and mends it. */
NT_API NTSTATUS HcaSoftwareFlapLink(ib_guid_t guid, UCHAR port);

/* Injects an error from which the link recovers: both ends leave and regain IB_PORT_ACTIVE. */
NT_API NTSTATUS HcaSoftwarePortError(ib_guid_t guid, UCHAR port);

/* Reports that a port has passed an error threshold: too many symbol errors from which the link
   recovered, too many packets without a buffer, or no flow control packet in time. Increments
   the counter and notifies the subnet manager by trap 129, 130 or 131. The link stays as it is.
   STATUS_INVALID_PARAMETER: also another trap number. */
NT_API NTSTATUS HcaSoftwareReportErrorThreshold(ib_guid_t guid, UCHAR port, USHORT trap);

/* The faults of a cable, in both directions. Times are in microseconds. xxxOnceIn = N: each
   datagram is hit with probability 1/N; 0: never, 1: always. */
typedef struct _HCA_SOFTWARE_FAULTS {
    ULONG Delay;  /* additional time of each datagram */
    ULONG Jitter; /* maximum of a further random time; the order is kept */
    ULONG LossOnceIn;
    ULONG DuplicationOnceIn;
    ULONG ReorderingOnceIn; /* it takes up to ReorderingTime longer, and others overtake it */
    ULONG ReorderingTime;
    ULONG PartitionOnceIn; /* all are lost for PartitionTime; the link stays up */
    ULONG PartitionTime;
    ULONG FlapOnceIn; /* the cable breaks, and is mended after FlapTime */
    ULONG FlapTime;
    ULONGLONG Seed; /* seed on a real machine; a simulated machine has its own choices */
} HCA_SOFTWARE_FAULTS;

/* Sets the faults of a port's cable. NULL: no faults, which is the initial state. The faults of
   a datagram are chosen when it is sent. STATUS_INVALID_DEVICE_STATE: the port has no cable. */
NT_API NTSTATUS HcaSoftwareSetFaults(ib_guid_t guid, UCHAR port, const HCA_SOFTWARE_FAULTS* faults);

/* Changes the state of a port: one step up from IB_PORT_INIT, or down. After a step down both
   ends train again, and this port stays in IB_PORT_INIT. STATUS_INVALID_DEVICE_STATE: not a
   transition of IBA 7.2.7. */
NT_API NTSTATUS HcaSoftwareSetPortState(ib_guid_t guid, UCHAR port, IB_PORT_STATE state);

/* Changes of a subnet manager: a new master (IB_AE_SM_CHANGE), a new LID (IB_AE_LID_CHANGE),
   entry `index` of the P_Key table (IB_AE_PKEY_CHANGE; STATUS_INVALID_PARAMETER beyond the
   table), a new prefix (IB_AE_GID_CHANGE), and the request to register again
   (IB_AE_CLIENT_REREGISTER). */
NT_API NTSTATUS HcaSoftwareChangeSm(ib_guid_t guid, UCHAR port, ib_lid_t lid, UCHAR sl);
NT_API NTSTATUS HcaSoftwareChangeLid(ib_guid_t guid, UCHAR port, ib_lid_t lid);
NT_API NTSTATUS HcaSoftwareChangePKey(ib_guid_t guid, UCHAR port, ULONG index, ib_pkey_t pkey);
NT_API NTSTATUS HcaSoftwareChangePrefix(ib_guid_t guid, UCHAR port, ib_sn_prefix_t prefix);
NT_API NTSTATUS HcaSoftwareClientReregister(ib_guid_t guid, UCHAR port);

/* Fails the HCA permanently (IB_AE_LOCAL_FATAL). */
NT_API NTSTATUS HcaSoftwareFail(ib_guid_t guid);

/* Inserts a completion into a queue of a software HCA, as a queue pair does. A full queue
   overruns: the queue reports IB_AE_CQ_ERROR once and accepts no further completions
   (STATUS_BUFFER_OVERFLOW). The queue must not be destroyed during the call. */
NT_API NTSTATUS HcaSoftwareInsertCompletion(IB_CQ* cq, const IB_WC* completion);

/* The counters of a port. Source: IBA 16.1.3.5 (PortCounters), 16.1.4.11 (PortCountersExtended). */
typedef struct _HCA_SOFTWARE_COUNTERS {
    ULONGLONG SymbolErrors;
    ULONGLONG LinkErrorRecoveries;
    ULONGLONG LinkDowned;
    ULONGLONG ReceiveErrors; /* datagrams; those lost by LossOnceIn count as corrupted */
    ULONGLONG TransmitDiscards;
    ULONGLONG TransmitData; /* units of 4 bytes */
    ULONGLONG ReceiveData;  /* units of 4 bytes */
    ULONGLONG TransmitPackets;
    ULONGLONG ReceivePackets;
    ULONGLONG TransmitUnicasts;
    ULONGLONG ReceiveUnicasts;
    ULONGLONG TransmitMulticasts;
    ULONGLONG ReceiveMulticasts;
    ULONGLONG RelayErrors;              /* switch: no route to the LID */
    ULONGLONG TransmitConstraintErrors; /* switch: a wrong P_Key */
    ULONGLONG ReceiveConstraintErrors;
    ULONGLONG LinkIntegrityErrors;
    ULONGLONG BufferOverrunErrors;
    ULONGLONG RemotePhysicalErrors; /* 0 unless set: switches forward no corrupted packets */
    ULONGLONG Vl15Dropped;          /* SMPs without a buffer */
    ULONGLONG EcnMarks; /* Ethernet: packets received with CE in their IP header; RFC 3168 */
} HCA_SOFTWARE_COUNTERS;
NT_API NTSTATUS HcaSoftwareCounters(ib_guid_t guid, UCHAR port, HCA_SOFTWARE_COUNTERS* counters);

NT_EXTERN_C_END

#endif
