/* Connections: communication management of a port (class 0x07), with each operation an IRP of the
   caller.

   Every verb
   - completes pIrp exactly once, also when it fails at once. It returns the status that the IRP was
     completed with, or STATUS_PENDING, also when the completion comes before the return. The IRP
     needs one stack location for this package. From the call to the completion it belongs to the
     package;
   - may be called at IRQL <= DISPATCH_LEVEL;
   - reads its parameter structures, and what they point to, before it returns; a structure for
     results is the package's until completion;
   - completes STATUS_CANCELLED when IoCancelIrp is called while it is pended and has not taken
     effect; a result that exists wins. Closes, once begun, are not cancelled;
   - completes STATUS_INVALID_PARAMETER for an object that is NULL and for private data that are
     longer than the message's field, STATUS_INVALID_DEVICE_STATE when the connection's state does
     not allow it, STATUS_FILE_CLOSED when the object is being closed, and
     STATUS_INSUFFICIENT_RESOURCES.

   An object's pointer is valid until the verb that closes it completes. Information is 0 unless a
   verb says otherwise. The declarations below state only what they add to these rules.

   A queue pair of a connection changes its state by the package only: INIT and RTR before the peer
   may send, RTS before this end may send, ERROR at the end. It is created by the client and must
   live until the connection is closed, or until the verb that it was given to has failed. A queue
   pair in IB_QPS_INIT may have receives posted before the verb.

   A client that changes the state itself, as librdmacm does, leaves h_qp NULL and gives the queue
   pair's number, type and use of shared receives: qpn, qp_type and srq. The package then calls no
   verb for it, and loads no alternate path; CmQueryQpChange returns the attributes of the peer and
   the path.

   Times are codes: 4.096 us * 2^n. All times are machine time.

   Source: IBA chapter 12; names of WinOF's ib_cm where it has them, verbs of NDK. */
#ifndef IRPVERBS_CM_CM_H
#define IRPVERBS_CM_CM_H

#include <ci/ci.h>
#include <cm/cm_values.h>
#include <cm/ip_address.h>
#include <saa/sa_recs.h>

NT_EXTERN_C_BEGIN

/* The communication manager of a port, a listener, a connection. */
typedef struct _IB_CM IB_CM;
typedef struct _IB_CM_LISTENER IB_CM_LISTENER;
typedef struct _IB_CM_CONNECTION IB_CM_CONNECTION;

/* Flag of CmOpen: paths are given, never queried at the SA. A port of Ethernet has no SA, and needs
   no flag. */
#define IB_CM_OPEN_WITHOUT_SA 0x1u

/* Opens the communication manager of a port. Any number may be open for a port of a machine; they
   share its class 0x07 and its service ids. The HCA can't be detached while one is open.
   Ownership: the IB_CM is the caller's until CmClose completes.
   STATUS_SUCCESS: Information is the IB_CM*. STATUS_INVALID_PARAMETER: also no such port, or an
   unknown flag. STATUS_DEVICE_BUSY: another
   client of IBMF has the class. STATUS_DEVICE_NOT_READY: the port is not active and the SA is
   wanted. STATUS_NOT_SUPPORTED: the HCA's driver leaves the class to another manager. */
NT_API NTSTATUS CmOpen(IB_CA* pCa, UCHAR PortNumber, ULONG Flags, IRP* pIrp);

/* Closes it. With the last one of a port, what it remembers of ended connections is dropped.
   STATUS_SUCCESS. STATUS_DEVICE_BUSY: listeners, connections or verbs of it remain. */
NT_API NTSTATUS CmClose(IB_CM* pCm, IRP* pIrp);

/* Flag of CmListen: the service is one of unreliable datagrams. Its requests are resolutions of the
   service id, which CmGetUdRequest returns. */
#define IB_CM_LISTEN_DATAGRAMS 0x1u

/* A service. */
typedef struct _ib_cm_listen {
    ib_svc_id_t svc_id;
    ULONG backlog; /* requests that wait for CmGetRequest; 0: 128. Further ones are rejected */
    UCHAR compare_length; /* bytes of private data that a request must have; 0: any */
    UCHAR compare_offset;
    const UCHAR* p_compare;
    ULONG flags; /* IB_CM_LISTEN_DATAGRAMS */
} ib_cm_listen_t;

