// Work requests that pass straight through: executed on both ends of a connection at once.
#pragma once

#include "queue_pair.hpp"
#include "straight_message.hpp"
#include "straight_traffic.hpp"

#include <bit>
#include <utility>

namespace irpverbs::hca_software::transport {

/// The attributes of both queue pairs on which messages depend. Made anew after a change of either.
struct straight_terms {
    straight_terms(const queue_pair& from, const queue_pair& to);

    int mtu_bits;
    ULONG max_segments;
    ULONG max_inline; // bytes
    bool signals_all;
    bool may_write;
    bool shares_receives; // at the other end
    bool is_acknowledged; // XRC has packets only
    ib_qpn_t to_number;
    ib_qpn_t from_number;
};

/// An end whose surroundings are of any types.
class straight_end {
public:
    straight_end(queue_pair& engine, memory_access& memory, queue_pair_owner& owner)
        : engine_(engine), memory_(memory), owner_(owner) {}

    queue_pair& engine() const { return engine_; }
    memory_access& memory() const { return memory_; }
    /// Completes with the entry that `make` returns. An end of a certain type may call it more than
    /// once, to make the entry in its place, and then needs to know first whether a receive's is
    /// solicited.
    template <class Make>
    void complete_send_by(const Make& make) const {
        owner_.complete_send(make());
    }
    template <class Make>
    void complete_receive_by(bool /*solicited*/, const Make& make) const {
        owner_.complete_receive(make());
    }

private:
    queue_pair& engine_;
    memory_access& memory_;
    queue_pair_owner& owner_;
};

/// That end of a connection which sends.
class straight_source : public straight_end {
public:
    straight_source(const straight_end& end, const straight_terms& terms, straight_totals& totals)
        : straight_end(end), terms_(terms), totals_(totals) {}

    const straight_terms& terms() const { return terms_; }
    straight_totals& totals() const { return totals_; }

private:
    const straight_terms& terms_;
    straight_totals& totals_;
};

/// Executes what succeeds, and nothing else: all other work requests are posted, so packets alone
/// decide on errors, waits and retries. The caller holds the locks of the one's requester and of
/// the other's responder. From and To are the types of the ends, as straight_source and
/// straight_end, whose functions are called directly. An object is made for one list, and nothing
/// takes its address, so that it needs no memory.
template <class From, class To>
class straight_through {
public:
    /// `from.engine().is_joined_to(to.engine())` is true, and `from.terms()` are theirs.
    straight_through(const From& from, const To& to) : from_(from), to_(to) {}

    /// Executes and completes the first work requests of a list, as if their packets and responses
    /// had passed without loss, and returns the rest. The first one that is returned has changed no
    /// state; payload may have been copied, as its packets will again.
    ib_send_wr_t* pass(ib_send_wr_t* list) {
        if (!sender().is_idle() || !receiver().is_idle_at(sender().next_number_)) return list;
        while (list != nullptr && execute(*list))
            list = list->p_next;
        if (passed_.messages != 0) finish();
        return list;
    }

private:
    requester& sender() const { return from_.engine().requester_; }
    responder& receiver() const { return to_.engine().responder_; }
    const ib_qp_attr_t& attr() const { return from_.engine().shared_.attr; }

    bool execute(const ib_send_wr_t& what) {
        if (what.num_ds > from_.terms().max_segments) return false;
        const ULONGLONG bytes =
            what.num_ds == 1 ? what.ds_array->length : total_length(list_of(what));
        if (!has_room(what, bytes)) return false;
        const auto length = static_cast<ULONG>(bytes);
        if (what.wr_type == WR_RDMA_WRITE)
            return write(what, length) && complete(what, length, IB_WC_RDMA_WRITE);
        if (what.wr_type == WR_SEND)
            return send(what, length) && complete(what, length, IB_WC_SEND);
        return seldom([&what, length](straight_through& on) {
            return on.execute_other(what, length) &&
                   on.complete(what, length, opcode_of_completion(what.wr_type));
        });
    }

