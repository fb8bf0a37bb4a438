// An end of rping: two messages with the address of a buffer, and its copy by a read and a write.
#pragma once

#include <hca/connected_end.hpp>

#include <boost/endian/conversion.hpp>

namespace irpverbs::testing {

/// A message: a buffer of its sender.
struct rping_buffer {
    static constexpr ULONG message_size = 16;

    ULONGLONG address = 0;
    ULONG key = 0;
    ULONG size = 0;
};

class rping_end {
public:
    explicit rping_end(DEVICE_OBJECT* fdo) : end_(fdo) {}

    IB_CA* ca() const { return end_.ca(); }
    IB_QP* qp() const { return end_.qp; }
    /// The next message may come from now on.
    void post_receive() {
        EXPECT_EQ(end_.post_receive(0, rping_buffer::message_size, received_at), STATUS_SUCCESS);
    }
    /// The client: a text goes to the server and comes back.
    void ping(ULONG size, char first) {
        fill(size, first);
        send(buffer(text_at, size));
        receive();
        post_receive();
        send(buffer(copy_at, size));
        receive();
        EXPECT_TRUE(std::equal(&end_.bytes()[text_at], &end_.bytes()[text_at] + size,
                               &end_.bytes()[copy_at]));
    }
    /// The server: the client's text is read, and written back.
    void pong() {
        const rping_buffer text = receive();
        post_receive();
        transfer(WR_RDMA_READ, text);
        send({});
        const rping_buffer copy = receive();
        post_receive();
        transfer(WR_RDMA_WRITE, copy);
    }
    void report_written() { send({}); }
    /// The client disconnects when it has the last message, whose acknowledgement may be lost or
    /// late.
    void report_written_last() { EXPECT_EQ(end_.post(message({})), STATUS_SUCCESS); }
    /// Sends one more message, which fails since the peer has ended: the status of the first work
    /// request that failed.
    ULONG failure_of_a_message() {
        ib_send_wr_t one_more = message({});
        one_more.wr_id = not_expected;
        EXPECT_EQ(end_.post(one_more), STATUS_SUCCESS);
        IB_WC done{};
        do {
            done = end_.next();
        } while (done.Status == ULONG{IB_WC_SUCCESS} && done.WrId != not_expected &&
                 !::testing::Test::HasFailure());
        EXPECT_NE(done.Status, ULONG{IB_WC_SUCCESS});
        return done.Status;
    }

private:
    static constexpr ULONGLONG not_expected = 2; // a wr_id
    static constexpr ULONG received_at = 64;
    static constexpr ULONG text_at = 1024;
    static constexpr ULONG copy_at = 50'000;

    // The server writes back no more than a text that ends with 0.
    void fill(ULONG size, char first) {
        for (ULONG i = 0; i < size; ++i)
            end_.bytes()[text_at + i] = static_cast<UCHAR>('A' + (first + i) % 26);
        end_.bytes()[text_at + size - 1] = 0;
    }
    rping_buffer buffer(ULONG at, ULONG size) const {
        return {end_.address() + at, end_.key(), size};
    }
    ib_send_wr_t message(const rping_buffer& what) {
        UCHAR* const to = end_.bytes().data();
        boost::endian::store_big_u64(to, what.address);
        boost::endian::store_big_u32(to + 8, what.key);
        boost::endian::store_big_u32(to + 12, what.size);
        return end_.send(1, rping_buffer::message_size);
    }
    void send(const rping_buffer& what) { execute(message(what)); }
    rping_buffer receive() {
        while (received_ == 0 && !::testing::Test::HasFailure())
            note(end_.next());
        --received_;
        const UCHAR* const from = &end_.bytes()[received_at];
        return {boost::endian::load_big_u64(from), boost::endian::load_big_u32(from + 8),
                boost::endian::load_big_u32(from + 12)};
    }
    void transfer(ib_wr_type_t type, const rping_buffer& with) {
        ib_send_wr_t made = end_.send(1, with.size);
        made.wr_type = type;
        made.ds_array->vaddr += text_at;
        made.remote_ops = {with.address, 0, 0, with.key};
        execute(made);
    }
    void execute(const ib_send_wr_t& what) {
        EXPECT_EQ(end_.post(what), STATUS_SUCCESS);
        for (executed_ = 0; executed_ == 0 && !::testing::Test::HasFailure();)
            note(end_.next());
    }
    void note(const IB_WC& done) {
        EXPECT_EQ(done.Status, ULONG{IB_WC_SUCCESS});
        ++(done.Opcode == ULONG{IB_WC_RECEIVE} ? received_ : executed_);
    }

    connected_end end_;
    int received_ = 0; // messages that `receive` has not returned
    int executed_ = 0;
};

} // namespace irpverbs::testing
