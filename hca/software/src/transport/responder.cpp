#include "responder.hpp"

#include "acknowledgement.hpp"

#include <algorithm>

namespace irpverbs::hca_software::transport {

namespace {

constexpr ULONG atomic_size = 8;

bool writes(const opcode_row& row) { return row.what == operation::write; }

bool is_atomic(operation what) {
    return what == operation::compare_swap || what == operation::fetch_add;
}

} // namespace

void responder::start() {
    expected_ = psn(shared_.attr.rq_psn);
    messages_ = 0;
    refused_ = established_ = false;
    message_ = {};
    reply_.reset();
    resources_.resize(shared_.attr.resp_res);
}

void responder::receive(const packet& what) {
    if (!shared_.receives() || service_of(what.opcode) != shared_.service()) return;
    if (shared_.is_datagram()) return receive_datagram(what);
    report_established();
    if (shared_.is_reliable()) return receive_reliable(what);
    receive_unreliable(what);
}

// Source: IBA 10.3.1.5 (the first packet of a connection in RTR).
void responder::report_established() {
    if (established_ || shared_.state != IB_QPS_RTR) return;
    established_ = true;
    shared_.owner.report(IB_AE_COMMUNICATION_ESTABLISHED);
}

// ---- reliable

void responder::receive_reliable(const packet& what) {
    if (what.number == expected_) return receive_expected(what);
    if (what.number.is_before(expected_)) return receive_duplicate(what);
    if (refused_) return;
    refused_ = true;
    reply_ = {expected_, wrong_sequence};
}

// Source: IBA 9.7.4.1 (order of the checks).
void responder::receive_expected(const packet& what) {
    const opcode_row& row = what.row();
    if (!is_next(row)) return refuse(invalid_request, IB_WC_LOCAL_QP_OPERATION_ERROR);
    if (!is_granted(row.what)) return refuse(invalid_request, IB_WC_LOCAL_QP_OPERATION_ERROR);
    if (row.what == operation::read) return execute_read(what);
    if (is_atomic(row.what)) return execute_atomic(what);
    execute_write_or_send(what);
}

bool responder::is_next(const opcode_row& row) const {
    if (row.what == operation::reserved) return false;
    return row.is_first() ? message_.what == operation::reserved : message_.what == row.what;
}

bool responder::is_granted(operation what) const {
    const ib_access_t granted = shared_.attr.access_ctrl;
    if (what == operation::write) return (granted & IB_AC_RDMA_WRITE) != 0;
    if (what == operation::read) return (granted & IB_AC_RDMA_READ) != 0;
    return !is_atomic(what) || (granted & IB_AC_ATOMIC) != 0;
}

void responder::execute_write_or_send(const packet& what) {
    if (!has_receive_for(what.row())) return refuse_as_not_ready();
    const outcome result = execute(what);
    if (result.refusal != 0) return refuse(result.refusal, result.of_receive);
    finish(what);
    if (!shared_.failed) accept(what);
}

void responder::accept(const packet& what) {
    if (what.ack_request || refused_) reply_ = {expected_, 0};
    refused_ = false;
    ++expected_;
}

void responder::execute_read(const packet& what) {
    const rdma_header& from = what.rdma;
    read_resource* place = resources_.next_free();
    if (place == nullptr || from.length > max_message)
        return refuse(invalid_request, IB_WC_LOCAL_QP_OPERATION_ERROR);
    if (from.length != 0 && shared_.memory.find(from.rkey, from.address, from.length,
                                                IB_AC_RDMA_READ) == nullptr)
        return refuse(no_access, IB_WC_LOCAL_PROTECTION_ERROR);
    const psn end = expected_ + (packets_of(from.length, shared_.mtu()) - 1);
    *place = {};
    place->what = operation::read;
    place->pending = true;
    place->address = from.address;
    place->rkey = from.rkey;
    place->length = from.length;
    place->first_number = place->begin = place->next = expected_;
    place->last_number = place->end = end;
    add_resource(end + 1);
}

void responder::execute_atomic(const packet& what) {
    const atomic_header& on = what.atomic;
    read_resource* place = resources_.next_free();
    if (place == nullptr || on.address % atomic_size != 0)
        return refuse(invalid_request, IB_WC_LOCAL_QP_OPERATION_ERROR);
    UCHAR* at = shared_.memory.find(on.rkey, on.address, atomic_size, IB_AC_ATOMIC);
    ULONGLONG before = 0;
    if (at == nullptr || !perform(on, what.row().what, at, before))
        return refuse(no_access, IB_WC_LOCAL_PROTECTION_ERROR);
    *place = {};
    place->what = what.row().what;
    place->pending = true;
    place->first_number = place->last_number = expected_;
    place->result = before;
    add_resource(expected_ + 1);
}

// The response acknowledges all earlier packets.
void responder::add_resource(psn next_expected) {
    resources_.add();
    expected_ = next_expected;
    messages_ = (messages_ + 1) & psn::mask;
    refused_ = false;
    reply_.reset();
}

// A region may begin at any byte, so an aligned address does not promise aligned memory.
bool responder::perform(const atomic_header& on, operation what, UCHAR* at, ULONGLONG& before) {
    if (reinterpret_cast<std::uintptr_t>(at) % atomic_size != 0) return false;
    if (what == operation::compare_swap)
        return shared_.memory.compare_swap(at, on.compare, on.swap_or_add, before);
    return shared_.memory.fetch_add(at, on.swap_or_add, before);
}

// Source: IBA 9.7.1.1 (duplicate requests).
void responder::receive_duplicate(const packet& what) {
    const opcode_row& row = what.row();
    if (row.what == operation::read) return replay_read(what);
    if (is_atomic(row.what)) return replay_atomic(what);
    if (row.what == operation::reserved || reply_) return;
    reply_ = {expected_ - 1, 0};
}

// A repeated read requests the rest of the one that is remembered. Its key may have become invalid
// since.
void responder::replay_read(const packet& what) {
    read_resource* known = resources_.find(what.number);
    if (known == nullptr || !known->reads()) return;
    const ULONGLONG done =
        ULONGLONG{what.number.since(known->first_number)} * shared_.mtu();
    const rdma_header& from = what.rdma;
    const ULONGLONG rest = known->length - done;
    const bool ends_packet = from.length == rest || from.length % shared_.mtu() == 0;
    if (from.address != known->address + done || from.length > rest || !ends_packet) return;
    if (from.length != 0 && shared_.memory.find(from.rkey, from.address, from.length,
                                                IB_AC_RDMA_READ) == nullptr)
        return;
    known->rkey = from.rkey;
    known->begin = known->next = what.number;
    known->end = what.number + (packets_of(from.length, shared_.mtu()) - 1);
    known->pending = true;
}

void responder::replay_atomic(const packet& what) {
    read_resource* known = resources_.find(what.number);
    if (known != nullptr && known->what == what.row().what) known->pending = true;
}

void responder::refuse_as_not_ready() {
    refused_ = true;
    reply_ = {expected_, not_ready_syndrome(shared_.attr.rnr_nak_timeout)};
}

// The refusal is sent, after the responses in front of it, although the state is an error.
void responder::refuse(UCHAR why, IB_WC_STATUS of_receive) {
    reply_ = {expected_, why};
    if (has_receive_)
        complete_receive(of_receive);
    else
        shared_.owner.report(why == no_access ? IB_AE_WQ_ACCESS_ERROR : IB_AE_WQ_REQUEST_ERROR);
    shared_.fail(IB_QPS_ERROR);
}

// ---- unreliable

// A lost packet costs its message, whose receive then serves the next. Source: IBA 9.8.2.2.
void responder::receive_unreliable(const packet& what) {
    const opcode_row& row = what.row();
    const bool is_wrong = what.number != expected_ || !is_next(row);
    if (is_wrong && row.is_first()) message_ = {};
    expected_ = what.number + 1;
    if (row.what == operation::reserved || (is_wrong && !row.is_first())) message_.dropped = true;
    if (row.is_first()) message_.dropped = !is_granted(row.what);
    if (!message_.dropped) message_.dropped = !begin_unreliable(what);
    if (message_.dropped) {
        if (row.is_last()) message_ = {};
        return;
    }
    finish(what);
}

// False: the message is dropped.
bool responder::begin_unreliable(const packet& what) {
    if (!has_receive_for(what.row())) return false;
    const outcome result = execute(what);
    if (result.refusal == failed_operation) {
        complete_receive(result.of_receive);
        shared_.fail(IB_QPS_ERROR);
    }
    return result.refusal == 0;
}

// The first 40 bytes of a datagram's receive are those of a global route header. Source: IBA
// 11.4.1.2.
void responder::receive_datagram(const packet& what) {
    constexpr ULONG route_size = 40;
    if (what.row().what != operation::send || what.datagram.qkey != shared_.attr.qkey) return;
    if (what.content.size() > 128u << shared_.attr.path_mtu || !ensure_receive()) return;
    if (receive_.length < route_size + what.content.size()) return;
    if (!scatter(shared_.memory, receive_.list(), route_size, what.content)) {
        complete_receive(IB_WC_LOCAL_PROTECTION_ERROR);
        return shared_.fail(IB_QPS_ERROR);
    }
    message_.received = route_size + what.content.size();
    complete_receive(what);
    message_ = {};
}

// ---- all services

bool responder::ensure_receive() {
    if (!has_receive_) has_receive_ = queue_.take(receive_);
    return has_receive_;
}

// A write with immediate takes its receive when it has succeeded: one that fails consumes none.
// Source: IBA C10-87.
bool responder::has_receive_for(const opcode_row& row) {
    if (row.what == operation::send) return !row.is_first() || ensure_receive();
    return !row.has(has_immediate) || has_receive_ || queue_.count() != 0;
}

bool responder::has_right_length(const packet& what) const {
    const ULONG size = what.content.size();
    switch (what.row().payload) {
    case payload_rule::full:
        return size == shared_.mtu();
    case payload_rule::not_empty:
        return size != 0 && size <= shared_.mtu();
    default:
        return size <= shared_.mtu();
    }
}

responder::outcome responder::execute(const packet& what) {
    if (!has_right_length(what)) return {invalid_request, IB_WC_LOCAL_LENGTH_ERROR};
    if (what.row().is_first()) message_ = {what.row().what, false, 0, what.rdma};
    return writes(what.row()) ? execute_write(what) : execute_send(what);
}

responder::outcome responder::execute_send(const packet& what) {
    const ULONGLONG end = message_.received + what.content.size();
    if (end > max_message || end > receive_.length)
        return {invalid_request, IB_WC_LOCAL_LENGTH_ERROR};
    if (!scatter(shared_.memory, receive_.list(), message_.received, what.content))
        return {failed_operation, IB_WC_LOCAL_PROTECTION_ERROR};
    message_.received = end;
    return {};
}

// The whole range is checked with the first packet, and each part when it is written: the region
// may end between two packets.
responder::outcome responder::execute_write(const packet& what) {
    const rdma_header& target = message_.target;
    const ULONGLONG end = message_.received + what.content.size();
    const bool fits = what.row().is_last() ? end == target.length : end < target.length;
    if (target.length > max_message || !fits)
        return {invalid_request, IB_WC_LOCAL_LENGTH_ERROR};
    if (target.length != 0) {
        const UCHAR* whole = shared_.memory.find(target.rkey, target.address, target.length,
                                                 IB_AC_RDMA_WRITE);
        UCHAR* at = shared_.memory.find(target.rkey, target.address + message_.received,
                                        what.content.size(), IB_AC_RDMA_WRITE);
        if (whole == nullptr || at == nullptr ||
            !copy_payload(shared_.memory, at, what.content))
            return {no_access, IB_WC_LOCAL_PROTECTION_ERROR};
    }
    message_.received = end;
    return {};
}

void responder::finish(const packet& what) {
    if (!what.row().is_last()) return;
    messages_ = (messages_ + 1) & psn::mask;
    const bool consumes = what.row().what == operation::send || what.row().has(has_immediate);
    if (consumes && ensure_receive()) complete_receive(what);
    message_ = {};
}

void responder::complete_receive(const packet& what) {
    const opcode_row& row = what.row();
    IB_WC entry{};
    entry.WrId = receive_.wr_id;
    entry.Opcode = writes(row) ? IB_WC_RECEIVE_RDMA_WRITE_WITH_IMMEDIATE : IB_WC_RECEIVE;
    entry.ByteCount = static_cast<ULONG>(message_.received);
    entry.QpNumber = shared_.attr.num;
    entry.SourceQp = shared_.is_datagram() ? what.datagram.from_qp : shared_.attr.dest_num;
    if (row.has(has_immediate)) {
        entry.Flags = IB_WC_IMMEDIATE_PRESENT;
        entry.Immediate = what.immediate;
    }
    if (row.has(has_invalidate)) {
        // Source: IBA 10.6.5.2; the requester does not learn of a key that is wrong.
        if (!shared_.memory.invalidate(what.invalidated_rkey)) {
            complete_receive(IB_WC_LOCAL_QP_OPERATION_ERROR);
            reply_.reset();
            return shared_.fail(IB_QPS_ERROR);
        }
        entry.Flags = IB_WC_INVALIDATED;
        entry.Immediate = what.invalidated_rkey;
    }
    if (what.solicited) entry.Flags |= IB_WC_SOLICITED;
    has_receive_ = false;
    shared_.owner.complete_receive(entry);
}

void responder::complete_receive(IB_WC_STATUS status) {
    IB_WC entry{};
    entry.WrId = receive_.wr_id;
    entry.Status = status;
    entry.QpNumber = shared_.attr.num;
    has_receive_ = false;
    shared_.owner.complete_receive(entry);
}

void responder::flush() {
    if (has_receive_) complete_receive(IB_WC_FLUSHED);
    while (ensure_receive())
        complete_receive(IB_WC_FLUSHED);
    message_ = {};
}

void responder::reset() {
    queue_.clear();
    has_receive_ = false;
    message_ = {};
    drop_responses();
}

void responder::drop_responses() {
    reply_.reset();
    resources_.clear();
}

// ---- responses

void responder::run() {
    while (read_resource* pending = resources_.oldest_pending())
        if (!(pending->reads() ? send_read_packet(*pending) : send_atomic(*pending))) return;
    if (reply_) send_reply();
}

acknowledge_header responder::acknowledgement() const {
    return {credit_code(queue_.count()), messages_};
}

bool responder::send_read_packet(read_resource& from) {
    const bool is_last = from.next == from.end;
    packet made = shared_.new_packet(operation::read_response,
                                     position_of(from.next == from.begin, is_last), from.next);
    made.acknowledge = acknowledgement();
    const ULONGLONG offset = ULONGLONG{from.next.since(from.first_number)} * shared_.mtu();
    const auto size =
        static_cast<ULONG>(std::min<ULONGLONG>(from.length - offset, shared_.mtu()));
    transmission result = transmission::unmapped;
    const UCHAR* at = size == 0 ? nullptr
                                : shared_.memory.find(from.rkey, from.address + offset, size,
                                                      IB_AC_RDMA_READ);
    if (at != nullptr) made.content.append({at, size});
    if (at != nullptr || size == 0) result = shared_.owner.transmit(made);
    if (result == transmission::later) return false;
    if (result == transmission::unmapped) {
        const psn refused = from.next;
        resources_.clear();
        refuse(no_access, IB_WC_LOCAL_PROTECTION_ERROR);
        reply_->number = refused;
        return true;
    }
    from.pending = !is_last;
    if (from.next == from.last_number) from.answered = true;
    ++from.next;
    return true;
}

bool responder::send_atomic(read_resource& from) {
    packet made = shared_.new_packet(operation::atomic_acknowledge, only, from.first_number);
    made.acknowledge = acknowledgement();
    made.atomic_result = from.result;
    if (shared_.owner.transmit(made) == transmission::later) return false;
    from.pending = false;
    from.answered = true;
    return true;
}

bool responder::send_reply() {
    packet made = shared_.new_packet(operation::acknowledge, only, reply_->number);
    made.acknowledge = acknowledgement();
    if (reply_->syndrome != 0) made.acknowledge.syndrome = reply_->syndrome;
    if (shared_.owner.transmit(made) == transmission::later) return false;
    reply_.reset();
    return true;
}

} // namespace irpverbs::hca_software::transport
