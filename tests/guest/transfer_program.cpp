#include "transfer_program.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <sched.h>
#include <sstream>

namespace irpverbs::testing {

namespace {

using dispatch::choices;

constexpr ULONGLONG first_receive = 1'000'000; // work request ID
constexpr ULONGLONG last_send = 999'999;
constexpr unsigned long most_polls = 400'000'000;

// ---- drawing

// The operations of each type, and messages within its limits.
drawn_request draw_operation(choices& from, ib_qp_type_t type) {
    constexpr std::array types{WR_SEND,      WR_RDMA_WRITE,   WR_RDMA_READ,
                               WR_FETCH_ADD, WR_COMPARE_SWAP, WR_SEND};
    constexpr std::array lengths{64u, 0u, 1u, 8u, 63u, 1024u, 2000u};
    drawn_request made{};
    const std::uint32_t operations = type == IB_QPT_RELIABLE_CONN ? 6 : 2;
    made.type = types[from.pick(operations, "operation")];
    if (type == IB_QPT_UNRELIABLE_DGRM) made.type = WR_SEND;
    const bool is_atomic = made.type == WR_FETCH_ADD || made.type == WR_COMPARE_SWAP;
    const bool is_send = made.type == WR_SEND || made.type == WR_RDMA_WRITE;
    const std::uint32_t most = type == IB_QPT_UNRELIABLE_DGRM ? 5 : 7;
    made.length = is_atomic ? 8 : lengths[from.pick(most, "length")];
    made.offset = 8 * from.pick(64, "offset");
    made.options = IB_SEND_OPT_SIGNALED;
    if (is_send && from.pick(3, "immediate") == 2) made.options |= IB_SEND_OPT_IMMEDIATE;
    if (is_send && made.length <= 64 && from.pick(4, "inline") == 3)
        made.options |= IB_SEND_OPT_INLINE;
    if (from.pick(4, "fence") == 3) made.options |= IB_SEND_OPT_FENCE;
    if (from.pick(4, "solicited") == 3) made.options |= IB_SEND_OPT_SOLICITED;
    return made;
}

// A peer's error has no completion unless the type is reliable.
drawn_request draw_request(choices& from, ib_qp_type_t type) {
    drawn_request made = draw_operation(from, type);
    const bool is_atomic = made.type == WR_FETCH_ADD || made.type == WR_COMPARE_SWAP;
    const std::uint32_t fault = from.pick(24, "fault");
    if (fault == 19) made.fault = drawn_request::many_segments;
    if (fault >= 20) made.fault = static_cast<drawn_request::fault_kind>(fault - 19);
    if (made.fault == drawn_request::misaligned && !is_atomic) made.fault = drawn_request::none;
    const bool is_remote =
        made.fault == drawn_request::wrong_rkey || made.fault == drawn_request::beyond_region;
    if (type != IB_QPT_RELIABLE_CONN && is_remote) made.fault = drawn_request::wrong_lkey;
    return made;
}

bool is_refused(const drawn_request& what) {
    return what.fault == drawn_request::misaligned || what.fault == drawn_request::many_segments;
}

bool takes_receive(const drawn_request& what) {
    return what.type == WR_SEND ||
           (what.type == WR_RDMA_WRITE && (what.options & IB_SEND_OPT_IMMEDIATE) != 0);
}

/// The receives that each end has posted and that no send has taken.
using receive_counts = std::array<ULONG, 2>;

// A post that fails ends a list, and the work request before it is signaled, so that it can be
// waited for. So does a send without a receive: soft-RoCE never completes a list that continues
// behind it.
drawn_step draw_sends(choices& from, ib_qp_type_t type, receive_counts& posted) {
    drawn_step made{drawn_step::sends, from.pick(2, "end"), {}, {}};
    ULONG& receives = posted[1 - made.end];
    const std::uint32_t count = 1 + from.pick(16, "count");
    for (std::uint32_t i = 0; i < count; ++i) {
        const drawn_request next = draw_request(from, type);
        const bool is_last = takes_receive(next) && receives == 0;
        if (is_last && type != IB_QPT_RELIABLE_CONN) break;
        if (takes_receive(next) && receives != 0) --receives;
        made.requests.push_back(next);
        if (is_refused(next) || is_last) break;
    }
    const std::size_t length = made.requests.size();
    for (std::size_t i = 0; length <= 3 && i + 1 < length; ++i)
        if (!is_refused(made.requests[i + 1]) && from.pick(2, "unsignaled") == 1)
            made.requests[i].options &= ~ULONG{IB_SEND_OPT_SIGNALED};
    return made;
}

drawn_step draw_receives(choices& from, ib_qp_type_t type, unsigned end, receive_counts& posted) {
    constexpr std::array lengths{2048u, 64u, 8u};
    const bool may_be_short = type == IB_QPT_RELIABLE_CONN;
    drawn_step made{drawn_step::receives, end, {}, {}};
    const std::uint32_t count = 1 + from.pick(7, "count");
    for (std::uint32_t i = 0; i < count; ++i)
        made.lengths.push_back(
            lengths[may_be_short && from.pick(8, "length") == 7 ? from.pick(lengths.size(), "short")
                                                                : 0]);
    posted[made.end] += count;
    return made;
}

// ---- execution

class execution {
public:
    explicit execution(transfer_subject& by) : by_(by) {
        for (const unsigned end : {0u, 1u})
            for (std::size_t i = 0; i < transfer_subject::memory_size; ++i)
                by_.memory(end)[i] = static_cast<UCHAR>(i * (end + 3));
    }

