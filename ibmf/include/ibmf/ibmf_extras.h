/* Extensions of IBMF beyond its seed: OUIs, IsSM, cancellation, streams, the result of a
   transfer, statistics, the limit of transactions in flight. All declarations are our own. */
#ifndef IRPVERBS_IBMF_IBMF_EXTRAS_H
#define IRPVERBS_IBMF_IBMF_EXTRAS_H

#include <ibmf/ibmf.h>

NT_EXTERN_C_BEGIN

/* Registers a client as ibmf_register does, for a class from 0x30 to 0x4F. The client receives
   the messages, except responses, of this OUI (24 bits). Clients of one class and port may be
   registered together if their OUIs differ; a client of ibmf_register receives the remaining
   OUIs. The class header of a sent message decides its OUI.

   Statuses: those of ibmf_register, and
     IBMF_INVALID_ARG  also if the OUI is 0 or longer than 24 bits
     IBMF_BAD_CLASS    also for a class without OUI, before the other checks */
NT_API int ibmf_register_oui(ibmf_register_info_t* client_info, uint32_t oui, uint_t ibmf_version,
                             uint_t flags, ibmf_async_event_cb_t client_cb, void* client_cb_args,
                             ibmf_handle_t* ibmf_handle, ibmf_impl_caps_t* ibmf_impl_features);

/* Sets or clears IsSM in the port's PortInfo: a subnet manager is on the port. The client's
   unregistration clears it. A trap 144 reports the change to the subnet's manager.
   IRQL: PASSIVE_LEVEL.

   Statuses:
     IBMF_BAD_HANDLE         no such client
     IBMF_BAD_CLASS          the client is not of class SUBN_MANAGER
     IBMF_PORT_IN_USE        another program or client has set IsSM on this port
     IBMF_TRANSPORT_FAILURE  the HCA does not support it */
NT_API int ibmf_set_is_sm(ibmf_handle_t ibmf_handle, boolean_t is_sm);

/* im_msg_flags: the transaction precedes those without the flag in the queue of the port's
   window. */
#define IBMF_MSG_FLAGS_URGENT 0x00010000

/* im_msg_flags: the interval between retries doubles with each one, up to a second, and is
   shortened at random by up to a quarter. Intervals of a second and more do not grow. It has no
   effect where the times of ibmf_retrans_t are 0. */
#define IBMF_MSG_FLAGS_PACED 0x00020000

/* Requests the early end of a message's transaction. It ends with IBMF_TRANS_FAILURE unless its
   result arrives first. The callback runs in either case.
   IRQL: <= DISPATCH_LEVEL.

   Statuses:
     IBMF_INVALID_ARG  msgp is NULL or not a message of that client
     IBMF_BAD_HANDLE   no such client
     IBMF_FAILURE      the message has no transaction, or it has ended
     IBMF_SUCCESS      the request was made */
NT_API int ibmf_cancel_msg(ibmf_handle_t ibmf_handle, ibmf_msg_t* msgp);

/* The result of an RMPP transfer, for people and logs. */
typedef struct _ibmf_transfer_result {
    uint8_t tr_status;    /* RMPPStatus of the STOP or ABORT (IBA table 165); 0: none */
    boolean_t tr_by_peer; /* the peer sent the STOP or ABORT */
    uint32_t tr_segments_resent;
} ibmf_transfer_result_t;

/* Returns how the last transfer of a message ended; zeros if the message had no transfer.
   IRQL: <= DISPATCH_LEVEL.

   Statuses:
     IBMF_INVALID_ARG  a pointer is NULL, or msgp is not a message of that client
     IBMF_BAD_HANDLE   no such client
     IBMF_BUSY         the message is being sent */
NT_API int ibmf_query_transfer(ibmf_handle_t ibmf_handle, ibmf_msg_t* msgp,
                               ibmf_transfer_result_t* result);

/* Requests notification of the segments of a long response while they arrive. IBMF calls
   `data_cb` in the way of the transports' callback, before that callback and one call at a time,
   when data have arrived since the last notification. ibmf_read_msg moves the data out. Data that
   are unread at the end are in im_msgbufs_recv, behind the headers. When 64 KiB are unread, the
   receive window closes and the peer waits. A NULL data_cb ends the notification. IRQL: <=
   DISPATCH_LEVEL.

   Statuses:
     IBMF_INVALID_ARG    msgp is NULL or not a message of that client
     IBMF_BAD_HANDLE     no such client
     IBMF_NOT_SUPPORTED  the client's callbacks do not run one at a time
     IBMF_BUSY           the message is being sent */
