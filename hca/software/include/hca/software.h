/* The software HCA: adapters on a simulated fabric, and the hand that makes things happen there.
   Attached as "software:" (two switches, hosts host1 to host4; host1 has two ports) or
   "software:FILE" (what ibnetdiscover prints or ibsim reads); an HCA for each channel adapter. Its
   links are configured as they come up, where a subnet manager on the first linked port would reach
   them: those of islands stay in IB_PORT_INIT. With "?unmanaged" at the end all stay so,
   without LIDs and with empty tables, until a subnet manager configures them by datagrams.
   "?static" at the end changes nothing here: it tells a program to run no subnet manager of its
   own.

   Ports and switches have agents for subnet management (classes 0x01 and 0x81) and performance
   (0x04; a client's agent that receives its methods stands in for it). A Get or Set of another
   class that nobody receives is answered with status 0x000C. Traps go to the subnet manager that
   has set a port up.

   Of all functions here: they act on the caller's machine; the HCA is not detached meanwhile.
   Those that name a port do so also of a switch. STATUS_SUCCESS; STATUS_OBJECT_NAME_NOT_FOUND for a
   GUID that is no software HCA's; STATUS_INVALID_PARAMETER for a port that it does not have. Events
   are told before the call returns, unless another thread is telling earlier ones. IRQL: <=
   DISPATCH_LEVEL. */
#ifndef IRPVERBS_HCA_SOFTWARE_H
#define IRPVERBS_HCA_SOFTWARE_H

#include <ci/ci.h>
#include <hca/hca.h>

NT_EXTERN_C_BEGIN

/* What CiCreateCq and CiResizeCq tell a user through CI_UDATA; the other verbs tell nothing. */
typedef struct _HCA_SOFTWARE_CQ_REPLY {
    ULONG NumCqes; /* entries it can hold */
} HCA_SOFTWARE_CQ_REPLY;

/* What lies below the verbs of an HCA. */
typedef enum _HCA_SOFTWARE_COMMANDS {
    HcaCommandsInline,   /* asynchronous; done before the verb returns */
    HcaCommandsByDpc,    /* asynchronous; the verb pends */
    HcaCommandsEither,   /* one of these two, as the machine draws: for tests */
    HcaCommandsBlocking, /* the verb blocks until the firmware answers: below DISPATCH_LEVEL */
    HcaCommandsBlockingWorker, /* a work item blocks; the verb pends */
    HcaCommandsCount
} HCA_SOFTWARE_COMMANDS;

/* Commands submitted from now on go this way; inline at first. */
NT_API NTSTATUS HcaSoftwareSetCommands(ib_guid_t guid, HCA_SOFTWARE_COMMANDS commands);

/* Breaks the cable of a port, or mends it; both ends lose or gain their link (IB_AE_PORT_ERROR,
   IB_AE_PORT_ACTIVE). No change, no event. */
NT_API NTSTATUS HcaSoftwareSetLink(ib_guid_t guid, UCHAR port, BOOLEAN up);

/* Breaks and mends it. */
NT_API NTSTATUS HcaSoftwareFlapLink(ib_guid_t guid, UCHAR port);

/* An error that the link recovers from: both ends leave and regain IB_PORT_ACTIVE. */
NT_API NTSTATUS HcaSoftwarePortError(ib_guid_t guid, UCHAR port);

/* A port's error thresholds are passed: too many symbol errors that the link recovered from, too
   many packets that found no buffer, or no flow control packet in time. Counted, and told to the
   subnet manager by trap 129, 130 or 131. The link stays as it is. STATUS_INVALID_PARAMETER: also
   another number. */
NT_API NTSTATUS HcaSoftwarePassThreshold(ib_guid_t guid, UCHAR port, USHORT trap);

/* What goes wrong on a cable, in both directions. Times are in microseconds. "OnceIn": once in so
   many datagrams, as the machine draws; 0: never, 1: always. */
typedef struct _HCA_SOFTWARE_FAULTS {
    ULONG Delay;  /* each takes so much longer */
    ULONG Jitter; /* and up to so much more; their order is kept */
    ULONG LossOnceIn;
    ULONG DuplicationOnceIn;
    ULONG ReorderingOnceIn; /* it takes up to ReorderingTime longer, and others pass it */
    ULONG ReorderingTime;
    ULONG PartitionOnceIn; /* for PartitionTime nothing comes through; the link stays up */
    ULONG PartitionTime;
    ULONG FlapOnceIn; /* the cable breaks, and is mended after FlapTime */
    ULONG FlapTime;
    ULONGLONG Seed; /* of the draws on a real machine; a simulated one draws from its choices */
} HCA_SOFTWARE_FAULTS;

