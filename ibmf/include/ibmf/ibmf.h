/* The client interface of IBMF: registration for a management class on a port, messages, alternate
   QPs. Source: seed 000 throughout.

   Calls from inside a callback:
                               message callback,    message callback,   ibmf_async_event_cb_t
                               PASSIVE_LEVEL        NO_OFFLOAD
     ibmf_alloc_msg, _free_msg yes                  yes, no SLEEP       yes
     ibmf_msg_transport        yes                  with a callback     IBMF_BAD_PORT_STATE
     ibmf_setup_async_cb       yes                  yes                 yes
     ibmf_tear_down_async_cb   yes; of its own QP   yes                 yes
                               it does not wait
     ibmf_query_qp             yes                  yes                 yes
     ibmf_alloc_qp, _modify_qp yes                  no                  IBMF_TRANSPORT_FAILURE
     ibmf_free_qp              yes                  no                  yes
     ibmf_register             yes                  no                  yes, of another HCA
     ibmf_unregister           yes, once all is     IBMF_BUSY           yes
                               given back
   "no": those calls block, and block a DPC. A call that waits for callbacks does not wait for one
   that runs on the caller's own processor.

   Lifetimes: ir_ci_guid, ir_port_num and ir_client_class are read by ibmf_register and not kept by
   reference. An ibmf_handle_t is valid until ibmf_unregister, also when the HCA has failed or gone:
   then sends are IBMF_BAD_PORT_STATE, and messages and QP handles are valid until they are freed.
   An HCA that comes back is another registration's. */
#ifndef IRPVERBS_IBMF_IBMF_H
#define IRPVERBS_IBMF_IBMF_H

#include <ibmf/ib_mad.h>
#include <ibmf/ibmf_msg.h>
#include <ibmf/ibmf_utils.h>

#define IBMF_VERSION 1

/* What the functions return and im_msg_status says. */
#define IBMF_SUCCESS 0
#define IBMF_FAILURE (-1)             /* an error inside IBMF; no call of this header has one */
#define IBMF_PORT_IN_USE (-2)         /* the class is registered on that port */
#define IBMF_BAD_CLASS (-3)           /* no such class */
#define IBMF_BAD_HANDLE (-4)          /* not an ibmf handle, or freed */
#define IBMF_BAD_QP_HANDLE (-5)       /* not a QP handle of that client, or not with those keys */
#define IBMF_BAD_NODE (-6)            /* no HCA has that GUID */
#define IBMF_BAD_PORT (-7)            /* the HCA has no such port */
#define IBMF_BAD_PORT_STATE (-8)      /* the port is not in a state to send */
#define IBMF_BAD_VERSION (-9)         /* not IBMF_VERSION */
#define IBMF_BAD_FLAGS (-10)          /* unknown flags, or flags that exclude each other */
#define IBMF_BAD_SIZE (-11)           /* more data than fits one datagram, or no header */
#define IBMF_BAD_RMPP_OPT (-12)       /* RMPP where class or QP has none */
#define IBMF_BUSY (-13)               /* in use, or not all given back */
#define IBMF_NO_RESOURCES (-14)       /* none for now; a retry may succeed */
#define IBMF_NOT_SUPPORTED (-15)      /* the driver below can not */
#define IBMF_PARTIAL_TRANSFER (-16)   /* it was longer than im_msg_sz_limit, or IBMF's own */
#define IBMF_UNEXP_TRANS_RECVD (-17)  /* the answer was to another kind of transaction */
#define IBMF_TRANS_TIMEOUT (-18)      /* not answered, or not all of it, in time */
#define IBMF_TRANS_FAILURE (-19)      /* the peer ended the transfer, or broke its rules */
#define IBMF_NO_MEMORY (-20)          /* none for a response; of calls: IBMF_NO_RESOURCES */
#define IBMF_REQ_INVALID (-21)        /* the request contradicts itself, or the SA says so */
#define IBMF_NO_RECORDS (-22)         /* nothing matches the query */
#define IBMF_TOO_MANY_RECORDS (-23)   /* more than one record matches a Get */
#define IBMF_INVALID_GID (-24)        /* the SA does not know a GID of the request */
#define IBMF_INSUFF_COMPS (-25)       /* the SA needs more components of the record */
#define IBMF_UNSUPP_METHOD (-26)      /* the peer does not know the method */
#define IBMF_UNSUPP_METHOD_ATTR (-27) /* nor the attribute with that method */
#define IBMF_INVALID_FIELD (-28)      /* the peer refused a field of the datagram */
#define IBMF_INVALID_ARG (-29)        /* an argument is NULL or out of range */
#define IBMF_CB_REGISTERED (-30)      /* there is a callback */
#define IBMF_CB_NOT_REGISTERED (-31)  /* there is no callback */
#define IBMF_TRANSPORT_FAILURE (-32)  /* the driver below failed a call */
#define IBMF_TID_IN_USE (-33)         /* a transaction with that TransactionID is under way */
#define IBMF_NO_ACTIVE_PORTS (-34)    /* of SA access, never of IBMF; the number is ours */

