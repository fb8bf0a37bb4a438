/* The fields by which CiGetCqResults polls without a call into the common half. They lie directly
   behind each IB_CQ, in its HCA_CQ (ci/driver.h). A driver sets them by HcaEnableDirectPoll. */
#ifndef IRPVERBS_CI_DETAIL_DIRECT_POLL_H
#define IRPVERBS_CI_DETAIL_DIRECT_POLL_H

#include <dispatch/ntdef.h>

/* Removes entries. Returns their number, or a negative number when it removed none. The types are
   those of libibverbs, so that the function of a provider fits. */
struct ibv_cq;
struct ibv_wc;
typedef int (*PFN_HCA_DIRECT_POLL)(struct ibv_cq* Queue, int NumEntries, struct ibv_wc* Entries);

typedef struct _HCA_DIRECT_POLL {
    BOOLEAN Polling; /* a caller of CiGetCqResults is inside Poll */
    PFN_HCA_DIRECT_POLL Poll;
    struct ibv_cq* Queue;
} HCA_DIRECT_POLL;

#endif
