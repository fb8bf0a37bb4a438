#include "requester.hpp"

#include "acknowledgement.hpp"

#include <algorithm>

namespace irpverbs::hca_software::transport {

namespace {

constexpr ULONG max_unacknowledged = 128; // packets of requests
constexpr ULONG acknowledge_interval = 32;
constexpr ULONG atomic_size = 8;
constexpr ULONG sequence_half = 1u << 23;
constexpr ib_qkey_t own_qkey = 0x80000000;

IB_WC_OPCODE opcode_of_completion(ib_wr_type_t type) {
    switch (type) {
    case WR_RDMA_WRITE:
        return IB_WC_RDMA_WRITE;
    case WR_RDMA_READ:
        return IB_WC_RDMA_READ;
    case WR_COMPARE_SWAP:
        return IB_WC_COMPARE_AND_SWAP;
    case WR_FETCH_ADD:
        return IB_WC_FETCH_AND_ADD;
    case WR_LOCAL_INV:
        return IB_WC_LOCAL_INVALIDATE;
    default:
        return IB_WC_SEND;
    }
}

trailer trailer_of(const send_request& what) {
    if (what.is_option(IB_SEND_OPT_IMMEDIATE)) return trailer::immediate;
    return what.is_option(IB_SEND_OPT_INVALIDATE) ? trailer::invalidate : trailer::none;
}

/// True if sequence number `one` is greater than `other`, both of 24 bits.
bool is_beyond(ULONG one, ULONG other) {
    const ULONG ahead = (one - other) & psn::mask;
    return ahead != 0 && ahead < sequence_half;
}

} // namespace

// ---- sending

void requester::start() {
    next_ = next_number_ = unacknowledged_ = sent_end_ = psn(shared_.attr.sq_psn);
    current_ = queue_.oldest();
    sequence_ = credit_limit_ = reads_ = unrequested_ = 0;
    unlimited_ = !shared_.is_reliable();
    retries_left_ = shared_.attr.retry_cnt;
    not_ready_left_ = shared_.attr.rnr_retry_cnt;
    recovering_ = false;
    not_ready_until_ = deadline_ = 0;
}

NTSTATUS requester::post(const ib_send_wr_t& what) {
    return queue_.post(what, shared_.is_datagram());
}

void requester::run() {
    while (shared_.sends() && not_ready_until_ == 0 && current_ != queue_.end())
        if (send_next() == step::blocked) break;
    request_timer();
}

requester::step requester::send_next() {
    send_request& what = queue_[current_];
    if (what.started) return send_packet(what);
    if (!may_start(what)) return step::blocked;
    return start(what);
}

// An error of an earlier work request completes first, so one that is wrong waits for them.
requester::step requester::start(send_request& what) {
    const bool is_oldest = current_ == queue_.oldest();
    const IB_WC_STATUS status = check(what);
    if (!is_oldest && (status != IB_WC_SUCCESS || !what.has_packets())) return step::blocked;
    if (status != IB_WC_SUCCESS) {
        fail(status);
        return step::blocked;
    }
    if (!what.has_packets()) return execute_locally(what);
    const ULONG count =
        what.is_atomic() ? 1 : packets_of(static_cast<ULONG>(what.length), shared_.mtu());
    if (next_number_.since(unacknowledged_) + count > psn::half) return step::blocked;
    what.started = true;
    what.first_number = next_number_;
    what.last_number = next_number_ + (count - 1);
    what.sequence = sequence_ = (sequence_ + 1) & psn::mask;
    next_number_ = next_number_ + count;
    if (what.is_read_or_atomic()) ++reads_;
    if (!unlimited_ && !what.needs_receive()) credit_limit_ = (credit_limit_ + 1) & psn::mask;
    return step::done;
}

bool requester::may_start(const send_request& what) const {
    if (shared_.state != IB_QPS_RTS) return false;
    if (what.is_option(IB_SEND_OPT_FENCE) && reads_ != 0) return false;
    if (what.is_read_or_atomic() && reads_ != 0 && reads_ >= shared_.attr.init_depth) return false;
    return has_credit(what);
}

// One request more than the peer has receives may be sent: without credits a requester would never
// learn of new ones. Source: IBA 9.7.7.2.5 (limited requests).
bool requester::has_credit(const send_request& what) const {
    return unlimited_ || !what.needs_receive() ||
           !is_beyond((sequence_ + 1) & psn::mask, (credit_limit_ + 1) & psn::mask);
}

IB_WC_STATUS requester::check(const send_request& what) const {
    if (!what.has_packets()) return IB_WC_SUCCESS;
    if (what.is_read_or_atomic() && shared_.attr.init_depth == 0)
        return IB_WC_LOCAL_QP_OPERATION_ERROR;
    if (what.is_atomic() ? what.length != atomic_size : what.length > max_message)
        return IB_WC_LOCAL_LENGTH_ERROR;
    if (shared_.is_datagram() && what.length > 128ull << shared_.attr.path_mtu)
        return IB_WC_LOCAL_LENGTH_ERROR;
    const ib_access_t rights = what.is_read_or_atomic() ? IB_AC_LOCAL_WRITE : 0;
    const bool accessible =
        are_accessible(shared_.memory, queue_.segments_of(current_), rights);
    return accessible ? IB_WC_SUCCESS : IB_WC_LOCAL_PROTECTION_ERROR;
}

requester::step requester::execute_locally(send_request& what) {
    if (what.type == WR_LOCAL_INV && !shared_.memory.invalidate(what.invalidated_rkey())) {
        fail(IB_WC_LOCAL_QP_OPERATION_ERROR);
        return step::blocked;
    }
    ++current_;
    complete_oldest(IB_WC_SUCCESS);
    return step::done;
}

bool requester::is_window_full(const send_request& what) const {
    return shared_.is_reliable() && !what.is_read_or_atomic() &&
           next_.since(unacknowledged_) >= max_unacknowledged;
}

requester::step requester::send_packet(send_request& what) {
    if (is_window_full(what)) return step::blocked;
    packet made;
    if (what.type == WR_RDMA_READ)
        made = read_packet(what);
    else if (what.is_atomic())
        made = atomic_packet(what);
    else if (!data_packet(what, made)) {
        fail(IB_WC_LOCAL_PROTECTION_ERROR);
        return step::blocked;
    }
    switch (shared_.owner.transmit(made)) {
    case transmission::later:
        return step::blocked;
    case transmission::unmapped:
        fail(IB_WC_LOCAL_PROTECTION_ERROR);
        return step::blocked;
    case transmission::sent:
        break;
    }
    unrequested_ = made.ack_request ? 0 : unrequested_ + 1;
    advance(what);
    return step::done;
}

packet requester::read_packet(const send_request& what) const {
    packet made = shared_.new_packet(operation::read, only, next_);
    const ULONGLONG done = ULONGLONG{next_.since(what.first_number)} * shared_.mtu();
    made.rdma = {what.remote.vaddr + done, what.remote.rkey, static_cast<ULONG>(what.length - done)};
    made.ack_request = true;
    return made;
}

packet requester::atomic_packet(const send_request& what) const {
    const bool swaps = what.type == WR_COMPARE_SWAP;
    packet made =
        shared_.new_packet(swaps ? operation::compare_swap : operation::fetch_add, only, next_);
    made.atomic = {what.remote.vaddr, what.remote.rkey,
                   swaps ? what.remote.atomic2 : what.remote.atomic1,
                   swaps ? what.remote.atomic1 : 0};
    made.ack_request = true;
    return made;
}

bool requester::add_payload(const send_request& what, ULONGLONG offset, ULONG size,
                            packet& to) const {
    if (!what.is_option(IB_SEND_OPT_INLINE))
        return gather(shared_.memory, queue_.segments_of(current_), offset, size, to.content);
    to.content.append({queue_.inline_bytes(current_) + offset, size});
    return true;
}

// False: a key is no longer valid.
bool requester::data_packet(const send_request& what, packet& made) {
    const ULONGLONG offset = ULONGLONG{next_.since(what.first_number)} * shared_.mtu();
    const auto size =
        static_cast<ULONG>(std::min<ULONGLONG>(what.length - offset, shared_.mtu()));
    const bool is_last = next_ == what.last_number;
    const position where = position_of(next_ == what.first_number, is_last);
    const operation kind = what.type == WR_RDMA_WRITE ? operation::write : operation::send;
    made = shared_.new_packet(kind, where, next_, is_last ? trailer_of(what) : trailer::none);
    if ((where & first) != 0 && kind == operation::write)
        made.rdma = {what.remote.vaddr, what.remote.rkey, static_cast<ULONG>(what.length)};
    made.immediate = what.immediate;
    made.invalidated_rkey = what.invalidated_rkey();
    made.solicited = is_last && what.needs_receive() && what.is_option(IB_SEND_OPT_SOLICITED);
    made.ack_request =
        shared_.is_reliable() && (is_last || unrequested_ + 1 >= acknowledge_interval);
    if (shared_.is_datagram()) {
        made.to = &what.to;
        made.to_qp = what.to_qp;
        made.datagram = {(what.to_qkey & own_qkey) != 0 ? shared_.attr.qkey : what.to_qkey,
                         shared_.attr.num};
    }
    return add_payload(what, offset, size, made);
}

// Unreliable services complete a request when it is sent.
void requester::advance(const send_request& what) {
    const bool is_first_outstanding = unacknowledged_ == sent_end_;
    next_ = (what.is_read_or_atomic() ? what.last_number : next_) + 1;
    if (sent_end_.is_before(next_)) sent_end_ = next_;
    const bool is_whole = next_ == what.last_number + 1;
    if (is_whole) ++current_;
    if (shared_.is_reliable()) {
        if (is_first_outstanding) restart_timer();
        return;
    }
    unacknowledged_ = next_;
    if (is_whole) complete_oldest(IB_WC_SUCCESS);
}

// ---- responses

void requester::receive(const packet& what) {
    if (!shared_.sends() || !shared_.is_reliable()) return;
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
    not_ready_left_ = shared_.attr.rnr_retry_cnt;
    recovering_ = false;
    not_ready_until_ = 0;
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
    if (!complete) implied_refusal();
    return complete;
}

void requester::on_acknowledge(const packet& what) {
    const UCHAR syndrome = what.acknowledge.syndrome;
    switch (kind_of(syndrome)) {
    case syndrome_kind::acknowledged:
        update_credits(what.acknowledge);
        acknowledge_until(what.number + 1);
        return;
    case syndrome_kind::not_ready:
        return on_not_ready(what.number, syndrome & syndrome_value_mask);
    case syndrome_kind::refused:
        return on_refusal(what.number, syndrome);
    case syndrome_kind::reserved:
        return;
    }
}

// The peer answers, so nothing was lost: only missing answers exhaust the other count.
void requester::on_not_ready(psn number, UCHAR timer_code) {
    constexpr UCHAR endless = 7;
    if (!acknowledge_until(number) || not_ready_until_ != 0) return;
    if (not_ready_left_ == 0) return fail(IB_WC_RNR_RETRY_EXCEEDED);
    if (not_ready_left_ != endless) --not_ready_left_;
    retries_left_ = shared_.attr.retry_cnt;
    recovering_ = false;
    rewind();
    not_ready_until_ = shared_.owner.now() + not_ready_time(timer_code);
}

void requester::on_refusal(psn number, UCHAR why) {
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
    const bool reads = what.row().what == operation::read_response;
    if (reads ? awaiting.type == WR_RDMA_READ : awaiting.is_atomic()) return &awaiting;
    fail(IB_WC_BAD_RESPONSE_ERROR);
    return nullptr;
}

void requester::on_read_response(const packet& what) {
    const send_request* awaiting = awaited_by(what);
    if (awaiting == nullptr) return;
    const ULONGLONG offset =
        ULONGLONG{what.number.since(awaiting->first_number)} * shared_.mtu();
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

// ---- errors and time

void requester::rewind() {
    current_ = queue_.oldest();
    next_ = unacknowledged_;
    unrequested_ = 0;
}

void requester::retry() {
    if (retries_left_ == 0) return fail(IB_WC_RETRY_EXCEEDED);
    --retries_left_;
    rewind();
    restart_timer();
}

// Every response behind the lost one shows the loss, and counts once.
void requester::implied_refusal() {
    if (recovering_) return;
    recovering_ = true;
    retry();
}

void requester::timer_expired() {
    timer_ = 0;
    const machine_time now = shared_.owner.now();
    if (!shared_.sends()) return;
    if (not_ready_until_ != 0) {
        if (not_ready_until_ <= now) {
            not_ready_until_ = 0;
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
    machine_time due = not_ready_until_;
    if (due == 0 && unacknowledged_ != sent_end_) due = deadline_;
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
    const bool reported = status != IB_WC_SUCCESS || shared_.attr.sq_signaled ||
                          what.is_option(IB_SEND_OPT_SIGNALED);
    IB_WC entry{};
    entry.WrId = what.wr_id;
    entry.Status = status;
    entry.Opcode = opcode_of_completion(what.type);
    entry.ByteCount = static_cast<ULONG>(what.length);
    entry.QpNumber = shared_.attr.num;
    queue_.complete_oldest();
    if (reported) shared_.owner.complete_send(entry);
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
    not_ready_until_ = deadline_ = 0;
    recovering_ = false;
}

} // namespace irpverbs::hca_software::transport
