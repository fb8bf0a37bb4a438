// The engine against another implementation of RMPP, and against a model of its rules.
#include "plain_peers.hpp"
#include "rmpp_campaigns.hpp"

#include <support/explore_gtest.hpp>

#include <map>

namespace {

using namespace irpverbs;
using namespace irpverbs::ibmf;
using namespace irpverbs::ibmf::rmpp;
using namespace irpverbs::ibmf::rmpp::testing;

dispatch::explore_options many_runs() {
    dispatch::explore_options options;
    options.random_runs = 3000;
    options.pct_runs = 0;
    return options;
}

// A run's three faults cannot exhaust four retries.
link_faults some_faults(dispatch::choices& source) {
    return {.faults = source.pick(4, "faults"), .one_in = 1 + source.pick(10, "one in")};
}

TEST(RmppInterop, ReceiverDropsOutOfOrderSegments_SenderCompletes) {
    irpverbs::testing::expect_explored(many_runs(), [](dispatch::sim_machine& machine) {
        dispatch::choices& source = machine.source();
        const rmpp_message original(100 * source.pick(60, "size"));
        plain_receiver to(1 + source.pick(8, "window"));
        sender from({.retries = 4}, original.as_message());
        rmpp_link between(source, some_faults(source));
        const window_watch watch(between);
        EXPECT_TRUE(between.run(end_of(from), end_of(to)));
        EXPECT_FALSE(watch.broken());
        EXPECT_EQ(text_of(from.result()), "complete normal");
        EXPECT_TRUE(to.done && !to.failed);
        EXPECT_EQ(to.data, original.data);
    });
}

TEST(RmppInterop, GoBackNSender_ReceiverCompletes) {
    irpverbs::testing::expect_explored(many_runs(), [](dispatch::sim_machine& machine) {
        dispatch::choices& source = machine.source();
        const rmpp_message original(100 * source.pick(60, "size"));
        message_buffer buffer;
        receiver to({.window = 1 + source.pick(8, "window")}, buffer);
        plain_sender from(original, 4);
        rmpp_link between(source, some_faults(source));
        EXPECT_TRUE(between.run(end_of(from), end_of(to)));
        EXPECT_TRUE(from.done() && !from.failed);
        EXPECT_EQ(text_of(to.result()), "complete normal");
        EXPECT_TRUE(std::ranges::equal(buffer.data(), original.data));
    });
}

// A receiver's reaction to a stream of DATA segments, in the words of the specification.
class model {
public:
    explicit model(std::uint32_t window) : window_(window) {}

    rmpp_status receive(const rmpp_header& header) {
        const std::uint32_t s = header.segment;
        if (s == 0 || header.first() != (s == 1)) return rmpp_status::inconsistent_first;
        if (segments_.empty() && s != 1) return rmpp_status::normal; // starts no transfer
        if (!segments_.empty() && s > window_last_) return rmpp_status::segment_too_big;
        if (s <= in_order()) return rmpp_status::normal; // a duplicate
        if (!consistent(header)) return rmpp_status::inconsistent_last;
        if (s == 1 && !header.last()) announced_ = header.length_or_window;
        segments_.emplace(s, header.last() ? header.length_or_window - 20 : 200);
        if (header.last()) last_ = s;
        return rmpp_status::normal;
    }
    void acknowledged() { window_last_ = std::max(window_last_, in_order() + window_); }
    std::uint32_t in_order() const {
        std::uint32_t count = 0;
        while (segments_.count(count + 1) != 0)
            ++count;
        return count;
    }
    std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (std::uint32_t s = 1; s <= in_order(); ++s)
            sum += segments_.at(s);
        return sum;
    }
    bool complete() const { return last_ != 0 && in_order() == last_; }

private:
    bool consistent(const rmpp_header& header) const {
        const std::uint32_t s = header.segment;
        const std::uint32_t length = header.length_or_window;
        if (header.last() && (length < 20 || length > 220)) return false;
        if (header.last() && !segments_.empty() && segments_.rbegin()->first > s) return false;
        if (!header.last() && header.first() && length > 0 && length <= 220) return false;
        if (last_ != 0 && (s > last_ || (s == last_) != header.last())) return false;
        if (announced_ == 0) return true;
        const bool too_early = s * 220 < announced_;
        const bool must_be_last = s * 200 >= announced_;
        return header.last() ? !too_early : !must_be_last;
    }
    std::uint32_t window_;
    std::uint32_t window_last_ = 1;
    std::uint32_t announced_ = 0;
    std::uint32_t last_ = 0;
    std::map<std::uint32_t, std::uint32_t> segments_;
};

// Headers of any kind; most of them plausible, so that transfers proceed.
rmpp_header any_header(dispatch::choices& source, std::uint32_t expected) {
    rmpp_header header{.type = rmpp_type::data, .flags = rmpp_active};
    header.segment = source.fires("any segment", 4) ? source.pick(12, "segment")
                                                    : expected + source.pick(3, "ahead");
    const bool honest_first = !source.fires("wrong first", 30);
    if ((header.segment == 1) == honest_first) header.flags |= rmpp_first;
    if (source.fires("last", 6)) header.flags |= rmpp_last;
    static constexpr std::array<std::uint32_t, 10> lengths{0,   120, 20,  220, 420,
                                                           900, 19,  221, 440, 1320};
    header.length_or_window = lengths[source.pick(lengths.size(), "length")];
    return header;
}

TEST(RmppModel, RandomHeaders_ReceiverMatchesModel) {
    dispatch::explore_options options = many_runs();
    options.random_runs = 20000;
    irpverbs::testing::expect_explored(options, [](dispatch::sim_machine& machine) {
        dispatch::choices& source = machine.source();
        const std::uint32_t window = 1 + source.pick(8, "window");
        const rmpp_message original(200);
        message_buffer buffer;
        receiver side({.window = window}, buffer);
        model expected(window);
        for (int i = 0; i < 40 && side.result().running(); ++i) {
            const rmpp_header header = any_header(source, expected.in_order() + 1);
            side.receive(view_of(packet(original, header)), 0);
            const rmpp_status code = expected.receive(header);
            if (code != rmpp_status::normal) {
                EXPECT_EQ(text_of(side.result()), text_of({transfer_state::aborted, code, false}));
                return;
            }
            EXPECT_EQ(side.received(), expected.bytes());
            EXPECT_EQ(side.result().state == transfer_state::complete, expected.complete());
            if (source.fires("busy", 3)) continue; // its response is delayed
            for (const rmpp_header& response : drained(side)) {
                EXPECT_EQ(response.type, rmpp_type::ack);
                EXPECT_EQ(response.segment, expected.in_order());
                expected.acknowledged();
                EXPECT_EQ(response.length_or_window, expected.in_order() + window);
            }
        }
    });
}

} // namespace
