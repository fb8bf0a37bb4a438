/* The client interface of IBMF: registration for a management class on a port, messages,
   alternate QPs. Source: seed 000 throughout.

   Calls from inside a callback:
                               message callback,    message callback,   ibmf_async_event_cb_t
                               PASSIVE_LEVEL        NO_OFFLOAD
     ibmf_alloc_msg, _free_msg yes                  yes, no SLEEP       yes
     ibmf_msg_transport        yes                  with a callback     IBMF_BAD_PORT_STATE
     ibmf_setup_async_cb       yes                  yes                 yes
     ibmf_tear_down_async_cb   yes; does not wait   yes                 yes
                               for its own QP
     ibmf_query_qp             yes                  yes                 yes
     ibmf_alloc_qp, _modify_qp yes                  no                  IBMF_TRANSPORT_FAILURE
     ibmf_free_qp              yes                  no                  yes
     ibmf_register             yes                  no                  yes, on another HCA
     ibmf_unregister           yes, once the client IBMF_BUSY           yes
                               has freed all
   A call marked "no" blocks, and must not be made from a DPC. A call that waits for callbacks
   does not wait for a callback that runs on the caller's own processor.

   Lifetimes: ibmf_register reads ir_ci_guid, ir_port_num and ir_client_class and keeps no
   reference to the structure. An ibmf_handle_t is valid until ibmf_unregister, also when the HCA
   has failed or was removed. From then on sends return IBMF_BAD_PORT_STATE, and messages and QP
   handles stay valid until they are freed. An HCA that returns needs a new registration. */
#ifndef IRPVERBS_IBMF_IBMF_H
#define IRPVERBS_IBMF_IBMF_H

#include <ibmf/ib_mad.h>
#include <ibmf/ibmf_msg.h>
#include <ibmf/ibmf_utils.h>

#define IBMF_VERSION 1

/* Statuses of the functions and of im_msg_status. */
#define IBMF_SUCCESS 0
#define IBMF_FAILURE (-1)             /* an internal error; no call of this header returns it */
#define IBMF_PORT_IN_USE (-2)         /* the class is registered on that port */
#define IBMF_BAD_CLASS (-3)           /* no such class */
#define IBMF_BAD_HANDLE (-4)          /* not an ibmf handle, or already freed */
#define IBMF_BAD_QP_HANDLE (-5)       /* not a QP handle of that client, or other keys */
#define IBMF_BAD_NODE (-6)            /* no HCA has that GUID */
#define IBMF_BAD_PORT (-7)            /* the HCA has no such port */
#define IBMF_BAD_PORT_STATE (-8)      /* the port can't send in its present state */
#define IBMF_BAD_VERSION (-9)         /* not IBMF_VERSION */
#define IBMF_BAD_FLAGS (-10)          /* unknown flags, or flags that exclude each other */
#define IBMF_BAD_SIZE (-11)           /* more data than fits one datagram, or no header */
#define IBMF_BAD_RMPP_OPT (-12)       /* RMPP, but the class or the QP has no RMPP */
#define IBMF_BUSY (-13)               /* in use, or the client has not freed all */
#define IBMF_NO_RESOURCES (-14)       /* none at present; a retry may succeed */
#define IBMF_NOT_SUPPORTED (-15)      /* the driver does not support it */
#define IBMF_PARTIAL_TRANSFER (-16)   /* longer than im_msg_sz_limit or IBMF's limit; cut */
#define IBMF_UNEXP_TRANS_RECVD (-17)  /* the response is of another kind of transaction */
#define IBMF_TRANS_TIMEOUT (-18)      /* no response, or an incomplete one, in time */
#define IBMF_TRANS_FAILURE (-19)      /* the peer ended the transfer, or broke the protocol */
#define IBMF_NO_MEMORY (-20)          /* no memory for a response; calls: IBMF_NO_RESOURCES */
#define IBMF_REQ_INVALID (-21)        /* the request contradicts itself, or the SA says so */
#define IBMF_NO_RECORDS (-22)         /* nothing matches the query */
#define IBMF_TOO_MANY_RECORDS (-23)   /* more than one record matches a Get */
#define IBMF_INVALID_GID (-24)        /* the SA does not know a GID of the request */
#define IBMF_INSUFF_COMPS (-25)       /* the SA needs more components of the record */
#define IBMF_UNSUPP_METHOD (-26)      /* the peer does not support the method */
#define IBMF_UNSUPP_METHOD_ATTR (-27) /* or the attribute with that method */
#define IBMF_INVALID_FIELD (-28)      /* the peer refused a field of the datagram */
#define IBMF_INVALID_ARG (-29)        /* an argument is NULL or out of range */
#define IBMF_CB_REGISTERED (-30)      /* a callback is installed */
#define IBMF_CB_NOT_REGISTERED (-31)  /* no callback is installed */
#define IBMF_TRANSPORT_FAILURE (-32)  /* the driver below failed a call */
#define IBMF_TID_IN_USE (-33)         /* a transaction in progress has that TransactionID */
#define IBMF_NO_ACTIVE_PORTS (-34)    /* returned by SA access only; a number of our own */

