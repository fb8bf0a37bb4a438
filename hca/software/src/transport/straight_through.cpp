#include "straight_through.hpp"

#include <utility>

namespace irpverbs::hca_software::transport {

namespace {

// Words of 4 bytes. Source: IBA 9.2, 9.3.
constexpr ULONGLONG base_words = 3;
constexpr ULONGLONG rdma_words = 4;
constexpr ULONGLONG atomic_words = 7;
constexpr ULONGLONG acknowledge_words = 1;
constexpr ULONGLONG atomic_result_words = 2;
constexpr ULONGLONG immediate_words = 1;
constexpr ULONGLONG invalidate_words = 1;

// Bytes, so that a message has less than half of the packet numbers.
constexpr ULONGLONG max_straight = ULONGLONG{psn::half - 1} * 256;

ULONGLONG words_of(ULONG bytes) { return (ULONGLONG{bytes} + 3) / 4; }

bool is_option(const ib_send_wr_t& what, ib_send_opt_t which) {
    return (what.send_opt & which) != 0;
}

bool brings_immediate(const ib_send_wr_t& what) { return is_option(what, IB_SEND_OPT_IMMEDIATE); }

bool brings_key(const ib_send_wr_t& what) {
    return is_option(what, IB_SEND_OPT_INVALIDATE) && !brings_immediate(what);
}

segments list_of(const ib_send_wr_t& what) { return {what.ds_array, what.num_ds}; }

} // namespace

inline void requester::passed_straight(ULONG messages, ULONG packets, ULONG credit_limit) {
    next_number_ = next_number_ + packets;
    next_ = unacknowledged_ = sent_end_ = next_number_;
    sequence_ = (sequence_ + messages) & psn::mask;
    if (!unlimited_) credit_limit_ = credit_limit & psn::mask;
}

inline bool responder::is_idle_at(psn number) const {
    const bool is_open = shared_.receives() && (shared_.state != IB_QPS_RTR || established_);
    return is_open && number == expected_ && message_.what == operation::reserved &&
           !message_.dropped && !has_receive_ && !nak_sent_ && all_sent_;
}

template <bool WithKey>
inline void responder::passed_straight(const ib_send_wr_t& what, ULONG length) {
    const bool writes = what.wr_type == WR_RDMA_WRITE;
    IB_WC entry = completion_of(has_receive_ ? receive_.wr_id : queue_.oldest_id(),
                                writes ? operation::write : operation::send, length);
    if ((what.send_opt & IB_SEND_OPT_IMMEDIATE) != 0) {
        entry.Flags |= IB_WC_IMMEDIATE_PRESENT;
        entry.Immediate = what.immediate_data;
    }
    if constexpr (WithKey) {
        entry.Flags |= IB_WC_INVALIDATED;
        entry.Immediate = what.invalidate_rkey;
    }
    if ((what.send_opt & IB_SEND_OPT_SOLICITED) != 0) entry.Flags |= IB_WC_SOLICITED;
    if (!std::exchange(has_receive_, false)) queue_.drop_oldest();
    shared_.owner.complete_receive(entry);
}

// In other states of path migration packets change the state.
bool straight_through::connects(const queue_pair& from, const queue_pair& to) {
    const endpoint& one = from.shared_;
    const endpoint& other = to.shared_;
    return !one.is_datagram() && one.attr.qp_type == other.attr.qp_type &&
           one.attr.apm_state == other.attr.apm_state && one.attr.apm_state != IB_APM_REARM &&
           one.mtu() == other.mtu() && one.attr.dest_num == other.attr.num &&
           other.attr.dest_num == one.attr.num;
}

ib_send_wr_t* straight_through::pass(ib_send_wr_t* list) {
    if (!from_.is_idle() || !to_.is_idle_at(from_.next_number_)) return list;
    while (list != nullptr && execute(*list))
        list = list->p_next;
    if (messages_ == 0) return list;
    to_.expected_ = to_.expected_ + packets_;
    to_.messages_ = (to_.messages_ + messages_) & psn::mask;
    if (to_.shares_receives()) from_.unlimited_ = true;
    from_.passed_straight(messages_, packets_, to_.messages_ + to_.queue_.count());
    return list;
}

inline bool straight_through::execute(const ib_send_wr_t& what) {
    const ib_qp_attr_t& attr = from_.shared_.attr;
    if (attr.sq_depth == 0 || what.num_ds > attr.sq_sge) return false;
    const ULONGLONG length = what.num_ds == 1 ? what.ds_array->length : total_length(list_of(what));
    if (!has_room(what, length) || !move(what, static_cast<ULONG>(length))) return false;
    ++messages_;
    from_.complete(IB_WC_SUCCESS, what.wr_id, what.wr_type, what.send_opt,
                   static_cast<ULONG>(length));
    return true;
}

inline bool straight_through::has_room(const ib_send_wr_t& what, ULONGLONG length) const {
    if (length > max_straight) return false;
    return !is_option(what, IB_SEND_OPT_INLINE) || length <= from_.shared_.attr.sq_max_inline;
}

inline bool straight_through::move(const ib_send_wr_t& what, ULONG length) {
    switch (what.wr_type) {
    case WR_SEND:
        return send(what, length);
    case WR_RDMA_WRITE:
        return write(what, length);
    case WR_RDMA_READ:
        return read(what, length);
    case WR_COMPARE_SWAP:
    case WR_FETCH_ADD:
        return length == atomic_size && execute_atomic(what);
    default:
        return false;
    }
}

bool straight_through::gather_local(const ib_send_wr_t& what, ULONG length,
                                    payload& content) const {
    if (what.num_ds > max_pieces) return false;
    if (!is_option(what, IB_SEND_OPT_INLINE))
        return gather(from_.shared_.memory, list_of(what), 0, length, content);
    for (const ib_local_ds_t& each : list_of(what))
        content.append({reinterpret_cast<const UCHAR*>(each.vaddr), each.length});
    return true;
}

// Most work requests have one data segment. Null: this one has another number, or a wrong key.
inline const UCHAR* straight_through::only_source(const ib_send_wr_t& what) const {
    if (what.num_ds != 1) return nullptr;
    const ib_local_ds_t& all = *what.ds_array;
    if (is_option(what, IB_SEND_OPT_INLINE)) return reinterpret_cast<const UCHAR*>(all.vaddr);
    return from_.shared_.memory.find(all.lkey, all.vaddr, all.length, 0);
}

inline bool straight_through::copy_to_receive(const ib_send_wr_t& what, ULONG length) {
    if (to_.queue_.count() == 0) return false;
    memory_access& memory = to_.shared_.memory;
    const segments into = to_.queue_.oldest_segments();
    if (into.size() == 1 && length != 0) {
        if (length > into[0].length) return false;
        if (const UCHAR* source = only_source(what))
            if (UCHAR* at = memory.find(into[0].lkey, into[0].vaddr, length, IB_AC_LOCAL_WRITE))
                return memory.copy(at, source, length);
    }
    payload content;
    return total_length(into) >= length && gather_local(what, length, content) &&
           scatter(memory, into, 0, content);
}

// The receive is taken when the message could be sent, as by its first packet: if the receive does
// not fit, it stays the message's.
bool straight_through::copy_to_shared_receive(const ib_send_wr_t& what, ULONG length) {
    payload content;
    if (!gather_local(what, length, content) || !to_.ensure_receive()) return false;
    return to_.receive_.length >= length &&
           scatter(to_.receive_memory(), to_.receive_.list(), 0, content);
}

inline bool straight_through::copy(const ib_send_wr_t& what, ULONG length) {
    return to_.shares_receives() ? copy_to_shared_receive(what, length)
                                 : copy_to_receive(what, length);
}

inline bool straight_through::send(const ib_send_wr_t& what, ULONG length) {
    if (brings_key(what)) [[unlikely]]
        return send_key(what, length);
    if (!copy(what, length)) return false;
    count_message(what, length, 0);
    to_.passed_straight<false>(what, length);
    return true;
}

// A key that the peer does not invalidate is an error that packets report.
bool straight_through::send_key(const ib_send_wr_t& what, ULONG length) {
    if (!from_.shared_.is_reliable() || !copy(what, length) ||
        !to_.shared_.memory.invalidate(what.invalidate_rkey))
        return false;
    count_message(what, length, invalidate_words);
    to_.passed_straight<true>(what, length);
    return true;
}

inline bool straight_through::copy_to_region(const ib_send_wr_t& what, ULONG length) {
    memory_access& memory = to_.shared_.memory;
    const ib_send_remote_ops_t& remote = what.remote_ops;
    UCHAR* at = memory.find(remote.rkey, remote.vaddr, length, IB_AC_RDMA_WRITE);
    if (at == nullptr) return false;
    if (const UCHAR* source = only_source(what)) return memory.copy(at, source, length);
    payload content;
    return gather_local(what, length, content) && copy_payload(memory, at, content);
}

inline bool straight_through::write(const ib_send_wr_t& what, ULONG length) {
    if (!to_.is_granted(operation::write)) return false;
    if (brings_immediate(what) && !to_.has_receive()) return false;
    if (length != 0 && !copy_to_region(what, length)) return false;
    if (brings_immediate(what) && to_.shares_receives() && !to_.ensure_receive()) return false;
    count_message(what, length, rdma_words);
    if (brings_immediate(what)) to_.passed_straight<false>(what, length);
    return true;
}

// True if both ends have a place for a read or an atomic operation.
bool straight_through::reads() const {
    return to_.shared_.attr.resp_res != 0 && from_.shared_.attr.init_depth != 0;
}

bool straight_through::read(const ib_send_wr_t& what, ULONG length) {
    const ib_send_remote_ops_t& remote = what.remote_ops;
    if (!to_.is_granted(operation::read) || !reads()) return false;
    payload content;
    if (length != 0) {
        const UCHAR* at =
            to_.shared_.memory.find(remote.rkey, remote.vaddr, length, IB_AC_RDMA_READ);
        if (at == nullptr) return false;
        content.append({at, length});
    }
    if (!scatter(from_.shared_.memory, list_of(what), 0, content)) return false;
    count_read(length);
    return true;
}

// An atomic operation can't be repeated, so the place of its result is written before it.
bool straight_through::execute_atomic(const ib_send_wr_t& what) {
    const ib_send_remote_ops_t& remote = what.remote_ops;
    const bool swaps = what.wr_type == WR_COMPARE_SWAP;
    if (!to_.is_granted(swaps ? operation::compare_swap : operation::fetch_add)) return false;
    if (!reads() || remote.vaddr % atomic_size != 0) return false;
    UCHAR* at = to_.shared_.memory.find(remote.rkey, remote.vaddr, atomic_size, IB_AC_ATOMIC);
    ULONGLONG before = 0;
    payload result;
    result.append({reinterpret_cast<const UCHAR*>(&before), atomic_size});
    if (at == nullptr || !scatter(from_.shared_.memory, list_of(what), 0, result)) return false;
    const atomic_header on{remote.vaddr, remote.rkey, swaps ? remote.atomic2 : remote.atomic1,
                           swaps ? remote.atomic1 : 0};
    if (!responder::perform(to_.shared_.memory, on,
                            swaps ? operation::compare_swap : operation::fetch_add, at, before))
        return false;
    scatter(from_.shared_.memory, list_of(what), 0, result);
    count_atomic();
    return true;
}

inline ULONG straight_through::packets_of(ULONG length) const {
    return length == 0 ? 1 : ((length - 1) >> mtu_bits_) + 1;
}

// A message is acknowledged once. Source: IBA 9.7.5.1 (coalesced acknowledgements).
inline void straight_through::count_message(const ib_send_wr_t& what, ULONG length,
                                            ULONGLONG header_words) {
    const ULONG packets = packets_of(length);
    packets_ += packets;
    traffic_.requests += packets;
    traffic_.request_words += packets * base_words + header_words + words_of(length) +
                              (brings_immediate(what) ? immediate_words : 0);
    if (from_.shared_.attr.qp_type != IB_QPT_RELIABLE_CONN) return; // XRC has packets only
    ++traffic_.responses;
    traffic_.response_words += base_words + acknowledge_words;
}

// The first response and the last one have an acknowledgement.
void straight_through::count_read(ULONG length) {
    const ULONG packets = packets_of(length);
    packets_ += packets;
    ++traffic_.requests;
    traffic_.request_words += base_words + rdma_words;
    traffic_.responses += packets;
    traffic_.response_words +=
        packets * base_words + words_of(length) + (packets > 1 ? 2 : 1) * acknowledge_words;
}

void straight_through::count_atomic() {
    ++packets_;
    ++traffic_.requests;
    traffic_.request_words += base_words + atomic_words;
    ++traffic_.responses;
    traffic_.response_words += base_words + acknowledge_words + atomic_result_words;
}

} // namespace irpverbs::hca_software::transport
