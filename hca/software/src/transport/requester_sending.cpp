// The packets of a requester.
#include "requester.hpp"

#include <algorithm>

namespace irpverbs::hca_software::transport {

namespace {

constexpr ULONG max_unacknowledged = 128; // packets of requests
constexpr ULONG acknowledge_interval = 32;
constexpr ib_qkey_t own_qkey = 0x80000000;

trailer trailer_of(const send_request& what) {
    if (what.is_option(IB_SEND_OPT_IMMEDIATE)) return trailer::immediate;
    const bool invalidates = what.type == WR_SEND && what.is_option(IB_SEND_OPT_INVALIDATE);
    return invalidates ? trailer::invalidate : trailer::none;
}

} // namespace

void requester::run() {
    while (shared_.sends() && rnr_until_ == 0 && current_ != queue_.end())
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
    if (shared_.is_datagram()) {
        const IB_WC_STATUS status = check_datagram(what);
        if (status != IB_WC_SUCCESS) return status;
    }
    const ib_access_t rights = what.is_read_or_atomic() ? IB_AC_LOCAL_WRITE : 0;
    const bool accessible = are_accessible(shared_.memory, queue_.segments_of(current_), rights);
    return accessible ? IB_WC_SUCCESS : IB_WC_LOCAL_PROTECTION_ERROR;
}

// Source: IBA 9.8.3 (unreliable datagrams), 10.5.2 (multicast: its LIDs belong to one number).
IB_WC_STATUS requester::check_datagram(const send_request& what) const {
    const bool is_multicast = what.to.dlid > IB_LID_UNICAST_LAST;
    const ULONG limit = what.has_way ? shared_.owner.datagram_limit(what.to) : 0;
    if (limit == 0 || (is_multicast && what.to_qp != multicast_qp))
        return IB_WC_LOCAL_QP_OPERATION_ERROR;
    return what.length > limit ? IB_WC_LOCAL_LENGTH_ERROR : IB_WC_SUCCESS;
}

requester::step requester::execute_locally(send_request& what) {
    if (const IB_WC_STATUS status = change_key(what); status != IB_WC_SUCCESS) {
        fail(status);
        return step::blocked;
    }
    ++current_;
    complete_oldest(IB_WC_SUCCESS);
    return step::done;
}

IB_WC_STATUS requester::change_key(const send_request& what) {
    if (what.type == WR_LOCAL_INV)
        return shared_.memory.invalidate(what.invalidated_rkey()) ? IB_WC_SUCCESS
                                                                  : IB_WC_LOCAL_QP_OPERATION_ERROR;
    if (what.type == WR_BIND_MW)
        return shared_.memory.bind(what.binding) ? IB_WC_SUCCESS : IB_WC_MW_BIND_ERROR;
    if (what.type == WR_FAST_REG_MR)
        return shared_.memory.register_pages(what.registration) ? IB_WC_SUCCESS
                                                                : IB_WC_LOCAL_QP_OPERATION_ERROR;
    return IB_WC_SUCCESS; // WR_NOP
}

bool requester::is_window_full(const send_request& what) const {
    return shared_.is_reliable() && !what.is_read_or_atomic() &&
           next_.since(unacknowledged_) >= max_unacknowledged;
}

requester::step requester::send_packet(send_request& what) {
    if (is_window_full(what)) return step::blocked;
    if (what.type == WR_RDMA_READ) return transmit(what, read_packet(what));
    if (what.is_atomic()) return transmit(what, atomic_packet(what));
    if (what.is_atomic_write()) return transmit(what, atomic_write_packet(what));
    packet made = data_packet(what);
    return add_payload(what, made) ? transmit(what, made) : fail_memory();
}

requester::step requester::transmit(const send_request& what, const packet& made) {
    switch (shared_.owner.transmit(made)) {
    case transmission::later:
        return step::blocked;
    case transmission::unmapped:
        return fail_memory();
    case transmission::sent:
        break;
    }
    unrequested_ = made.ack_request ? 0 : unrequested_ + 1;
    advance(what);
    return step::done;
}

// Memory that was accessible when the request was started no longer is; earlier requests complete
// first.
requester::step requester::fail_memory() {
    if (current_ == queue_.oldest()) fail(IB_WC_LOCAL_PROTECTION_ERROR);
    return step::blocked;
}

packet requester::read_packet(const send_request& what) const {
    packet made = shared_.new_packet(operation::read, only, next_);
    const ULONGLONG done = ULONGLONG{next_.since(what.first_number)} * shared_.mtu();
    made.rdma = {what.remote.vaddr + done, what.remote.rkey,
                 static_cast<ULONG>(what.length - done)};
    made.to_srq = what.remote_srq;
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
    made.to_srq = what.remote_srq;
    made.ack_request = true;
    return made;
}

packet requester::atomic_write_packet(const send_request& what) const {
    packet made = shared_.new_packet(operation::atomic_write, only, next_);
    made.rdma = {what.remote.vaddr, what.remote.rkey, atomic_size};
    made.content.append({reinterpret_cast<const UCHAR*>(&what.remote.atomic1), atomic_size});
    made.to_srq = what.remote_srq;
    made.ack_request = true;
    return made;
}

// False: a key is no longer valid.
bool requester::add_payload(const send_request& what, packet& to) const {
    const ULONGLONG offset = ULONGLONG{next_.since(what.first_number)} * shared_.mtu();
    const auto size = static_cast<ULONG>(std::min<ULONGLONG>(what.length - offset, shared_.mtu()));
    if (!what.is_option(IB_SEND_OPT_INLINE))
        return gather(shared_.memory, queue_.segments_of(current_), offset, size, to.content);
    to.content.append({queue_.inline_bytes(current_) + offset, size});
    return true;
}

packet requester::data_packet(const send_request& what) const {
    const bool is_last = next_ == what.last_number;
    const position where = position_of(next_ == what.first_number, is_last);
    const operation kind = what.type == WR_RDMA_WRITE ? operation::write : operation::send;
    packet made =
        shared_.new_packet(kind, where, next_, is_last ? trailer_of(what) : trailer::none);
    if ((where & first) != 0 && kind == operation::write)
        made.rdma = {what.remote.vaddr, what.remote.rkey, static_cast<ULONG>(what.length)};
    made.to_srq = what.remote_srq;
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
    return made;
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

} // namespace irpverbs::hca_software::transport
