/* The IBMF message: addresses, status and buffers of one transaction. Source: seed 000 (includes
   it); names and order of the fields: Solaris ibmf_msg.h. */
#ifndef IRPVERBS_IBMF_IBMF_MSG_H
#define IRPVERBS_IBMF_IBMF_MSG_H

#include <ibmf/ib_mad.h>

/* Where a message goes, or came from: ia_remote_lid is the peer's in both. Host byte order. */
typedef struct _ibmf_addr_info {
    ib_lid_t ia_local_lid;
    ib_lid_t ia_remote_lid;
    ib_qpn_t ia_remote_qno;
    ib_pkey_t ia_p_key;
    ib_qkey_t ia_q_key;
    __extension__ uint8_t ia_service_level : 4;
} ibmf_addr_info_t;

/* The global route; counts only with IBMF_MSG_FLAGS_GLOBAL_ADDRESS, never for SMPs. Of a received
   message ig_sender_gid is its sender's. A message is sent from the one of the two that is a GID of
   the port: an answer leads back with the route as it came, in the same message or in another, and
   with the two exchanged as well. */
typedef struct _ibmf_global_addr_info {
    ib_gid_t ig_sender_gid;
    ib_gid_t ig_recver_gid;
    uint32_t ig_flow_label; /* 20 bits */
    uint8_t ig_tclass;
    uint8_t ig_hop_limit;
} ibmf_global_addr_info_t;

/* The parts of a message, in wire format (big-endian). The RMPP header is none of them: IBMF writes
   and reads it. The class header is the bytes of a class between its MAD header (or its RMPP
   header) and its data: SA 20, vendor 0x30 to 0x4F 4, SMP and the classes 0x04 to 0x08 40, others
   none. NULL im_bufs_cl_hdr: the data begin with it. A raw datagram: only the data. */
typedef struct _ibmf_msg_bufs {
    ib_mad_hdr_t* im_bufs_mad_hdr; /* 24 bytes */
    void* im_bufs_cl_hdr;
    size_t im_bufs_cl_hdr_len;
    void* im_bufs_cl_data;
    size_t im_bufs_cl_data_len;
} ibmf_msg_bufs_t;

#define IBMF_MAX_ANSWER_LEN ((size_t)256 << 20) /* bytes of data of a response */
#define IBMF_MAX_UNASKED_LEN                                                                       \
    ((size_t)16 << 20) /* of a message that was not asked for; cut there                           \
                        */

/* Send buffers are the client's, from the send to its completion. Receive buffers are IBMF's, one
   block that begins at im_bufs_mad_hdr, and live until the message is freed or used again. */
typedef struct _ibmf_msg {
    ibmf_addr_info_t im_local_addr;
    ibmf_global_addr_info_t im_global_addr;
    int32_t im_msg_status; /* of the transaction that ended: IBMF_*; of a message that was not asked
                              for: IBMF_SUCCESS, or IBMF_PARTIAL_TRANSFER when it was cut */
    uint32_t im_msg_flags; /* IBMF_MSG_FLAGS_* */
    size_t im_msg_sz_limit; /* bytes of data to receive at most, else IBMF_PARTIAL_TRANSFER; 0:
                               IBMF_MAX_ANSWER_LEN, but of a response that is read while it comes */
    ibmf_msg_bufs_t im_msgbufs_send;
    ibmf_msg_bufs_t im_msgbufs_recv;
} ibmf_msg_t;

#endif
