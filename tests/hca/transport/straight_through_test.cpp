// Work requests that pass straight through have the results of packets: two connections execute one
// random program, one of them by packets alone.
#include "simulated_pair.hpp"

#include <support/campaign_gtest.hpp>

#include <numeric>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::random_choices;

constexpr std::uint64_t drawn_seeds = 2000;
constexpr unsigned drawn_requests = 20;
constexpr ULONG arena_size = 3000; // bytes

/// The arguments of a work request, drawn once for both connections.
struct drawn_request {
    ib_wr_type_t type = WR_SEND;
    ib_send_opt_t options = 0;
    ULONG length = 0;
    ULONG offset = 0;
    ULONG cut = 0; // the length of the first data segment
    bool one_part = false;
    ULONG receive = 0; // bytes of a receive that is posted before; 0: none is
    bool wrong_rkey = false;
    bool wrong_lkey = false;
    bool misaligned = false;
};

drawn_request draw(random_choices& chance, bool is_reliable) {
    constexpr ib_wr_type_t types[] = {WR_SEND,      WR_RDMA_WRITE,   WR_RDMA_READ,
                                      WR_FETCH_ADD, WR_COMPARE_SWAP, WR_ATOMIC_WRITE};
    drawn_request made;
    made.type = types[chance.pick(is_reliable ? 6 : 2, "type")];
    const bool atomic =
        made.type == WR_FETCH_ADD || made.type == WR_COMPARE_SWAP || made.type == WR_ATOMIC_WRITE;
    made.length = atomic ? 8 : chance.pick(chance.fires("short", 2) ? 20 : 1500, "length");
    made.offset = 8 * chance.pick((arena_size - made.length) / 8, "offset");
    made.one_part = chance.fires("one part", 2);
    made.cut = made.one_part ? made.length : made.length / (1 + chance.pick(3, "cut"));
    if (chance.fires("signaled", 2)) made.options |= IB_SEND_OPT_SIGNALED;
    if (chance.fires("solicited", 3)) made.options |= IB_SEND_OPT_SOLICITED;
    const bool sends = made.type == WR_SEND || made.type == WR_RDMA_WRITE;
    if (sends && chance.fires("immediate", 3)) made.options |= IB_SEND_OPT_IMMEDIATE;
    if (sends && made.length <= 64 && chance.fires("inline", 2)) made.options |= IB_SEND_OPT_INLINE;
    if (!chance.fires("no receive", 20)) made.receive = made.length + chance.pick(5, "room");
    if (chance.fires("short receive", 30)) made.receive = made.length / 2;
    made.wrong_rkey = chance.fires("wrong key", 40);
    made.wrong_lkey = chance.fires("wrong local key", 40);
    made.misaligned = atomic && chance.fires("misaligned", 20);
    return made;
}

/// One of the two connections, with a region at each end.
class half {
public:
    half(ib_qp_type_t type, std::uint32_t straight, ib_access_t rights, bool shares)
        : pair_(1, type) {
        pair_.faults.straight = straight;
        for (const auto& each : pair_.ends) {
            each->attr.access_ctrl = rights;
            each->attr.retry_cnt = each->attr.rnr_retry_cnt = 1;
            if (shares) each->share_receives();
            regions_[each->index] = &each->memory.add(arena_size);
            std::iota(regions_[each->index]->bytes.begin(), regions_[each->index]->bytes.end(),
                      static_cast<UCHAR>(77 * each->index));
        }
        pair_.connect();
    }

    void execute(const drawn_request& what, ULONGLONG id, unsigned sender) {
        simulated_end& from = *pair_.ends[sender];
        simulated_end& to = from.peer();
        const region& local = *regions_[sender];
        const region& remote = *regions_[1 - sender];
        if (what.receive != 0) {
            EXPECT_EQ(to.receive(id, *regions_[1 - sender], what.receive), STATUS_SUCCESS);
        }
        ib_local_ds_t parts[2] = {
            segment_of(local, what.cut, what.offset),
            segment_of(local, what.length - what.cut, ULONGLONG{what.offset} + what.cut)};
        for (ib_local_ds_t& each : parts) {
            if (what.wrong_lkey) each.lkey ^= 0x100;
            if ((what.options & IB_SEND_OPT_INLINE) != 0)
                each.vaddr += reinterpret_cast<ULONGLONG>(local.bytes.data()) - local.base;
        }
        ib_send_wr_t wr{};
        wr.wr_id = id;
        wr.ds_array = parts;
        wr.num_ds = what.one_part ? 1 : 2;
        if (what.type == WR_ATOMIC_WRITE) wr.num_ds = 0;
        wr.wr_type = what.type;
        wr.send_opt = what.options;
        wr.immediate_data = static_cast<ib_net32_t>(id);
        wr.remote_ops = {remote.base + what.offset + (what.misaligned ? 4u : 0u), id + 1, id,
                         what.wrong_rkey ? remote.key ^ 0x300 : remote.key};
        EXPECT_EQ(from.send(wr), STATUS_SUCCESS);
        pair_.run();
    }