/* Flags of ibmf_alloc_msg. */
#define IBMF_ALLOC_SLEEP 0
#define IBMF_ALLOC_NOSLEEP 1

/* Flags of ibmf_register. */
#define IBMF_REG_FLAG_RMPP 0x1       /* datagrams of the class have an RMPP header, used or not */
#define IBMF_REG_FLAG_NO_OFFLOAD 0x2 /* callbacks come at DISPATCH_LEVEL, from a DPC */
#define IBMF_REG_FLAG_SINGLE_OFFLOAD 0x4 /* callbacks come one at a time; not with NO_OFFLOAD */

/* Flags of ibmf_msg_transport. */
#define IBMF_MSG_TRANS_FLAG_RMPP 0x1 /* the send is an RMPP transfer */
#define IBMF_MSG_TRANS_FLAG_SEQ 0x2  /* a response is expected; with RMPP: double-sided */

/* im_msg_flags */
#define IBMF_MSG_FLAGS_GLOBAL_ADDRESS 0x00000010 /* im_global_addr counts */

/* Flags of ibmf_alloc_qp: exactly one. */
#define IBMF_ALT_QP_MAD_NO_RMPP 0x1 /* MADs of any class, each a message */
#define IBMF_ALT_QP_MAD_RMPP 0x2    /* the same, and RMPP transfers of classes that have them */
#define IBMF_ALT_QP_RAW_ONLY 0x4    /* UD datagrams that are no MADs, up to the MTU */

/* Opaque, and never reused for another object: a handle that was freed is IBMF_BAD_HANDLE. */
typedef struct _ibmf_handle_dummy* ibmf_handle_t;
typedef struct _ibmf_qp_dummy* ibmf_qp_handle_t;

/* The port's QP0 or QP1, whichever the client's class uses. */
#define IBMF_QP_HANDLE_DEFAULT ((ibmf_qp_handle_t)0)

/* Low half: the class; high half: 1 agent, 2 manager, 3 both, 4 UD traffic over alternate QPs only.
   Agent and manager of one class are two clients that may stand side by side. */