/* Sets the faults of a port's cable; NULL: none, as at first. Of a datagram they are drawn when it
   is sent. STATUS_INVALID_DEVICE_STATE: the port has no cable. */
NT_API NTSTATUS HcaSoftwareSetFaults(ib_guid_t guid, UCHAR port, const HCA_SOFTWARE_FAULTS* faults);

/* Moves a port through its states, one step up from IB_PORT_INIT, or down: then both ends train
   anew, which leaves this one in IB_PORT_INIT. STATUS_INVALID_DEVICE_STATE: no step of IBA 7.2.7.
 */
NT_API NTSTATUS HcaSoftwareSetPortState(ib_guid_t guid, UCHAR port, IB_PORT_STATE state);

/* What a subnet manager changes: a new master (IB_AE_SM_CHANGE), a new LID (IB_AE_LID_CHANGE),
   entry `index` of the P_Key table (IB_AE_PKEY_CHANGE; STATUS_INVALID_PARAMETER beyond the table),
   a new prefix (IB_AE_GID_CHANGE), and the demand to register again (IB_AE_CLIENT_REREGISTER). */
NT_API NTSTATUS HcaSoftwareChangeSm(ib_guid_t guid, UCHAR port, ib_lid_t lid, UCHAR sl);
NT_API NTSTATUS HcaSoftwareChangeLid(ib_guid_t guid, UCHAR port, ib_lid_t lid);
NT_API NTSTATUS HcaSoftwareChangePKey(ib_guid_t guid, UCHAR port, ULONG index, ib_pkey_t pkey);
NT_API NTSTATUS HcaSoftwareChangePrefix(ib_guid_t guid, UCHAR port, ib_sn_prefix_t prefix);
NT_API NTSTATUS HcaSoftwareClientReregister(ib_guid_t guid, UCHAR port);

/* The HCA fails for good (IB_AE_LOCAL_FATAL). */
NT_API NTSTATUS HcaSoftwareFail(ib_guid_t guid);

/* Puts a completion into a queue of a software HCA, as a queue pair would. A full queue overruns:
   IB_AE_CQ_ERROR, once, and it takes no more: STATUS_BUFFER_OVERFLOW. The queue is not destroyed
   meanwhile. */
NT_API NTSTATUS HcaSoftwareComplete(IB_CQ* cq, const IB_WC* completion);

/* Counters of a port. Source: IBA 16.1.3.5 (PortCounters), 16.1.4.11 (PortCountersExtended). */
typedef struct _HCA_SOFTWARE_COUNTERS {
    ULONGLONG SymbolErrors;
    ULONGLONG LinkErrorRecoveries;
    ULONGLONG LinkDowned;
    ULONGLONG ReceiveErrors; /* of datagrams: what LossOnceIn takes was damaged */
    ULONGLONG TransmitDiscards;
    ULONGLONG TransmitData; /* units of 4 bytes */
    ULONGLONG ReceiveData;  /* likewise */
    ULONGLONG TransmitPackets;
    ULONGLONG ReceivePackets;
    ULONGLONG TransmitUnicasts;
    ULONGLONG ReceiveUnicasts;
    ULONGLONG TransmitMulticasts;
    ULONGLONG ReceiveMulticasts;
    ULONGLONG RelayErrors;              /* of a switch: no way to the LID */
    ULONGLONG TransmitConstraintErrors; /* of a switch: a wrong P_Key */
    ULONGLONG ReceiveConstraintErrors;
    ULONGLONG LinkIntegrityErrors;
    ULONGLONG BufferOverrunErrors;
    ULONGLONG RemotePhysicalErrors; /* 0 unless set: a switch passes on nothing that is damaged */
    ULONGLONG Vl15Dropped;          /* SMPs for which there was no room */
} HCA_SOFTWARE_COUNTERS;
NT_API NTSTATUS HcaSoftwareCounters(ib_guid_t guid, UCHAR port, HCA_SOFTWARE_COUNTERS* counters);

NT_EXTERN_C_END

#endif