/* Flags of ibmf_alloc_msg. */
#define IBMF_ALLOC_SLEEP 0
#define IBMF_ALLOC_NOSLEEP 1

/* Flags of ibmf_register. */
#define IBMF_REG_FLAG_RMPP 0x1           /* datagrams of the class have an RMPP header */
#define IBMF_REG_FLAG_NO_OFFLOAD 0x2     /* callbacks run at DISPATCH_LEVEL, in a DPC */
#define IBMF_REG_FLAG_SINGLE_OFFLOAD 0x4 /* callbacks run one at a time; excludes NO_OFFLOAD */

/* Flags of ibmf_msg_transport. */
#define IBMF_MSG_TRANS_FLAG_RMPP 0x1 /* the send is an RMPP transfer */
#define IBMF_MSG_TRANS_FLAG_SEQ 0x2  /* a response is expected; with RMPP: double-sided */

/* im_msg_flags */
#define IBMF_MSG_FLAGS_GLOBAL_ADDRESS 0x00000010 /* im_global_addr is valid */

/* Flags of ibmf_alloc_qp: exactly one. */
#define IBMF_ALT_QP_MAD_NO_RMPP 0x1 /* MADs of any class; each is a message */
#define IBMF_ALT_QP_MAD_RMPP 0x2    /* MADs of any class, and RMPP transfers of classes with RMPP */
#define IBMF_ALT_QP_RAW_ONLY 0x4    /* UD datagrams that are not MADs, up to the MTU */

/* Opaque handles. A value is never reused for another object: a freed handle is IBMF_BAD_HANDLE. */
typedef struct _ibmf_handle_dummy* ibmf_handle_t;
typedef struct _ibmf_qp_dummy* ibmf_qp_handle_t;

/* The port's QP0 or QP1, according to the client's class. */
#define IBMF_QP_HANDLE_DEFAULT ((ibmf_qp_handle_t)0)

/* Low half: the class. High half: 1 agent, 2 manager, 3 both, 4 UD traffic over alternate QPs
   only. The agent and the manager of one class are two clients and may be registered at the same
   time. */
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

/* The number of retries and the time that each attempt waits; seed 000, 193 to 248. Times are in
   microseconds. retrans_retries has no default: 0 means no retry. A time of 0 means the default
   time. NULL in place of the structure means IBMF_RETRANS_DEFAULT. {0} differs from it: it never
   retries.

   Given times are maxima. An attempt waits for at most retrans_rtv + retrans_rttv, and a peer
   that does not respond ends the transaction after at most (retrans_retries + 1) such waits. If
   both times are 0, each attempt waits twice as long as the previous one, up to eight times the
   first. Attempts after the first may wait up to a quarter less, chosen at random. A peer that
   is busy or redirects, and the wait for a free place in the port's window, may make the whole
   two and a half times as long.
     flags of the transport   retries   rtv, rttv   trans_to
     none                     -         -           -          (-: ignored)
     SEQ                      used      used        used, 0: none
     RMPP                     used      used        -
     RMPP and SEQ             used      used        used, 0: none
   A transfer that is sent, and a response that is a transfer, has an additional time according
   to its size: at least 40 s, at most an hour. The sender of a response may be silent for
   (retries + 1) x the given times, or the default times if those are longer. If the driver does
   RMPP itself, a response arrives whole or not at all, and the times of a single response apply
   to all of it. */
typedef struct _ibmf_retrans_t {
    uint32_t retrans_retries;  /* per request, and per RMPP segment or ACK; 0: none */
    uint32_t retrans_rtv;      /* processing time of the responder; 0: 4 s */
    uint32_t retrans_rttv;     /* round trip without processing; 0: 100 ms */
    uint32_t retrans_trans_to; /* a whole sequenced transaction, from the call; 0: none */
} ibmf_retrans_t;

#define IBMF_DEFAULT_RETRIES 3
#define IBMF_RETRANS_DEFAULT                                                                       \
    { IBMF_DEFAULT_RETRIES, 0, 0, 0 }

typedef struct _ibmf_register_info {
    ib_guid_t ir_ci_guid; /* GUID of the HCA */
    uint_t ir_port_num;   /* from 1 */
    ibmf_client_type_t ir_client_class;
} ibmf_register_info_t;