typedef enum _ibmf_client_type_t {
    SUBN_AGENT = 0x00010001,
    SUBN_MANAGER = 0x00020001,
    SUBN_ADM_AGENT = 0x00010003,
    SUBN_ADM_MANAGER = 0x00020003,
    PERF_AGENT = 0x00010004,
    PERF_MANAGER = 0x00020004,
    BM_AGENT = 0x00010005,
    BM_MANAGER = 0x00020005,
    DEV_MGT_AGENT = 0x00010006,
    DEV_MGT_MANAGER = 0x00020006,
    COMM_MGT_MANAGER_AGENT = 0x00030007,
    SNMP_MANAGER_AGENT = 0x00030008,
    VENDOR_09_MANAGER_AGENT = 0x00030009,
    VENDOR_0A_MANAGER_AGENT = 0x0003000A,
    VENDOR_0B_MANAGER_AGENT = 0x0003000B,
    VENDOR_0C_MANAGER_AGENT = 0x0003000C,
    VENDOR_0D_MANAGER_AGENT = 0x0003000D,
    VENDOR_0E_MANAGER_AGENT = 0x0003000E,
    VENDOR_0F_MANAGER_AGENT = 0x0003000F,
    VENDOR_30_MANAGER_AGENT = 0x00030030,
    VENDOR_31_MANAGER_AGENT = 0x00030031,
    VENDOR_32_MANAGER_AGENT = 0x00030032,
    VENDOR_33_MANAGER_AGENT = 0x00030033,
    VENDOR_34_MANAGER_AGENT = 0x00030034,
    VENDOR_35_MANAGER_AGENT = 0x00030035,
    VENDOR_36_MANAGER_AGENT = 0x00030036,
    VENDOR_37_MANAGER_AGENT = 0x00030037,
    VENDOR_38_MANAGER_AGENT = 0x00030038,
    VENDOR_39_MANAGER_AGENT = 0x00030039,
    VENDOR_3A_MANAGER_AGENT = 0x0003003A,
    VENDOR_3B_MANAGER_AGENT = 0x0003003B,
    VENDOR_3C_MANAGER_AGENT = 0x0003003C,
    VENDOR_3D_MANAGER_AGENT = 0x0003003D,
    VENDOR_3E_MANAGER_AGENT = 0x0003003E,
    VENDOR_3F_MANAGER_AGENT = 0x0003003F,
    VENDOR_40_MANAGER_AGENT = 0x00030040,
    VENDOR_41_MANAGER_AGENT = 0x00030041,
    VENDOR_42_MANAGER_AGENT = 0x00030042,
    VENDOR_43_MANAGER_AGENT = 0x00030043,
    VENDOR_44_MANAGER_AGENT = 0x00030044,
    VENDOR_45_MANAGER_AGENT = 0x00030045,
    VENDOR_46_MANAGER_AGENT = 0x00030046,
    VENDOR_47_MANAGER_AGENT = 0x00030047,
    VENDOR_48_MANAGER_AGENT = 0x00030048,
    VENDOR_49_MANAGER_AGENT = 0x00030049,
    VENDOR_4A_MANAGER_AGENT = 0x0003004A,
    VENDOR_4B_MANAGER_AGENT = 0x0003004B,
    VENDOR_4C_MANAGER_AGENT = 0x0003004C,
    VENDOR_4D_MANAGER_AGENT = 0x0003004D,
    VENDOR_4E_MANAGER_AGENT = 0x0003004E,
    VENDOR_4F_MANAGER_AGENT = 0x0003004F,
    APPLICATION_10_MANAGER_AGENT = 0x00030010,
    APPLICATION_11_MANAGER_AGENT = 0x00030011,
    APPLICATION_12_MANAGER_AGENT = 0x00030012,
    APPLICATION_13_MANAGER_AGENT = 0x00030013,
    APPLICATION_14_MANAGER_AGENT = 0x00030014,
    APPLICATION_15_MANAGER_AGENT = 0x00030015,
    APPLICATION_16_MANAGER_AGENT = 0x00030016,
    APPLICATION_17_MANAGER_AGENT = 0x00030017,
    APPLICATION_18_MANAGER_AGENT = 0x00030018,
    APPLICATION_19_MANAGER_AGENT = 0x00030019,
    APPLICATION_1A_MANAGER_AGENT = 0x0003001A,
    APPLICATION_1B_MANAGER_AGENT = 0x0003001B,
    APPLICATION_1C_MANAGER_AGENT = 0x0003001C,
    APPLICATION_1D_MANAGER_AGENT = 0x0003001D,
    APPLICATION_1E_MANAGER_AGENT = 0x0003001E,
    APPLICATION_1F_MANAGER_AGENT = 0x0003001F,
    APPLICATION_20_MANAGER_AGENT = 0x00030020,
    APPLICATION_21_MANAGER_AGENT = 0x00030021,
    APPLICATION_22_MANAGER_AGENT = 0x00030022,
    APPLICATION_23_MANAGER_AGENT = 0x00030023,
    APPLICATION_24_MANAGER_AGENT = 0x00030024,
    APPLICATION_25_MANAGER_AGENT = 0x00030025,
    APPLICATION_26_MANAGER_AGENT = 0x00030026,
    APPLICATION_27_MANAGER_AGENT = 0x00030027,
    APPLICATION_28_MANAGER_AGENT = 0x00030028,
    APPLICATION_29_MANAGER_AGENT = 0x00030029,
    APPLICATION_2A_MANAGER_AGENT = 0x0003002A,
    APPLICATION_2B_MANAGER_AGENT = 0x0003002B,
    APPLICATION_2C_MANAGER_AGENT = 0x0003002C,
    APPLICATION_2D_MANAGER_AGENT = 0x0003002D,
    APPLICATION_2E_MANAGER_AGENT = 0x0003002E,
    APPLICATION_2F_MANAGER_AGENT = 0x0003002F,
    UNIVERSAL_CLASS = 0x00040001
} ibmf_client_type_t;

