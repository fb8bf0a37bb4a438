// The execution of requests: the payload, its memory and its receive, in all services; and the
// rules of the unreliable ones.
#include "acknowledgement.hpp"
#include "responder.hpp"

#include <utility>

namespace irpverbs::hca_software::transport {

namespace {

bool writes(const opcode_row& row) { return row.what == operation::write; }

} // namespace

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
    if (!finish(what)) message_ = {};
}

// False: the message is dropped.
bool responder::begin_unreliable(const packet& what) {
    if (!has_receive_for(what.row())) return false;
    const outcome result = execute(what);
    if (result.nak == failed_operation) {
        complete_receive(result.of_receive);
        shared_.fail(IB_QPS_ERROR);
    }
    return result.nak == 0;
}

// The first 40 bytes of a datagram's receive are those of a global route header; without one they
// keep their content. The links have checked the MTU. A receive of a shared queue is not kept for
// the next datagram. Source: IBA 11.4.1.2.
void responder::receive_datagram(const packet& what) {
    constexpr ULONG route_size = std::tuple_size_v<decltype(arrival::route)>;
    if (what.row().what != operation::send || what.datagram.qkey != shared_.attr.qkey) return;
    if (what.content.size() > shared_.mtu() || !ensure_receive()) return;
    if (receive_.length < route_size + what.content.size()) {
        if (shares_receives()) complete_receive(IB_WC_REMOTE_ABORTED);
        return;
    }
    const bool has_route = what.arrived != nullptr && what.arrived->global;
    if ((has_route &&
         !scatter_to_receive(receive_memory(), receive_.list(), 0, payload(what.arrived->route))) ||
        !scatter_to_receive(receive_memory(), receive_.list(), route_size, what.content)) {
        complete_receive(IB_WC_LOCAL_PROTECTION_ERROR);
        return shared_.fail(IB_QPS_ERROR);
    }
    message_.received = route_size + what.content.size();
    complete_receive(what);
    message_ = {};
}

// ---- all services

bool responder::ensure_receive() {
    if (!has_receive_) has_receive_ = shares_receives() ? take_shared() : queue_.take(receive_);
    return has_receive_;
}

bool responder::take_shared() {
    bool reached_limit = false;
    shared_receive_queue& from = *shared_.shared_receives;
    const bool taken = from.take(receive_, reached_limit);
    receive_srq_ = named_srq_;
    if (reached_limit && shared_.is_target())
        from.owner()->report_limit();
    else if (reached_limit)
        shared_.owner.report(IB_AE_SRQ_LIMIT_REACHED);
    return taken;
}

bool responder::has_receive() const {
    if (has_receive_) return true;
    return (shares_receives() ? shared_.shared_receives->count() : queue_.count()) != 0;
}

// A write with immediate takes its receive when it has succeeded: one that fails consumes none.
// Source: IBA C10-87.
bool responder::has_receive_for(const opcode_row& row) {
    if (row.what == operation::send) return !row.is_first() || ensure_receive();
    return !row.has(has_immediate) || has_receive();
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
    if (what.row().is_first()) message_ = {what.row().what, false, 0, what.rdma, what.to_srq};
    return writes(what.row()) ? execute_write(what) : execute_send(what);
}

responder::outcome responder::execute_send(const packet& what) {
    const ULONGLONG end = message_.received + what.content.size();
    if (end > max_message || end > receive_.length)
        return {invalid_request, IB_WC_LOCAL_LENGTH_ERROR};
    // A message of one packet completes its receive; another one's may be used for the next.
    const auto copy = what.row().is_first() && what.row().is_last() ? scatter_to_receive : scatter;
    if (!copy(receive_memory(), receive_.list(), message_.received, what.content))
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
    if (target.length > max_message || !fits) return {invalid_request, IB_WC_LOCAL_LENGTH_ERROR};
    if (target.length != 0) {
        memory_access& memory = remote_memory();
        const bool whole =
            is_accessible(memory, target.rkey, target.address, target.length, IB_AC_RDMA_WRITE);
        if (!whole || !copy_payload(memory, target.rkey, target.address + message_.received,
                                    IB_AC_RDMA_WRITE, what.content))
            return {no_access, IB_WC_LOCAL_PROTECTION_ERROR};
    }
    message_.received = end;
    return {};
}

// False: the message needs a receive, and other queue pairs have taken those that there were.
bool responder::finish(const packet& what) {
    if (!what.row().is_last()) return true;
    const bool consumes = what.row().what == operation::send || what.row().has(has_immediate);
    if (consumes && !ensure_receive()) return false;
    messages_ = (messages_ + 1) & psn::mask;
    if (consumes) complete_receive(what);
    message_ = {};
    return true;
}

void responder::complete_receive(const packet& what) {
    const opcode_row& row = what.row();
    IB_WC entry = completion_of(receive_.wr_id, row.what, static_cast<ULONG>(message_.received));
    if (shared_.is_datagram()) entry.SourceQp = what.datagram.from_qp;
    if (row.has(has_immediate)) {
        entry.Flags = IB_WC_IMMEDIATE_PRESENT;
        entry.Immediate = what.immediate;
    }
    if (row.has(has_invalidate)) {
        // Source: IBA 10.6.5.2; the requester does not learn of a key that is wrong.
        if (!remote_memory().invalidate(what.invalidated_rkey)) {
            complete_receive(IB_WC_LOCAL_QP_OPERATION_ERROR);
            reply_.reset();
            return shared_.fail(IB_QPS_ERROR);
        }
        entry.Flags = IB_WC_INVALIDATED;
        entry.Immediate = what.invalidated_rkey;
    }
    if (what.solicited) entry.Flags |= IB_WC_SOLICITED;
    if (what.arrived != nullptr) {
        if (what.arrived->global) entry.Flags |= IB_WC_GRH_PRESENT;
        entry.PKeyIndex = what.arrived->pkey_index;
        entry.SourceLid = what.arrived->from;
        entry.ServiceLevel = what.arrived->service_level;
        entry.PathBits = what.arrived->path_bits;
    }
    has_receive_ = false;
    report(entry);
}

void responder::complete_receive(IB_WC_STATUS status) {
    IB_WC entry{};
    entry.WrId = receive_.wr_id;
    entry.Status = status;
    entry.QpNumber = shared_.attr.num;
    has_receive_ = false;
    report(entry);
}

// A shared receive queue that was destroyed has dropped its receives, also the one that was taken.
void responder::report(const IB_WC& entry) {
    if (!shared_.is_target()) return shared_.owner.complete_receive(entry);
    look_up(receive_srq_);
    if (shared_.shared_receives == nullptr) return;
    if (shared_.shared_receives->owner()->complete(entry)) return;
    shared_.owner.report(IB_AE_WQ_FATAL);
    shared_.fail(IB_QPS_ERROR);
}

void responder::flush() {
    if (has_receive_) complete_receive(IB_WC_FLUSHED);
    message_ = {};
    if (shares_receives() || shared_.is_target()) return report_last();
    while (ensure_receive())
        complete_receive(IB_WC_FLUSHED);
}

// Source: IBA 11.6.3.1 (last WQE reached).
void responder::report_last() {
    if (std::exchange(reported_last_, true)) return;
    shared_.owner.report(IB_AE_LAST_WQE_REACHED);
}

void responder::reset() {
    queue_.clear();
    early_.clear();
    has_receive_ = reported_last_ = false;
    message_ = {};
    if (shared_.is_target()) shared_.shared_receives = nullptr;
    drop_responses();
}

void responder::drop_responses() {
    reply_.reset();
    resources_.clear();
}

} // namespace irpverbs::hca_software::transport
