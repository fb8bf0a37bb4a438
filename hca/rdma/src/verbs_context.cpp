#include "verbs_context.hpp"

#include "async_events.hpp"
#include "completion_queue.hpp"
#include "failure.hpp"
#include "queue_pair.hpp"
#include "shared_receives.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <cerrno>

namespace irpverbs::hca_rdma {

namespace {

constexpr int max_events_per_call = 64; // per call of the reactor, which also serves others

} // namespace

verbs_context::verbs_context(const os_interface& os, const verbs_device& which,
                             DEVICE_OBJECT* device, unsigned port_count)
    : os_(os), verbs_(*os.verbs), device_(device), port_count_(port_count), opened_(verbs_, which) {
}

int verbs_context::open(const os_interface& os, const verbs_device& which, DEVICE_OBJECT* device,
                        unsigned port_count, std::unique_ptr<verbs_context>& made) {
    std::unique_ptr<verbs_context> opened(new verbs_context(os, which, device, port_count));
    if (const int error = opened->opened_.error(); error != 0) return error;
    if (const int error = opened->watch(); error != 0) return error;
    made = std::move(opened);
    return 0;
}

verbs_context::~verbs_context() {
    events_.reset();
    completions_.reset();
    while (kept_ != nullptr)
        kept_ = std::move(kept_->next_);
    if (channel_ != nullptr) verbs_.destroy_comp_channel(channel_);
}

int verbs_context::watch() {
    channel_ = verbs_.create_comp_channel(get());
    if (const int error = failure_of(channel_); error != 0) return error;
    events_ = os_.watch(
        get()->async_fd,
        [](void* self) { return static_cast<verbs_context*>(self)->read_events(); }, this);
    completions_ = os_.watch(
        channel_->fd,
        [](void* self) { return static_cast<verbs_context*>(self)->read_completions(); }, this);
    return events_ != nullptr && completions_ != nullptr ? 0 : ENOMEM;
}

int verbs_context::next_vector() {
    const int count = get()->num_comp_vectors;
    return count > 1 ? static_cast<int>(vector_.fetch_add(1) % static_cast<unsigned>(count)) : 0;
}

NTSTATUS verbs_context::failure(int error) const {
    if (is_gone(error)) HcaReportFatal(device_);
    return status_of(error);
}

void verbs_context::keep(std::unique_ptr<kept_object> object) {
    const dispatch::detail::spin_guard guard(kept_lock_);
    std::unique_ptr<kept_object>* last = &kept_;
    while (*last != nullptr)
        last = &(*last)->next_;
    *last = std::move(object);
}

// ---- events, on the reactor

// Returns false if no further event follows.
bool verbs_context::can_continue(int error) const {
    if (error == EAGAIN) return true;
    HcaReportFatal(device_);
    return false;
}

bool verbs_context::read_events() {
    for (int i = 0; i < max_events_per_call; ++i) {
        ibv_async_event event{};
        const int error = failure_of(verbs_.get_async_event(get(), &event));
        if (error == EINTR) continue;
        if (error != 0) return can_continue(error);
        notify(event);
        verbs_.ack_async_event(&event); // last: the destruction of a queue waits for it
    }
    return true;
}

void verbs_context::notify(const ibv_async_event& event) const {
    const IB_ASYNC_EVENT what = event_of(event.event_type);
    if (what == IB_AE_LOCAL_FATAL) {
        HcaReportFatal(device_);
    } else if (what == IB_AE_CQ_ERROR) {
        static_cast<completion_queue*>(event.element.cq->cq_context)->failed();
    } else if (is_of_shared_receives(event.event_type)) {
        notify_shared_receives(*event.element.srq, what);
    } else if (is_of_queue_pair(event.event_type)) {
        notify_queue_pair(*event.element.qp, what);
    } else if (what >= IB_AE_PORT_ACTIVE) {
        const int port = event.element.port_num;
        if (port >= 1 && port <= static_cast<int>(port_count_))
            HcaReportPortEvent(device_, static_cast<UCHAR>(port), what);
    }
}

// A queue pair without a context is not the driver's.
void verbs_context::notify_queue_pair(const ibv_qp& pair, IB_ASYNC_EVENT what) {
    if (pair.qp_context != nullptr) static_cast<queue_pair*>(pair.qp_context)->report(what);
}

// As above.
void verbs_context::notify_shared_receives(const ibv_srq& queue, IB_ASYNC_EVENT what) {
    if (queue.srq_context != nullptr)
        static_cast<shared_receives*>(queue.srq_context)->report(what);
}

bool verbs_context::read_completions() {
    for (int i = 0; i < max_events_per_call; ++i) {
        ibv_cq* cq = nullptr;
        void* queue = nullptr;
        const int error = failure_of(verbs_.get_cq_event(channel_, &cq, &queue));
        if (error == EINTR) continue;
        if (error != 0) return can_continue(error);
        static_cast<completion_queue*>(queue)->completed();
        verbs_.ack_cq_events(cq, 1);
    }
    return true;
}

} // namespace irpverbs::hca_rdma