/* How often a part of the exchange is sent again, and how long each attempt waits; seed 000, 193 to
   248. Times are in microseconds. The retries are the client's to choose: 0 is none, there is no
   default. A time of 0 is the default. In place of the structure NULL is IBMF_RETRANS_DEFAULT,
   which {0} is not: that never retries.

   Given times are maxima: an attempt waits for retrans_rtv + retrans_rttv at most, a peer that does
   not answer ends the transaction after (retrans_retries + 1) such waits at the latest. Only when
   both times are 0 each attempt waits twice as long as the one before, up to eight times. Attempts
   after the first may wait up to a quarter less, drawn by chance. A peer that is busy or redirects,
   and waiting for one's turn, may make it two and a half times as long.

     flags of the transport   retries   rtv, rttv   trans_to
     none                     -         -           -          (-: ignored)
     SEQ                      used      used        used, 0: none
     RMPP                     used      used        -
     RMPP and SEQ             used      used        used, 0: none

   A response that is a transfer, and a transfer that is sent, have besides the time that their size
   calls for, at least 40 s, at most an hour; the sender of a response may be silent for (retries +
   1) x the times above, or the default times when those are longer. Where the driver keeps RMPP to
   itself a response comes in one piece or not at all: the times of a single answer are for all of
   it. */
typedef struct _ibmf_retrans_t {
    uint32_t retrans_retries;  /* per request, and per RMPP segment or ACK; 0: never retried */
    uint32_t retrans_rtv;      /* the responder's processing time; 0: 4 s */
    uint32_t retrans_rttv;     /* there and back, without processing; 0: 100 ms */
    uint32_t retrans_trans_to; /* of all of a sequenced transaction, from the call on; 0: none */
} ibmf_retrans_t;

#define IBMF_DEFAULT_RETRIES 3
#define IBMF_RETRANS_DEFAULT                                                                       \
    { IBMF_DEFAULT_RETRIES, 0, 0, 0 }

typedef struct _ibmf_register_info {
    ib_guid_t ir_ci_guid; /* of the HCA */
    uint_t ir_port_num;   /* from 1 */
    ibmf_client_type_t ir_client_class;
} ibmf_register_info_t;

/* What the driver below can do with the keys of a message's address. */
typedef enum _ibmf_impl_caps {
    IBMF_DEF_QP_HDL_P_KEY_ANY = 0x0001, /* any P_Key with IBMF_QP_HANDLE_DEFAULT */
    IBMF_DEF_QP_HDL_Q_KEY_ANY = 0x0002,
    IBMF_NON_DEF_QP_HDL_P_KEY_ANY = 0x0004, /* any P_Key with an alternate QP */
    IBMF_NON_DEF_QP_HDL_Q_KEY_ANY = 0x0008
} ibmf_impl_caps_t;

typedef enum ibmf_async_event_e {
    /* The HCA goes away. The client gives back all it holds, and unregisters, before it returns
       from the callback; another thread of it may have done so already. */
    IBMF_CI_OFFLINE = 0x1
} ibmf_async_event_t;