    bool complete(const ib_send_wr_t& what, ULONG length, IB_WC_OPCODE opcode) {
        ++passed_.messages;
        if (is_option(what, IB_SEND_OPT_SIGNALED) || from_.terms().signals_all)
            from_.complete_send_by([&] {
                return completion_entry(what.wr_id, opcode, length, from_.terms().from_number);
            });
        return true;
    }

    // A message is acknowledged once, a read by its responses, whose packet numbers its only
    // request has used. Source: IBA 9.7.5.1 (coalesced acknowledgements).
    void finish() {
        const psn next = sender().next_number_ + passed_.requests + passed_.more_responses;
        receiver().passed_straight(passed_.messages, next);
        if (from_.terms().shares_receives) sender().unlimited_ = true;
        sender().passed_straight(passed_.messages, next, receiver().credit_limit());
        from_.totals().add(passed_);
    }

    bool has_room(const ib_send_wr_t& what, ULONGLONG length) const {
        if (length > max_straight) return false;
        return !is_option(what, IB_SEND_OPT_INLINE) || length <= from_.terms().max_inline;
    }

    // Calls what is seldom needed, with a copy of this object as its argument.
    template <class Call>
    bool seldom(const Call& does) {
        straight_through copy = *this;
        const bool done = apart(copy, does);
        passed_ = copy.passed_;
        return done;
    }
    template <class Call>
    [[gnu::noinline]] static bool apart(straight_through& on, const Call& does) {
        return does(on);
    }

    bool execute_other(const ib_send_wr_t& what, ULONG length) {
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
            return gather(from_.memory(), list_of(what), 0, length, content);
        for (const ib_local_ds_t& each : list_of(what))
            content.append({reinterpret_cast<const UCHAR*>(each.vaddr), each.length});
        return true;
    }

    // Most work requests have one data segment. Null: this one has another number, or a wrong key.
    const UCHAR* only_source(const ib_send_wr_t& what) const {
        if (what.num_ds != 1) return nullptr;
        const ib_local_ds_t& all = *what.ds_array;
        if (is_option(what, IB_SEND_OPT_INLINE)) return reinterpret_cast<const UCHAR*>(all.vaddr);
        return from_.memory().find(all.lkey, all.vaddr, all.length, 0);
    }

    bool copy_to_receive(const receive_queue::slot& into, const ib_send_wr_t& what, ULONG length) {
        if (into.segment_count == 1 && length != 0) {
            if (length > into.only.length) return false;
            const UCHAR* source = only_source(what);
            UCHAR* at =
                to_.memory().find(into.only.lkey, into.only.vaddr, length, IB_AC_LOCAL_WRITE);
            if (source != nullptr && at != nullptr)
                return to_.memory().deliver(into.only.lkey, at, source, length);
        }
        return seldom([&what, length](straight_through& on) {
            return on.copy_pieces_to_receive(what, length);
        });
    }

    // A small message is collected first: a page of its source that is not mapped then leaves the
    // receive as it was, so that no byte is delivered behind those of a later message.
    static bool scatter_message(memory_access& memory, segments into, const payload& content,
                                ULONG length) {
        constexpr ULONG small = 128;
        if (length > small) return scatter(memory, into, 0, content);
        std::array<UCHAR, small> bytes;
        return collect(memory, bytes.data(), content) &&
               scatter_to_receive(memory, into, 0, payload(const_bytes(bytes).first(length)));
    }

    bool copy_pieces_to_receive(const ib_send_wr_t& what, ULONG length) {
        if (receiver().queue_.count() == 0) return false;
        const segments into = receiver().queue_.oldest_segments();
        payload content;
        return total_length(into) >= length && gather_local(what, length, content) &&
               scatter_message(to_.memory(), into, content, length);
    }

