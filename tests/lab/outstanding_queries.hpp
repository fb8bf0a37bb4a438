// Requests that are outstanding while the SA fails or restarts, and their results.
#pragma once

#include "sa_request.hpp"

#include <support/coroutines.hpp>

#include <boost/endian/conversion.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace irpverbs::testing {

constexpr ULONGLONG millisecond = 10'000;

/// A request, sent once or repeatedly; its sends and callbacks are counted and timed.
class watched_query {
public:
    watched_query(ibmf_handle_t handle, sa_request& request) : handle_(handle), request_(request) {
        KeInitializeEvent(&called_back_, NotificationEvent, FALSE);
    }

    /// Called in the callback; true sends the request again.
    std::function<bool()> again;
    void send(const ibmf_retrans_t& times) {
        times_ = times;
        ++sent_;
        begun_at_ = KeQueryInterruptTime();
        EXPECT_EQ(ibmf_msg_transport(handle_, IBMF_QP_HANDLE_DEFAULT, request_.message().ibmf_msg,
                                     &times_, note, this, IBMF_MSG_TRANS_FLAG_SEQ),
                  IBMF_SUCCESS);
    }
    int status() {
        KeWaitForSingleObject(&called_back_, Executive, KernelMode, FALSE, nullptr);
        return request_.message().ibmf_msg->im_msg_status;
    }
    bool done() { return KeReadStateEvent(&called_back_) != 0; }
    /// Duration of the last exchange, in 100 ns.
    ULONGLONG took() const { return ended_at_ - begun_at_; }
    ULONGLONG begun_at() const { return begun_at_; }
    bool one_callback_per_send() const { return callbacks_ == sent_; }

private:
    static void note(ibmf_handle_t, ibmf_msg_t*, void* context) {
        auto& self = *static_cast<watched_query*>(context);
        ++self.callbacks_;
        self.ended_at_ = KeQueryInterruptTime();
        if (self.again && self.again()) return self.send(self.times_);
        KeSetEvent(&self.called_back_, IO_NO_INCREMENT, FALSE);
    }

    ibmf_handle_t handle_;
    sa_request& request_;
    ibmf_retrans_t times_{};
    KEVENT called_back_;
    std::atomic<int> sent_{0};
    std::atomic<int> callbacks_{0};
    std::atomic<ULONGLONG> begun_at_{0};
    std::atomic<ULONGLONG> ended_at_{0};
};

/// The table of all paths of the subnet, of which only the first part is read; flow control then
/// stops the SA in the middle.
class held_table {
public:
    static constexpr std::size_t read_first = 10'000;
    static constexpr std::size_t held_up_at = 64u
                                              << 10; // unread data at which IBMF closes the window

    held_table(ibmf_handle_t handle, ib_lid_t sm_lid, std::uint64_t transaction)
        : request(handle, sm_lid, SA_PATHRECORD_ATTRID, get_table, transaction),
          watched(handle, request), handle_(handle) {
        EXPECT_EQ(ibmf_stream_msg(handle, request.message().ibmf_msg, data_came, this),
                  IBMF_SUCCESS);
    }

    void await_the_middle() { middle_.wait(); }
    void read_on() {
        reads_on_ = true;
        EXPECT_EQ(ibmf_resume_msg(handle_, request.message().ibmf_msg), IBMF_SUCCESS);
    }
    /// The data read and the unread rest, after the end of the transfer.
    std::vector<std::uint8_t> data() {
        std::vector<std::uint8_t> all = read_;
        const std::size_t headers = ibmf::mad_header_size + ibmf::sa_header::size;
        all.erase(all.begin(), all.begin() + headers);
        const std::span<const std::uint8_t> left = request.message().received();
        all.insert(all.end(), left.begin(), left.end());
        return all;
    }

    sa_request request;
    watched_query watched;

private:
    static void data_came(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        auto& self = *static_cast<held_table*>(context);
        std::array<std::uint8_t, 1000> piece;
        while (self.reads_on_ || self.read_.size() < read_first) {
            std::size_t length = piece.size();
            EXPECT_EQ(ibmf_read_msg(handle, msg, piece.data(), &length), IBMF_SUCCESS);
            if (length == 0) return;
            self.read_.insert(self.read_.end(), piece.begin(),
                              piece.begin() + static_cast<std::ptrdiff_t>(length));
        }
        self.middle_.set();
    }

    ibmf_handle_t handle_;
    std::atomic<bool> reads_on_{false};
    std::vector<std::uint8_t> read_;
    signal middle_;
};

/// A number of outstanding Gets, each sent again when it is answered, until let_run_out().
class standing_gets {
public:
    static constexpr unsigned count = 64;

    /// The Gets ask for `lids` in turn.
    standing_gets(ibmf_handle_t handle, ib_lid_t sm_lid, std::span<const ib_lid_t> lids) {
        for (unsigned i = 0; i < count; ++i)
            all_.push_back(std::make_unique<one>(*this, handle, sm_lid, lids[i % lids.size()], i));
    }

    void send(const ibmf_retrans_t& times) {
        for (const auto& each : all_)
            each->watched.send(times);
    }
    void let_run_out() { goes_on_ = false; }
    std::uint64_t completed() const { return completed_; }
    /// The number of responses that did not match their request.
    unsigned wrong() const { return wrong_; }
    template <class Function>
    void for_each(Function function) {
        for (const auto& each : all_)
            function(each->watched);
    }

private:
    struct one {
        one(standing_gets& of, ibmf_handle_t handle, ib_lid_t sm_lid, ib_lid_t lid, unsigned index)
            : request(handle, sm_lid, SA_NODERECORD_ATTRID, MAD_METHOD_GET, 1000 + index),
              watched(handle, request) {
            request.with_lid(lid);
            watched.again = [this, &of, lid] { return of.send_again(request.message(), lid); };
        }
        sa_request request;
        watched_query watched;
    };

    bool send_again(test_message& message, ib_lid_t lid) {
        if (message.ibmf_msg->im_msg_status != IBMF_SUCCESS) return false;
        ++completed_;
        const bool right = message.received_header().status == 0 &&
                           boost::endian::load_big_u16(message.received().data()) == lid;
        if (!right) ++wrong_;
        return right && goes_on_;
    }

    std::vector<std::unique_ptr<one>> all_;
    std::atomic<bool> goes_on_{true};
    std::atomic<std::uint64_t> completed_{0};
    std::atomic<unsigned> wrong_{0};
};

} // namespace irpverbs::testing
