// Work requests that pass straight through: executed on both ends of a connection at once.
#pragma once

#include "queue_pair.hpp"
#include "straight_message.hpp"
#include "straight_traffic.hpp"

#include <bit>
#include <utility>

namespace irpverbs::hca_software::transport {

/// An end whose surroundings are of any types.
struct straight_end {
    queue_pair& engine;
    memory_access& memory;
    queue_pair_owner& owner;

    /// Completes with the entry that `make` returns. An end of a certain type may call it more than
    /// once, to make the entry in its place.
    template <class Make>
    void complete_send_by(const Make& make) {
        owner.complete_send(make());
    }
    template <class Make>
    void complete_receive_by(const Make& make) {
        owner.complete_receive(make());
    }
};

/// Executes what succeeds, and nothing else: all other work requests are posted, so packets alone
/// decide on errors, waits and retries. Made anew after a change of the attributes of either queue
/// pair, which it has examined. The caller holds the locks of the one's requester and of the
/// other's responder. End is the type of both ends, whose functions are called directly: a
/// queue_pair `engine`, and its surroundings, as of straight_end.
template <class End>
class straight_through {
public:
    /// `from.engine.is_joined_to(to.engine)` is true. All three outlive it.
    straight_through(End& from, End& to, straight_totals& totals)
        : from_(from), to_(to), totals_(totals),
          mtu_bits_(std::countr_zero(from.engine.shared_.mtu())), max_segments_(attr().sq_sge),
          max_inline_(attr().sq_max_inline), signals_all_(attr().sq_signaled != FALSE),
          may_write_(to.engine.responder_.is_granted(operation::write)),
          is_acknowledged_(attr().qp_type == IB_QPT_RELIABLE_CONN) {} // XRC has packets only

    /// Executes and completes the first work requests of a list, as if their packets and responses
    /// had passed without loss, and returns the rest. The first one that is returned has changed no
    /// state; payload may have been copied, as its packets will again.
    ib_send_wr_t* pass(ib_send_wr_t* list) {
        if (!sender().is_idle() || !receiver().is_idle_at(sender().next_number_)) return list;
        passed_ = {};
        while (list != nullptr && execute(*list))
            list = list->p_next;
        if (passed_.messages != 0) finish();
        return list;
    }

private:
    requester& sender() const { return from_.engine.requester_; }
    responder& receiver() const { return to_.engine.responder_; }
    const ib_qp_attr_t& attr() const { return from_.engine.shared_.attr; }

    bool execute(const ib_send_wr_t& what) {
        if (what.num_ds > max_segments_) return false;
        const ULONGLONG length =
            what.num_ds == 1 ? what.ds_array->length : total_length(list_of(what));
        if (!has_room(what, length) || !move(what, static_cast<ULONG>(length))) return false;
        ++passed_.messages;
        if (signals_all_ || is_option(what, IB_SEND_OPT_SIGNALED))
            from_.complete_send_by([&] {
                return sender().completion_of(IB_WC_SUCCESS, what.wr_id, what.wr_type,
                                              static_cast<ULONG>(length));
            });
        return true;
    }

    // A message is acknowledged once, a read by its responses, whose packet numbers its only
    // request has used. Source: IBA 9.7.5.1 (coalesced acknowledgements).
    void finish() {
        const psn next = sender().next_number_ + passed_.numbers;
        receiver().passed_straight(passed_.messages, next);
        if (receiver().shares_receives()) sender().unlimited_ = true;
        sender().passed_straight(passed_.messages, next, receiver().credit_limit());
        totals_.add(passed_, is_acknowledged_);
    }

    bool has_room(const ib_send_wr_t& what, ULONGLONG length) const {
        if (length > max_straight) return false;
        return !is_option(what, IB_SEND_OPT_INLINE) || length <= max_inline_;
    }