/* Begins to accept requests for a service id.
   Ownership: the IB_CM_LISTENER is the caller's until CmCloseListener completes.
   STATUS_SUCCESS: Information is the IB_CM_LISTENER*. STATUS_OBJECT_NAME_COLLISION: the service id
   is in use, and the compared bytes do not distinguish the two. STATUS_INVALID_PARAMETER: also
   compared bytes beyond the private data of a REQ, or an unknown flag. */
NT_API NTSTATUS CmListen(IB_CM* pCm, const ib_cm_listen_t* pListen, IRP* pIrp);

/* Ends a service: IRPs of CmGetRequest and CmGetUdRequest complete STATUS_CANCELLED, and requests
   that wait are rejected with IB_CM_REJ_INVALID_SERVICE_ID, or IB_CM_SIDR_INVALID_SERVICE_ID.
   STATUS_SUCCESS. */
NT_API NTSTATUS CmCloseListener(IB_CM_LISTENER* pListener, IRP* pIrp);

/* A request of a peer. */
typedef struct _ib_cm_request {
    ib_svc_id_t svc_id;
    ib_qp_type_t qp_type; /* of this end: RC, UC, or IB_QPT_XRC_TGT for an XRC initiator */
    ib_guid_t ca_guid;    /* the peer's */
    ib_qpn_t qpn;
    UCHAR resp_res;   /* reads and atomics that the peer executes at a time */
    UCHAR init_depth; /* reads and atomics that the peer has at a time */
    BOOLEAN srq;
    sa_path_record_t primary_path; /* from this end to the peer */
    sa_path_record_t alt_path;     /* DLID 0: none */
    ib_cm_ip_t ip;                 /* ip_version 0: none */
    UCHAR pdata_length;            /* of the field: the message has no length */
    UCHAR pdata[IB_CM_REQ_PDATA_SIZE];
} ib_cm_request_t;

/* Waits for the next request. Any number of IRPs may wait; a request completes the oldest.
   Ownership: the IB_CM_CONNECTION is the caller's until CmCloseConnection completes. The peer waits
   for CmAccept or CmReject; the package asks it for more time when they take long.
   STATUS_SUCCESS: Information is the IB_CM_CONNECTION*; *pRequest is valid. STATUS_CANCELLED: also
   by CmCloseListener. STATUS_INVALID_PARAMETER: also a service of datagrams. */
NT_API NTSTATUS CmGetRequest(IB_CM_LISTENER* pListener, ib_cm_request_t* pRequest, IRP* pIrp);

/* Flag of CmConnect: the peer calls CmConnect with the same service id at the same time, and
   there is no listener. Both ends become one connection. */
#define IB_CM_PEER_TO_PEER 0x1u

/* Flag of CmConnect: it does what CmCompleteConnect does, too. Receives that must not be missed are
   posted before, with the queue pair in IB_QPS_INIT. */
#define IB_CM_ESTABLISH 0x2u

/* A connection to be made. CmInitializeConnect sets all members. */
typedef struct _ib_cm_connect {
    IB_QP* h_qp; /* RC, UC or XRC_INI, in IB_QPS_RESET or IB_QPS_INIT, of the IB_CM's HCA; NULL: the
                    client changes its state. XRC_INI: not with IB_CM_PEER_TO_PEER */
    ib_qpn_t qpn; /* without h_qp, like the next two */
    ib_qp_type_t qp_type;
    BOOLEAN srq;
    ib_svc_id_t svc_id;
    ib_gid_t dest_gid; /* the path is queried at the SA, or on Ethernet made, unless it is given */
    const sa_path_record_t* p_primary_path; /* NULL: queried, or made */
    const sa_path_record_t* p_alt_path;     /* NULL: none. Loaded if the peer accepts it */
    const ib_cm_ip_t* p_ip;                 /* NULL: no IP addressing */
    const VOID* p_pdata;
    UCHAR pdata_length;        /* <= IB_CM_REQ_PDATA_SIZE; IB_CM_REQ_IP_PDATA_SIZE with p_ip */
    UCHAR resp_res;            /* reads and atomics of the peer at a time */
    UCHAR init_depth;          /* reads and atomics of this end at a time */
    UCHAR retry_cnt;           /* 0 to 7 */
    UCHAR rnr_retry_cnt;       /* 0 to 7; of the peer's queue pair */
    UCHAR rnr_nak_timeout;     /* code of IBA 9.7.5.2.8 */
    UCHAR max_cm_retries;      /* 0 to 15 */
    UCHAR remote_resp_timeout; /* the peer's time for a response, 5 bits */
    UCHAR local_resp_timeout;  /* this end's time for a response, 5 bits */
    ib_access_t access_ctrl;   /* of IB_AC_REMOTE */
    ULONG flags;               /* IB_CM_PEER_TO_PEER, IB_CM_ESTABLISH */
} ib_cm_connect_t;

