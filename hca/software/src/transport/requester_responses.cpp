// The responses that a requester receives.
#include "acknowledgement.hpp"
#include "requester.hpp"

#include <algorithm>

namespace irpverbs::hca_software::transport {

namespace {

// A response that was overtaken comes within this time, or it is lost.
constexpr machine_time gap_time = 2000 * microsecond;

} // namespace

void requester::receive(const packet& what) {
    if (!shared_.sends() || service_of(what.opcode) != shared_.service()) return;
    if (early_.is_enabled() && misses_response_before(what.number) && keep(what)) return;
    receive_in_turn(what);
    if (!early_.is_empty()) receive_kept();
}

// True if a read or an atomic has no response yet that the peer sent before the one of that number.
bool requester::misses_response_before(psn number) const {
    if (!is_outstanding(number)) return false;
    psn begin = unacknowledged_;
    for (ULONG each = queue_.oldest(); begin != number; ++each) {
        if (queue_[each].is_read_or_atomic()) return true;
        const psn end = queue_[each].last_number + 1;
        if (number.since(begin) < end.since(begin)) return false;
        begin = end;
    }
    return false;
}

bool requester::keep(const packet& what) {
    if (!early_.keep(what, unacknowledged_)) return false;
    if (gap_until_ == 0) gap_until_ = shared_.owner.now() + gap_time;
    return true;
}

void requester::receive_kept() {
    while (!early_.is_empty() && shared_.sends() && !misses_response_before(early_.first().number))
        receive_in_turn(early_.take_first()->content);
    if (early_.is_empty()) gap_until_ = 0;
}

void requester::receive_in_turn(const packet& what) {
    const opcode_row& row = what.row();
    if (!is_outstanding(what.number)) {
        if (row.what == operation::acknowledge && what.number + 1 == unacknowledged_)
            update_credits(what.acknowledge);
        return;
    }
    if (row.what == operation::acknowledge) return on_acknowledge(what);
    if (row.has(has_acknowledge)) update_credits(what.acknowledge);
    if (row.what == operation::read_response) return on_read_response(what);
    if (row.what == operation::atomic_acknowledge) on_atomic_response(what);
}

void requester::update_credits(const acknowledge_header& from) {
    if (kind_of(from.syndrome) != syndrome_kind::acknowledged || unlimited_) return;
    const UCHAR code = from.syndrome & syndrome_value_mask;
    if (code == no_credits) {
        unlimited_ = true;
        return;
    }
    const ULONG limit = (from.msn + credits[code]) & psn::mask;
    if (is_beyond(limit, credit_limit_)) credit_limit_ = limit;
}

void requester::progress_to(psn number) {
    unacknowledged_ = number;
    retries_left_ = shared_.attr.retry_cnt;
    rnr_retries_left_ = shared_.attr.rnr_retry_cnt;
    recovering_ = false;
    rnr_until_ = 0;
    if (gap_until_ != 0) gap_until_ = shared_.owner.now() + gap_time;
    restart_timer();
}

// Completes the requests whose packets are before `end`. False: the response of a read or an atomic
// is missing, so the responses from there on are lost.
bool requester::acknowledge_until(psn end) {
    bool complete = true;
    while (unacknowledged_ != end && complete) {
        const send_request& what = queue_[queue_.oldest()];
        complete = !what.is_read_or_atomic();
        if (!complete) break;
        const psn behind = what.last_number + 1;
        if (end.since(unacknowledged_) < behind.since(unacknowledged_)) {
            progress_to(end);
        } else {
            progress_to(behind);
            complete_oldest(IB_WC_SUCCESS);
        }
    }
    if (next_.is_before(unacknowledged_)) rewind();
    if (!complete) implied_nak();
    return complete;
}

void requester::on_acknowledge(const packet& what) {
    const UCHAR syndrome = what.acknowledge.syndrome;
    switch (kind_of(syndrome)) {
    case syndrome_kind::acknowledged:
        update_credits(what.acknowledge);
        acknowledge_until(what.number + 1);
        return;
    case syndrome_kind::rnr_nak:
        return on_rnr_nak(what.number, syndrome & syndrome_value_mask);
    case syndrome_kind::nak:
        return on_nak(what.number, syndrome);
    case syndrome_kind::reserved:
        return;
    }
}

// The peer answers, so nothing was lost: only missing responses exhaust the other count.
void requester::on_rnr_nak(psn number, UCHAR timer_code) {
    constexpr UCHAR endless = 7;
    if (!acknowledge_until(number) || rnr_until_ != 0) return;
    if (rnr_retries_left_ == 0) return fail(IB_WC_RNR_RETRY_EXCEEDED);
    if (rnr_retries_left_ != endless) --rnr_retries_left_;
    retries_left_ = shared_.attr.retry_cnt;
    recovering_ = false;
    rewind();
    rnr_until_ = shared_.owner.now() + rnr_time(timer_code);
}

void requester::on_nak(psn number, UCHAR why) {
    if (why < wrong_sequence || why > failed_operation || !acknowledge_until(number)) return;
    switch (why) {
    case wrong_sequence:
        return retry();
    case invalid_request:
        return fail(IB_WC_REMOTE_INVALID_REQUEST_ERROR);
    case no_access:
        return fail(IB_WC_REMOTE_ACCESS_ERROR);
    default:
        return fail(IB_WC_REMOTE_OPERATION_ERROR);
    }
}

// Returns the request that a response answers; null: an earlier response is missing, or it is the
// response of another operation.
send_request* requester::awaited_by(const packet& what) {
    if (!acknowledge_until(what.number)) return nullptr;
    send_request& awaiting = queue_[queue_.oldest()];
    // The response to an atomic write is that to a read of no bytes.
    const bool reads = what.row().what == operation::read_response;
    const bool reads_or_writes = awaiting.type == WR_RDMA_READ || awaiting.is_atomic_write();
    if (reads ? reads_or_writes : awaiting.is_atomic()) return &awaiting;
    fail(IB_WC_BAD_RESPONSE_ERROR);
    return nullptr;
}

void requester::on_read_response(const packet& what) {
    const send_request* awaiting = awaited_by(what);
    if (awaiting == nullptr) return;
    const ULONGLONG offset = ULONGLONG{what.number.since(awaiting->first_number)} * shared_.mtu();
    const bool is_last = what.number == awaiting->last_number;
    const ULONGLONG size = std::min<ULONGLONG>(awaiting->length - offset, shared_.mtu());
    if (what.row().is_last() != is_last || what.content.size() != size)
        return fail(IB_WC_LOCAL_LENGTH_ERROR);
    const segments into = queue_.segments_of(queue_.oldest());
    if (!scatter(shared_.memory, into, offset, what.content))
        return fail(IB_WC_LOCAL_PROTECTION_ERROR);
    progress_to(what.number + 1);
    if (is_last) complete_oldest(IB_WC_SUCCESS);
    if (next_.is_before(unacknowledged_)) rewind();
}

void requester::on_atomic_response(const packet& what) {
    if (awaited_by(what) == nullptr) return;
    payload result;
    result.append({reinterpret_cast<const UCHAR*>(&what.atomic_result), atomic_size});
    if (!scatter(shared_.memory, queue_.segments_of(queue_.oldest()), 0, result))
        return fail(IB_WC_LOCAL_PROTECTION_ERROR);
    progress_to(what.number + 1);
    complete_oldest(IB_WC_SUCCESS);
    if (next_.is_before(unacknowledged_)) rewind();
}

} // namespace irpverbs::hca_software::transport