    bool move(const ib_send_wr_t& what, ULONG length) {
        if (what.wr_type == WR_RDMA_WRITE) return write(what, length);
        if (what.wr_type == WR_SEND) return send(what, length);
        switch (what.wr_type) {
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

    // ---- the payload

    bool gather_local(const ib_send_wr_t& what, ULONG length, payload& content) const {
        if (what.num_ds > max_pieces) return false;
        if (!is_option(what, IB_SEND_OPT_INLINE))
            return gather(from_.memory, list_of(what), 0, length, content);
        for (const ib_local_ds_t& each : list_of(what))
            content.append({reinterpret_cast<const UCHAR*>(each.vaddr), each.length});
        return true;
    }

    // Most work requests have one data segment. Null: this one has another number, or a wrong key.
    const UCHAR* only_source(const ib_send_wr_t& what) const {
        if (what.num_ds != 1) return nullptr;
        const ib_local_ds_t& all = *what.ds_array;
        if (is_option(what, IB_SEND_OPT_INLINE)) return reinterpret_cast<const UCHAR*>(all.vaddr);
        return from_.memory.find(all.lkey, all.vaddr, all.length, 0);
    }

    bool copy_to_receive(const ib_send_wr_t& what, ULONG length) {
        if (receiver().queue_.count() == 0) return false;
        const segments into = receiver().queue_.oldest_segments();
        if (into.size() == 1 && length != 0) {
            if (length > into[0].length) return false;
            const UCHAR* source = only_source(what);
            UCHAR* at = to_.memory.find(into[0].lkey, into[0].vaddr, length, IB_AC_LOCAL_WRITE);
            if (source != nullptr && at != nullptr) return to_.memory.copy(at, source, length);
        }
        return copy_pieces_to_receive(what, length);
    }

    [[gnu::noinline]] bool copy_pieces_to_receive(const ib_send_wr_t& what, ULONG length) {
        const segments into = receiver().queue_.oldest_segments();
        payload content;
        return total_length(into) >= length && gather_local(what, length, content) &&
               scatter(to_.memory, into, 0, content);
    }

    // The receive is taken when the message could be sent, as by its first packet: if the receive
    // does not fit, it stays the message's.
    [[gnu::noinline]] bool copy_to_shared_receive(const ib_send_wr_t& what, ULONG length) {
        payload content;
        if (!gather_local(what, length, content) || !receiver().ensure_receive()) return false;
        return receiver().receive_.length >= length &&
               scatter(receiver().receive_memory(), receiver().receive_.list(), 0, content);
    }

    bool copy(const ib_send_wr_t& what, ULONG length) {
        return receiver().shares_receives() ? copy_to_shared_receive(what, length)
                                            : copy_to_receive(what, length);
    }

    bool copy_to_region(const ib_send_wr_t& what, ULONG length) {
        const ib_send_remote_ops_t& remote = what.remote_ops;
        UCHAR* at = to_.memory.find(remote.rkey, remote.vaddr, length, IB_AC_RDMA_WRITE);
        if (at == nullptr) return false;
        if (const UCHAR* source = only_source(what)) return to_.memory.copy(at, source, length);
        return copy_pieces_to(at, what, length);
    }

    [[gnu::noinline]] bool copy_pieces_to(UCHAR* at, const ib_send_wr_t& what, ULONG length) {
        payload content;
        return gather_local(what, length, content) && copy_payload(to_.memory, at, content);
    }

    // ---- the operations

    bool send(const ib_send_wr_t& what, ULONG length) {
        if (brings_key(what)) [[unlikely]]
            return send_key(what, length);
        if (!copy(what, length)) return false;
        count_message(length, brings_immediate(what) ? immediate_words : 0);
        complete_receive(operation::send, what, length);
        return true;
    }

    // A key that the peer does not invalidate is an error that packets report.
    [[gnu::noinline]] bool send_key(const ib_send_wr_t& what, ULONG length) {
        if (!sender().shared_.is_reliable() || !copy(what, length) ||
            !to_.memory.invalidate(what.invalidate_rkey))
            return false;
        count_message(length, invalidate_words);
        complete_receive(operation::send, what, length);
        return true;
    }

    bool write(const ib_send_wr_t& what, ULONG length) {
        if (!may_write_) return false;
        if (brings_immediate(what)) [[unlikely]]
            return write_immediate(what, length);
        if (length != 0 && !copy_to_region(what, length)) return false;
        count_message(length, rdma_words);
        return true;
    }

    [[gnu::noinline]] bool write_immediate(const ib_send_wr_t& what, ULONG length) {
        if (!receiver().has_receive()) return false;
        if (length != 0 && !copy_to_region(what, length)) return false;
        if (receiver().shares_receives() && !receiver().ensure_receive()) return false;
        count_message(length, rdma_words + immediate_words);
        complete_receive(operation::write, what, length);
        return true;
    }

    void complete_receive(operation by, const ib_send_wr_t& what, ULONG length) {
        const ULONGLONG wr_id = receiver().finish_receive();
        to_.complete_receive_by([&] {
            IB_WC entry = receiver().completion_of(wr_id, by, length);
            if ((what.send_opt & options_of_receive) != 0) [[unlikely]]
                add_options(entry, what);
            return entry;
        });
    }

    // True if both ends have a place for a read or an atomic operation.
    bool reads() const { return receiver().shared_.attr.resp_res != 0 && attr().init_depth != 0; }

    [[gnu::noinline]] bool read(const ib_send_wr_t& what, ULONG length) {
        const ib_send_remote_ops_t& remote = what.remote_ops;
        if (!receiver().is_granted(operation::read) || !reads()) return false;
        payload content;
        if (length != 0) {
            const UCHAR* at = to_.memory.find(remote.rkey, remote.vaddr, length, IB_AC_RDMA_READ);
            if (at == nullptr) return false;
            content.append({at, length});
        }
        if (!scatter(from_.memory, list_of(what), 0, content)) return false;
        count_read(length);
        return true;
    }

    // An atomic operation can't be repeated, so the place of its result is written before it.
    [[gnu::noinline]] bool execute_atomic(const ib_send_wr_t& what) {
        const ib_send_remote_ops_t& remote = what.remote_ops;
        const bool swaps = what.wr_type == WR_COMPARE_SWAP;
        const operation which = swaps ? operation::compare_swap : operation::fetch_add;
        if (!receiver().is_granted(which) || !reads() || remote.vaddr % atomic_size != 0)
            return false;
        UCHAR* at = to_.memory.find(remote.rkey, remote.vaddr, atomic_size, IB_AC_ATOMIC);
        ULONGLONG before = 0;
        payload result;
        result.append({reinterpret_cast<const UCHAR*>(&before), atomic_size});
        if (at == nullptr || !scatter(from_.memory, list_of(what), 0, result)) return false;
        const atomic_header on{remote.vaddr, remote.rkey, swaps ? remote.atomic2 : remote.atomic1,
                               swaps ? remote.atomic1 : 0};
        if (!responder::perform(to_.memory, on, which, at, before)) return false;
        scatter(from_.memory, list_of(what), 0, result);
        count_atomic();
        return true;
    }

    [[gnu::noinline]] bool write_word(const ib_send_wr_t& what) {
        const ib_send_remote_ops_t& remote = what.remote_ops;
        if (!receiver().is_granted(operation::atomic_write) || !reads() ||
            remote.vaddr % atomic_size != 0)
            return false;
        UCHAR* at = to_.memory.find(remote.rkey, remote.vaddr, atomic_size, IB_AC_RDMA_WRITE);
        if (at == nullptr || !responder::write_word(to_.memory, at, remote.atomic1)) return false;
        count_atomic_write();
        return true;
    }

    // ---- the packets that were spared

    ULONG packets_of(ULONG length) const {
        return length == 0 ? 1 : ((length - 1) >> mtu_bits_) + 1;
    }
    void count_message(ULONG length, ULONGLONG header_words) {
        passed_.numbers += packets_of(length);
        passed_.words += header_words + words_of(length);
    }
    // The first response and the last one have an acknowledgement.
    void count_read(ULONG length) {
        const ULONG responses = packets_of(length);
        passed_.numbers += responses;
        passed_.words += rdma_words;
        passed_.more_responses += responses - 1;
        passed_.result_words += words_of(length) + (responses > 1 ? acknowledge_words : 0);
    }
    void count_atomic() {
        ++passed_.numbers;
        passed_.words += atomic_words;
        passed_.result_words += atomic_result_words;
    }
    void count_atomic_write() {
        ++passed_.numbers;
        passed_.words += rdma_words + words_of(atomic_size);
    }

    End& from_;
    End& to_;
    straight_totals& totals_;
    const int mtu_bits_;
    const ULONG max_segments_;
    const ULONG max_inline_; // bytes
    const bool signals_all_;
    const bool may_write_;
    const bool is_acknowledged_;
    straight_list passed_; // of the list that is executed
};

extern template class straight_through<straight_end>;

} // namespace irpverbs::hca_software::transport