    // The receive is taken when the message could be sent, as by its first packet: if the receive
    // does not fit, it stays the message's.
    bool copy_to_shared_receive(const ib_send_wr_t& what, ULONG length) {
        payload content;
        if (!gather_local(what, length, content) || !receiver().ensure_receive()) return false;
        const receive_request& into = receiver().receive_;
        return into.length >= length &&
               scatter_message(receiver().receive_memory(), into.list(), content, length);
    }

    bool copy(const ib_send_wr_t& what, ULONG length) {
        return from_.terms().shares_receives ? copy_to_shared_receive(what, length)
                                             : copy_pieces_to_receive(what, length);
    }

    bool copy_to_region(const ib_send_wr_t& what, ULONG length) {
        const ib_send_remote_ops_t& remote = what.remote_ops;
        UCHAR* at = to_.memory().find(remote.rkey, remote.vaddr, length, IB_AC_RDMA_WRITE);
        if (at == nullptr) return false;
        if (const UCHAR* source = only_source(what)) return to_.memory().copy(at, source, length);
        return seldom([&what, length, at](straight_through& on) {
            return on.copy_pieces_to(at, what, length);
        });
    }

    bool copy_pieces_to(UCHAR* at, const ib_send_wr_t& what, ULONG length) {
        payload content;
        return gather_local(what, length, content) && copy_payload(to_.memory(), at, content);
    }

    // ---- the operations

    bool send(const ib_send_wr_t& what, ULONG length) {
        if (from_.terms().shares_receives || is_option(what, options_of_receive))
            return seldom([&what, length](straight_through& on) {
                return brings_key(what) ? on.send_key(what, length) : on.send_any(what, length);
            });
        receive_queue& queue = receiver().queue_;
        if (queue.count() == 0) return false;
        const receive_queue::slot& into = queue.oldest();
        if (!copy_to_receive(into, what, length)) return false;
        count_message(length, 0);
        to_.complete_receive_by(false, [&] { return received(into.wr_id, IB_WC_RECEIVE, length); });
        queue.drop_oldest();
        return true;
    }

    bool send_any(const ib_send_wr_t& what, ULONG length) {
        if (!copy(what, length)) return false;
        count_message(length, brings_immediate(what) ? immediate_words : 0);
        complete_receive(IB_WC_RECEIVE, what, length);
        return true;
    }

    // A key that the peer does not invalidate is an error that packets report.
    bool send_key(const ib_send_wr_t& what, ULONG length) {
        if (!sender().shared_.is_reliable() || !copy(what, length) ||
            !to_.memory().invalidate(what.invalidate_rkey))
            return false;
        count_message(length, invalidate_words);
        complete_receive(IB_WC_RECEIVE, what, length);
        return true;
    }

    bool write(const ib_send_wr_t& what, ULONG length) {
        if (!from_.terms().may_write) return false;
        if (brings_immediate(what)) [[unlikely]]
            return seldom(
                [&what, length](straight_through& on) { return on.write_immediate(what, length); });
        if (length != 0 && !copy_to_region(what, length)) return false;
        count_message(length, rdma_words);
        return true;
    }

    bool write_immediate(const ib_send_wr_t& what, ULONG length) {
        if (!receiver().has_receive()) return false;
        if (length != 0 && !copy_to_region(what, length)) return false;
        if (from_.terms().shares_receives && !receiver().ensure_receive()) return false;
        count_message(length, rdma_words + immediate_words);
        complete_receive(IB_WC_RECEIVE_RDMA_WRITE_WITH_IMMEDIATE, what, length);
        return true;
    }

    void complete_receive(IB_WC_OPCODE opcode, const ib_send_wr_t& what, ULONG length) {
        const ULONGLONG wr_id = receiver().finish_receive();
        to_.complete_receive_by(is_option(what, IB_SEND_OPT_SOLICITED), [&] {
            IB_WC entry = received(wr_id, opcode, length);
            add_options(entry, what);
            return entry;
        });
    }

