// A query from the queue to its response.
#include <access/session_port.hpp>

#include <dispatch/support/faults.hpp>
#include <ibmf/ibmf_extras.h>

#include <mutex>
#include <utility>

namespace irpverbs::saa {

using dispatch::detail::acquire_raising;
using dispatch::detail::processor;
using dispatch::detail::release_lowering;

namespace {

// Responses of one datagram are read at once, longer ones at PASSIVE_LEVEL.
bool is_long(const ibmf_msg_t& message) {
    return message.im_msgbufs_recv.im_bufs_cl_data_len > wire_query::datagram_data;
}

// Maps the status of a refused IBMF transport to a status of SA access.
int access_status_of(int ibmf_status) {
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
struct session_port::action {
    enum class kind : std::uint8_t { send, cancel, end } what;
    int status = IBMF_SUCCESS; // for an end
    ibmf_addr_info_t to{};
    ibmf_retrans_t times{};
    std::uint64_t transaction_id = 0;
    std::size_t max_response_size = 0;
};

void session_port::start_queued() {
    while (query* const next = queues_.next())
        make_due(*next);
}

// A send may end a query, which calls this function again with another query. The first caller
// therefore performs all actions, one after the other.
void session_port::release_and_perform(processor& self, KIRQL level) {
    start_queued();
    if (performing_ || due_.empty()) return release_lowering(self, lock_, level);
    perform_due(self, level);
}

void session_port::perform_due(processor& self, KIRQL level) {
    const boost::intrusive_ptr<session_port> kept(this);
    performing_ = true;
    while (!due_.empty()) {
        query_ref next(&due_.front(), false);
        due_.pop_front();
        const action what = decide(*next);
        release_lowering(self, lock_, level);
        perform(std::move(next), what);
        level = acquire_raising(self, lock_);
        start_queued();
    }
    performing_ = false;
    release_lowering(self, lock_, level);
}

void session_port::make_due(query& which) {
    if (which.due_entry.is_linked()) return;
    intrusive_ptr_add_ref(&which);
    due_.push_back(which);
}

// The caller holds the lock. Only one thread acts at a time, so no other sends the query.
session_port::action session_port::decide(query& which) {
    if (std::exchange(which.sent, true)) return {action::kind::cancel};
    if (which.cancelled) return {action::kind::end, IBMF_TRANS_FAILURE};
    if (!ready_) return {action::kind::end, IBMF_BAD_PORT_STATE};
    return send_action(which);
}

// The caller holds the lock.
session_port::action session_port::send_action(query& which) {
    which.sent_to = attributes_.sm_lid;
    which.cache_ticket = paths_.current_ticket();
    ++counts_.ss_queries;
    return {.what = action::kind::send,
            .to = {.ia_local_lid = attributes_.lid,
                   .ia_remote_lid = attributes_.sm_lid,
                   .ia_remote_qno = 1,
                   .ia_p_key = IB_PKEY_DEFAULT_FULL,
                   .ia_q_key = IB_QP1_QKEY,
                   .ia_service_level = static_cast<std::uint8_t>(attributes_.sm_sl & 0xF)},
            .times = times_,
            .transaction_id = guid << 32 | ++last_id_,
            .max_response_size = max_response_size_};
}

// The last reference must not be released under the lock, which the destructor of a query acquires.
void session_port::perform(query_ref which, const action& what) {
    switch (what.what) {
    case action::kind::send:
        return send(std::move(which), what);
    case action::kind::cancel:
        ibmf_cancel_msg(ibmf_, which->msg);
        return;
    case action::kind::end:
        return complete_query(*which, {what.status, {}});
    }
}

// The reference passes to the transport, whose completion may have released it already.
void session_port::send(query_ref which, const action& how) {
    const int status = transport(*which, how);
    if (status == IBMF_SUCCESS)
        which.detach();
    else
        complete_query(*which, {access_status_of(status), {}});
}

int session_port::transport(query& which, const action& how) {
    int status = which.address(how.to, how.transaction_id, how.max_response_size);
    if (status == IBMF_SUCCESS && which.stream)
        status = ibmf_stream_msg(ibmf_, which.msg, data_received, &which);
    if (status != IBMF_SUCCESS) return status;
    ibmf_retrans_t times = how.times;
    const bool double_sided = which.request.method == SA_SUBN_ADM_GET_MULTI;
    return ibmf_msg_transport(
        ibmf_, IBMF_QP_HANDLE_DEFAULT, which.msg, &times, transport_completed, &which,
        IBMF_MSG_TRANS_FLAG_SEQ | (double_sided ? uint_t{IBMF_MSG_TRANS_FLAG_RMPP} : 0));
}

void session_port::data_received(ibmf_handle_t handle, ibmf_msg_t*, void* context) {
    query& which = *static_cast<query*>(context);
    which.stream->read(which, handle);
}

void session_port::resume(const query& which) { ibmf_resume_msg(ibmf_, which.msg); }

void session_port::transport_completed(ibmf_handle_t, ibmf_msg_t* msg, void* context) {
    query& which = *static_cast<query*>(context);
    if (msg->im_msg_status == IBMF_TRANS_TIMEOUT && which.at->resend(which))
        return intrusive_ptr_release(&which);
    if (!is_long(*msg)) return read_in_work_item(context);
    ExInitializeWorkItem(&which.work, read_in_work_item, context);
    ExQueueWorkItem(&which.work, DelayedWorkQueue);
}

void session_port::read_in_work_item(void* context) {
    const query_ref which(static_cast<query*>(context), false);
    sa_response response = which->stream ? which->stream->end(which->request, *which->msg)
                                         : read_response(which->request, *which->msg);
    if (response.status == IBMF_TRANS_FAILURE && which->msg->im_msg_status == IBMF_SUCCESS) {
        const guard locked(*which->at);
        ++which->at->counts_.ss_malformed;
    }
    which->at->complete_query(*which, std::move(response));
}

// The SM that timed out is no longer the master: sends the query to the new one.
bool session_port::resend(query& which) {
    const guard locked(*this);
    if (which.stream && which.stream->begun()) return false; // the response would start again
    if (!usable() || which.cancelled || which.sent_to == attributes_.sm_lid) return false;
    ++counts_.ss_resent;
    queues_.requeue(which);
    return true;
}

int session_port::allocate_message(ibmf_msg_t*& taken) {
    if (dispatch::detail::fault_point("saa.message")) return IBMF_NO_RESOURCES;
    {
        const std::lock_guard held(messages_lock_);
        if (messages_kept_ != 0) {
            taken = messages_[--messages_kept_];
            return IBMF_SUCCESS;
        }
    }
    return ibmf_alloc_msg(ibmf_, IBMF_ALLOC_NOSLEEP, &taken);
}

void session_port::release_message(ibmf_msg_t* given, bool streamed) {
    if (!streamed && !is_long(*given)) {
        const std::lock_guard held(messages_lock_);
        if (messages_kept_ != messages_.size()) {
            messages_[messages_kept_++] = given;
            return;
        }
    }
    ibmf_free_msg(ibmf_, &given);
}

// Called when no query is left.
void session_port::free_messages() {
    while (messages_kept_ != 0)
        ibmf_free_msg(ibmf_, &messages_[--messages_kept_]);
}

void session_port::limit(uint_t in_flight) {
    const guard locked(*this);
    queues_.set_limit(in_flight);
}

void session_port::limit_responses(std::size_t bytes) {
    const guard locked(*this);
    max_response_size_ = bytes;
}

// The caller holds the lock.
void session_port::begin_use() {
    if (uses_++ == 0) KeClearEvent(&unused_);
}

// Another use may have begun before the lock is acquired.
void session_port::end_use() {
    if (--uses_ != 0) return;
    const guard locked(*this);
    if (uses_ == 0) KeSetEvent(&unused_, IO_NO_INCREMENT, FALSE);
}

} // namespace irpverbs::saa