/* Sets the members to those of rdma_cm: 15 retries of 4.3 s, reads and atomics one at a time, 7
   retries of the queue pair, IB_AC_REMOTE. IRQL: any. */
NT_API void CmInitializeConnect(ib_cm_connect_t* pConnect);

/* The response of the peer: a REP, or a REJ. */
typedef struct _ib_cm_reply {
    ib_qpn_t qpn;     /* the peer's; 0: rejected */
    UCHAR resp_res;   /* granted: reads and atomics of the peer at a time */
    UCHAR init_depth; /* granted: reads and atomics of this end at a time */
    UCHAR failover;   /* IB_CM_FAILOVER_* */
    BOOLEAN srq;
    USHORT rej_reason; /* IB_CM_REJ_*; 0: not rejected */
    UCHAR info_length; /* of a REJ */
    UCHAR info[IB_CM_REJ_INFO_SIZE];
    UCHAR pdata_length; /* of the field; 0: no response */
    UCHAR pdata[IB_CM_REP_PDATA_SIZE];
} ib_cm_reply_t;

/* Requests a connection, and waits for the peer's reply. The queue pair is then in IB_QPS_RTR:
   receives can be posted before CmCompleteConnect, which the peer waits for.
   Ownership: after STATUS_SUCCESS the IB_CM_CONNECTION is the caller's until CmCloseConnection
   completes. After a failure there is none, and the queue pair is the caller's again: in its
   earlier state, or in IB_QPS_INIT or IB_QPS_ERROR if the peer had replied. pReply may be NULL.
   STATUS_SUCCESS: Information is the IB_CM_CONNECTION*. STATUS_REQUEST_NOT_ACCEPTED: the peer
   rejected the request; pReply->rej_reason. STATUS_IO_TIMEOUT: no reply after max_cm_retries.
   STATUS_HOST_UNREACHABLE: the SA knows no path, or does not respond; no address of an Ethernet
   port reaches dest_gid. STATUS_INVALID_PARAMETER: also a queue pair of another type or state, a
   value out of range, or an alternate path that starts at no port of the HCA.
   STATUS_NOT_SUPPORTED: an alternate path, and the HCA has no path migration, or the port is of
   Ethernet.
   STATUS_INVALID_NETWORK_RESPONSE: the reply has impossible values.
   Cancellation: the peer gets a REJ, IB_CM_REJ_TIMEOUT. */
NT_API NTSTATUS CmConnect(IB_CM* pCm, const ib_cm_connect_t* pConnect, ib_cm_reply_t* pReply,
                          IRP* pIrp);

/* Establishes the connection that CmConnect made: the queue pair enters IB_QPS_RTS, and the peer is
   notified. After a CmConnect with IB_CM_PEER_TO_PEER it may wait for the peer.
   STATUS_SUCCESS. STATUS_REQUEST_ABORTED: the peer has ended the connection, or the queue pair
   could not be changed. STATUS_IO_TIMEOUT: the peer does not respond.
   Cancellation: the connection ends; the peer gets a REJ, IB_CM_REJ_CONSUMER_DEFINED. */
NT_API NTSTATUS CmCompleteConnect(IB_CM_CONNECTION* pConnection, const VOID* pPData,
                                  ULONG PDataLength, IRP* pIrp);

/* The acceptance of a request. CmInitializeAccept sets all members. */
typedef struct _ib_cm_accept {
    IB_QP* h_qp; /* as in ib_cm_connect_t, like the next three */
    ib_qpn_t qpn;
    ib_qp_type_t qp_type;
    BOOLEAN srq;
    const VOID* p_pdata;
    UCHAR pdata_length; /* <= IB_CM_REP_PDATA_SIZE */
    UCHAR resp_res;     /* at most; the peer gets no more than it requested */
    UCHAR init_depth;   /* at most; no more than the peer offers */
    UCHAR rnr_retry_cnt;
    UCHAR rnr_nak_timeout;
    ib_access_t access_ctrl;
    UCHAR failover; /* IB_CM_FAILOVER_ACCEPTED: the request's alternate path, if there is one and it
                       can be loaded; or IB_CM_FAILOVER_REJECTED */
} ib_cm_accept_t;

