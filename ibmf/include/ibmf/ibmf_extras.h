/* What IBMF has beyond its seed: OUIs, IsSM, cancelling, streams, why a transfer ended, statistics,
   the bound of what is in flight. All ours. */
#ifndef IRPVERBS_IBMF_IBMF_EXTRAS_H
#define IRPVERBS_IBMF_IBMF_EXTRAS_H

#include <ibmf/ibmf.h>

NT_EXTERN_C_BEGIN

/* As ibmf_register, for a class from 0x30 to 0x4F: of the messages that are no responses the client
   is given those of this OUI (24 bits). Clients of one class and port stand side by side when their
   OUIs differ; one of ibmf_register is given the OUIs that are left. What the client sends has the
   OUI that its class header says.
   Statuses: those of ibmf_register, and
     IBMF_INVALID_ARG  also when the OUI is 0 or longer
     IBMF_BAD_CLASS    also for a class without OUI, before the other checks */
NT_API int ibmf_register_oui(ibmf_register_info_t* client_info, uint32_t oui, uint_t ibmf_version,
                             uint_t flags, ibmf_async_event_cb_t client_cb, void* client_cb_args,
                             ibmf_handle_t* ibmf_handle, ibmf_impl_caps_t* ibmf_impl_features);

/* Says in the port's PortInfo that a subnet manager is on it (IsSM), or no longer; the client's
   unregistration takes it back. The subnet's manager hears of it by a trap 144.
   IRQL: PASSIVE_LEVEL.
   Statuses:
     IBMF_BAD_HANDLE         no such client
     IBMF_BAD_CLASS          it is not of class SUBN_MANAGER
     IBMF_PORT_IN_USE        somebody else says so of this port
     IBMF_TRANSPORT_FAILURE  the HCA does not do it */
NT_API int ibmf_show_sm(ibmf_handle_t ibmf_handle, boolean_t is_sm);

/* im_msg_flags: the transaction goes before those without it that wait for their turn. */
#define IBMF_MSG_FLAGS_URGENT 0x00010000

/* Asks for the transaction of a message to end soon: it ends with IBMF_TRANS_FAILURE, unless its
   result comes first; its callback comes in any case.
   IRQL: <= DISPATCH_LEVEL.
   Statuses:
     IBMF_INVALID_ARG  msgp is NULL, or no message of that client
     IBMF_BAD_HANDLE   no such client
     IBMF_FAILURE      the message has no transaction, or none any more
     IBMF_SUCCESS      asked */
NT_API int ibmf_cancel_msg(ibmf_handle_t ibmf_handle, ibmf_msg_t* msgp);

/* How an RMPP transfer ended, for people and logs. */
typedef struct _ibmf_transfer_end {
    uint8_t te_status;    /* RMPPStatus of the STOP or ABORT (IBA table 165); 0: none */
    boolean_t te_by_peer; /* it came from the peer */
    uint32_t te_segments_resent;
} ibmf_transfer_end_t;

/* Says how the last transfer of a message ended; zeros when it was none. IRQL: <= DISPATCH_LEVEL.
   Statuses:
     IBMF_INVALID_ARG  a pointer is NULL, or msgp is no message of that client
     IBMF_BAD_HANDLE   no such client
     IBMF_BUSY         it is being sent */
NT_API int ibmf_query_transfer(ibmf_handle_t ibmf_handle, ibmf_msg_t* msgp,
                               ibmf_transfer_end_t* end);

/* Asks to be told of a response of many segments while it comes. `data_cb` is called as the
   callback of the message's transports is, before that and one at a time, when data have come that
   it has not been told of; ibmf_read_msg moves them out. What was not read by the end is in
   im_msgbufs_recv, behind the headers. Who leaves 64 KiB unread holds the peer up. NULL: no longer.
   IRQL: <= DISPATCH_LEVEL.
   Statuses:
     IBMF_INVALID_ARG    msgp is NULL, or no message of that client
     IBMF_BAD_HANDLE     no such client
     IBMF_NOT_SUPPORTED  the client's callbacks do not come one at a time
     IBMF_BUSY           it is being sent */