    std::vector<std::string> run(const std::vector<drawn_step>& program) {
        for (const drawn_step& each : program) {
            if (failed_) break;
            perform(each);
            say() << "memory " << sum(0) << ' ' << sum(1) << ", state " << by_.state(each.end);
        }
        finish();
        for (const unsigned end : {0u, 1u})
            for (const auto* part : {&sends_[end], &receives_[end]})
                for (const std::string& each : *part)
                    say() << "end " << end << ": " << each;
        return lines_;
    }

private:
    /// A line that is written by a stream.
    class line {
    public:
        explicit line(std::vector<std::string>& to) : to_(to) {}
        ~line() { to_.push_back(text_.str()); }
        line(const line&) = delete;
        line& operator=(const line&) = delete;
        template <class Value>
        line& operator<<(const Value& value) {
            text_ << value;
            return *this;
        }

    private:
        std::vector<std::string>& to_;
        std::ostringstream text_;
    };
    line say() { return line(lines_); }

    unsigned sum(unsigned end) {
        unsigned sum = 17;
        for (const UCHAR each : by_.memory(end))
            sum = sum * 31 + each;
        return sum;
    }

    void perform(const drawn_step& what) {
        switch (what.what) {
        case drawn_step::receives:
            return post_receives(what);
        case drawn_step::sends:
            return post_sends(what);
        case drawn_step::flush:
            say() << "flush: " << by_.change_state(what.end, IBV_QPS_ERR);
            failed_ = true;
            return;
        case drawn_step::drain:
            return drain(what.end);
        }
    }

    ULONGLONG address(unsigned end, ULONG offset) {
        return reinterpret_cast<std::uintptr_t>(by_.memory(end).data() + offset);
    }

    void post_receives(const drawn_step& what) {
        for (const ULONG length : what.lengths) {
            // Receives use the second half of the memory.
            ib_local_ds_t into{address(what.end, 2048), length, by_.lkey(what.end)};
            ib_recv_wr_t next{nullptr, first_receive + posted_[what.end], &into, 1};
            const int error = by_.post_receive(what.end, next);
            say() << "receive of " << length << ": " << error;
            if (error == 0) ++posted_[what.end];
        }
    }

    ib_send_wr_t convert(const drawn_request& from, unsigned end, ib_local_ds_t* segment) {
        const unsigned peer = 1 - end;
        segment[0] = {address(end, from.offset), from.length, by_.lkey(end)};
        ib_send_wr_t made{};
        made.wr_id = next_id_++;
        made.wr_type = from.type;
        made.send_opt = from.options;
        made.ds_array = segment;
        made.num_ds = 1;
        made.immediate_data = 0xA0B0C0D0u + from.length;
        // The comparand is the value before the list: it is equal if nothing in the list changes
        // it.
        ULONGLONG value = 0;
        std::memcpy(&value, by_.memory(peer).data() + from.offset, sizeof(value));
        made.remote_ops = {address(peer, from.offset), value, 9 + from.offset, by_.rkey(peer)};
        switch (from.fault) {
        case drawn_request::wrong_lkey:
            segment[0].lkey ^= 0x5A00;
            break;
        case drawn_request::wrong_rkey:
            made.remote_ops.rkey ^= 0x5A00;
            break;
        case drawn_request::beyond_region:
            made.remote_ops.vaddr += transfer_subject::memory_size;
            break;
        case drawn_request::misaligned:
            made.remote_ops.vaddr += 1;
            break;
        case drawn_request::many_segments:
            made.num_ds = most_segments;
            break;
        case drawn_request::none:
            break;
        }
        return made;
    }

