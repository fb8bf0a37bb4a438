#include "responder.hpp"

#include "acknowledgement.hpp"

#include <cstring>

namespace irpverbs::hca_software::transport {

void responder::start() {
    expected_ = psn(shared_.attr.rq_psn);
    messages_ = 0;
    nak_sent_ = established_ = false;
    has_unsent_ = false;
    message_ = {};
    reply_.reset();
    resources_.resize(shared_.attr.resp_res);
}

void responder::receive(const packet& what) {
    if (!shared_.receives() || service_of(what.opcode) != shared_.service()) return;
    if (shared_.is_initiator()) return;
    has_unsent_ = true;
    if (shared_.is_target()) look_up(what.to_srq);
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
    if (what.number == expected_) {
        receive_expected(what);
        if (!early_.is_empty()) [[unlikely]]
            receive_kept();
        return;
    }
    if (what.number.is_before(expected_)) return receive_duplicate(what);
    early_.keep(what, expected_);
    if (!nak_sent_) request_again();
}

void responder::request_again() {
    nak_sent_ = true;
    reply_ = {expected_, wrong_sequence};
}

// Executes the packets that came before the one that was missing, up to the next that is missing.
void responder::receive_kept() {
    bool executed = false;
    while (early_packets::kept_ptr next = early_.take(expected_)) {
        if (!shared_.receives()) return;
        if (shared_.is_target()) look_up(next->content.to_srq);
        receive_expected(next->content);
        executed = true;
    }
    if (executed && !early_.is_empty() && !nak_sent_) request_again();
}

// Source: IBA 9.7.4.1 (order of the checks).
void responder::receive_expected(const packet& what) {
    const opcode_row& row = what.row();
    if (!is_next(row)) return send_nak(invalid_request, IB_WC_LOCAL_QP_OPERATION_ERROR);
    if (!is_granted(row.what)) return send_nak(invalid_request, IB_WC_LOCAL_QP_OPERATION_ERROR);
    if (shared_.is_target() && !check_receives(what)) return;
    if (row.what == operation::read) return execute_read(what);
    if (is_atomic(row.what)) return execute_atomic(what);
    if (row.what == operation::atomic_write) return execute_atomic_write(what);
    execute_write_or_send(what);
}

bool responder::is_next(const opcode_row& row) const {
    if (row.what == operation::reserved) return false;
    return row.is_first() ? message_.what == operation::reserved : message_.what == row.what;
}

void responder::execute_write_or_send(const packet& what) {
    if (!has_receive_for(what.row())) return send_rnr_nak();
    const message before = message_;
    const outcome result = execute(what);
    if (result.nak != 0) return send_nak(result.nak, result.of_receive);
    if (!finish(what)) {
        message_ = before;
        return send_rnr_nak();
    }
    if (!shared_.failed) accept(what);
}

void responder::accept(const packet& what) {
    if (what.ack_request || nak_sent_) reply_ = {expected_, 0};
    nak_sent_ = false;
    ++expected_;
}

void responder::execute_read(const packet& what) {
    const rdma_header& from = what.rdma;
    read_resource* place = resources_.next_free();
    if (place == nullptr || from.length > max_message)
        return send_nak(invalid_request, IB_WC_LOCAL_QP_OPERATION_ERROR);
    if (from.length != 0 &&
        !is_accessible(remote_memory(), from.rkey, from.address, from.length, IB_AC_RDMA_READ))
        return send_nak(no_access, IB_WC_LOCAL_PROTECTION_ERROR);
    const psn end = expected_ + (packets_of(from.length, shared_.mtu()) - 1);
    *place = {};
    place->what = operation::read;
    place->pending = true;
    place->address = from.address;
    place->rkey = from.rkey;
    place->length = from.length;
    place->srq = named_srq_;
    place->first_number = place->begin = place->next = expected_;
    place->last_number = place->end = end;
    add_resource(end + 1);
}

void responder::execute_atomic(const packet& what) {
    const atomic_header& on = what.atomic;
    read_resource* place = resources_.next_free();
    if (place == nullptr || on.address % atomic_size != 0)
        return send_nak(invalid_request, IB_WC_LOCAL_QP_OPERATION_ERROR);
    ULONGLONG size = atomic_size;
    memory_access& memory = remote_memory();
    UCHAR* at = memory.find_piece(on.rkey, on.address, size, IB_AC_ATOMIC);
    ULONGLONG before = 0;
    if (at == nullptr || size != atomic_size || !perform(memory, on, what.row().what, at, before))
        return send_nak(no_access, IB_WC_LOCAL_PROTECTION_ERROR);
    remember_atomic(*place, what.row().what, before);
}

// Source: IBA annex A19.
void responder::execute_atomic_write(const packet& what) {
    const rdma_header& to = what.rdma;
    read_resource* place = resources_.next_free();
    if (place == nullptr || to.address % atomic_size != 0 || to.length != atomic_size ||
        what.content.size() != atomic_size || what.content.pieces().size() != 1)
        return send_nak(invalid_request, IB_WC_LOCAL_QP_OPERATION_ERROR);
    ULONGLONG size = atomic_size;
    memory_access& memory = remote_memory();
    UCHAR* at = memory.find_piece(to.rkey, to.address, size, IB_AC_RDMA_WRITE);
    ULONGLONG value = 0;
    std::memcpy(&value, what.content.pieces().front().data(), sizeof(value));
    if (at == nullptr || size != atomic_size || !write_word(memory, at, value))
        return send_nak(no_access, IB_WC_LOCAL_PROTECTION_ERROR);
    remember_atomic(*place, operation::atomic_write, 0);
}

void responder::remember_atomic(read_resource& place, operation what, ULONGLONG result) {
    place = {};
    place.what = what;
    place.pending = true;
    place.first_number = place.last_number = expected_;
    place.result = result;
    add_resource(expected_ + 1);
}

// The response acknowledges all earlier packets.
void responder::add_resource(psn next_expected) {
    resources_.add();
    expected_ = next_expected;
    messages_ = (messages_ + 1) & psn::mask;
    nak_sent_ = false;
    reply_.reset();
}

// A region may begin at any byte, so an aligned address does not promise aligned memory.
bool responder::perform(memory_access& memory, const atomic_header& on, operation what, UCHAR* at,
                        ULONGLONG& before) {
    if (reinterpret_cast<std::uintptr_t>(at) % atomic_size != 0) return false;
    if (what == operation::compare_swap)
        return memory.compare_swap(at, on.compare, on.swap_or_add, before);
    return memory.fetch_add(at, on.swap_or_add, before);
}

bool responder::write_word(memory_access& memory, UCHAR* at, ULONGLONG value) {
    return reinterpret_cast<std::uintptr_t>(at) % atomic_size == 0 && memory.write_word(at, value);
}

// Source: IBA 9.7.1.1 (duplicate requests).
void responder::receive_duplicate(const packet& what) {
    const opcode_row& row = what.row();
    if (row.what == operation::read) return replay_read(what);
    if (is_any_atomic(row.what)) return replay_atomic(what);
    if (row.what == operation::reserved || reply_) return;
    reply_ = {expected_ - 1, 0};
}

// A repeated read requests the rest of the one that is remembered. Its key may have become invalid
// since.
void responder::replay_read(const packet& what) {
    read_resource* known = resources_.find(what.number);
    if (known == nullptr || !known->reads()) return;
    if (shared_.is_target() && !is_of_domain()) return;
    const ULONGLONG done = ULONGLONG{what.number.since(known->first_number)} * shared_.mtu();
    const rdma_header& from = what.rdma;
    const ULONGLONG rest = known->length - done;
    const bool ends_packet = from.length == rest || from.length % shared_.mtu() == 0;
    if (from.address != known->address + done || from.length > rest || !ends_packet) return;
    if (from.length != 0 &&
        !is_accessible(remote_memory(), from.rkey, from.address, from.length, IB_AC_RDMA_READ))
        return;
    known->rkey = from.rkey;
    known->srq = named_srq_;
    known->begin = known->next = what.number;
    known->end = what.number + (packets_of(from.length, shared_.mtu()) - 1);
    known->pending = true;
}

void responder::replay_atomic(const packet& what) {
    read_resource* known = resources_.find(what.number);
    if (known != nullptr && known->what == what.row().what) known->pending = true;
}

void responder::send_rnr_nak() {
    nak_sent_ = true;
    reply_ = {expected_, rnr_nak_syndrome(shared_.attr.rnr_nak_timeout)};
}

void responder::send_nak(UCHAR why, IB_WC_STATUS of_receive) {
    send_nak(why, of_receive, expected_);
}

void responder::send_nak(UCHAR why, IB_WC_STATUS of_receive, psn number) {
    send_nak(why, of_receive, number,
             why == no_access ? IB_AE_WQ_ACCESS_ERROR : IB_AE_WQ_REQUEST_ERROR);
}

// The NAK is sent, after the responses in front of it, although the state is an error. A process
// that was killed has lost its memory before its queue pair ends: to its peer it is gone.
void responder::send_nak(UCHAR why, IB_WC_STATUS of_receive, psn number, IB_ASYNC_EVENT event) {
    if (why == invalid_request || !shared_.memory.is_gone()) reply_ = {number, why};
    if (has_receive_)
        complete_receive(of_receive);
    else
        shared_.owner.report(event);
    shared_.fail(IB_QPS_ERROR);
}

// ---- XRC targets

// The queue may have been destroyed since the last call.
void responder::look_up(ULONG srq) {
    named_srq_ = srq;
    shared_.shared_receives = shared_.owner.find_receives(srq);
}

bool responder::is_of_domain() const {
    return shared_.shared_receives != nullptr &&
           shared_.shared_receives->owner()->domain() == shared_.attr.h_xrcd;
}

// All packets of a message name the same queue. False: a NAK is sent. Source: IBA annex A14
// (invalid XRCETH, XRC domain violation).
bool responder::check_receives(const packet& what) {
    const bool is_same = what.row().is_first() || message_.srq == named_srq_;
    if (is_same && is_of_domain()) return true;
    const bool is_foreign = is_same && shared_.shared_receives != nullptr;
    send_nak(invalid_request, IB_WC_LOCAL_QP_OPERATION_ERROR, expected_,
             is_foreign ? IB_AE_XRC_DOMAIN_FATAL : IB_AE_INVALID_XRCETH);
    return false;
}

} // namespace irpverbs::hca_software::transport
