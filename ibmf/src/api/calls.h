/* The eleven calls of IBMF and what each promises: each moves to ibmf/ibmf.h when it exists. Not
   installed. Source: seed 000. */
#ifndef IRPVERBS_IBMF_API_CALLS_H
#define IRPVERBS_IBMF_API_CALLS_H

#include <ibmf/ibmf.h>

NT_EXTERN_C_BEGIN

/* Makes the caller a client of one management class on one port.
   Ownership: *ibmf_handle is the client's until ibmf_unregister.
   IRQL: PASSIVE_LEVEL; may block.
   client_cb may be NULL: then an HCA that goes away unregisters the client itself.
   IBMF_REG_FLAG_RMPP is needed for a class whose datagrams have an RMPP header, used or not.
   UNIVERSAL_CLASS: any number of clients a port, alternate QPs only.
   Statuses, in the order of the checks:
     IBMF_INVALID_ARG        client_info, ibmf_handle or ibmf_impl_features is NULL
     IBMF_BAD_VERSION        ibmf_version is not IBMF_VERSION
     IBMF_BAD_FLAGS          unknown flags; NO_OFFLOAD with SINGLE_OFFLOAD
     IBMF_BAD_CLASS          ir_client_class is none of ibmf_client_type_t
     IBMF_BAD_NODE           no HCA has ir_ci_guid
     IBMF_BAD_PORT           the HCA has no port ir_port_num
     IBMF_NOT_SUPPORTED      UNIVERSAL_CLASS, and the driver has no UD QPs
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

/* Installs the callback for messages of the client's class that answer no transaction of its own:
   requests, traps, reports. Without one they are dropped and counted.
   IRQL: PASSIVE_LEVEL. The callback may come before the return.
   flags: 0.
   Statuses:
     IBMF_INVALID_ARG    async_msg_cb is NULL, or flags are not 0
     IBMF_BAD_HANDLE     no such client
     IBMF_BAD_QP_HANDLE  not a QP of that client
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
   retrans: NULL is all defaults; counts as the flags call for it.
   Statuses of the call (then no callback comes), which a message never sees:
     IBMF_INVALID_ARG       msgp is NULL, flags are unknown, or it would block at DISPATCH_LEVEL
     IBMF_BAD_HANDLE        no such client
     IBMF_BAD_QP_HANDLE     not its QP; a class other than the client's, or keys the driver can not
                            use, with IBMF_QP_HANDLE_DEFAULT
     IBMF_BAD_SIZE          more than one datagram without RMPP, more than the MTU on a raw QP; no
                            MAD header where there must be one
     IBMF_BAD_RMPP_OPT      RMPP, and the client or QP was made without
     IBMF_REQ_INVALID       sequenced, and the send buffer is the message's receive buffer
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

/* Makes a UD QP on the client's port.
   Ownership: the client's until ibmf_free_qp.
   IRQL: PASSIVE_LEVEL; may block.
   Statuses:
     IBMF_INVALID_ARG        ibmf_qp_handlep is NULL, or the low 15 bits of p_key are 0
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

/* Sets the keys of an alternate QP. Changes nothing, successfully, where the driver takes any keys
   a send (IBMF_NON_DEF_QP_HDL_*). IRQL: PASSIVE_LEVEL; may block. flags: 0. Statuses: as
   ibmf_query_qp; IBMF_INVALID_ARG also when the low 15 bits of p_key are 0; IBMF_TRANSPORT_FAILURE
   the driver failed; the QP has its old keys */
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