/* Notifies a client of an event that is no message.
   May come before ibmf_register returns, with the handle it is about to return.
   IRQL: PASSIVE_LEVEL. */
typedef void (*ibmf_async_event_cb_t)(ibmf_handle_t ibmf_handle, void* clnt_private,
                                      ibmf_async_event_t event_type);

/* Reports the end of a transaction (ibmf_msg_transport), or an unsolicited message
   (ibmf_setup_async_cb).
   Ownership: the message is the client's again, or becomes its own: it calls ibmf_free_msg.
   IRQL: PASSIVE_LEVEL; DISPATCH_LEVEL for a client with IBMF_REG_FLAG_NO_OFFLOAD. Must not block
   there.
 */
typedef void (*ibmf_msg_cb_t)(ibmf_handle_t ibmf_handle, ibmf_msg_t* msgp, void* args);

NT_EXTERN_C_BEGIN

/* Makes the caller a client of one management class on one port.
   Ownership: *ibmf_handle is the client's until ibmf_unregister.
   IRQL: PASSIVE_LEVEL; may block.
   client_cb may be NULL: then the client does not learn that the HCA goes away. What it has under
   way ends with IBMF_TRANSPORT_FAILURE, what it sends is IBMF_BAD_PORT_STATE; its handle, messages
   and QPs stay its own until it gives them back and unregisters. They do not keep the HCA: it may
   go, and come back under its GUID for a new registration.
   IBMF_REG_FLAG_RMPP is needed for a class whose datagrams have an RMPP header, used or not.
   Of a class from 0x30 to 0x4F the client is given the messages of each OUI that no other client
   asked for (ibmf_register_oui). A real HCA knows requests by their OUI only: there it is a client
   that sends, and receives responses (ibmf_setup_async_cb: IBMF_NOT_SUPPORTED).
   UNIVERSAL_CLASS: any number of clients a port, alternate QPs only: IBMF_QP_HANDLE_DEFAULT is
   IBMF_BAD_QP_HANDLE. Clients of other classes may have alternate QPs, too.
   Statuses, in the order of the checks:
     IBMF_INVALID_ARG        client_info, ibmf_handle or ibmf_impl_features is NULL
     IBMF_BAD_VERSION        ibmf_version is not IBMF_VERSION
     IBMF_BAD_FLAGS          unknown flags; NO_OFFLOAD with SINGLE_OFFLOAD
     IBMF_BAD_CLASS          ir_client_class is none of ibmf_client_type_t
     IBMF_BAD_NODE           no HCA has ir_ci_guid
     IBMF_BAD_PORT_STATE     the HCA has failed, and has not gone yet
     IBMF_BAD_PORT           the HCA has no port ir_port_num
     IBMF_NOT_SUPPORTED      UNIVERSAL_CLASS, and the driver has no UD QPs; or the driver does not
                             have the class on that port
     IBMF_PORT_IN_USE        a client of that type is registered on that port
     IBMF_NO_RESOURCES       memory, or the driver's agents
     IBMF_TRANSPORT_FAILURE  the driver failed for another reason
     IBMF_SUCCESS            *ibmf_impl_features says what the driver can do */
NT_API int ibmf_register(ibmf_register_info_t* client_info, uint_t ibmf_version, uint_t flags,
                         ibmf_async_event_cb_t client_cb, void* client_cb_args,
                         ibmf_handle_t* ibmf_handle, ibmf_impl_caps_t* ibmf_impl_features);

/* Ends a registration; no callback of it runs after the return.
   IRQL: PASSIVE_LEVEL; may block, until callbacks that are running have returned.
   flags: 0.
   Statuses:
     IBMF_INVALID_ARG  ibmf_handle is NULL, or flags are not 0
     IBMF_BAD_HANDLE   no such client, or no longer
     IBMF_BUSY         it has messages, transactions, alternate QPs or callbacks left
     IBMF_SUCCESS      *ibmf_handle is NULL */
NT_API int ibmf_unregister(ibmf_handle_t* ibmf_handle, uint_t flags);

