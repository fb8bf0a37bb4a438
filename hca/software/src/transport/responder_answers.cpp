// The responses of a responder.
#include "acknowledgement.hpp"
#include "responder.hpp"

#include <algorithm>

namespace irpverbs::hca_software::transport {

void responder::run() {
    while (read_resource* pending = resources_.oldest_pending())
        if (!(pending->reads() ? send_read_packet(*pending) : send_atomic(*pending))) return;
    has_unsent_ = reply_ && !send_reply();
}

acknowledge_header responder::acknowledgement() const {
    const bool has_own = !shares_receives() && !shared_.is_target();
    return {has_own ? credit_code(queue_.count()) : no_credits, messages_};
}

bool responder::send_read_packet(read_resource& from) {
    if (shared_.is_target()) look_up(from.srq);
    const bool is_lost = shared_.is_target() && !is_of_domain();
    const bool is_last = from.next == from.end;
    packet made = shared_.new_packet(operation::read_response,
                                     position_of(from.next == from.begin, is_last), from.next);
    made.acknowledge = acknowledgement();
    const ULONGLONG offset = ULONGLONG{from.next.since(from.first_number)} * shared_.mtu();
    const auto size = static_cast<ULONG>(std::min<ULONGLONG>(from.length - offset, shared_.mtu()));
    transmission result = transmission::unmapped;
    const auto append = [&](const UCHAR* at, std::size_t piece) {
        made.content.append({at, piece});
        return true;
    };
    if (!is_lost && for_each_piece(remote_memory(), from.rkey, from.address + offset, size,
                                   IB_AC_RDMA_READ, append))
        result = shared_.owner.transmit(made);
    if (result == transmission::later) return false;
    if (result == transmission::unmapped) {
        const psn where = from.next;
        resources_.clear();
        send_nak(no_access, IB_WC_LOCAL_PROTECTION_ERROR, where);
        return true;
    }
    from.pending = !is_last;
    if (from.next == from.last_number) from.completed = true;
    ++from.next;
    return true;
}

bool responder::send_atomic(read_resource& from) {
    const bool writes = from.what == operation::atomic_write;
    packet made = shared_.new_packet(
        writes ? operation::read_response : operation::atomic_acknowledge, only, from.first_number);
    made.acknowledge = acknowledgement();
    made.atomic_result = from.result;
    if (shared_.owner.transmit(made) == transmission::later) return false;
    from.pending = false;
    from.completed = true;
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
