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

// The options that the peer's completion shows.
constexpr ib_send_opt_t options_of_receive =
    IB_SEND_OPT_IMMEDIATE | IB_SEND_OPT_INVALIDATE | IB_SEND_OPT_SOLICITED;

void add_options(IB_WC& entry, const ib_send_wr_t& what) {
    if (brings_immediate(what)) {
        entry.Flags |= IB_WC_IMMEDIATE_PRESENT;
        entry.Immediate = what.immediate_data;
    }
    if (brings_key(what)) {
        entry.Flags |= IB_WC_INVALIDATED;
        entry.Immediate = what.invalidate_rkey;
    }
    if (is_option(what, IB_SEND_OPT_SOLICITED)) entry.Flags |= IB_WC_SOLICITED;
}

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

inline ULONGLONG responder::finish_receive() {
    if (std::exchange(has_receive_, false)) return receive_.wr_id;
    const ULONGLONG id = queue_.oldest_id();
    queue_.drop_oldest();
    return id;
}

inline void responder::passed_straight(operation by, const ib_send_wr_t& what, ULONG length) {
    IB_WC entry = completion_of(finish_receive(), by, length);
    if ((what.send_opt & options_of_receive) != 0) [[unlikely]]
        add_options(entry, what);
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

[[gnu::hot]] ib_send_wr_t* straight_through::pass(ib_send_wr_t* list) {
    if (!from_.is_idle() || !to_.is_idle_at(from_.next_number_) || !has_queue_) return list;
    passed_ = {};
    while (list != nullptr && execute(*list))
        list = list->p_next;
    if (passed_.messages != 0) finish();
    return list;
}

[[gnu::always_inline]] inline bool straight_through::execute(const ib_send_wr_t& what) {
    if (what.num_ds > max_segments_) return false;
    const ULONGLONG length = what.num_ds == 1 ? what.ds_array->length : total_length(list_of(what));
    if (!has_room(what, length) || !move(what, static_cast<ULONG>(length))) return false;
    ++passed_.messages;
    if (signals_all_ || is_option(what, IB_SEND_OPT_SIGNALED))
        from_.report_completion(IB_WC_SUCCESS, what.wr_id, what.wr_type,
                                static_cast<ULONG>(length));
    return true;
}

// A message is acknowledged once, a read by its responses, whose packet numbers its only request
// has used. Source: IBA 9.7.5.1 (coalesced acknowledgements).
[[gnu::always_inline]] inline void straight_through::finish() {
    const auto [numbers, messages, more, words, result_words] = passed_;
    to_.expected_ = to_.expected_ + numbers;
    to_.messages_ = (to_.messages_ + messages) & psn::mask;
    if (to_.shares_receives()) from_.unlimited_ = true;
    from_.passed_straight(messages, numbers, to_.messages_ + to_.queue_.count());
    const ULONGLONG requests = numbers - more;
    totals_.add_requests(requests, requests * base_words + words);
    if (!is_acknowledged_) return;
    totals_.add_responses(messages + more, (messages + more) * base_words +
                                               messages * acknowledge_words + result_words);
}

inline bool straight_through::has_room(const ib_send_wr_t& what, ULONGLONG length) const {
    if (length > max_straight) return false;
    return !is_option(what, IB_SEND_OPT_INLINE) || length <= max_inline_;
}

[[gnu::always_inline]] inline bool straight_through::move(const ib_send_wr_t& what, ULONG length) {
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
    case WR_ATOMIC_WRITE:
        return what.num_ds == 0 && write_word(what);
    default:
        return false;
    }
}

bool straight_through::gather_local(const ib_send_wr_t& what, ULONG length,
                                    payload& content) const {
    if (what.num_ds > max_pieces) return false;
    if (!is_option(what, IB_SEND_OPT_INLINE))
        return gather(memory_, list_of(what), 0, length, content);
    for (const ib_local_ds_t& each : list_of(what))
        content.append({reinterpret_cast<const UCHAR*>(each.vaddr), each.length});
    return true;
}

