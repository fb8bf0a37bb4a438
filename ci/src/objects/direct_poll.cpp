#include "direct_poll.hpp"

#include "cq_object.hpp"
#include "driver/driver_checks.hpp"

#include <dispatch/support/checks.hpp>
#include <dispatch/support/process_barrier.hpp>

namespace irpverbs::ci {

namespace {

constexpr dispatch::detail::irql_rule poll_rule{"CiGetCqResults",
                                                dispatch::detail::irql_bound::at_most,
                                                DISPATCH_LEVEL, 0x00020022, "IrqlIoDispatch"};

int no_direct_poll(ibv_cq*, int, ibv_wc*) { return -1; }

} // namespace

void direct_poll::prepare() { dispatch::detail::prepare_process_barrier(); }

// The device sets `failed` before it calls refuse(), and this function stores the poll before it
// reads `failed`, so one of the two sees the other. The same holds for `refused_`.
void direct_poll::begin(PFN_HCA_DIRECT_POLL poll, ibv_cq* queue, const std::atomic<bool>& failed) {
    calls_ = 0;
    if (dispatch::detail::instrumented() || !dispatch::detail::prepare_process_barrier()) return;
    used_ = true;
    words_.Queue = queue;
    __atomic_store_n(&words_.Poll, poll, __ATOMIC_SEQ_CST);
    if (failed.load() || refused_.load()) refuse();
}

void direct_poll::refuse() { __atomic_store_n(&words_.Poll, &no_direct_poll, __ATOMIC_SEQ_CST); }

// After the barrier a poller either reads the new function, or its flag is visible here.
void direct_poll::end() {
    used_ = false;
    refuse();
    dispatch::detail::process_barrier();
    for (unsigned turn = 0; __atomic_load_n(&words_.Polling, __ATOMIC_ACQUIRE) != FALSE; ++turn)
        dispatch::detail::spin_turn(turn);
}

} // namespace irpverbs::ci

extern "C" {

using namespace irpverbs::ci;

void HcaEnableDirectPoll(HCA_CQ* Cq, PFN_HCA_DIRECT_POLL Poll, struct ibv_cq* Queue) {
    cq_object::of(Cq).poll.enable(Poll, Queue, device_of(Cq->Ca->Device).failed);
}

void HcaRevokeDirectPoll(HCA_CQ* Cq) { cq_object::of(Cq).poll.revoke(); }

// The checks have the order of those of the verb with an IRP.
NTSTATUS IbGetCqResults(IB_CQ* pCq, ULONG NumEntries, IB_WC* pEntries, ULONG* pTaken) {
    if (irpverbs::dispatch::detail::verifying()) irpverbs::dispatch::detail::check_irql(poll_rule);
    *pTaken = 0;
    if (pCq == nullptr) return STATUS_INVALID_PARAMETER;
    auto* cq = reinterpret_cast<HCA_CQ*>(pCq);
    const hca_device& device = device_of(cq->Ca->Device);
    if (device.failed.load()) return STATUS_FILE_FORCED_CLOSED;
    if (pEntries == nullptr && NumEntries != 0) return STATUS_INVALID_PARAMETER;
    if (cq_object::of(cq).has_transfers()) return STATUS_INVALID_DEVICE_STATE;
    const NTSTATUS status = device.operations.PollCq(cq, NumEntries, pEntries, pTaken);
    check_returned(device, "CiPollCq", *pTaken, NumEntries);
    return status;
}

} // extern "C"
