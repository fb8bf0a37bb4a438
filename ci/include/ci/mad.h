/* The MAD service: management datagrams as verbs, and what they carry. Ours; the rules at the top
   of ci/ci.h hold. An agent is a client's place on a port: what it may send, and what it is given.

   A datagram reaches one agent. An answer (response bit, or TrapRepress) goes to the agent that
   asked: the high 32 bits of a request's TransactionID are the driver's, which sets them when the
   request is sent, so of an answer's the low 32 are the agent's own. Anything else goes to the
   agent that receives its class, version and method (and OUI). What nobody receives is dropped; a
   driver may refuse it with a status instead.

   An agent with a queue pair of its own is given all that comes there, and TransactionIDs go out as
   they are. Such queue pairs take no multicasts, and send none to QP0.

   A datagram that was sent may be lost, like any. Source: IBA 13.4 (management datagrams), umad. */
#ifndef IRPVERBS_CI_MAD_H
#define IRPVERBS_CI_MAD_H

#include <ci/ib_types.h>
#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

struct _IB_CA;

#define IB_MAD_SIZE 256u       /* bytes of a datagram on the wire */
#define IB_MAD_HEADER_SIZE 24u /* of its common header, the least that is sent */
#define IB_QP1_QKEY ((ib_qkey_t)0x80010000)

/* IB_MAD_ADDRESS.Flags */
#define IB_MAD_GRH 0x01u /* the members from Gid on hold */

/* Where a datagram goes to, or came from: as received it is the address of an answer. */
typedef struct _IB_MAD_ADDRESS {
    ib_lid_t Lid; /* the other end's; IB_LID_PERMISSIVE: a directed route from the port itself */
    UCHAR ServiceLevel;
    UCHAR PathBits; /* of this end's LID */
    USHORT PKeyIndex;
    UCHAR StaticRate;
    UCHAR Flags;
    ib_qpn_t Qp; /* the other end's */
    ib_qkey_t QKey;
    ib_gid_t Gid; /* the other end's */
    ULONG FlowLabel;
    UCHAR GidIndex; /* this end's */
    UCHAR HopLimit;
    UCHAR TrafficClass;
} IB_MAD_ADDRESS;

/* Who takes messages of many segments apart and together. Source: IBA 13.6 (RMPP). */
typedef enum _IB_MAD_RMPP {
    IB_MAD_RMPP_BY_CLIENT = 0, /* datagrams come and go as they are on the wire */
    /* Data is a whole message: headers once, then all of its data. A transfer is what is longer
       than IB_MAD_SIZE, or has the Active flag in its RMPP header; whether one arrived nobody is
       told. */
    IB_MAD_RMPP_BY_DRIVER = 1
} IB_MAD_RMPP;

/* Which queue pair is an agent's. Where IB_PORT_ATTR.Flags lacks IB_PORT_MAD_QPS there are only
   those that it shares. Source: IBA 10.2.5 (Q_Keys), 10.9.3 (P_Keys). */
typedef enum _IB_MAD_QP {
    IB_MAD_QP_SHARED = 0,   /* QP0 or QP1, by its class */
    IB_MAD_QP_OWN_MADS = 1, /* an unreliable datagram QP of its own, for MADs of any class */
    IB_MAD_QP_OWN_RAW = 2   /* the same, for any bytes, up to the path's MTU */
} IB_MAD_QP;

/* Of a queue pair of an agent's own: it sends with this P_Key, as the port has it, and takes what
   comes in that partition and with this Q_Key. Violations are counted and told as those of QP1. */
typedef struct _IB_MAD_KEYS {
    ib_pkey_t PKey; /* of the port's table; full and limited membership count as one */
    ib_qkey_t QKey;
} IB_MAD_KEYS;

/* What an agent is. */
typedef struct _IB_MAD_AGENT_ATTR {
    UCHAR PortNumber;      /* from 1 */
    UCHAR ManagementClass; /* 0x01 and 0x81: on QP0; the others: on QP1; own QP: 0, like the next */
    UCHAR ClassVersion;
    UCHAR Rmpp;   /* IB_MAD_RMPP */
    UCHAR Oui[3]; /* of classes 0x30 to 0x4F; 0: any that no other agent receives; others: 0 */
    ULONG MethodMask[4]; /* bit m % 32 of [m / 32]: receives method m; none: only answers come */
    ULONG ReceiveLimit;  /* datagrams kept while no IRP waits; 0: 64 */
    UCHAR QpKind;        /* IB_MAD_QP */
    IB_MAD_KEYS Keys;    /* of an own QP, as it was made */
    ib_qpn_t Qp;         /* of an own QP, its number, filled in: above 1, no other's of the HCA */
} IB_MAD_AGENT_ATTR;

/* An agent. */
typedef struct _IB_MAD_AGENT {
    IB_MAD_AGENT_ATTR Attr;
} IB_MAD_AGENT;

typedef struct _IB_MAD_RECEIVED {
    IB_MAD_ADDRESS From;
    const VOID* Data; /* valid during the call */
    ULONG Length;     /* bytes */
} IB_MAD_RECEIVED;