// Most work requests have one data segment. Null: this one has another number, or a wrong key.
[[gnu::always_inline]] inline const UCHAR*
straight_through::only_source(const ib_send_wr_t& what) const {
    if (what.num_ds != 1) return nullptr;
    const ib_local_ds_t& all = *what.ds_array;
    if (is_option(what, IB_SEND_OPT_INLINE)) return reinterpret_cast<const UCHAR*>(all.vaddr);
    return memory_.find(all.lkey, all.vaddr, all.length, 0);
}

[[gnu::always_inline]] inline bool straight_through::copy_to_receive(const ib_send_wr_t& what,
                                                                     ULONG length) {
    if (to_.queue_.count() == 0) return false;
    const segments into = to_.queue_.oldest_segments();
    if (into.size() == 1 && length != 0) {
        if (length > into[0].length) return false;
        const UCHAR* source = only_source(what);
        UCHAR* at = remote_memory_.find(into[0].lkey, into[0].vaddr, length, IB_AC_LOCAL_WRITE);
        if (source != nullptr && at != nullptr) return remote_memory_.copy(at, source, length);
    }
    return copy_pieces_to_receive(what, length);
}

[[gnu::noinline]] bool straight_through::copy_pieces_to_receive(const ib_send_wr_t& what,
                                                                ULONG length) {
    const segments into = to_.queue_.oldest_segments();
    payload content;
    return total_length(into) >= length && gather_local(what, length, content) &&
           scatter(remote_memory_, into, 0, content);
}

// The receive is taken when the message could be sent, as by its first packet: if the receive does
// not fit, it stays the message's.
[[gnu::noinline]] bool straight_through::copy_to_shared_receive(const ib_send_wr_t& what,
                                                                ULONG length) {
    payload content;
    if (!gather_local(what, length, content) || !to_.ensure_receive()) return false;
    return to_.receive_.length >= length &&
           scatter(to_.receive_memory(), to_.receive_.list(), 0, content);
}

[[gnu::always_inline]] inline bool straight_through::copy(const ib_send_wr_t& what, ULONG length) {
    return to_.shares_receives() ? copy_to_shared_receive(what, length)
                                 : copy_to_receive(what, length);
}

[[gnu::always_inline]] inline bool straight_through::send(const ib_send_wr_t& what, ULONG length) {
    if (brings_key(what)) [[unlikely]]
        return send_key(what, length);
    if (!copy(what, length)) return false;
    count_message(length, brings_immediate(what) ? immediate_words : 0);
    to_.passed_straight(operation::send, what, length);
    return true;
}

// A key that the peer does not invalidate is an error that packets report.
[[gnu::noinline]] bool straight_through::send_key(const ib_send_wr_t& what, ULONG length) {
    if (!from_.shared_.is_reliable() || !copy(what, length) ||
        !remote_memory_.invalidate(what.invalidate_rkey))
        return false;
    count_message(length, invalidate_words);
    to_.passed_straight(operation::send, what, length);
    return true;
}

[[gnu::always_inline]] inline bool straight_through::copy_to_region(const ib_send_wr_t& what,
                                                                    ULONG length) {
    const ib_send_remote_ops_t& remote = what.remote_ops;
    UCHAR* at = remote_memory_.find(remote.rkey, remote.vaddr, length, IB_AC_RDMA_WRITE);
    if (at == nullptr) return false;
    if (const UCHAR* source = only_source(what)) return remote_memory_.copy(at, source, length);
    return copy_pieces_to(at, what, length);
}

[[gnu::noinline]] bool straight_through::copy_pieces_to(UCHAR* at, const ib_send_wr_t& what,
                                                        ULONG length) {
    payload content;
    return gather_local(what, length, content) && copy_payload(remote_memory_, at, content);
}

[[gnu::always_inline]] inline bool straight_through::write(const ib_send_wr_t& what, ULONG length) {
    if (!may_write_) return false;
    if (brings_immediate(what)) [[unlikely]]
        return write_immediate(what, length);
    if (length != 0 && !copy_to_region(what, length)) return false;
    count_message(length, rdma_words);
    return true;
}