    bool works() {
        return pair_.one().engine->state() == IB_QPS_RTS &&
               pair_.two().engine->state() == IB_QPS_RTS;
    }
    simulated_end& end(unsigned index) { return *pair_.ends[index]; }
    const std::vector<UCHAR>& bytes(unsigned index) { return regions_[index]->bytes; }
    unsigned packets() const { return pair_.packets; }

private:
    simulated_pair pair_;
    region* regions_[2] = {};
};

void compare(const std::vector<IB_WC>& one, const std::vector<IB_WC>& other) {
    ASSERT_EQ(one.size(), other.size());
    for (std::size_t i = 0; i < one.size(); ++i)
        EXPECT_EQ(std::memcmp(&one[i], &other[i], sizeof(IB_WC)), 0) << i;
}

void compare(half& by_packets, half& straight) {
    for (unsigned i = 0; i < 2; ++i) {
        simulated_end& one = by_packets.end(i);
        simulated_end& other = straight.end(i);
        compare(one.sent, other.sent);
        compare(one.received, other.received);
        EXPECT_EQ(one.events, other.events);
        EXPECT_EQ(one.receives_left(), other.receives_left());
        EXPECT_EQ(one.engine->state(), other.engine->state());
        EXPECT_EQ(one.engine->next_number(), other.engine->next_number());
        EXPECT_EQ(one.engine->expected_number(), other.engine->expected_number());
        EXPECT_EQ(by_packets.bytes(i), straight.bytes(i));
        EXPECT_EQ(other.memory.outside, 0u);
    }
}

class StraightThrough : public ::testing::TestWithParam<ib_qp_type_t> {};

TEST_P(StraightThrough, RandomProgram_HasTheResultsOfPackets) {
    std::uint64_t passed = 0;
    expect_campaign(drawn_seeds, [&](std::uint64_t seed) {
        random_choices chance(seed);
        const ib_access_t rights =
            chance.fires("fewer rights", 4) ? chance.pick(IB_AC_REMOTE, "rights") : IB_AC_REMOTE;
        const bool shares = chance.fires("shared receives", 3);
        half by_packets(GetParam(), 0, rights, shares);
        half straight(GetParam(), chance.fires("mixed", 2) ? 2 : 1, rights, shares);
        for (unsigned i = 0; i < drawn_requests && by_packets.works() && !HasFailure(); ++i) {
            SCOPED_TRACE(i);
            const drawn_request what = draw(chance, GetParam() == IB_QPT_RELIABLE_CONN);
            const unsigned sender = chance.pick(2, "sender");
            by_packets.execute(what, i, sender);
            straight.execute(what, i, sender);
            compare(by_packets, straight);
        }
        passed += straight.end(0).traffic.requests;
    });
    EXPECT_GT(passed, drawn_seeds);
}

TEST(StraightAtomicWrite, PeerRemembersNothing_PacketsReportIt) {
    simulated_pair pair;
    pair.faults.straight = 1;
    pair.two().attr.resp_res = 0;
    pair.connect();
    const region& target = pair.two().memory.add(8);
    ib_local_ds_t none{};
    ib_send_wr_t wr = remote_request(WR_ATOMIC_WRITE, none, target);
    wr.num_ds = 0;
    wr.remote_ops.atomic1 = 5;
    EXPECT_EQ(pair.one().send(wr), STATUS_SUCCESS);
    pair.run();
    ASSERT_EQ(pair.one().sent.size(), 1u);
    EXPECT_EQ(pair.one().sent[0].Status, ULONG{IB_WC_REMOTE_INVALID_REQUEST_ERROR});
    EXPECT_EQ(target.bytes[0], 0);
}

INSTANTIATE_TEST_SUITE_P(On, StraightThrough,
                         ::testing::Values(IB_QPT_RELIABLE_CONN, IB_QPT_UNRELIABLE_CONN),
                         [](const auto& of) {
                             return of.param == IB_QPT_RELIABLE_CONN ? "Reliable" : "Unreliable";
                         });

} // namespace