/* The keys that the driver accepts in a message's address. */
typedef enum _ibmf_impl_caps {
    IBMF_DEF_QP_HDL_P_KEY_ANY = 0x0001, /* any P_Key with IBMF_QP_HANDLE_DEFAULT */
    IBMF_DEF_QP_HDL_Q_KEY_ANY = 0x0002,
    IBMF_NON_DEF_QP_HDL_P_KEY_ANY = 0x0004, /* any P_Key with an alternate QP */
    IBMF_NON_DEF_QP_HDL_Q_KEY_ANY = 0x0008
} ibmf_impl_caps_t;

typedef enum ibmf_async_event_e {
    /* The HCA is being removed. The client frees all that it holds, and unregisters, before it
       returns from the callback. Another thread of the client may have done so before. */
    IBMF_CI_OFFLINE = 0x1
} ibmf_async_event_t;

/* Notifies a client of an event that is not a message. The callback may run before ibmf_register
   returns; it has the handle that ibmf_register is about to return. IRQL: PASSIVE_LEVEL. */
typedef void (*ibmf_async_event_cb_t)(ibmf_handle_t ibmf_handle, void* clnt_private,
                                      ibmf_async_event_t event_type);

/* Reports the end of a transaction (ibmf_msg_transport) or an unsolicited message
   (ibmf_setup_async_cb).
   Ownership: the message belongs to the client, which frees it with ibmf_free_msg.
   IRQL: PASSIVE_LEVEL; DISPATCH_LEVEL for a client with IBMF_REG_FLAG_NO_OFFLOAD, which must not
   block in its callback. */
typedef void (*ibmf_msg_cb_t)(ibmf_handle_t ibmf_handle, ibmf_msg_t* msgp, void* args);

NT_EXTERN_C_BEGIN

/* Makes the caller a client of one management class on one port.
   Ownership: *ibmf_handle belongs to the client until ibmf_unregister.
   IRQL: PASSIVE_LEVEL; may block.

   client_cb may be NULL. Such a client is not notified of the removal of the HCA: its
   transactions end with IBMF_TRANSPORT_FAILURE, its sends return IBMF_BAD_PORT_STATE, and its
   handle, messages and QPs stay valid until it frees them and unregisters. They do not hold the
   HCA: the HCA may be removed, and return under its GUID for a new registration.

   IBMF_REG_FLAG_RMPP is needed for a class whose datagrams have an RMPP header, used or not.

   A client of a class from 0x30 to 0x4F receives the messages of each OUI for which no other
   client registered (ibmf_register_oui). A real HCA delivers requests by their OUI only: on it
   such a client sends, and receives only responses (ibmf_setup_async_cb: IBMF_NOT_SUPPORTED).

   UNIVERSAL_CLASS: any number of clients per port, with alternate QPs only:
   IBMF_QP_HANDLE_DEFAULT is IBMF_BAD_QP_HANDLE. Clients of other classes may have alternate QPs
   as well.

   Statuses, in the order of the checks:
     IBMF_INVALID_ARG        client_info, ibmf_handle or ibmf_impl_features is NULL
     IBMF_BAD_VERSION        ibmf_version is not IBMF_VERSION
     IBMF_BAD_FLAGS          unknown flags; NO_OFFLOAD with SINGLE_OFFLOAD
     IBMF_BAD_CLASS          ir_client_class is not in ibmf_client_type_t
     IBMF_BAD_NODE           no HCA has ir_ci_guid
     IBMF_BAD_PORT_STATE     the HCA has failed and is not yet removed
     IBMF_BAD_PORT           the HCA has no port ir_port_num
     IBMF_NOT_SUPPORTED      UNIVERSAL_CLASS and the driver has no UD QPs; or the driver does not
                             support the class on that port
     IBMF_PORT_IN_USE        a client of that type is registered on that port
     IBMF_NO_RESOURCES       no memory, or no free agent of the driver
     IBMF_TRANSPORT_FAILURE  the driver failed for another reason
     IBMF_SUCCESS            *ibmf_impl_features has the capabilities of the driver */
NT_API int ibmf_register(ibmf_register_info_t* client_info, uint_t ibmf_version, uint_t flags,
                         ibmf_async_event_cb_t client_cb, void* client_cb_args,
                         ibmf_handle_t* ibmf_handle, ibmf_impl_caps_t* ibmf_impl_features);