/* Installs the callback for messages that answer no transaction of the client's own: requests,
   traps, reports; with IBMF_QP_HANDLE_DEFAULT those of its class, with an alternate QP all that
   comes there. Each QP has one; without it they are dropped and counted. A message is answered by
   the QP that it came to.
   IRQL: PASSIVE_LEVEL. The callback may come before the return.
   flags: 0.
   Statuses:
     IBMF_INVALID_ARG    async_msg_cb is NULL, or flags are not 0
     IBMF_BAD_HANDLE     no such client
     IBMF_BAD_QP_HANDLE  not a QP of that client
     IBMF_NOT_SUPPORTED  by that QP the driver has no messages for the client (ibmf_register)
     IBMF_CB_REGISTERED  there is a callback for that QP */
NT_API int ibmf_setup_async_cb(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t ibmf_qp_handle,
                               ibmf_msg_cb_t async_msg_cb, void* async_msg_cb_args, uint_t flags);

/* Removes it; it is not running when this returns, unless this is called from inside it.
   IRQL: PASSIVE_LEVEL; may block.
   flags: 0.
   Statuses: as above, with IBMF_CB_NOT_REGISTERED when there is none. */
NT_API int ibmf_tear_down_async_cb(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t ibmf_qp_handle,
                                   uint_t flags);

/* Sends a message, and with IBMF_MSG_TRANS_FLAG_SEQ receives the response to it.
   Ownership: msgp and its send buffers are lent until the callback, or the return when msg_cb is
   NULL. A receive buffer that msgp still has is freed. Receive buffers of a response are IBMF's and
   live as long as the message.
   Reuse: a received message may be sent from its own receive buffers, but not as a sequenced one.
   IRQL: <= DISPATCH_LEVEL with msg_cb; PASSIVE_LEVEL without: it blocks. The callback may come
   before the return.
   retrans: NULL is IBMF_RETRANS_DEFAULT; counts as the flags call for it.
   Statuses of the call (then no callback comes), which a message never sees:
     IBMF_INVALID_ARG       msgp is NULL or no message of that client, flags are unknown, or it
                            would block at DISPATCH_LEVEL
     IBMF_BAD_HANDLE        no such client
     IBMF_BAD_QP_HANDLE     not its QP; a class other than the client's, or keys the driver can not
                            use, with IBMF_QP_HANDLE_DEFAULT; keys other than those of an alternate
                            QP
     IBMF_BAD_SIZE          more than one datagram without RMPP; no MAD header where there must be
                            one; on a raw QP more than the MTU, or nothing
     IBMF_BAD_RMPP_OPT      RMPP, and the client or QP was made without
     IBMF_REQ_INVALID       sequenced, and the send buffer is the message's receive buffer, or the
                            QP is raw
     IBMF_BUSY              the message is being sent, or being freed
     IBMF_TID_IN_USE        a transaction of this client has that TransactionID
     IBMF_BAD_PORT_STATE    the port is down
     IBMF_NO_RESOURCES      memory
   Statuses of the transaction, as im_msg_status, and as the return value when msg_cb is NULL:
     IBMF_SUCCESS           sent, and answered when sequenced
     IBMF_PARTIAL_TRANSFER  answered; only im_msg_sz_limit bytes of it were kept
     IBMF_TRANS_TIMEOUT     no answer, or not all of it, in time; all retries made
     IBMF_TRANS_FAILURE     the transfer was stopped or aborted, by either side
     IBMF_UNEXP_TRANS_RECVD a single datagram came where a transfer was due, or the reverse
     IBMF_TRANSPORT_FAILURE the driver could not send
     IBMF_NO_MEMORY         for the response, or to begin again with a peer that was busy
   Cancellation: as the twin's; the transaction then ends with IBMF_TRANS_FAILURE. */
NT_API int ibmf_msg_transport(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t ibmf_qp_handle,
                              ibmf_msg_t* msgp, ibmf_retrans_t* retrans, ibmf_msg_cb_t msg_cb,
                              void* msg_cb_args, uint_t flags);

