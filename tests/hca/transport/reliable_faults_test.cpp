// A reliable connection on a carrier that loses, repeats, reorders, delays and corrupts packets:
// every byte arrives, in order, and every atomic is executed once.
#include "simulated_pair.hpp"

#include <support/campaign_gtest.hpp>

#include <numeric>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::choices;

constexpr std::uint64_t seeds = 1000;
constexpr unsigned requests_of_an_end = 24; // of each end
constexpr ULONG most = 3000;                // bytes of a message
constexpr std::size_t arena = std::size_t{requests_of_an_end} * most;

/// The work requests of one end, and the memory that they use at both.
class workload {
public:
    workload(simulated_end& at, simulated_end& peer, choices& chance)
        : self(at), other(peer), chance_(chance), local(at.memory.add(arena)),
          sink(at.memory.add(arena)), remote(peer.memory.add(arena)), inbox(peer.memory.add(arena)),
          counter(peer.memory.add(8)), word(peer.memory.add(8)) {
        for (UCHAR& each : local.bytes)
            each = static_cast<UCHAR>(chance_.pick(256, "data"));
        for (UCHAR& each : remote.bytes)
            each = static_cast<UCHAR>(chance_.pick(256, "data"));
        initial_ = remote.bytes;
        for (unsigned i = 0; i < requests_of_an_end; ++i)
            plan_.push_back(make(i));
    }

    bool done() const { return posted_ == requests_of_an_end; }
    void post_some() {
        for (unsigned i = chance_.pick(4, "burst"); i != 0 && !done(); --i)
            post(posted_++);
        for (unsigned i = chance_.pick(3, "receives"); i != 0; --i)
            post_receive();
    }
    void post_receives() {
        while (received_ < receives_)
            post_receive();
    }

    void check() {
        ASSERT_EQ(self.sent.size(), requests_of_an_end);
        for (unsigned i = 0; i < requests_of_an_end; ++i) {
            EXPECT_EQ(self.sent[i].WrId, i);
            ASSERT_EQ(self.sent[i].Status, ULONG{IB_WC_SUCCESS}) << i;
        }
        ASSERT_EQ(other.received.size(), receives_);
        unsigned receive = 0;
        ULONGLONG added = 0;
        for (unsigned i = 0; i < requests_of_an_end; ++i)
            check(i, receive, added);
        ULONGLONG sum = 0;
        std::memcpy(&sum, counter.bytes.data(), sizeof(sum));
        EXPECT_EQ(sum, added);
        std::memcpy(&sum, word.bytes.data(), sizeof(sum));
        EXPECT_EQ(sum, last_written());
        EXPECT_EQ(self.memory.outside, 0u);
    }

private:
    // The newest of the atomic writes, which execute once and in their order.
    ULONGLONG last_written() const {
        ULONGLONG last = 0;
        for (unsigned i = 0; i < requests_of_an_end; ++i)
            if (plan_[i].type == WR_ATOMIC_WRITE) last = i + 1;
        return last;
    }
    struct planned {
        ib_wr_type_t type = WR_SEND;
        ib_send_opt_t options = IB_SEND_OPT_SIGNALED;
        ULONG length = 0;
    };