/* Ends a registration. No callback of the client runs after the return.
   IRQL: PASSIVE_LEVEL; may block until running callbacks have returned.
   flags: 0.

   Statuses:
     IBMF_INVALID_ARG  ibmf_handle is NULL, or flags are not 0
     IBMF_BAD_HANDLE   not the handle of a registered client
     IBMF_BUSY         the client still has messages, transactions, alternate QPs or callbacks
     IBMF_SUCCESS      *ibmf_handle is NULL */
NT_API int ibmf_unregister(ibmf_handle_t* ibmf_handle, uint_t flags);

/* Installs the callback for unsolicited messages: requests, traps, reports.
   IBMF_QP_HANDLE_DEFAULT receives those of the client's class, an alternate QP all that arrive
   at it. At most one callback per QP. Without one, such messages are dropped and counted
   (st_no_callback). A response is sent by the QP that received the request.
   IRQL: PASSIVE_LEVEL. The callback may run before the return.
   flags: 0.

   Statuses:
     IBMF_INVALID_ARG    async_msg_cb is NULL, or flags are not 0
     IBMF_BAD_HANDLE     no such client
     IBMF_BAD_QP_HANDLE  not a QP of that client
     IBMF_NOT_SUPPORTED  the driver delivers no messages to the client by that QP (ibmf_register)
     IBMF_CB_REGISTERED  that QP has a callback */
NT_API int ibmf_setup_async_cb(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t ibmf_qp_handle,
                               ibmf_msg_cb_t async_msg_cb, void* async_msg_cb_args, uint_t flags);

/* Removes the callback of a QP. The callback does not run after the return, unless this function
   is called from inside it.
   IRQL: PASSIVE_LEVEL; may block.
   flags: 0.

   Statuses:
     IBMF_INVALID_ARG        flags are not 0
     IBMF_BAD_HANDLE         no such client
     IBMF_BAD_QP_HANDLE      not a QP of that client
     IBMF_CB_NOT_REGISTERED  that QP has no callback */
NT_API int ibmf_tear_down_async_cb(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t ibmf_qp_handle,
                                   uint_t flags);

/* Sends a message, and with IBMF_MSG_TRANS_FLAG_SEQ receives the response to it.
   Ownership: msgp and its send buffers belong to IBMF until the callback, or until the return if
   msg_cb is NULL. IBMF frees a receive buffer that msgp still has. The receive buffers of a
   response belong to IBMF and live as long as the message.
   Reuse: a received message may be sent from its own receive buffers, but not as a sequenced
   one.
   IRQL: <= DISPATCH_LEVEL with msg_cb; PASSIVE_LEVEL without, since the call blocks. The
   callback may run before the return.
   retrans: NULL is IBMF_RETRANS_DEFAULT; the flags decide which members are used.

   Statuses of the call, after which no callback runs and im_msg_status is unchanged:
     IBMF_INVALID_ARG       msgp is NULL or not a message of that client, flags are unknown, or the
                            call would block at DISPATCH_LEVEL
     IBMF_BAD_HANDLE        no such client
     IBMF_BAD_QP_HANDLE     not a QP of the client; with IBMF_QP_HANDLE_DEFAULT a class other than
                            the client's, or keys that the driver does not accept; keys other than
                            those of the alternate QP
     IBMF_BAD_SIZE          more than one datagram without RMPP; no MAD header where one is needed;
                            on a raw QP more than the MTU, or nothing
     IBMF_BAD_RMPP_OPT      RMPP, and the client or QP was made without it
     IBMF_REQ_INVALID       sequenced, and the send buffer is the message's receive buffer, or the
                            QP is raw
     IBMF_BUSY              the message is being sent, or being freed
     IBMF_TID_IN_USE        a transaction of this client has that TransactionID
     IBMF_BAD_PORT_STATE    the port is down
     IBMF_NO_RESOURCES      no memory
   Statuses of the transaction, in im_msg_status, and returned if msg_cb is NULL:
     IBMF_SUCCESS           sent, and for a sequenced message answered
     IBMF_PARTIAL_TRANSFER  answered; only im_msg_sz_limit bytes of the response were kept
     IBMF_TRANS_TIMEOUT     no response, or an incomplete one, in time; all retries made
     IBMF_TRANS_FAILURE     either side stopped or aborted the transfer
     IBMF_UNEXP_TRANS_RECVD a single datagram arrived instead of a transfer, or the reverse
     IBMF_TRANSPORT_FAILURE the driver could not send
     IBMF_NO_MEMORY         no memory for the response, or for the restart with a busy peer
   Cancellation: ibmf_cancel_msg, or as described in async.hpp; the transaction then ends with
   IBMF_TRANS_FAILURE. */