/* Allocates a message, zeroed; its send buffers are the client's to provide.
   IRQL: <= DISPATCH_LEVEL; PASSIVE_LEVEL with IBMF_ALLOC_SLEEP.
   Statuses:
     IBMF_INVALID_ARG   ibmf_msgpp is NULL
     IBMF_BAD_FLAGS     flag is neither IBMF_ALLOC_SLEEP nor IBMF_ALLOC_NOSLEEP
     IBMF_BAD_HANDLE    no such client
     IBMF_NO_RESOURCES  memory; *ibmf_msgpp is NULL */
NT_API int ibmf_alloc_msg(ibmf_handle_t ibmf_handle, int flag, ibmf_msg_t** ibmf_msgpp);

/* Frees a message, and the receive buffers that IBMF gave it.
   IRQL: <= DISPATCH_LEVEL.
   Statuses:
     IBMF_INVALID_ARG  ibmf_msgpp or *ibmf_msgpp is NULL
     IBMF_BAD_HANDLE   no such client, or the message is another one's
     IBMF_BUSY         the message is being sent
     IBMF_SUCCESS      *ibmf_msgpp is NULL */
NT_API int ibmf_free_msg(ibmf_handle_t ibmf_handle, ibmf_msg_t** ibmf_msgpp);

/* Makes a UD QP on the client's port. It sends with its keys, and takes what comes in its partition
   and with its Q_Key.
   Ownership: the client's until ibmf_free_qp.
   IRQL: PASSIVE_LEVEL; may block.
   Statuses:
     IBMF_INVALID_ARG        ibmf_qp_handlep is NULL, or the low 15 bits of p_key are 0; after the
                             next three: the port does not have that P_Key
     IBMF_BAD_HANDLE         no such client
     IBMF_BAD_FLAGS          not exactly one of IBMF_ALT_QP_*
     IBMF_NOT_SUPPORTED      the driver has no UD QPs
     IBMF_NO_RESOURCES       memory, or QPs
     IBMF_TRANSPORT_FAILURE  the driver failed for another reason */
NT_API int ibmf_alloc_qp(ibmf_handle_t ibmf_handle, ib_pkey_t p_key, ib_qkey_t q_key, uint_t flags,
                         ibmf_qp_handle_t* ibmf_qp_handlep);

/* Says number, keys and port of an alternate QP, as they are at some moment of the call.
   IRQL: <= DISPATCH_LEVEL.
   flags: 0.
   Statuses:
     IBMF_INVALID_ARG    an output pointer is NULL, or flags are not 0
     IBMF_BAD_HANDLE     no such client
     IBMF_BAD_QP_HANDLE  not an alternate QP of that client */
NT_API int ibmf_query_qp(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t ibmf_qp_handle, uint_t* qp_num,
                         ib_pkey_t* p_key, ib_qkey_t* q_key, uint8_t* portnum, uint_t flags);

/* Sets the keys of an alternate QP, whose number stays. What is under way may meet the old ones.
   Changes nothing, successfully, where the driver takes any keys a send (IBMF_NON_DEF_QP_HDL_*).
   IRQL: PASSIVE_LEVEL; may block. flags: 0. Statuses: as ibmf_query_qp; IBMF_INVALID_ARG also when
   the low 15 bits of p_key are 0, or the port does not have that P_Key; IBMF_TRANSPORT_FAILURE the
   driver failed; the QP has its old keys */
NT_API int ibmf_modify_qp(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t ibmf_qp_handle,
                          ib_pkey_t p_key, ib_qkey_t q_key, uint_t flags);

/* Destroys an alternate QP.
   IRQL: PASSIVE_LEVEL; may block.
   flags: 0.
   Statuses:
     IBMF_INVALID_ARG    ibmf_qp_handle is NULL, or flags are not 0
     IBMF_BAD_HANDLE     no such client
     IBMF_BAD_QP_HANDLE  not an alternate QP of that client
     IBMF_BUSY           it has a callback, or transactions
     IBMF_SUCCESS        *ibmf_qp_handle is IBMF_QP_HANDLE_DEFAULT */
NT_API int ibmf_free_qp(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t* ibmf_qp_handle, uint_t flags);

NT_EXTERN_C_END

#endif
