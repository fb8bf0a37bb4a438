/* The data path: calls without an IRP, which neither pend nor block. */
#ifndef IRPVERBS_CI_DATA_PATH_H
#define IRPVERBS_CI_DATA_PATH_H

#include <ci/ci.h>
#include <ci/detail/direct_poll.h>

NT_EXTERN_C_BEGIN

/* The slow path of CiGetCqResults, which alone calls it: polls that do not call
   HCA_DIRECT_POLL.Poll. IRQL: <= DISPATCH_LEVEL. */
NT_API NTSTATUS IbGetCqResults(IB_CQ* pCq, ULONG NumEntries, IB_WC* pEntries, ULONG* pTaken);

/* Ours, as in NDK. Does what CiPollCq does without an IRP, for a caller that polls repeatedly.
   *pTaken is the number of completions, 0 when there are none and after a failure. Ownership: the
   caller serialises polls of one queue, including those by CiPollCq, and ensures that the queue is
   not destroyed before this returns. All memory is the kernel's: there is no RequestorMode. IRQL:
   <= DISPATCH_LEVEL.
   STATUS_SUCCESS. STATUS_FILE_FORCED_CLOSED: there was a fatal event. STATUS_INVALID_PARAMETER: pCq
   is NULL, or pEntries with NumEntries above 0. STATUS_NOT_SUPPORTED: the HCA's driver does not
   implement it. Other statuses are the driver's, as for CiPollCq.
   Source: NDK_FN_GET_CQ_RESULTS; IBA 11.4.2.1. */
static inline NTSTATUS CiGetCqResults(IB_CQ* pCq, ULONG NumEntries, IB_WC* pEntries,
                                      ULONG* pTaken) {
    HCA_DIRECT_POLL* direct;
    int taken;
    if (pCq == NULL || pEntries == NULL || (LONG)NumEntries <= 0)
        return IbGetCqResults(pCq, NumEntries, pEntries, pTaken);
    direct = (HCA_DIRECT_POLL*)(pCq + 1);
    __atomic_store_n(&direct->Polling, TRUE, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* HcaRevokeDirectPoll issues the processor's fence */
    taken = __atomic_load_n(&direct->Poll, __ATOMIC_RELAXED)(direct->Queue, (int)NumEntries,
                                                             (struct ibv_wc*)pEntries);
    __atomic_store_n(&direct->Polling, FALSE, __ATOMIC_RELEASE);
    if (taken < 0) return IbGetCqResults(pCq, NumEntries, pEntries, pTaken);
    *pTaken = (ULONG)taken;
    return STATUS_SUCCESS;
}

NT_EXTERN_C_END

#endif
