/* The functions that CiPostSend, CiPostRecv and CiPostSrqRecv call. They lie directly behind each
   IB_QP or IB_SRQ, in its HCA_QP or HCA_SRQ (ci/driver.h). A driver sets them by HcaSetQpPosts and
   HcaSetSrqPost. */
#ifndef IRPVERBS_CI_DETAIL_POSTS_H
#define IRPVERBS_CI_DETAIL_POSTS_H

#include <dispatch/ntdef.h>

struct _ib_send_wr;
struct _ib_recv_wr;

/* Post a list. *Failed is the first work request that was not posted, and is set only with a
   failure. Neither parameter is NULL. IRQL: <= DISPATCH_LEVEL. */
typedef NTSTATUS (*PFN_HCA_POST_SEND)(VOID* Queue, struct _ib_send_wr* SendWr,
                                      struct _ib_send_wr** Failed);
typedef NTSTATUS (*PFN_HCA_POST_RECV)(VOID* Queue, struct _ib_recv_wr* RecvWr,
                                      struct _ib_recv_wr** Failed);

typedef struct _HCA_QP_POSTS {
    PFN_HCA_POST_SEND PostSend;
    PFN_HCA_POST_RECV PostRecv;
    VOID* Queue; /* the driver's */
} HCA_QP_POSTS;

typedef struct _HCA_SRQ_POST {
    PFN_HCA_POST_RECV PostRecv;
    VOID* Queue; /* the driver's */
} HCA_SRQ_POST;

#endif
