// RMPP requests with RMPP responses.
#include "rmpp_scripts.hpp"

#include <support/explore_gtest.hpp>

namespace {

using namespace irpverbs;
using namespace irpverbs::ibmf;
using namespace irpverbs::ibmf::rmpp;
using namespace irpverbs::ibmf::rmpp::testing;

constexpr std::uint8_t get_multi = 0x14;
constexpr std::uint8_t get_multi_response = 0x94;

// The responding side as IBMF has it: a received transfer, then a sent one.
class responder {
public:
    responder(const settings& chosen, sink& request)
        : settings_(chosen), receiver_(chosen, request) {}

    bool transmit(mad_buffer datagram, ticks now) {
        return receiver_.transmit(datagram) || (sender_ && sender_->transmit(datagram, now));
    }
    void receive(const mad_view& view, ticks now) {
        const bool of_request = view.rmpp().type == rmpp_type::data || !sender_;
        of_request ? receiver_.receive(view, now) : sender_->receive(view, now);
    }
    ticks deadline() const {
        return std::min(receiver_.deadline(), sender_ ? sender_->deadline() : never);
    }
    void expire(ticks now) {
        receiver_.expire(now);
        if (sender_) sender_->expire(now);
    }
    void reply(const message& response) {
        if (receiver_.result().state == transfer_state::complete && !sender_)
            sender_.emplace(settings_, response);
    }

    const outcome& result() const { return sender_ ? sender_->result() : receiver_.result(); }
    bool retired() const { return receiver_.retired() && !result().running(); }
    const receiver& request() const { return receiver_; }

private:
    settings settings_;
    receiver receiver_;
    std::optional<sender> sender_;
};

struct exchange {
    exchange(const settings& chosen, std::size_t request_size, std::size_t response_size)
        : request(request_size, MAD_MGMT_CLASS_SUBN_ADM, get_multi),
          response(response_size, MAD_MGMT_CLASS_SUBN_ADM, get_multi_response),
          asking(chosen, request.as_message(), received_response),
          responding(chosen, received_request) {}

    // Responds as soon as the request is complete.
    endpoint responding_end() {
        endpoint end = end_of(responding);
        end.receive = [this, receive = end.receive](const mad_view& view, ticks now) {
            receive(view, now);
            responding.reply(response.as_message());
        };
        return end;
    }

    rmpp_message request;
    rmpp_message response;
    message_buffer received_response;
    message_buffer received_request;
    requester asking;
    responder responding;
};

TEST(RmppDoubleSided, EndOfRequest_TurnsWithAckOfSegmentZero) {
    exchange both({}, 350, 350);
    dispatch::random_choices source(0);
    rmpp_link between(source, {});
    std::vector<std::string> seen;
    between.on_send = [&](int from, const mad_view& view) {
        const rmpp_header header = view.rmpp();
        seen.push_back((from == 0 ? "requester " : "responder ") +
                       std::string(header.type == rmpp_type::data ? "data " : "ack ") +
                       std::to_string(header.segment));
        EXPECT_EQ((view.header().method & MAD_RESPONSE_BIT) != 0, from == 1);
    };
    ASSERT_TRUE(between.run(end_of(both.asking), both.responding_end()));
    // The response does not wait for the ACK that hands over the direction: that ACK may be lost.
    EXPECT_EQ(seen,
              (std::vector<std::string>{"requester data 1", "responder ack 1", "requester data 2",
                                        "responder ack 2", "responder data 1", "requester ack 0",
                                        "requester ack 1", "responder data 2", "requester ack 2"}));
    EXPECT_EQ(both.asking.result().state, transfer_state::complete);
    EXPECT_EQ(both.responding.result().state, transfer_state::complete);
    EXPECT_TRUE(both.asking.retired() && both.responding.retired());
}

// Both messages are whole, or both sides know the reason.
TEST(RmppDoubleSided, RandomFaults_CompletesOrBothSidesHaveReason) {
    dispatch::explore_options options;
    options.random_runs = 5000;
    options.pct_runs = 0;
    irpverbs::testing::expect_explored(options, [](dispatch::sim_machine& machine) {
        dispatch::choices& source = machine.source();
        const settings chosen{.retries = 2, .window = 1 + source.pick(6, "window")};
        exchange both(chosen, 100 * source.pick(20, "request"), 100 * source.pick(30, "response"));
        const std::uint32_t faults = source.pick(30, "faults");
        rmpp_link between(source, {.faults = faults, .one_in = 1 + source.pick(12, "one in")});
        EXPECT_TRUE(between.run(end_of(both.asking), both.responding_end()));
        EXPECT_FALSE(both.asking.result().running());
        // A responder that got no segment of the request still waits for it.
        EXPECT_FALSE(both.responding.result().running() && both.responding.request().begun());
        const bool asked = both.asking.result().state == transfer_state::complete;
        const bool responded = both.responding.result().state == transfer_state::complete;
        EXPECT_TRUE(asked || faults > 2) << text_of(both.asking.result());
        EXPECT_TRUE(!(asked || responded) ||
                    std::ranges::equal(both.received_response.data(), both.response.data));
        EXPECT_TRUE(!(asked || responded) ||
                    std::ranges::equal(both.received_request.data(), both.request.data));
    });
}

struct Asking : ::testing::Test {
    exchange both{{}, 150, 350};
    ticks now = 0;

