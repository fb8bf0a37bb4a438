/* The MAD service: verbs that send and receive management datagrams, and their parameters. Ours;
   the rules at the top of ci/ci.h apply. An agent is a client's registration at a port: it
   determines the datagrams that the client may send and those that it receives.

   A datagram reaches one agent. A response (response bit, or TrapRepress) goes to the agent that
   sent the request: the driver sets the high 32 bits of a request's TransactionID when it sends the
   request, and only the low 32 bits belong to the agent. Any other datagram goes to the agent that
   receives its class, version and method (and OUI). A datagram that no agent receives is dropped; a
   driver may refuse it with a status instead.

   An agent with a queue pair of its own receives every datagram of that queue pair, and sends
   TransactionIDs unchanged. Such a queue pair receives no multicasts, and sends none of its
   datagrams to QP0.

   A datagram that was sent may be lost, like any. Source: IBA 13.4 (management datagrams), umad. */
#ifndef IRPVERBS_CI_MAD_H
#define IRPVERBS_CI_MAD_H

#include <ci/ib_types.h>
#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

struct _IB_CA;

#define IB_MAD_SIZE 256u       /* bytes of a datagram on the wire */
#define IB_MAD_HEADER_SIZE 24u /* of its common header, the minimum to send */
#define IB_QP1_QKEY ((ib_qkey_t)0x80010000)

/* IB_MAD_ADDRESS.Flags */
#define IB_MAD_GRH 0x01u /* the members from Gid on are valid */

/* The peer of a datagram: its destination, or its source. The source of a received datagram is the
   destination of the response. */
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

/* The party that segments and reassembles messages of several datagrams. Source: IBA 13.6
   (RMPP). */
typedef enum _IB_MAD_RMPP {
    IB_MAD_RMPP_BY_CLIENT = 0, /* Data is one datagram, as on the wire */
    /* Data is a whole message: headers once, then all of its data. A message longer than
       IB_MAD_SIZE, or with the Active flag in its RMPP header, is a transfer; the driver does not
       report whether a transfer arrived. */
    IB_MAD_RMPP_BY_DRIVER = 1
} IB_MAD_RMPP;

/* The queue pair of an agent. Where IB_PORT_ATTR.Flags lacks IB_PORT_MAD_QPS, agents can only share
   queue pairs. Source: IBA 10.2.5 (Q_Keys), 10.9.3 (P_Keys). */
typedef enum _IB_MAD_QP {
    IB_MAD_QP_SHARED = 0,   /* QP0 or QP1, by its class */
    IB_MAD_QP_OWN_MADS = 1, /* an unreliable datagram QP of its own, for MADs of any class */
    IB_MAD_QP_OWN_RAW = 2   /* such a QP for any bytes, up to the path's MTU */
} IB_MAD_QP;

/* The keys of an agent's own queue pair: it sends with this P_Key, as the port's table has it, and
   receives the datagrams of that partition that carry this Q_Key. Violations are counted and
   reported as those of QP1. */
typedef struct _IB_MAD_KEYS {
    ib_pkey_t PKey; /* of the port's table; full and limited membership count as one */
    ib_qkey_t QKey;
} IB_MAD_KEYS;

/* Whether datagrams of the class name a vendor by an OUI, which its agents choose between. IRQL:
   any. Source: IBA 16.5 (vendor classes 0x30 to 0x4F). */
static inline BOOLEAN IbClassHasOui(UCHAR ManagementClass) NT_NOEXCEPT {
    return ManagementClass >= 0x30 && ManagementClass <= 0x4F;
}

