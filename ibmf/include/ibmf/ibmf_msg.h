/* The IBMF message: addresses, status and buffers of one transaction. Source: seed 000 (includes
   it); Solaris ibmf_msg.h has the names and the order of the fields. */
#ifndef IRPVERBS_IBMF_IBMF_MSG_H
#define IRPVERBS_IBMF_IBMF_MSG_H

#include <ibmf/ib_mad.h>

/* The destination or the source of a message. ia_remote_lid is the peer's LID in both cases.
   Host byte order. */
typedef struct _ibmf_addr_info {
    ib_lid_t ia_local_lid;
    ib_lid_t ia_remote_lid;
    ib_qpn_t ia_remote_qno;
    ib_pkey_t ia_p_key;
    ib_qkey_t ia_q_key;
    __extension__ uint8_t ia_service_level : 4;
} ibmf_addr_info_t;

/* The global route. It is valid only with IBMF_MSG_FLAGS_GLOBAL_ADDRESS, and never for SMPs.
   ig_sender_gid of a received message is the sender's GID. A message is sent from that one of
   the two that is a GID of the port. So a response reaches the requester with the route as
   received, in the same message or in another, and also with the two GIDs exchanged. */
typedef struct _ibmf_global_addr_info {
    ib_gid_t ig_sender_gid;
    ib_gid_t ig_recver_gid;
    uint32_t ig_flow_label; /* 20 bits */
    uint8_t ig_tclass;
    uint8_t ig_hop_limit;
} ibmf_global_addr_info_t;

/* The parts of a message, in wire format (big-endian). The RMPP header is not among them: IBMF
   writes and reads it. The class header is the part between the MAD header (or RMPP header) and
   the data: 20 bytes for the SA, 4 for vendor classes 0x30 to 0x4F, 40 for SMPs and the classes
   0x04 to 0x08, 0 for others. If im_bufs_cl_hdr is NULL, the data begin with the class header. A
   raw datagram has only data. */
typedef struct _ibmf_msg_bufs {
    ib_mad_hdr_t* im_bufs_mad_hdr; /* 24 bytes */
    void* im_bufs_cl_hdr;
    size_t im_bufs_cl_hdr_len;
    void* im_bufs_cl_data;
    size_t im_bufs_cl_data_len;
} ibmf_msg_bufs_t;

#define IBMF_MAX_RESPONSE_LEN ((size_t)256 << 20)   /* bytes of data of a response */
#define IBMF_MAX_UNSOLICITED_LEN ((size_t)16 << 20) /* of an unsolicited message; more is cut */

/* Send buffers belong to the client and must live from the send to its completion. Receive
   buffers belong to IBMF, are one block that begins at im_bufs_mad_hdr, and live until the
   message is freed or used again. */
typedef struct _ibmf_msg {
    ibmf_addr_info_t im_local_addr;
    ibmf_global_addr_info_t im_global_addr;
    /* The result of the transaction, IBMF_*. For an unsolicited message: IBMF_SUCCESS, or
       IBMF_PARTIAL_TRANSFER if it was cut. */
    int32_t im_msg_status;
    uint32_t im_msg_flags; /* IBMF_MSG_FLAGS_* */
    /* The maximum of received bytes of data; more are cut and give IBMF_PARTIAL_TRANSFER. 0:
       IBMF_MAX_RESPONSE_LEN, except for a response that is read while it arrives
       (ibmf_stream_msg). */
    size_t im_msg_sz_limit;
    ibmf_msg_bufs_t im_msgbufs_send;
    ibmf_msg_bufs_t im_msgbufs_recv;
} ibmf_msg_t;

#endif