    planned make(unsigned) {
        constexpr ib_wr_type_t types[] = {WR_SEND, WR_RDMA_WRITE, WR_RDMA_READ, WR_FETCH_ADD,
                                          WR_ATOMIC_WRITE};
        planned made;
        made.type = types[chance_.pick(5, "type")];
        made.length =
            chance_.fires("short", 2) ? chance_.pick(64, "length") : chance_.pick(most, "length");
        if (made.type == WR_FETCH_ADD) made.length = 8;
        if (made.type == WR_ATOMIC_WRITE) made.length = 0;
        if (chance_.fires("fence", 4)) made.options |= IB_SEND_OPT_FENCE;
        const bool sends = made.type == WR_SEND || made.type == WR_RDMA_WRITE;
        if (sends && chance_.fires("immediate", 2)) made.options |= IB_SEND_OPT_IMMEDIATE;
        if (sends && made.length <= 64 && chance_.fires("inline", 2))
            made.options |= IB_SEND_OPT_INLINE;
        if (consumes_receive(made)) ++receives_;
        return made;
    }
    static bool consumes_receive(const planned& what) {
        return what.type == WR_SEND ||
               (what.type == WR_RDMA_WRITE && (what.options & IB_SEND_OPT_IMMEDIATE) != 0);
    }
    void post(unsigned i) {
        const planned& what = plan_[i];
        const bool reads = what.type == WR_RDMA_READ || what.type == WR_FETCH_ADD;
        const ULONGLONG offset = ULONGLONG{i} * most;
        // Two segments, so that packets begin within them.
        const ULONG cut = what.type == WR_FETCH_ADD ? 0 : what.length / 3;
        ib_local_ds_t parts[2] = {
            segment_of(reads ? sink : local, cut, offset),
            segment_of(reads ? sink : local, what.length - cut, offset + cut)};
        if ((what.options & IB_SEND_OPT_INLINE) != 0)
            for (ib_local_ds_t& each : parts)
                each.vaddr =
                    reinterpret_cast<ULONGLONG>(local.bytes.data()) + each.vaddr - local.base;
        ib_send_wr_t wr{};
        wr.wr_id = i;
        wr.ds_array = parts;
        wr.num_ds = what.type == WR_ATOMIC_WRITE ? 0 : 2;
        wr.wr_type = what.type;
        wr.send_opt = what.options;
        wr.immediate_data = i;
        const region& on = what.type == WR_FETCH_ADD      ? counter
                           : what.type == WR_ATOMIC_WRITE ? word
                                                          : remote;
        wr.remote_ops = {on.base + (&on == &remote ? offset : 0), i + 1, 0, on.key};
        ASSERT_EQ(self.send(wr), STATUS_SUCCESS);
    }
    void post_receive() {
        if (received_ == receives_) return;
        ASSERT_EQ(other.receive(received_, inbox, most, ULONGLONG{received_} * most),
                  STATUS_SUCCESS);
        ++received_;
    }
    void check(unsigned i, unsigned& receive, ULONGLONG& added) {
        const planned& what = plan_[i];
        const auto at = static_cast<std::ptrdiff_t>(std::size_t{i} * most);
        const auto equal = [&](const std::vector<UCHAR>& one, const std::vector<UCHAR>& two,
                               std::ptrdiff_t two_at) {
            return std::equal(one.begin() + at, one.begin() + at + what.length,
                              two.begin() + two_at);
        };
        if (what.type == WR_RDMA_WRITE) {
            EXPECT_TRUE(equal(local.bytes, remote.bytes, at)) << i;
        }
        if (what.type == WR_RDMA_READ) {
            EXPECT_TRUE(equal(sink.bytes, initial_, at)) << i;
        }
        if (what.type == WR_FETCH_ADD) {
            ULONGLONG before = 0;
            std::memcpy(&before, &sink.bytes[std::size_t{i} * most], sizeof(before));
            EXPECT_EQ(before, added) << i;
            added += i + 1;
        }
        if (!consumes_receive(what)) return;
        const IB_WC& entry = other.received[receive];
        EXPECT_EQ(entry.WrId, receive);
        EXPECT_EQ(entry.Status, ULONG{IB_WC_SUCCESS});
        EXPECT_EQ(entry.ByteCount, what.length);
        const bool immediate = (what.options & IB_SEND_OPT_IMMEDIATE) != 0;
        EXPECT_EQ(entry.Flags & IB_WC_IMMEDIATE_PRESENT, immediate ? IB_WC_IMMEDIATE_PRESENT : 0u);
        if (immediate) {
            EXPECT_EQ(entry.Immediate, i);
        }
        if (what.type == WR_SEND) {
            EXPECT_TRUE(equal(local.bytes, inbox.bytes,
                              static_cast<std::ptrdiff_t>(std::size_t{receive} * most)))
                << i;
        }
        ++receive;
    }

    simulated_end& self;
    simulated_end& other;
    choices& chance_;
    region& local;
    region& sink;
    region& remote;
    region& inbox;
    region& counter;
    region& word; // that each atomic write changes
    std::vector<UCHAR> initial_;
    std::vector<planned> plan_;
    unsigned posted_ = 0;
    unsigned receives_ = 0;
    unsigned received_ = 0;
};

void draw_faults(simulated_pair& pair) {
    const auto draw = [&](const char* what) { return pair.chance.fires(what, 2) ? 20u : 0u; };
    pair.faults = {draw("loses"),
                   draw("repeats"),
                   draw("corrupts"),
                   draw("fills"),
                   pair.chance.fires("reorders", 2) ? machine_time{400} : machine_time{0},
                   pair.chance.fires("passes straight", 2) ? 2u : 0u};
    if (pair.chance.fires("keeps early packets", 2))
        pair.keep_early_packets(pair.chance.pick(40, "room"));
    const auto mtu = static_cast<UCHAR>(IB_MTU_256 + pair.chance.pick(3, "mtu"));
    const auto reads = static_cast<UCHAR>(1 + pair.chance.pick(4, "reads"));
    for (const auto& each : pair.ends) {
        each->attr.path_mtu = mtu;
        each->attr.resp_res = each->attr.init_depth = reads;
    }
}

TEST(ReliableTransport, CarrierWithFaults_EveryByteArrivesInOrder) {
    expect_campaign(seeds, [](std::uint64_t seed) {
        simulated_pair pair(seed);
        draw_faults(pair);
        workload forth(pair.one(), pair.two(), pair.chance);
        workload back(pair.two(), pair.one(), pair.chance);
        pair.connect();
        while (!forth.done() || !back.done()) {
            forth.post_some();
            back.post_some();
            pair.run(pair.chance.pick(100, "steps"));
        }
        forth.post_receives();
        back.post_receives();
        pair.run();
        forth.check();
        back.check();
    });
}

} // namespace