/* Attributes of an agent. */
typedef struct _IB_MAD_AGENT_ATTR {
    UCHAR PortNumber;      /* from 1 */
    UCHAR ManagementClass; /* 0x01 and 0x81: on QP0; the others: on QP1; own QP: 0, like the next */
    UCHAR ClassVersion;
    UCHAR Rmpp;          /* IB_MAD_RMPP */
    UCHAR Oui[3];        /* for classes 0x30 to 0x4F; 0: all that no other agent receives; else 0 */
    ULONG MethodMask[4]; /* bit m % 32 of [m / 32]: receives method m; none: only responses */
    ULONG ReceiveLimit;  /* datagrams queued while no IRP waits; 0: 64 */
    UCHAR QpKind;        /* IB_MAD_QP */
    IB_MAD_KEYS Keys;    /* of an own QP, at its creation */
    ib_qpn_t Qp;         /* output, number of an own QP: above 1, unique on the HCA */
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

/* The up-call runs at DISPATCH_LEVEL, one at a time for an agent, and never after its
   deregistration has completed. It may run before the registration's completion reaches the
   client. */
typedef void (*PFN_IB_MAD_RECEIVED)(IB_MAD_AGENT* pAgent, VOID* AgentContext,
                                    const IB_MAD_RECEIVED* pReceived);

typedef struct _IB_MAD_DISPATCH {
    PFN_IB_MAD_RECEIVED Received; /* NULL: CiGetMad returns the datagrams */
} IB_MAD_DISPATCH;

/* A datagram to be sent. */
typedef struct _IB_MAD_SEND {
    IB_MAD_ADDRESS To;
    const VOID* Data;
    /* Bytes, IB_MAD_HEADER_SIZE to IB_MAD_SIZE; more with IB_MAD_RMPP_BY_DRIVER; of a raw QP 1 to
       the port's MTU. */
    ULONG Length;
    /* Milliseconds, from the sending on, after which the driver may drop a response; 0: no response
       is expected. Expiry is not reported: the requester keeps a deadline of its own. A request
       that is repeated earlier may be held until then, and is not sent when the response has
       arrived. */
    ULONG ResponseTimeout;
} IB_MAD_SEND;

/* A buffer for a datagram to be received. */
typedef struct _IB_MAD_RECEIVE {
    VOID* Data;
    ULONG Size; /* of Data, in bytes, at least IB_MAD_SIZE */
    /* Output: */
    ULONG Length; /* bytes of the datagram */
    ULONG Lost;   /* datagrams dropped since the previous one, at ReceiveLimit or without memory */
    IB_MAD_ADDRESS From;
} IB_MAD_RECEIVE;

/* Registers an agent. The up-call receives Context; Dispatch may be NULL.
   Ownership: the IB_MAD_AGENT is the caller's until CiDeregisterMadAgent completes.
   STATUS_SUCCESS: Information is the IB_MAD_AGENT*. STATUS_SHARING_VIOLATION: another agent of the
   port receives one of these methods. The software HCA allows several agents for communication
   management, and distributes its messages, and several for Reports of subnet administration, each
   of which receives all. STATUS_NOT_SUPPORTED: also IB_MAD_RMPP_BY_DRIVER with a driver that does
   not do it, IB_MAD_RMPP_BY_CLIENT for a class with RMPP that the system below reserves for itself,
   a port without management, a QP of its own without IB_PORT_MAD_QPS, or methods for OUI 0 where
   the system below requires an OUI.
   STATUS_INVALID_PARAMETER: also class 0, and an OUI for a class that has none. With a QP of its
   own: also a class, or a P_Key that the port does not have. STATUS_INSUFFICIENT_RESOURCES: also no
   QP is free. */
NT_API NTSTATUS CiRegisterMadAgent(struct _IB_CA* pCa, const IB_MAD_AGENT_ATTR* pAttr,
                                   VOID* Context, const IB_MAD_DISPATCH* Dispatch, IRP* pIrp);

/* Deregisters an agent. Datagrams that it has not received are dropped, and pended CiGetMad
   complete STATUS_CANCELLED before this returns. The deregistration pends until sends under way and
   a running up-call have ended. STATUS_SUCCESS. */
NT_API NTSTATUS CiDeregisterMadAgent(IB_MAD_AGENT* pAgent, IRP* pIrp);

/* Sets the keys of an agent's own QP. A datagram under way may use the old keys or the new ones.
   STATUS_SUCCESS. STATUS_INVALID_PARAMETER: also a P_Key that the port does not have.
   STATUS_INVALID_DEVICE_REQUEST: the agent has no QP of its own. */
NT_API NTSTATUS CiModifyMadAgent(IB_MAD_AGENT* pAgent, const IB_MAD_KEYS* pKeys, IRP* pIrp);

/* Sends a datagram. From an agent's own QP: To.PKeyIndex is ignored; a To.QKey whose highest bit is
   set stands for the QP's Q_Key.
   STATUS_SUCCESS: the port accepted it, or it was lost on the way there. STATUS_INVALID_PARAMETER:
   also a length, P_Key or GID index, or a class other than the agent's (0x01 and 0x81 are the same
   class here). From an own QP: also a datagram to QP0, or the port has lost the QP's P_Key. */
NT_API NTSTATUS CiSendMad(IB_MAD_AGENT* pAgent, const IB_MAD_SEND* pSend, IRP* pIrp);

/* Waits for a datagram; any number of IRPs may wait, and a datagram completes the oldest.
   STATUS_SUCCESS: Information is its length. STATUS_BUFFER_OVERFLOW: a message (RMPP by the driver,
   or raw) is longer than Size; pReceive->Length is its length, and it stays first in the queue.
   STATUS_BUFFER_TOO_SMALL: Size is less than IB_MAD_SIZE. STATUS_INVALID_DEVICE_REQUEST: the agent
   has an up-call. STATUS_CANCELLED: also by CiDeregisterMadAgent. */
NT_API NTSTATUS CiGetMad(IB_MAD_AGENT* pAgent, IB_MAD_RECEIVE* pReceive, IRP* pIrp);

NT_EXTERN_C_END

#endif
