#include "requester.hpp"

#include "acknowledgement.hpp"
#include "path_migration.hpp"

#include <algorithm>

namespace irpverbs::hca_software::transport {

void requester::start() {
    next_ = next_number_ = unacknowledged_ = sent_end_ = psn(shared_.attr.sq_psn);
    current_ = queue_.oldest();
    sequence_ = credit_limit_ = reads_ = unrequested_ = 0;
    unlimited_ = !shared_.is_reliable() || shared_.is_initiator();
    retries_left_ = shared_.attr.retry_cnt;
    rnr_retries_left_ = shared_.attr.rnr_retry_cnt;
    recovering_ = false;
    rnr_until_ = deadline_ = gap_until_ = 0;
}

NTSTATUS requester::post(const ib_send_wr_t& what) {
    const bool is_datagram = shared_.is_datagram();
    if (is_datagram && what.dgrm.ud.h_av == nullptr) return STATUS_INVALID_PARAMETER;
    if (what.wr_type == WR_FAST_REG_MR || what.wr_type == WR_BIND_MW) [[unlikely]]
        return what.wr_type == WR_FAST_REG_MR ? post_registration(what) : post_binding(what);
    const NTSTATUS status = queue_.post(what);
    if (!NT_SUCCESS(status)) return status;
    if (is_datagram)
        set_destination(what.dgrm.ud);
    else
        queue_.newest().remote = what.remote_ops;
    queue_.newest().remote_srq = shared_.is_initiator() ? what.remote_srq : 0;
    return status;
}

NTSTATUS requester::post(const ib_send_wr_t& what, const window_binding& binding) {
    const NTSTATUS status = queue_.post(what);
    if (NT_SUCCESS(status)) queue_.newest().binding = binding;
    return status;
}

NTSTATUS requester::post_binding(const ib_send_wr_t& what) {
    const ib_send_bind_mw_t& bound = what.bind_mw;
    const bool named = bound.h_mw != nullptr && bound.h_mw->Type == IB_MWT_TYPE_2;
    if (!named || bound.h_mr == nullptr) return STATUS_INVALID_PARAMETER;
    return post(what, shared_.memory.binding_of(bound));
}

// Values that do not fit into their members are none that could succeed.
NTSTATUS requester::post_registration(const ib_send_wr_t& what) {
    constexpr ULONG most = 0xFF;
    const ib_send_fast_reg_t& of = what.fast_reg;
    if (of.page_list == nullptr || of.page_list_len == 0) return STATUS_INVALID_PARAMETER;
    const NTSTATUS status = queue_.post(what);
    if (!NT_SUCCESS(status)) return status;
    queue_.newest().registration = {of.iova_start,
                                    of.length,
                                    of.page_list,
                                    of.page_list_len,
                                    of.fbo,
                                    of.rkey,
                                    static_cast<UCHAR>(std::min(of.page_shift, most)),
                                    static_cast<UCHAR>(std::min(of.access_flags, most))};
    return status;
}

// The attributes of the address vector are those of this time.
void requester::set_destination(const ib_send_ud_t& of) {
    send_request& posted = queue_.newest();
    const std::optional<ib_av_attr_t> way = shared_.owner.find_way(*of.h_av);
    posted.has_way = way.has_value();
    posted.to = way.value_or(ib_av_attr_t{});
    posted.to_qp = of.remote_qp;
    posted.to_qkey = of.remote_qkey;
}

void requester::rewind() {
    current_ = queue_.oldest();
    next_ = unacknowledged_;
    unrequested_ = 0;
}

void requester::migrate() {
    exchange_paths(shared_);
    continue_on_new_path();
}

void requester::continue_on_new_path() {
    retries_left_ = shared_.attr.retry_cnt;
    rewind();
    restart_timer();
}

void requester::retry() {
    if (retries_left_ == 0) return is_armed(shared_) ? migrate() : fail(IB_WC_RETRY_EXCEEDED);
    --retries_left_;
    rewind();
    restart_timer();
}

// Every response behind the lost one shows the loss, and counts once.
void requester::implied_nak() {
    if (recovering_) return;
    recovering_ = true;
    retry();
}

void requester::timer_expired() {
    timer_ = 0;
    const machine_time now = shared_.owner.now();
    if (!shared_.sends()) return;
    if (gap_until_ != 0 && gap_until_ <= now) {
        gap_until_ = 0;
        implied_nak();
    }
    if (rnr_until_ != 0) {
        if (rnr_until_ <= now) {
            rnr_until_ = 0;
            restart_timer();
        }
    } else if (unacknowledged_ != sent_end_ && deadline_ != 0 && deadline_ <= now) {
        retry();
    }
}

void requester::restart_timer() {
    const machine_time wait = acknowledge_timeout(shared_.attr.local_ack_timeout);
    deadline_ = wait != 0 ? shared_.owner.now() + wait : 0;
}

// A timer that is set too early is set again when it expires: that costs less than setting it with
// every packet.
void requester::request_timer() {
    if (!shared_.sends()) return;
    machine_time due = rnr_until_;
    if (due == 0 && unacknowledged_ != sent_end_) due = deadline_;
    if (gap_until_ != 0 && (due == 0 || gap_until_ < due)) due = gap_until_;
    if (due == 0 || (timer_ != 0 && timer_ <= due)) return;
    timer_ = due;
    shared_.owner.set_timer(due);
}

void requester::fail(IB_WC_STATUS status) {
    complete_oldest(status);
    shared_.fail(shared_.is_reliable() ? IB_QPS_ERROR : IB_QPS_SQERR);
}

void requester::complete_oldest(IB_WC_STATUS status) {
    const send_request& what = queue_[queue_.oldest()];
    if (what.started && what.is_read_or_atomic()) --reads_;
    queue_.complete_oldest();
    complete(status, what.wr_id, what.type, what.options, static_cast<ULONG>(what.length));
}

void requester::flush() {
    while (!queue_.is_empty())
        complete_oldest(IB_WC_FLUSHED);
    reset();
}

void requester::reset() {
    queue_.clear();
    current_ = queue_.oldest();
    next_ = unacknowledged_ = sent_end_ = next_number_;
    reads_ = 0;
    rnr_until_ = deadline_ = gap_until_ = 0;
    recovering_ = false;
    early_.clear();
}

} // namespace irpverbs::hca_software::transport