NT_API int ibmf_msg_transport(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t ibmf_qp_handle,
                              ibmf_msg_t* msgp, ibmf_retrans_t* retrans, ibmf_msg_cb_t msg_cb,
                              void* msg_cb_args, uint_t flags);

/* Allocates a message, zeroed. The client provides its send buffers.
   IRQL: <= DISPATCH_LEVEL; PASSIVE_LEVEL with IBMF_ALLOC_SLEEP.

   Statuses:
     IBMF_INVALID_ARG   ibmf_msgpp is NULL
     IBMF_BAD_FLAGS     flag is neither IBMF_ALLOC_SLEEP nor IBMF_ALLOC_NOSLEEP
     IBMF_BAD_HANDLE    no such client
     IBMF_NO_RESOURCES  no memory; *ibmf_msgpp is NULL */
NT_API int ibmf_alloc_msg(ibmf_handle_t ibmf_handle, int flag, ibmf_msg_t** ibmf_msgpp);

/* Frees a message, and the receive buffers that IBMF allocated for it.
   IRQL: <= DISPATCH_LEVEL.

   Statuses:
     IBMF_INVALID_ARG  ibmf_msgpp or *ibmf_msgpp is NULL
     IBMF_BAD_HANDLE   no such client, or the message belongs to another client
     IBMF_BUSY         the message is being sent
     IBMF_SUCCESS      *ibmf_msgpp is NULL */
NT_API int ibmf_free_msg(ibmf_handle_t ibmf_handle, ibmf_msg_t** ibmf_msgpp);

/* Makes a UD QP on the client's port. The QP sends with its keys, and receives datagrams of its
   partition with its Q_Key.
   Ownership: the QP belongs to the client until ibmf_free_qp.
   IRQL: PASSIVE_LEVEL; may block.

   Statuses:
     IBMF_INVALID_ARG        ibmf_qp_handlep is NULL, or the low 15 bits of p_key are 0; after the
                             next three checks: the port does not have that P_Key
     IBMF_BAD_HANDLE         no such client
     IBMF_BAD_FLAGS          not exactly one of IBMF_ALT_QP_*
     IBMF_NOT_SUPPORTED      the driver has no UD QPs
     IBMF_NO_RESOURCES       no memory, or no free QP
     IBMF_TRANSPORT_FAILURE  the driver failed for another reason */
NT_API int ibmf_alloc_qp(ibmf_handle_t ibmf_handle, ib_pkey_t p_key, ib_qkey_t q_key, uint_t flags,
                         ibmf_qp_handle_t* ibmf_qp_handlep);

/* Returns the number, keys and port of an alternate QP, as they are at some moment of the call.
   IRQL: <= DISPATCH_LEVEL.
   flags: 0.

   Statuses:
     IBMF_INVALID_ARG    an output pointer is NULL, or flags are not 0
     IBMF_BAD_HANDLE     no such client
     IBMF_BAD_QP_HANDLE  not an alternate QP of that client */
NT_API int ibmf_query_qp(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t ibmf_qp_handle, uint_t* qp_num,
                         ib_pkey_t* p_key, ib_qkey_t* q_key, uint8_t* portnum, uint_t flags);

/* Sets the keys of an alternate QP. Its number stays. Datagrams in progress may have or meet the
   old keys. If the driver accepts any keys per send (IBMF_NON_DEF_QP_HDL_*), the call changes
   nothing and succeeds.
   IRQL: PASSIVE_LEVEL; may block.
   flags: 0.

   Statuses:
     IBMF_INVALID_ARG        flags are not 0, the low 15 bits of p_key are 0, or the port does not
                             have that P_Key
     IBMF_BAD_HANDLE         no such client
     IBMF_BAD_QP_HANDLE      not an alternate QP of that client
     IBMF_TRANSPORT_FAILURE  the driver failed; the QP has its old keys */
NT_API int ibmf_modify_qp(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t ibmf_qp_handle,
                          ib_pkey_t p_key, ib_qkey_t q_key, uint_t flags);

/* Destroys an alternate QP.
   IRQL: PASSIVE_LEVEL; may block.
   flags: 0.

   Statuses:
     IBMF_INVALID_ARG    ibmf_qp_handle is NULL, or flags are not 0
     IBMF_BAD_HANDLE     no such client
     IBMF_BAD_QP_HANDLE  not an alternate QP of that client
     IBMF_BUSY           the QP has a callback or transactions
     IBMF_SUCCESS        *ibmf_qp_handle is IBMF_QP_HANDLE_DEFAULT */
NT_API int ibmf_free_qp(ibmf_handle_t ibmf_handle, ibmf_qp_handle_t* ibmf_qp_handle, uint_t flags);

NT_EXTERN_C_END

#endif