/* Sets the members as CmInitializeConnect does. IRQL: any. */
NT_API void CmInitializeAccept(ib_cm_accept_t* pAccept);

/* Accepts a request, and waits until the peer has established the connection; the queue pair is
   then in IB_QPS_RTS.
   STATUS_SUCCESS. STATUS_INVALID_PARAMETER: also a queue pair of another type or state; the request
   still waits. STATUS_REQUEST_NOT_ACCEPTED: the peer rejected the reply. STATUS_IO_TIMEOUT: the
   peer does not respond. STATUS_REQUEST_ABORTED: the peer has ended the connection.
   Cancellation: the connection ends; the peer gets a REJ, IB_CM_REJ_CONSUMER_DEFINED. */
NT_API NTSTATUS CmAccept(IB_CM_CONNECTION* pConnection, const ib_cm_accept_t* pAccept, IRP* pIrp);

/* Writes the change of a queue pair to IB_QPS_RTR or IB_QPS_RTS, for a client that changes the
   state itself: with the peer and the path of a connection that CmConnect or CmGetRequest has
   returned, and the client's numbers as far as it has given them. The passive end may read it
   before CmAccept. IRQL: <= DISPATCH_LEVEL. STATUS_SUCCESS. STATUS_INVALID_PARAMETER: a pointer is
   NULL, or another state. STATUS_INVALID_DEVICE_STATE: the port has lost the path's P_Key or GID.
 */
NT_API NTSTATUS CmQueryQpChange(IB_CM_CONNECTION* pConnection, ib_qp_state_t State,
                                ib_qp_mod_t* pChange);

/* Reports that the queue pair of a pended CmAccept has received a packet (IB_AE_COMM_EST, or a
   completion): the peer has established the connection, and its notification was lost. No effect in
   other states. IRQL: <= DISPATCH_LEVEL. */
NT_API void CmNotifyEstablished(IB_CM_CONNECTION* pConnection);

/* A rejection. */
typedef struct _ib_cm_reject {
    USHORT reason; /* IB_CM_REJ_*; 0: IB_CM_REJ_CONSUMER_DEFINED */
    UCHAR info_length;
    UCHAR pdata_length; /* <= IB_CM_REJ_PDATA_SIZE */
    const VOID* p_info;
    const VOID* p_pdata;
} ib_cm_reject_t;

/* Rejects a request, or the peer's reply to CmConnect. The connection has ended and is still to be
   closed. STATUS_SUCCESS: the rejection is sent. */
NT_API NTSTATUS CmReject(IB_CM_CONNECTION* pConnection, const ib_cm_reject_t* pReject, IRP* pIrp);

/* Ends an established connection: the queue pair enters IB_QPS_ERROR, which flushes its work
   requests, then the peer is asked to end the connection, too. A connection that the peer has ended
   needs no call.
   STATUS_SUCCESS: Information is 1 if the peer has confirmed, and 0 if it did not respond.
   STATUS_INVALID_DEVICE_STATE: the connection is not established yet.
   Cancellation: ends the wait for the peer; the connection has ended. */
NT_API NTSTATUS CmDisconnect(IB_CM_CONNECTION* pConnection, const VOID* pPData, ULONG PDataLength,
                             IRP* pIrp);

/* Events of a connection. */
typedef enum _ib_cm_event_type {
    IB_CM_EVENT_DISCONNECTED = 1,   /* by the peer, or since it reused its queue pair */
    IB_CM_EVENT_PATH_REQUESTED = 2, /* the peer loads an alternate path: CmRespondPath */
    IB_CM_EVENT_TIMEWAIT_EXIT = 3   /* no packet of the connection is on its way any more */
} ib_cm_event_type_t;

typedef struct _ib_cm_event {
    ULONG type;                         /* ib_cm_event_type_t */
    UCHAR pdata_length;                 /* of the field; 0: no message */
    UCHAR pdata[IB_CM_DREQ_PDATA_SIZE]; /* of the DREQ, or of the LAP */
    sa_path_record_t alt_path;          /* IB_CM_EVENT_PATH_REQUESTED: from this end to the peer */
} ib_cm_event_t;

/* Waits for the next event of a connection. Each is reported once; one that occurs while no IRP
   waits is kept. Any number of IRPs may wait; an event completes the oldest.
   STATUS_SUCCESS: *pEvent is valid. STATUS_CANCELLED: also by CmCloseConnection. */