NT_API int ibmf_stream_msg(ibmf_handle_t ibmf_handle, ibmf_msg_t* msgp, ibmf_msg_cb_t data_cb,
                           void* data_cb_args);

/* Moves the next bytes of an arriving response to `into`: the MAD header, the class header, then
   data without headers. *length is the size of `into`, and on return the number of bytes moved;
   0 if there are none, or the response is complete.
   IRQL: <= DISPATCH_LEVEL.

   Statuses:
     IBMF_INVALID_ARG  a pointer is NULL, or msgp is not a message of that client
     IBMF_BAD_HANDLE   no such client */
NT_API int ibmf_read_msg(ibmf_handle_t ibmf_handle, ibmf_msg_t* msgp, void* into, size_t* length);

/* Requests a call of `data_cb` as if data had arrived, for a client that left data unread. No
   effect if no response is arriving for the message, or no data are unread.
   IRQL: <= DISPATCH_LEVEL.

   Statuses:
     IBMF_INVALID_ARG  msgp is NULL or not a message of that client
     IBMF_BAD_HANDLE   no such client */
NT_API int ibmf_resume_msg(ibmf_handle_t ibmf_handle, ibmf_msg_t* msgp);

/* The statistics of a client or of a port. A dropped datagram counts once. Address handles are
   not counted: each datagram carries its address. */
typedef struct _ibmf_stats {
    /* Present values: */
    uint64_t st_msgs_alloced;
    uint64_t st_transactions;     /* in progress; incoming transfers count */
    uint64_t st_in_flight;        /* of them, counted against the port's limit */
    uint64_t st_queued;           /* of them, waiting for a place in the window */
    uint64_t st_sends_active;     /* datagrams that the driver has not completed */
    uint64_t st_receives_active;  /* incoming transfers, including responses */
    uint64_t st_buffers;          /* buffers of received bytes that messages hold */
    uint64_t st_callbacks_active; /* queued or running */
    uint64_t st_alt_qps;
    /* Totals: */
    uint64_t st_msgs_sent;     /* transports started */
    uint64_t st_msgs_received; /* responses, and unsolicited messages */
    uint64_t st_datagrams_sent;
    uint64_t st_datagrams_received;
    uint64_t st_retries;
    uint64_t st_busy;       /* responses with the status busy */
    uint64_t st_redirected; /* responses with a redirection */
    uint64_t st_timeouts;
    uint64_t st_cancelled;
    uint64_t st_send_failures; /* sends that the driver failed */
    uint64_t st_rmpp_errors;   /* transfers that either side stopped or aborted */
    uint64_t st_rmpp_resent;   /* segments sent again */
    uint64_t st_tids_in_use;   /* transports refused with IBMF_TID_IN_USE */
    /* Dropped datagrams: */
    uint64_t st_malformed;      /* not a valid MAD */
    uint64_t st_wrong_class;    /* of another class, or a response of another class */
    uint64_t st_stale;          /* responses to no transaction in progress */
    uint64_t st_wrong_peer;     /* responses of another peer */
    uint64_t st_wrong_response; /* responses of another method, version or OUI */
    uint64_t st_no_client;      /* for a client type that is not registered */
    uint64_t st_no_callback;    /* unsolicited, and there is no callback */
    uint64_t st_overflows;      /* unsolicited, and the callback queue is full */
    uint64_t st_no_memory;
} ibmf_stats_t;

/* Returns the statistics of the client, or of its port with all its clients, including those
   that have unregistered.
   IRQL: <= DISPATCH_LEVEL.

   Statuses:
     IBMF_INVALID_ARG  stats is NULL
     IBMF_BAD_HANDLE   no such client */
NT_API int ibmf_query_stats(ibmf_handle_t ibmf_handle, boolean_t of_port, ibmf_stats_t* stats);

/* Limits the sequenced transactions that all clients of a port have in flight at one time. More
   transactions wait: urgent ones are first, then the clients take turns. The initial limit is
   128.
   IRQL: <= DISPATCH_LEVEL.

   Statuses:
     IBMF_INVALID_ARG  in_flight is 0
     IBMF_BAD_HANDLE   no such client */
NT_API int ibmf_limit_port(ibmf_handle_t ibmf_handle, uint_t in_flight);

NT_EXTERN_C_END

#endif