NT_API int ibmf_stream_msg(ibmf_handle_t ibmf_handle, ibmf_msg_t* msgp, ibmf_msg_cb_t data_cb,
                           void* data_cb_args);

/* Moves the next bytes of a response that comes to `into`: the MAD header, the class header, then
   data without headers. *length: its room, then how many came; 0 when there are none, or the
   response is complete.
   IRQL: <= DISPATCH_LEVEL.
   Statuses:
     IBMF_INVALID_ARG  a pointer is NULL, or msgp is no message of that client
     IBMF_BAD_HANDLE   no such client */
NT_API int ibmf_read_msg(ibmf_handle_t ibmf_handle, ibmf_msg_t* msgp, void* into, size_t* length);

/* Asks for `data_cb` to be called as if data had come: for who left some unread. No effect when the
   message is not one of a response that comes, or nothing of it is unread. IRQL: <= DISPATCH_LEVEL.
   Statuses:
     IBMF_INVALID_ARG  msgp is NULL, or no message of that client
     IBMF_BAD_HANDLE   no such client */
NT_API int ibmf_resume_msg(ibmf_handle_t ibmf_handle, ibmf_msg_t* msgp);

/* What a client, or a port, has and has done. Datagrams that are dropped count once each. There are
   no address handles to count: each datagram carries its address. */
typedef struct _ibmf_stats {
    /* Now: */
    uint64_t st_msgs_alloced;
    uint64_t st_transactions;     /* under way; incoming transfers count */
    uint64_t st_in_flight;        /* of them, against the port's bound */
    uint64_t st_queued;           /* of them, waiting for their turn */
    uint64_t st_sends_active;     /* datagrams that the driver has */
    uint64_t st_receives_active;  /* transfers that come in, answers included */
    uint64_t st_buffers;          /* of received bytes, which messages hold */
    uint64_t st_callbacks_active; /* due or running */
    uint64_t st_alt_qps;
    /* So far: */
    uint64_t st_msgs_sent;     /* transports begun */
    uint64_t st_msgs_received; /* responses, and messages unasked */
    uint64_t st_datagrams_sent;
    uint64_t st_datagrams_received;
    uint64_t st_retries;
    uint64_t st_busy;       /* answers that said so */
    uint64_t st_redirected; /* answers that said so */
    uint64_t st_timeouts;
    uint64_t st_cancelled;
    uint64_t st_send_failures; /* the driver's */
    uint64_t st_rmpp_errors;   /* transfers that were stopped or aborted, by either side */
    uint64_t st_rmpp_resent;   /* segments */
    uint64_t st_tids_in_use;   /* transports refused for it */
    /* Dropped: */
    uint64_t st_malformed;    /* no datagram */
    uint64_t st_wrong_class;  /* not of the class, or an answer of another class */
    uint64_t st_stale;        /* answers to nothing that is under way */
    uint64_t st_wrong_peer;   /* answers from elsewhere */
    uint64_t st_wrong_answer; /* answers of another method, version or OUI */
    uint64_t st_no_client;    /* for a client type that is not registered */
    uint64_t st_no_callback;  /* messages unasked, and nobody listens */
    uint64_t st_overflows;    /* messages unasked, and too many wait */
    uint64_t st_no_memory;
} ibmf_stats_t;

/* Reads the statistics of the client, or of its port with all its clients, those gone included.
   IRQL: <= DISPATCH_LEVEL.
   Statuses:
     IBMF_INVALID_ARG  stats is NULL
     IBMF_BAD_HANDLE   no such client */
NT_API int ibmf_query_stats(ibmf_handle_t ibmf_handle, boolean_t of_port, ibmf_stats_t* stats);

/* Sets how many sequenced transactions of a port, of all its clients, are in flight at once; more
   wait for their turn: urgent ones first, then client by client. At first 128.
   IRQL: <= DISPATCH_LEVEL.
   Statuses:
     IBMF_INVALID_ARG  in_flight is 0
     IBMF_BAD_HANDLE   no such client */
NT_API int ibmf_limit_port(ibmf_handle_t ibmf_handle, uint_t in_flight);

NT_EXTERN_C_END

#endif
