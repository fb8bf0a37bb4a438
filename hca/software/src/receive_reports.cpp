#include "receive_reports.hpp"

#include "shared_receives.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <utility>

namespace irpverbs::hca_software {

using dispatch::detail::spin_guard;

void receive_reports::add(cq_reports completion, bool reached_limit) {
    if (completion == 0 && !reached_limit) return;
    const spin_guard guard(lock_);
    completion_ |= completion;
    reached_limit_ = reached_limit_ || reached_limit;
    if (!std::exchange(running_, true)) KeInsertQueueDpc(&dpc_, nullptr, nullptr);
}

NTSTATUS receive_reports::end(PIRP irp) {
    const spin_guard guard(lock_);
    if (!running_) return STATUS_SUCCESS;
    IoMarkIrpPending(irp);
    destroyer_ = irp;
    return STATUS_PENDING;
}

// False: there is nothing to report. Without a destroyer, the object may be gone then.
bool receive_reports::take(cq_reports& completion, bool& reached_limit, PIRP& destroyer) {
    const spin_guard guard(lock_);
    completion = std::exchange(completion_, 0);
    reached_limit = std::exchange(reached_limit_, false);
    running_ = completion != 0 || reached_limit;
    destroyer = running_ ? nullptr : destroyer_;
    return running_;
}

void receive_reports::deliver(KDPC*, void* context, void*, void*) {
    auto& self = *static_cast<receive_reports*>(context);
    HCA_SRQ* const of = self.of_;
    cq_reports completion = 0;
    bool reached_limit = false;
    PIRP destroyer = nullptr;
    while (self.take(completion, reached_limit, destroyer)) {
        report_cq(reinterpret_cast<HCA_CQ*>(of->Create.h_cq), completion);
        if (reached_limit) HcaReportSrqEvent(of, IB_AE_SRQ_LIMIT_REACHED);
    }
    if (destroyer == nullptr) return;
    end_srq(of);
    HcaComplete(destroyer, STATUS_SUCCESS, 0);
}

} // namespace irpverbs::hca_software