[[gnu::noinline]] bool straight_through::write_immediate(const ib_send_wr_t& what, ULONG length) {
    if (!to_.has_receive()) return false;
    if (length != 0 && !copy_to_region(what, length)) return false;
    if (to_.shares_receives() && !to_.ensure_receive()) return false;
    count_message(length, rdma_words + immediate_words);
    to_.passed_straight(operation::write, what, length);
    return true;
}

// True if both ends have a place for a read or an atomic operation.
bool straight_through::reads() const {
    return to_.shared_.attr.resp_res != 0 && attr_.init_depth != 0;
}

bool straight_through::read(const ib_send_wr_t& what, ULONG length) {
    const ib_send_remote_ops_t& remote = what.remote_ops;
    if (!to_.is_granted(operation::read) || !reads()) return false;
    payload content;
    if (length != 0) {
        const UCHAR* at = remote_memory_.find(remote.rkey, remote.vaddr, length, IB_AC_RDMA_READ);
        if (at == nullptr) return false;
        content.append({at, length});
    }
    if (!scatter(memory_, list_of(what), 0, content)) return false;
    count_read(length);
    return true;
}

// An atomic operation can't be repeated, so the place of its result is written before it.
bool straight_through::execute_atomic(const ib_send_wr_t& what) {
    const ib_send_remote_ops_t& remote = what.remote_ops;
    const bool swaps = what.wr_type == WR_COMPARE_SWAP;
    if (!to_.is_granted(swaps ? operation::compare_swap : operation::fetch_add)) return false;
    if (!reads() || remote.vaddr % atomic_size != 0) return false;
    UCHAR* at = remote_memory_.find(remote.rkey, remote.vaddr, atomic_size, IB_AC_ATOMIC);
    ULONGLONG before = 0;
    payload result;
    result.append({reinterpret_cast<const UCHAR*>(&before), atomic_size});
    if (at == nullptr || !scatter(memory_, list_of(what), 0, result)) return false;
    const atomic_header on{remote.vaddr, remote.rkey, swaps ? remote.atomic2 : remote.atomic1,
                           swaps ? remote.atomic1 : 0};
    if (!responder::perform(remote_memory_, on,
                            swaps ? operation::compare_swap : operation::fetch_add, at, before))
        return false;
    scatter(memory_, list_of(what), 0, result);
    count_atomic();
    return true;
}

bool straight_through::write_word(const ib_send_wr_t& what) {
    const ib_send_remote_ops_t& remote = what.remote_ops;
    if (!to_.is_granted(operation::atomic_write) || !reads() || remote.vaddr % atomic_size != 0)
        return false;
    UCHAR* at = remote_memory_.find(remote.rkey, remote.vaddr, atomic_size, IB_AC_RDMA_WRITE);
    if (at == nullptr || !responder::write_word(remote_memory_, at, remote.atomic1)) return false;
    count_atomic_write();
    return true;
}

inline ULONG straight_through::packets_of(ULONG length) const {
    return length == 0 ? 1 : ((length - 1) >> mtu_bits_) + 1;
}

[[gnu::always_inline]] inline void straight_through::count_message(ULONG length,
                                                                   ULONGLONG header_words) {
    passed_.numbers += packets_of(length);
    passed_.words += header_words + words_of(length);
}

// The first response and the last one have an acknowledgement.
void straight_through::count_read(ULONG length) {
    const ULONG responses = packets_of(length);
    passed_.numbers += responses;
    passed_.words += rdma_words;
    passed_.more_responses += responses - 1;
    passed_.result_words += words_of(length) + (responses > 1 ? acknowledge_words : 0);
}

void straight_through::count_atomic() {
    ++passed_.numbers;
    passed_.words += atomic_words;
    passed_.result_words += atomic_result_words;
}

void straight_through::count_atomic_write() {
    ++passed_.numbers;
    passed_.words += rdma_words + words_of(atomic_size);
}

} // namespace irpverbs::hca_software::transport