NT_API NTSTATUS CmGetEvent(IB_CM_CONNECTION* pConnection, ib_cm_event_t* pEvent, IRP* pIrp);

/* The response to an alternate path. */
typedef struct _ib_cm_path_response {
    UCHAR status;      /* IB_CM_AP_* */
    UCHAR info_length; /* additional information */
    UCHAR info[IB_CM_REJ_INFO_SIZE];
    UCHAR pdata[IB_CM_APR_PDATA_SIZE];
} ib_cm_path_response_t;

/* Loads an alternate path into both queue pairs of an established connection, in place of an
   earlier one, and requests path migration for it: both ends are armed (IB_APM_ARMED) by the next
   packets. The path starts at a port of the same HCA, and has the P_Key of the primary path.
   pResponse may be NULL; it is the peer's response after STATUS_SUCCESS and
   STATUS_REQUEST_NOT_ACCEPTED. Messages of the connection stay on its first path.
   STATUS_SUCCESS. STATUS_REQUEST_NOT_ACCEPTED: the peer refuses the path, pResponse->status; 0: it
   loads one at the same time, which is executed instead. STATUS_IO_TIMEOUT: no response after
   max_cm_retries. STATUS_NOT_SUPPORTED: the HCA has no path migration. STATUS_INVALID_PARAMETER:
   also a path that starts at no port of the HCA. STATUS_DEVICE_BUSY: another path is being loaded,
   by this end or by the peer. STATUS_REQUEST_ABORTED: the connection has ended. Other statuses are
   those of CiModifyQp; the peer has loaded the path.
   The same path and data, a moment later, count as a repeated message: the peer's client is not
   asked again.
   Cancellation: ends the wait only; the path may be loaded. */
NT_API NTSTATUS CmLoadPath(IB_CM_CONNECTION* pConnection, const sa_path_record_t* pPath,
                           const VOID* pPData, ULONG PDataLength, ib_cm_path_response_t* pResponse,
                           IRP* pIrp);

/* Responds to the peer's request to load an alternate path, which IB_CM_EVENT_PATH_REQUESTED has
   reported. NULL, or the status IB_CM_AP_LOADED: the queue pair loads the path before the peer is
   notified. The peer waits; the package asks it for more time when the response takes long.
   STATUS_SUCCESS: the response is sent. STATUS_INVALID_DEVICE_STATE: the peer has requested none.
   STATUS_REQUEST_ABORTED: the connection has ended. STATUS_INVALID_PARAMETER: also additional
   information that is too long. Other statuses are those of CiModifyQp; the peer got
   IB_CM_AP_REJECTED.
   Cancellation: ends the wait only; the response is sent. */
NT_API NTSTATUS CmRespondPath(IB_CM_CONNECTION* pConnection, const ib_cm_path_response_t* pResponse,
                              IRP* pIrp);

/* Closes a connection in any state. IRPs that wait complete STATUS_CANCELLED, or
   STATUS_REQUEST_ABORTED where they had taken effect. A request or reply that waits is rejected
   (IB_CM_REJ_CONSUMER_DEFINED); an established connection ends as in CmDisconnect, without a wait
   for the peer. On completion the queue pair is the caller's again, in IB_QPS_ERROR if it was
   connected. STATUS_SUCCESS. */
NT_API NTSTATUS CmCloseConnection(IB_CM_CONNECTION* pConnection, IRP* pIrp);

/* Counters of a port, over all that have it open. */
typedef struct _ib_cm_counters {
    /* Now: */
    ULONGLONG connections; /* in any state, those in time wait included */
    ULONGLONG listeners;
    ULONGLONG resolutions; /* CmResolveUd, and requests of peers, also those with a response */
    /* So far: */
    ULONGLONG sent; /* messages, like the next */
    ULONGLONG received;
    ULONGLONG resent;
    ULONGLONG malformed;  /* dropped: no message of communication management */
    ULONGLONG unexpected; /* dropped: for no connection, or not in its state */
    ULONGLONG duplicates;
    ULONGLONG rejected; /* requests that no listener got */
} ib_cm_counters_t;

/* Reads the counters of the port. IRQL: <= DISPATCH_LEVEL. */
NT_API void CmQueryCounters(IB_CM* pCm, ib_cm_counters_t* pCounters);

NT_EXTERN_C_END

#include <cm/datagram_services.h>
#include <cm/ethernet.h>

#endif
