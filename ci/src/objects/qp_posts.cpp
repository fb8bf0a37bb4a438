#include "qp_posts.hpp"

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
// `failed`, so one of the two stores the refusing functions last.
void qp_posts::set(PFN_HCA_POST_SEND send, PFN_HCA_POST_RECV receive,
                   const std::atomic<bool>& failed) {
    store(send, receive);
    if (failed.load()) refuse();
}

void qp_posts::refuse() { store(fail<STATUS_FILE_FORCED_CLOSED>, fail<STATUS_FILE_FORCED_CLOSED>); }

} // namespace irpverbs::ci
