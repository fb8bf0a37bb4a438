/* Services of unreliable datagrams: a client resolves a service id to a queue pair and its Q_Key
   (SIDR). There is no connection afterwards. The rules at the top of cm/cm.h apply.
   Source: IBA 12.11. */
#ifndef IRPVERBS_CM_DATAGRAM_SERVICES_H
#define IRPVERBS_CM_DATAGRAM_SERVICES_H

#include <ci/address.h>
#include <cm/cm.h>

NT_EXTERN_C_BEGIN

/* A resolution. CmInitializeResolveUd sets all members. */
typedef struct _ib_cm_resolve_ud {
    ib_svc_id_t svc_id;
    ib_gid_t dest_gid; /* the path is queried at the SA, or on Ethernet made, unless it is given */
    const sa_path_record_t* p_path; /* NULL: queried, or made */
    const ib_cm_ip_t* p_ip;         /* NULL: no IP addressing */
    const VOID* p_pdata;
    UCHAR pdata_length;   /* <= IB_CM_SIDR_REQ_PDATA_SIZE; IB_CM_SIDR_REQ_IP_PDATA_SIZE with p_ip */
    UCHAR max_cm_retries; /* 0 to 15 */
    UCHAR remote_resp_timeout; /* the peer's time for a response, 5 bits */
} ib_cm_resolve_ud_t;

/* Sets the members to those of rdma_cm: 15 retries of 4.3 s. IRQL: any. */
NT_API void CmInitializeResolveUd(ib_cm_resolve_ud_t* pResolve);

/* The response of the peer. */
typedef struct _ib_cm_ud_reply {
    UCHAR status; /* IB_CM_SIDR_* */
    ib_qpn_t qpn; /* with IB_CM_SIDR_VALID, like the next two */
    ib_qkey_t q_key;
    ib_av_attr_t av; /* for CiCreateAv */
    UCHAR info_length;
    UCHAR info[IB_CM_REJ_INFO_SIZE];
    UCHAR pdata_length; /* of the field; 0: no response */
    UCHAR pdata[IB_CM_SIDR_REP_PDATA_SIZE];
} ib_cm_ud_reply_t;

/* Resolves a service id, and waits for the response of the service.
   STATUS_SUCCESS: *pReply has the queue pair, its Q_Key and the way to it.
   STATUS_REQUEST_NOT_ACCEPTED: the peer has no such service, or has rejected the request;
   pReply->status. STATUS_IO_TIMEOUT: no response after max_cm_retries. STATUS_HOST_UNREACHABLE: the
   SA knows no path, or does not respond. STATUS_INVALID_PARAMETER: also pReply is NULL, or a value
   is out of range. STATUS_INVALID_NETWORK_RESPONSE: the response has impossible values.
   Cancellation: a response that arrives later is dropped. */
NT_API NTSTATUS CmResolveUd(IB_CM* pCm, const ib_cm_resolve_ud_t* pResolve,
                            ib_cm_ud_reply_t* pReply, IRP* pIrp);

/* A peer's request, until it is closed. */
typedef struct _IB_CM_UD_REQUEST IB_CM_UD_REQUEST;

/* The contents of it. */
typedef struct _ib_cm_ud_request {
    ib_svc_id_t svc_id;
    ib_pkey_t p_key;
    ib_lid_t src_lid;   /* 0: of Ethernet */
    ib_gid_t src_gid;   /* of a request with a global route, as on Ethernet; else 0 */
    ib_cm_ip_t ip;      /* ip_version 0: none */
    UCHAR pdata_length; /* of the field: the message has no length */
    UCHAR pdata[IB_CM_SIDR_REQ_PDATA_SIZE];
} ib_cm_ud_request_t;

/* Waits for the next request of a service of datagrams. Any number of IRPs may wait; a request
   completes the oldest. The peer repeats a request until it gets the response; the client gets it
   once.
   Ownership: the IB_CM_UD_REQUEST is the caller's until CmCloseUdRequest completes.
   STATUS_SUCCESS: Information is the IB_CM_UD_REQUEST*; *pRequest is valid. STATUS_CANCELLED: also
   by CmCloseListener. STATUS_INVALID_PARAMETER: also a service of connections. */
NT_API NTSTATUS CmGetUdRequest(IB_CM_LISTENER* pListener, ib_cm_ud_request_t* pRequest, IRP* pIrp);

/* The response to a request. */
typedef struct _ib_cm_ud_response {
    UCHAR status;       /* IB_CM_SIDR_*; only IB_CM_SIDR_VALID has the next two */
    ib_qpn_t qpn;       /* a queue pair of IB_QPT_UNRELIABLE_DGRM of this port */
    ib_qkey_t q_key;    /* that it expects */
    UCHAR info_length;  /* <= IB_CM_REJ_INFO_SIZE */
    UCHAR pdata_length; /* <= IB_CM_SIDR_REP_PDATA_SIZE */
    const VOID* p_info;
    const VOID* p_pdata;
} ib_cm_ud_response_t;

/* Responds to a request; repeated requests of the peer get the same response. The request is still
   to be closed.
   STATUS_SUCCESS: the response is sent. STATUS_INVALID_PARAMETER: also a queue pair number that no
   queue pair of clients has. STATUS_INVALID_DEVICE_STATE: the request has a response. */
NT_API NTSTATUS CmRespondUd(IB_CM_UD_REQUEST* pRequest, const ib_cm_ud_response_t* pResponse,
                            IRP* pIrp);

/* Closes a request; one without response is rejected: IB_CM_SIDR_REJECTED. STATUS_SUCCESS. */
NT_API NTSTATUS CmCloseUdRequest(IB_CM_UD_REQUEST* pRequest, IRP* pIrp);

NT_EXTERN_C_END

#endif