    IB_WC received(ULONGLONG wr_id, IB_WC_OPCODE opcode, ULONG length) const {
        IB_WC entry = completion_entry(wr_id, opcode, length, from_.terms().to_number);
        entry.SourceQp = from_.terms().from_number;
        return entry;
    }

    // True if both ends have a place for a read or an atomic operation.
    bool reads() const { return receiver().shared_.attr.resp_res != 0 && attr().init_depth != 0; }

    bool read(const ib_send_wr_t& what, ULONG length) {
        const ib_send_remote_ops_t& remote = what.remote_ops;
        if (!receiver().is_granted(operation::read) || !reads()) return false;
        payload content;
        if (length != 0) {
            const UCHAR* at = to_.memory().find(remote.rkey, remote.vaddr, length, IB_AC_RDMA_READ);
            if (at == nullptr) return false;
            content.append({at, length});
        }
        if (!scatter(from_.memory(), list_of(what), 0, content)) return false;
        count_read(length);
        return true;
    }

    // An atomic operation can't be repeated, so the place of its result is written before it.
    bool execute_atomic(const ib_send_wr_t& what) {
        const ib_send_remote_ops_t& remote = what.remote_ops;
        const bool swaps = what.wr_type == WR_COMPARE_SWAP;
        const operation which = swaps ? operation::compare_swap : operation::fetch_add;
        if (!receiver().is_granted(which) || !reads() || remote.vaddr % atomic_size != 0)
            return false;
        UCHAR* at = to_.memory().find(remote.rkey, remote.vaddr, atomic_size, IB_AC_ATOMIC);
        ULONGLONG before = 0;
        payload result;
        result.append({reinterpret_cast<const UCHAR*>(&before), atomic_size});
        if (at == nullptr || !scatter(from_.memory(), list_of(what), 0, result)) return false;
        const atomic_header on{remote.vaddr, remote.rkey, swaps ? remote.atomic2 : remote.atomic1,
                               swaps ? remote.atomic1 : 0};
        if (!responder::perform(to_.memory(), on, which, at, before)) return false;
        scatter(from_.memory(), list_of(what), 0, result);
        count_atomic();
        return true;
    }

    bool write_word(const ib_send_wr_t& what) {
        const ib_send_remote_ops_t& remote = what.remote_ops;
        if (!receiver().is_granted(operation::atomic_write) || !reads() ||
            remote.vaddr % atomic_size != 0)
            return false;
        UCHAR* at = to_.memory().find(remote.rkey, remote.vaddr, atomic_size, IB_AC_RDMA_WRITE);
        if (at == nullptr || !responder::write_word(to_.memory(), at, remote.atomic1)) return false;
        count_atomic_write();
        return true;
    }

    // ---- the packets that were spared

    ULONG packets_of(ULONG length) const {
        return length == 0 ? 1 : ((length - 1) >> from_.terms().mtu_bits) + 1;
    }
    void count_message(ULONG length, ULONGLONG header_words) {
        passed_.requests += packets_of(length);
        passed_.words += header_words + words_of(length);
    }
    // The first response and the last one have an acknowledgement.
    void count_read(ULONG length) {
        const ULONG more = packets_of(length) - 1;
        ++passed_.requests;
        passed_.words += rdma_words;
        passed_.more_responses += more;
        from_.totals().add_result(more, words_of(length) + (more != 0 ? acknowledge_words : 0));
    }
    void count_atomic() {
        ++passed_.requests;
        passed_.words += atomic_words;
        from_.totals().add_result(0, atomic_result_words);
    }
    void count_atomic_write() {
        ++passed_.requests;
        passed_.words += rdma_words + words_of(atomic_size);
    }

    const From from_;
    const To to_;
    straight_list passed_{};
};

extern template class straight_through<straight_source, straight_end>;

} // namespace irpverbs::hca_software::transport
