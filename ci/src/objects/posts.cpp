#include "posts.hpp"

namespace irpverbs::ci {

namespace {

template <NTSTATUS Status, class Request>
NTSTATUS fail(VOID*, Request* first, Request** failed) {
    *failed = first;
    return Status;
}

} // namespace

void qp_posts::store(PFN_HCA_POST_SEND send, PFN_HCA_POST_RECV receive) {
    if (send == nullptr) send = fail<STATUS_NOT_SUPPORTED>;
    if (receive == nullptr) receive = fail<STATUS_NOT_SUPPORTED>;
    __atomic_store_n(&functions_.PostSend, send, __ATOMIC_SEQ_CST);
    __atomic_store_n(&functions_.PostRecv, receive, __ATOMIC_SEQ_CST);
}

// The device sets `failed` before it calls refuse(), and this function stores before it reads
// `failed`, so one of the two stores the refusing functions last. The same holds for srq_post.
void qp_posts::set(PFN_HCA_POST_SEND send, PFN_HCA_POST_RECV receive,
                   const std::atomic<bool>& failed) {
    store(send, receive);
    if (failed.load()) refuse();
}

void qp_posts::refuse() { store(fail<STATUS_FILE_FORCED_CLOSED>, fail<STATUS_FILE_FORCED_CLOSED>); }

NTSTATUS refuse_sends(VOID* queue, ib_send_wr_t* first, ib_send_wr_t** failed) {
    return fail<STATUS_INVALID_DEVICE_REQUEST>(queue, first, failed);
}

NTSTATUS refuse_receives(VOID* queue, ib_recv_wr_t* first, ib_recv_wr_t** failed) {
    return fail<STATUS_INVALID_DEVICE_REQUEST>(queue, first, failed);
}

void srq_post::store(PFN_HCA_POST_RECV receive) {
    if (receive == nullptr) receive = fail<STATUS_NOT_SUPPORTED>;
    __atomic_store_n(&function_.PostRecv, receive, __ATOMIC_SEQ_CST);
}

void srq_post::set(PFN_HCA_POST_RECV receive, const std::atomic<bool>& failed) {
    store(receive);
    if (failed.load()) refuse();
}

void srq_post::refuse() { store(fail<STATUS_FILE_FORCED_CLOSED>); }

} // namespace irpverbs::ci