/* Up-call: at DISPATCH_LEVEL, one at a time for an agent, none after its deregistration has
   completed. It may come before the registration has been told. */
typedef void (*PFN_IB_MAD_RECEIVED)(IB_MAD_AGENT* pAgent, VOID* AgentContext,
                                    const IB_MAD_RECEIVED* pReceived);

typedef struct _IB_MAD_DISPATCH {
    PFN_IB_MAD_RECEIVED Received; /* NULL: datagrams are taken by CiGetMad */
} IB_MAD_DISPATCH;

/* A datagram to be sent. */
typedef struct _IB_MAD_SEND {
    IB_MAD_ADDRESS To;
    const VOID* Data;
    /* Bytes, IB_MAD_HEADER_SIZE to IB_MAD_SIZE; more with IB_MAD_RMPP_BY_DRIVER; of a raw QP 1 to
       the port's MTU. */
    ULONG Length;
    /* Milliseconds after which an answer may be dropped below, from when it was sent; 0: none is
       wanted. Nobody is told when it has passed: who asks keeps a deadline. A request sent again
       before may be held until then, and is not sent when the answer has come. */
    ULONG AnswerTimeout;
} IB_MAD_SEND;

/* A buffer for a datagram to be received. */
typedef struct _IB_MAD_RECEIVE {
    VOID* Data;
    ULONG Size; /* of it, in bytes, at least IB_MAD_SIZE */
    /* Filled in: */
    ULONG Length; /* bytes of the datagram */
    ULONG Lost;   /* datagrams dropped before this one, since the last: ReceiveLimit was reached */
    IB_MAD_ADDRESS From;
} IB_MAD_RECEIVE;

/* Makes an agent. Context is given to the up-call; Dispatch may be NULL.
   Ownership: the IB_MAD_AGENT is the caller's until CiDeregisterMadAgent completes.
   STATUS_SUCCESS: Information is the IB_MAD_AGENT*. STATUS_SHARING_VIOLATION: another agent of the
   port receives one of these methods. STATUS_NOT_SUPPORTED: also IB_MAD_RMPP_BY_DRIVER without a
   driver that does it, IB_MAD_RMPP_BY_CLIENT of a class with RMPP where the system below keeps that
   to itself, a port without management, or a QP of its own without IB_PORT_MAD_QPS; methods of
   OUI 0 where the system below wants an OUI.
   STATUS_INVALID_PARAMETER: also class 0, and an OUI of a class without. With a QP of its own: also
   a class, or a P_Key that the port does not have. STATUS_INSUFFICIENT_RESOURCES: also no QP is
   free. */
NT_API NTSTATUS CiRegisterMadAgent(struct _IB_CA* pCa, const IB_MAD_AGENT_ATTR* pAttr,
                                   VOID* Context, const IB_MAD_DISPATCH* Dispatch, IRP* pIrp);

/* Ends an agent: datagrams that it has not taken are dropped, parked CiGetMad complete
   STATUS_CANCELLED before this returns, sends under way and an up-call that runs are waited for, by
   pending. STATUS_SUCCESS. */
NT_API NTSTATUS CiDeregisterMadAgent(IB_MAD_AGENT* pAgent, IRP* pIrp);

/* Sets the keys of an agent's own QP. What is under way may come before or after.
   STATUS_SUCCESS. STATUS_INVALID_PARAMETER: also a P_Key that the port does not have.
   STATUS_INVALID_DEVICE_REQUEST: the agent has no QP of its own. */
NT_API NTSTATUS CiModifyMadAgent(IB_MAD_AGENT* pAgent, const IB_MAD_KEYS* pKeys, IRP* pIrp);

/* Sends a datagram. From an agent's own QP: To.PKeyIndex is not looked at; a To.QKey whose highest
   bit is set stands for the QP's.
   STATUS_SUCCESS: it was given to the port, or lost on the way there.
   STATUS_INVALID_PARAMETER: also a length, P_Key or GID index, or a class other than the agent's.
   From an own QP: to QP0, or the port has lost its P_Key. */
NT_API NTSTATUS CiSendMad(IB_MAD_AGENT* pAgent, const IB_MAD_SEND* pSend, IRP* pIrp);

/* Waits for a datagram; any number of these may wait, one is completed a datagram, oldest first.
   STATUS_SUCCESS: Information is its length. STATUS_BUFFER_OVERFLOW: a message (RMPP by the driver,
   or raw) is longer than Size; pReceive->Length is what it takes, and it stays the next.
   STATUS_BUFFER_TOO_SMALL: less than IB_MAD_SIZE. STATUS_INVALID_DEVICE_REQUEST: the agent has an
   up-call. STATUS_CANCELLED: also by CiDeregisterMadAgent. */
NT_API NTSTATUS CiGetMad(IB_MAD_AGENT* pAgent, IB_MAD_RECEIVE* pReceive, IRP* pIrp);

NT_EXTERN_C_END

#endif