    void post_sends(const drawn_step& what) {
        const std::size_t count = what.requests.size();
        if (count == 0) return;
        std::vector<std::array<ib_local_ds_t, most_segments>> segments(count);
        std::vector<ib_send_wr_t> list(count);
        for (std::size_t i = 0; i < count; ++i) {
            list[i] = convert(what.requests[i], what.end, segments[i].data());
            list[i].p_next = i + 1 < count ? &list[i + 1] : nullptr;
        }
        ib_send_wr_t* failed = nullptr;
        const int error = by_.post(what.end, list.data(), failed);
        const std::size_t posted =
            error == 0 ? count : static_cast<std::size_t>(failed - list.data());
        say() << "post of " << count << ": " << error << ", posted " << posted;
        if (posted != 0) wait_for(what.end, list[posted - 1].wr_id);
        if (by_.type == IB_QPT_RELIABLE_CONN) return;
        // A send of the other types completes before it arrives. After one that fails, sends are
        // flushed.
        for (std::size_t i = 0; i < posted && what.requests[i].fault == drawn_request::none; ++i)
            arriving_[1 - what.end] += takes_receive(what.requests[i]) ? 1 : 0;
        while (received_[1 - what.end] < arriving_[1 - what.end])
            take(1 - what.end);
    }

    void drain(unsigned end) {
        say() << "drain: " << by_.change_state(end, IBV_QPS_SQD);
        say() << "event " << by_.next_event(end) << ", state " << by_.state(end);
        say() << "resume: " << by_.change_state(end, IBV_QPS_RTS);
    }

    void wait_for(unsigned end, ULONGLONG wr_id) {
        while (take(end) != wr_id) {
        }
    }

    // Takes the next completion and returns its ID.
    ULONGLONG take(unsigned end) {
        IB_WC entry{};
        for (unsigned long i = 0; !by_.poll(end, entry); ++i) {
            if (i == most_polls) throw std::runtime_error("a completion is missing");
            sched_yield();
        }
        const bool good = entry.Status == IB_WC_SUCCESS;
        failed_ = failed_ || !good;
        std::ostringstream text;
        text << entry.WrId << " status " << entry.Status << " vendor " << entry.VendorError;
        EXPECT_EQ(entry.QpNumber, by_.number(end));
        const bool is_receive = entry.WrId >= first_receive;
        if (good) text << " opcode " << entry.Opcode << " flags " << entry.Flags;
        const bool has_bytes = is_receive || entry.Opcode == IB_WC_RDMA_READ;
        if (good && has_bytes) text << " bytes " << entry.ByteCount;
        if (good && (entry.Flags & IB_WC_IMMEDIATE_PRESENT) != 0)
            text << " immediate " << entry.Immediate;
        (is_receive ? receives_ : sends_)[end].push_back(text.str());
        if (is_receive) ++received_[end];
        return entry.WrId;
    }

    // Each receive has one completion, and a last send follows all others.
    void finish() {
        for (const unsigned end : {0u, 1u}) {
            say() << "end: " << by_.change_state(end, IBV_QPS_ERR);
            ib_send_wr_t marker{};
            marker.wr_id = last_send;
            marker.wr_type = WR_SEND;
            ib_send_wr_t* failed = nullptr;
            say() << "marker: " << by_.post(end, &marker, failed);
            wait_for(end, last_send);
            while (received_[end] < posted_[end])
                take(end);
        }
        say() << "memory " << sum(0) << ' ' << sum(1);
    }

    static constexpr ULONG most_segments = 40; // more than any of the devices takes

    transfer_subject& by_;
    std::vector<std::string> lines_;
    std::array<std::vector<std::string>, 2> sends_;
    std::array<std::vector<std::string>, 2> receives_;
    std::array<ULONG, 2> posted_{}; // receives
    std::array<ULONG, 2> received_{};
    std::array<ULONG, 2> arriving_{}; // of these, sends that have been posted
    ULONGLONG next_id_ = 1;
    bool failed_ = false;
};

} // namespace

std::vector<drawn_step> draw_program(choices& from, ib_qp_type_t type) {
    std::vector<drawn_step> made;
    receive_counts receives{};
    for (const unsigned end : {0u, 1u})
        if (from.pick(4, "receives at the beginning") < 3)
            made.push_back(draw_receives(from, type, end, receives));
    const std::uint32_t count = 2 + from.pick(8, "steps");
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t kind = from.pick(16, "step");
        if (kind < 6)
            made.push_back(draw_receives(from, type, from.pick(2, "end"), receives));
        else if (kind < 14)
            made.push_back(draw_sends(from, type, receives));
        else
            made.push_back(
                {kind == 14 ? drawn_step::flush : drawn_step::drain, from.pick(2, "end"), {}, {}});
    }
    return made;
}

std::vector<std::string> execute(const std::vector<drawn_step>& program, transfer_subject& by) {
    return execution(by).run(program);
}

} // namespace irpverbs::testing
