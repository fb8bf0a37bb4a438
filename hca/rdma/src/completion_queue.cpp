#include "completion_queue.hpp"

#include "failure.hpp"
#include "work_completion.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <algorithm>
#include <climits>
#include <new>
#include <utility>

namespace irpverbs::hca_rdma {

namespace {

// libibverbs does not report which entries were solicited. Failures count as solicited, and so do
// all receives: an event too many is better than one too few.
bool is_solicited(const IB_WC& entry) {
    return entry.Status != IB_WC_SUCCESS || (entry.Opcode & IB_WC_RECEIVE) != 0;
}

} // namespace

completion_queue::completion_queue(verbs_context& context, HCA_CQ& owner)
    : context_(context), owner_(owner) {
    ExInitializeRundownProtection(&notifications_);
}

completion_queue::~completion_queue() {
    if (cq_ != nullptr) context_.verbs().destroy_cq(cq_);
}

NTSTATUS completion_queue::make(verbs_context& context, HCA_CQ& owner,
                                std::unique_ptr<completion_queue>& made) {
    if (owner.Cq.NumCqes > INT_MAX) return STATUS_INVALID_PARAMETER;
    std::unique_ptr<completion_queue> queue(new completion_queue(context, owner));
    queue->cq_ = context.verbs().create_cq(context.get(), static_cast<int>(owner.Cq.NumCqes),
                                           queue.get(), context.channel(), context.next_vector());
    if (const int error = failure_of(queue->cq_); error != 0) return context.failure(error);
    const auto entries = static_cast<ULONG>(queue->cq_->cqe);
    if (const NTSTATUS status = queue->make_room(entries); !NT_SUCCESS(status)) {
        destroy(std::move(queue));
        return status;
    }
    owner.Cq.NumCqes = entries;
    made = std::move(queue);
    return STATUS_SUCCESS;
}

void completion_queue::destroy(std::unique_ptr<completion_queue> queue) {
    if (queue->destroy_in_kernel()) return;
    ExWaitForRundownProtectionRelease(&queue->notifications_);
    verbs_context& context = queue->context_;
    context.keep(std::move(queue));
}

bool completion_queue::destroy_in_kernel() {
    if (failure_of(context_.verbs().destroy_cq(cq_)) != 0) return false;
    cq_ = nullptr;
    return true;
}

// Allocates the memory of the prefetched entries and moves the entries over. Memory that is not
// used is not touched.
NTSTATUS completion_queue::make_room(ULONG entries) {
    std::unique_ptr<IB_WC[]> fresh(new (std::nothrow) IB_WC[entries]);
    if (fresh == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    const dispatch::detail::spin_guard guard(lock_);
    for (ULONG i = 0; i < count_; ++i)
        fresh[i] = prefetched_[(first_ + i) % capacity_];
    prefetched_.swap(fresh);
    capacity_ = entries;
    first_ = 0;
    return STATUS_SUCCESS;
}

int completion_queue::poll_kernel(ULONG count, IB_WC* entries) {
    if (count == 0) return 0;
    const int wanted = static_cast<int>(std::min<ULONG>(count, INT_MAX));
    const int got = ibv_poll_cq(cq_, wanted, as_libibverbs(entries));
    return got < 0 ? -failure_of(got) : got;
}

// Returns false if the kernel had no entry, or if there is no room.
bool completion_queue::prefetch(ULONG most) {
    HcaRevokeDirectPoll(&owner_);
    if (count_ == capacity_) return false;
    const ULONG place = (first_ + count_) % capacity_;
    const ULONG room = std::min(capacity_ - count_, capacity_ - place);
    const int got = poll_kernel(std::min(room, most), &prefetched_[place]);
    for (int i = 0; i < got; ++i)
        solicited_ += is_solicited(prefetched_[place + static_cast<ULONG>(i)]) ? 1 : 0;
    count_ += static_cast<ULONG>(std::max(got, 0));
    return got > 0;
}

IB_WC completion_queue::remove_prefetched() {
    const IB_WC entry = prefetched_[first_];
    first_ = (first_ + 1) % capacity_;
    --count_;
    if (is_solicited(entry)) --solicited_;
    return entry;
}

int completion_queue::poll(ULONG count, IB_WC* entries) {
    const dispatch::detail::spin_guard guard(lock_);
    ULONG taken = 0;
    while (taken < count && count_ != 0)
        entries[taken++] = remove_prefetched();
    if (resizing_) return static_cast<int>(taken);
    if (count_ == 0) HcaEnableDirectPoll(&owner_, cq_->context->ops.poll_cq, cq_);
    const int more = poll_kernel(count - taken, entries + taken);
    return more < 0 && taken == 0 ? more : static_cast<int>(taken) + std::max(more, 0);
}

ULONG completion_queue::filled() {
    const dispatch::detail::spin_guard guard(lock_);
    while (prefetch(capacity_)) {
    }
    return count_;
}

// ---- arming

bool completion_queue::satisfied() const {
    return (armed_ == IB_CQ_ARM_NEXT && count_ != 0) ||
           (armed_ == IB_CQ_ARM_SOLICITED && solicited_ != 0);
}

// Returns true once: the consumer is to be notified.
bool completion_queue::take_notification() {
    while (!satisfied() && prefetch(1)) {
    }
    const bool notifies = satisfied();
    if (notifies) armed_ = 0;
    return notifies;
}

int completion_queue::request() {
    return failure_of(context_.verbs().req_notify_cq(cq_, armed_ == IB_CQ_ARM_SOLICITED ? 1 : 0));
}

// The kernel checks only entries that arrive after the request, so this function checks before and
// after it.
int completion_queue::rearm(bool& notify) {
    notify = take_notification();
    if (notify) return 0;
    const int error = request();
    if (error != 0) armed_ = 0;
    notify = error == 0 && take_notification();
    return error;
}

NTSTATUS completion_queue::arm(ULONG flags) {
    bool notify = false;
    int error = 0;
    {
        const dispatch::detail::spin_guard guard(lock_);
        if (armed_ != IB_CQ_ARM_NEXT) armed_ = flags;
        if (!resizing_) error = rearm(notify);
    }
    if (notify) HcaReportCqCompletion(&owner_);
    return context_.failure(error);
}

// ---- resizing

// Providers replace the memory of the kernel's queue, so it is not used during the resize: a poll
// returns prefetched entries, and an arming waits.
NTSTATUS completion_queue::resize(ULONG num_cqes) {
    if (num_cqes > INT_MAX || filled() > num_cqes) return STATUS_INVALID_PARAMETER;
    {
        const dispatch::detail::spin_guard guard(lock_);
        HcaRevokeDirectPoll(&owner_);
        resizing_ = true;
    }
    const int error = failure_of(context_.verbs().resize_cq(cq_, static_cast<int>(num_cqes)));
    if (error == 0) {
        owner_.Cq.NumCqes = static_cast<ULONG>(cq_->cqe);
        static_cast<void>(make_room(owner_.Cq.NumCqes)); // without new memory the old one stays
    }
    bool notify = false;
    {
        const dispatch::detail::spin_guard guard(lock_);
        resizing_ = false;
        if (armed_ != 0) rearm(notify);
    }
    if (notify) HcaReportCqCompletion(&owner_);
    return context_.failure(error);
}

// ---- events

void completion_queue::completed() {
    if (!ExAcquireRundownProtection(&notifications_)) return;
    bool notify = false;
    {
        const dispatch::detail::spin_guard guard(lock_);
        notify = std::exchange(armed_, 0) != 0;
    }
    if (notify) HcaReportCqCompletion(&owner_);
    ExReleaseRundownProtection(&notifications_);
}

void completion_queue::failed() {
    if (!ExAcquireRundownProtection(&notifications_)) return;
    bool notify = false;
    {
        const dispatch::detail::spin_guard guard(lock_);
        notify = !std::exchange(failed_, true);
    }
    if (notify) HcaReportCqEvent(&owner_, IB_AE_CQ_ERROR);
    ExReleaseRundownProtection(&notifications_);
}

} // namespace irpverbs::hca_rdma