    void receive(const rmpp_header& header) {
        both.asking.receive(view_of(packet(both.response, header)), now);
    }
    std::vector<rmpp_header> sent() {
        return drained([&](mad_buffer to) { return both.asking.transmit(to, now); });
    }
};
using RmppRequester = Asking;

TEST_F(RmppRequester, RepeatedLastAck_RepeatsTurn) {
    sent();
    receive(ack(1, 2));
    EXPECT_EQ(sent(), (std::vector<rmpp_header>{ack(0, 1)}));
    receive(ack(1, 2));
    EXPECT_EQ(sent(), (std::vector<rmpp_header>{ack(0, 1)}));
}

TEST_F(RmppRequester, SilentResponder_TurnRepeatsUntilRetriesEnd) {
    sent();
    receive(ack(1, 2));
    sent();
    for (std::uint32_t i = 0; i < settings{}.retries; ++i) {
        now = both.asking.deadline();
        both.asking.expire(now);
        EXPECT_EQ(sent(), (std::vector<rmpp_header>{ack(0, 1)}));
    }
    now = both.asking.deadline();
    both.asking.expire(now);
    EXPECT_EQ(text_of(both.asking.result()),
              text_of({transfer_state::timed_out, rmpp_status::too_many_retries, false}));
    expect_stop_or_abort(sent(), rmpp_status::too_many_retries);
    EXPECT_TRUE(both.asking.retired());
    EXPECT_EQ(both.asking.deadline(), never);
}

TEST_F(RmppRequester, ResponseWithoutLastAck_CompletesRequest) {
    sent();
    both.asking.receive(view_of(data_packet(both.response, 1)), now);
    EXPECT_EQ(both.asking.request().result().state, transfer_state::complete);
    EXPECT_EQ(segments_of(sent()), (std::vector<std::uint32_t>{1}));
}

TEST_F(RmppRequester, StaleSegment_IsNoResponse) {
    sent();
    both.asking.receive(view_of(data_packet(both.response, 2)), now);
    EXPECT_TRUE(both.asking.request().result().running());
    receive(ack(1, 2));
    sent();
    both.asking.receive(view_of(data_packet(both.response, 2)), now);
    EXPECT_TRUE(both.asking.result().running());
    EXPECT_NE(both.asking.deadline(), never);
}

TEST_F(RmppRequester, CancelInAnyPhase_AbortsTransfer) {
    for (int phase = 0; phase < 3; ++phase) {
        exchange other({}, 150, 350);
        const auto drain = [&] {
            return drained([&](mad_buffer to) { return other.asking.transmit(to, now); });
        };
        drain();
        if (phase > 0) other.asking.receive(view_of(packet(other.response, ack(1, 2))), now);
        if (phase > 1) other.asking.receive(view_of(data_packet(other.response, 1)), now);
        drain();
        other.asking.cancel(now);
        EXPECT_EQ(other.asking.result().state, transfer_state::cancelled) << phase;
        expect_stop_or_abort(drain(), rmpp_status::unspecified);
    }
}

TEST_F(RmppRequester, AbortInsteadOfResponse_IsReported) {
    sent();
    receive(ack(1, 2));
    sent();
    receive({.type = rmpp_type::abort, .flags = rmpp_active, .status = rmpp_status::unspecified});
    EXPECT_EQ(text_of(both.asking.result()),
              text_of({transfer_state::aborted, rmpp_status::unspecified, true}));
    EXPECT_TRUE(both.asking.retired());
    EXPECT_EQ(both.asking.deadline(), never);
}

} // namespace
