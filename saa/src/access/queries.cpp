// A query from the queue to its response.
#include <access/port.hpp>

#include <ibmf/ibmf_extras.h>

#include <utility>

namespace irpverbs::saa {

using dispatch::detail::acquire_raising;
using dispatch::detail::processor;
using dispatch::detail::release_lowering;

namespace {

// Responses of one datagram are read at once, longer ones at PASSIVE_LEVEL.
bool is_long(const ibmf_msg_t& message) {
    return message.im_msgbufs_recv.im_bufs_cl_data_len > question::datagram_data;
}

// Maps the status of a refused IBMF transport to a status of SA access.
int refusal_of(int ibmf_status) {
    switch (ibmf_status) {
    case IBMF_BAD_PORT_STATE:
    case IBMF_BAD_QP_HANDLE: // the port has no default partition
    case IBMF_BAD_HANDLE:    // the HCA was removed
        return IBMF_BAD_PORT_STATE;
    case IBMF_NO_RESOURCES:
        return IBMF_NO_RESOURCES;
    default:
        return IBMF_TRANS_FAILURE;
    }
}

} // namespace

/// The action for a due query, decided under the lock.
struct port::deed {
    enum class kind : std::uint8_t { send, cancel, end } what;
    int status = IBMF_SUCCESS; // for an end
    ibmf_addr_info_t to{};
    ibmf_retrans_t times{};
    std::uint64_t transaction_id = 0;
    std::size_t most_answered = 0;
};

// A send may end a query, which calls this function again with another query. The first caller
// therefore performs all actions, one after the other.
void port::let_go(processor& self, KIRQL level) {
    start_queued();
    if (acting_ || IsListEmpty(&due_)) return release_lowering(self, lock_, level);
    act_on_due(self, level);
}

void port::act_on_due(processor& self, KIRQL level) {
    const boost::intrusive_ptr<port> kept(this);
    acting_ = true;
    while (!IsListEmpty(&due_)) {
        query_ref next(&list_link<query>::of(RemoveHeadList(&due_)), false);
        next->is_due = false;
        const deed what = decide(*next);
        release_lowering(self, lock_, level);
        act(*next, what);
        next.reset(); // the destructor acquires the lock
        level = acquire_raising(self, lock_);
        start_queued();
    }
    acting_ = false;
    release_lowering(self, lock_, level);
}

void port::start_queued() {
    while (query* const next = lines_.next())
        make_due(*next);
}

void port::make_due(query& which) {
    if (which.is_due) return;
    which.is_due = true;
    intrusive_ptr_add_ref(&which);
    InsertTailList(&due_, &which.of_due.entry);
}

// The caller holds the lock. Only one thread acts at a time, so no other sends the query.
port::deed port::decide(query& which) {
    if (std::exchange(which.sent, true)) return {deed::kind::cancel};
    if (which.withdrawn) return {deed::kind::end, IBMF_TRANS_FAILURE};
    if (!ready_) return {deed::kind::end, IBMF_BAD_PORT_STATE};
    return addressed(which);
}

// The caller holds the lock.
port::deed port::addressed(query& which) {
    which.sent_to = facts_.sm_lid;
    which.asked_at = paths_.asked();
    ++counts_.ss_queries;
    return {.what = deed::kind::send,
            .to = {.ia_local_lid = facts_.lid,
                   .ia_remote_lid = facts_.sm_lid,
                   .ia_remote_qno = 1,
                   .ia_p_key = IB_PKEY_DEFAULT_FULL,
                   .ia_q_key = IB_QP1_QKEY,
                   .ia_service_level = static_cast<std::uint8_t>(facts_.sm_sl & 0xF)},
            .times = times_,
            .transaction_id = guid << 32 | ++last_id_,
            .most_answered = most_answered_};
}

void port::act(query& which, const deed& what) {
    switch (what.what) {
    case deed::kind::send:
        return send(which, what);
    case deed::kind::cancel:
        ibmf_cancel_msg(ibmf_, which.msg);
        return;
    case deed::kind::end:
        return settle(which, {what.status, {}});
    }
}

void port::send(query& which, const deed& how) {
    intrusive_ptr_add_ref(&which); // until the response
    const int status = transport(which, how);
    if (status == IBMF_SUCCESS) return;
    settle(which, {refusal_of(status), {}});
    intrusive_ptr_release(&which);
}

int port::transport(query& which, const deed& how) {
    int status = which.address(ibmf_, how.to, how.transaction_id, how.most_answered);
    if (status == IBMF_SUCCESS && which.stream)
        status = ibmf_stream_msg(ibmf_, which.msg, data_came, &which);
    if (status != IBMF_SUCCESS) return status;
    ibmf_retrans_t times = how.times;
    const bool two_sided = which.asked.method == SA_SUBN_ADM_GET_MULTI;
    return ibmf_msg_transport(ibmf_, IBMF_QP_HANDLE_DEFAULT, which.msg, &times, answered, &which,
                              IBMF_MSG_TRANS_FLAG_SEQ |
                                  (two_sided ? uint_t{IBMF_MSG_TRANS_FLAG_RMPP} : 0));
}

void port::data_came(ibmf_handle_t handle, ibmf_msg_t*, void* context) {
    query& which = *static_cast<query*>(context);
    which.stream->read(which, handle);
}

void port::resume(const query& which) { ibmf_resume_msg(ibmf_, which.msg); }

void port::answered(ibmf_handle_t, ibmf_msg_t* msg, void* context) {
    query& which = *static_cast<query*>(context);
    if (msg->im_msg_status == IBMF_TRANS_TIMEOUT && which.at->send_again(which))
        return intrusive_ptr_release(&which);
    if (!is_long(*msg)) return read_in_work_item(context);
    ExInitializeWorkItem(&which.work, read_in_work_item, context);
    ExQueueWorkItem(&which.work, DelayedWorkQueue);
}

void port::read_in_work_item(void* context) {
    const query_ref which(static_cast<query*>(context), false);
    answer told = which->stream ? which->stream->end(which->asked, *which->msg)
                                : read_answer(which->asked, *which->msg);
    if (told.status == IBMF_TRANS_FAILURE && which->msg->im_msg_status == IBMF_SUCCESS) {
        const guard under(*which->at);
        ++which->at->counts_.ss_malformed;
    }
    which->at->settle(*which, std::move(told));
}

// The SM that timed out is no longer the master: sends the query to the new one.
bool port::send_again(query& which) {
    const guard under(*this);
    if (which.stream && which.stream->begun()) return false; // the response would start again
    if (!usable() || which.withdrawn || which.sent_to == facts_.sm_lid) return false;
    ++counts_.ss_resent;
    lines_.back_to_line(which);
    return true;
}

void port::limit(uint_t in_flight) {
    const guard under(*this);
    lines_.set_limit(in_flight);
}

void port::limit_answers(std::size_t bytes) {
    const guard under(*this);
    most_answered_ = bytes;
}

// The caller holds the lock.
void port::begin_use() {
    if (uses_++ == 0) KeClearEvent(&unused_);
}

// Another use may have begun before the lock is acquired.
void port::end_use() {
    if (--uses_ != 0) return;
    const guard under(*this);
    if (uses_ == 0) KeSetEvent(&unused_, IO_NO_INCREMENT, FALSE);
}

} // namespace irpverbs::saa
