// A queue pair that receives packets of no correct peer, with right CRCs: it touches registered
// memory only, and there only with the rights that were granted.
#include "simulated_pair.hpp"

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::choices;

constexpr std::uint64_t seeds = 200;
constexpr unsigned packets = 500;

class hostile_peer {
public:
    hostile_peer(std::uint64_t seed, ib_qp_type_t type) : pair_(seed, type) {
        self().srqs = {{5, &srqs_[0]}, {6, &srqs_[1]}};
        self().attr.h_xrcd = &domains_[0];
        pair_.connect();
        pair_.on_transmit = [this](const packet& what) { check(what); };
        pair_.drop = [](const packet&) { return true; };
        constexpr ib_access_t rights[] = {0,
                                          IB_AC_RDMA_READ,
                                          IB_AC_LOCAL_WRITE,
                                          IB_AC_LOCAL_WRITE | IB_AC_RDMA_WRITE,
                                          IB_AC_LOCAL_WRITE | IB_AC_ATOMIC,
                                          all_rights};
        for (const ib_access_t each : rights)
            regions_.push_back(&self().memory.add(300, each));
    }

    void attack() {
        for (unsigned i = 0; i < packets; ++i) {
            if (self().engine->state() == IB_QPS_ERROR) self().connect();
            if (chance().fires("receive", 4)) receive(i);
            if (is_reliable() && chance().fires("request", 4)) post();
            const std::vector<UCHAR> content(4096, 0xEE);
            pair_.inject(self(), draw(content));
        }
        EXPECT_EQ(self().memory.outside, 0u);
        const auto untouched = [](const region& of) {
            return std::ranges::count(of.bytes, 0) == static_cast<std::ptrdiff_t>(of.bytes.size());
        };
        EXPECT_TRUE(untouched(*regions_[0]));
        EXPECT_TRUE(untouched(*regions_[1]));
        EXPECT_TRUE(untouched(*regions_[2]));
    }

private:
    simulated_end& self() { return pair_.two(); }
    choices& chance() { return pair_.chance; }

    bool is_reliable() { return self().attr.qp_type == IB_QPT_RELIABLE_CONN; }

    bool is_target() { return self().attr.qp_type == IB_QPT_XRC_TGT; }

    void receive(unsigned id) {
        if (is_target())
            srqs_[0].receive(id, *regions_[5], 300);
        else
            self().receive(id, *regions_[5], 300);
    }

    UCHAR service() {
        constexpr UCHAR services[] = {0x00, 0x20, 0x00, 0x60};
        return is_target() ? UCHAR{0xA0} : services[self().attr.qp_type];
    }

    // Responses of the peer answer these, or do not.
    void post() {
        constexpr ib_wr_type_t types[] = {WR_SEND, WR_RDMA_READ, WR_FETCH_ADD, WR_COMPARE_SWAP};
        const ib_wr_type_t type = types[chance().pick(4, "type")];
        const bool is_long = type == WR_SEND || type == WR_RDMA_READ;
        ib_local_ds_t segment = segment_of(*regions_[5], is_long ? 300 : 8);
        self().send(remote_request(type, segment, *regions_[5]));
    }

    packet draw(const std::vector<UCHAR>& content) {
        packet made;
        made.opcode = static_cast<UCHAR>(service() | chance().pick(0x20, "opcode"));
        made.to_srq = is_target() && chance().fires("srq", 8) ? 5 + chance().pick(3, "number") : 5;
        made.datagram = {self().attr.qkey, 5};
        made.to_qp = self().attr.num;
        made.number = self().engine->expected_number() + chance().pick(4, "psn") - 1;
        if (chance().fires("right psn", 2)) made.number = self().engine->expected_number();
        if (is_reliable() && chance().fires("response", 3)) {
            made.opcode = static_cast<UCHAR>(0x0D + chance().pick(6, "response opcode"));
            made.number = self().engine->next_number() - chance().pick(6, "psn of response");
            made.acknowledge.syndrome = static_cast<UCHAR>(chance().pick(256, "syndrome"));
        }
        made.ack_request = chance().fires("ack", 2);
        const region& at = *regions_[chance().pick(6, "region")];
        const ULONG key = at.key ^ (chance().fires("key", 8) ? 1u : 0u);
        const ULONGLONG address = at.base + 8 * chance().pick(40, "address");
        constexpr ULONG lengths[] = {0, 8, 256, 300, 301, 4096, 1u << 31, ~0u};
        made.rdma = {address, key, lengths[chance().pick(8, "length")]};
        made.atomic = {address, key, 3, 0};
        made.invalidated_rkey = 7;
        const payload_sizes sizes = sizes_of(made.row());
        const ULONG size = sizes.least + chance().pick(sizes.most - sizes.least + 1, "payload");
        if (size != 0) made.content.append({content.data(), size});
        if (chance().fires("whole", 2)) made.rdma.length = size;
        return made;
    }
    struct payload_sizes {
        ULONG least;
        ULONG most;
    };
    static payload_sizes sizes_of(const irpverbs::hca_software::transport::opcode_row& row) {
        using irpverbs::hca_software::transport::payload_rule;
        if (row.payload == payload_rule::none) return {0, 0};
        if (row.payload == payload_rule::full) return {255, 257};
        return {1, 300};
    }

    // The payload of a response is memory that the peer may read.
    void check(const packet& what) {
        for (const auto& each : what.content.pieces())
            EXPECT_TRUE(self().memory.is_readable_by_peer(each.data(), each.size()));
    }

    simulated_pair pair_;
    std::vector<region*> regions_;
    IB_XRCD domains_[2]{};
    simulated_srq srqs_[2]{{self().memory, domains_[0]}, {self().memory, domains_[1]}};
};

class HostilePackets : public testing::TestWithParam<ib_qp_type_t> {};

TEST_P(HostilePackets, OfEachProgram_TouchGrantedMemoryOnly) {
    for (std::uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        hostile_peer(seed, GetParam()).attack();
    }
}

INSTANTIATE_TEST_SUITE_P(On, HostilePackets,
                         testing::Values(IB_QPT_RELIABLE_CONN, IB_QPT_UNRELIABLE_CONN,
                                         IB_QPT_UNRELIABLE_DGRM, IB_QPT_XRC_TGT));

} // namespace
