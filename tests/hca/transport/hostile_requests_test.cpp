// A queue pair that receives packets of no correct peer, with right CRCs: it touches registered
// memory only, and there only with the rights that were granted.
#include "guarded_memory.hpp"
#include "simulated_pair.hpp"

#include <support/campaign_gtest.hpp>

#include <ci/support/wire_headers.hpp>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::choices;

constexpr std::uint64_t hostile_seeds = 200;
constexpr unsigned packets_of_a_seed = 500;

class hostile_peer {
public:
    hostile_peer(std::uint64_t seed, ib_qp_type_t type) : pair_(seed, type) {
        self().other_memory = &memory_;
        self().srqs = {{5, &srqs_[0]}, {6, &srqs_[1]}};
        self().attr.h_xrcd = &domains_[0];
        if (chance().fires("fewer rights", 4))
            self().attr.access_ctrl = chance().pick(IB_AC_REMOTE + 1, "rights");
        memory_.grant(self().attr.access_ctrl);
        if (chance().fires("keeps early packets", 2)) pair_.keep_early_packets(100);
        pair_.connect();
        pair_.on_transmit = [this](const packet& what) { check(what); };
        pair_.drop = [](const packet&) { return true; };
        constexpr ib_access_t rights[] = {0,
                                          IB_AC_RDMA_READ,
                                          IB_AC_LOCAL_WRITE,
                                          IB_AC_LOCAL_WRITE | IB_AC_RDMA_WRITE,
                                          IB_AC_LOCAL_WRITE | IB_AC_ATOMIC,
                                          all_rights | IB_AC_MW_BIND};
        for (const ib_access_t each : rights)
            regions_.push_back(&memory_.add(300, each));
        regions_.push_back(&memory_.add_shared(*regions_[1], IB_AC_LOCAL_WRITE | IB_AC_RDMA_WRITE));
        regions_.push_back(&memory_.add_pages(all_rights));
        regions_.push_back(&memory_.add_foreign(300, all_rights));
        regions_.push_back(&memory_.add(300, all_rights));
        memory_.remove(*regions_.back());
        window_ = &memory_.add_window(*regions_[5], 16, 100, IB_AC_RDMA_READ | IB_AC_RDMA_WRITE);
        regions_.push_back(window_);
    }

    void attack() {
        for (unsigned i = 0; i < packets_of_a_seed; ++i) {
            if (self().engine->state() == IB_QPS_ERROR) self().connect();
            memory_.begin();
            if (chance().fires("receive", 4)) receive(i);
            if (is_reliable() && chance().fires("request", 4)) post();
            if (chance().fires("binding", 16)) memory_.bind_again(*window_);
            memory_.begin();
            const std::vector<UCHAR> content(4096, 0xEE);
            pair_.inject(self(), bytes_of(draw(content)), self().attr.primary_av.dlid);
            ASSERT_EQ(memory_.wrong, 0u) << "packet " << i;
            ASSERT_EQ(memory_.difference(), -1) << "packet " << i;
        }
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
        const auto count = static_cast<std::uint32_t>(regions_.size());
        const region& at = *regions_[chance().pick(count, "region")];
        const ULONG key = at.key ^ (chance().fires("key", 8) ? 1u << chance().pick(32, "bit") : 0u);
        const ULONGLONG address = at.base + 8ull * chance().pick(40, "address") -
                                  (chance().fires("before", 16) ? 8 : 0) +
                                  (chance().fires("second page", 4) ? 4096 - 160 : 0);
        constexpr ULONG lengths[] = {0, 8, 256, 300, 301, 4096, 1u << 31, ~0u};
        made.rdma = {address, key, lengths[chance().pick(8, "length")]};
        made.atomic = {address, key, 3, 0};
        made.invalidated_rkey = key;
        const payload_sizes sizes = sizes_of(made.row());
        const ULONG size = sizes.least + chance().pick(sizes.most - sizes.least + 1, "payload");
        if (size != 0) made.content.append({content.data(), size});
        if (chance().fires("whole", 2)) made.rdma.length = size;
        return made;
    }
    // Some bits differ, under CRCs that are right.
    std::vector<UCHAR> bytes_of(const packet& drawn) {
        namespace ci = irpverbs::ci;
        std::vector<UCHAR> bytes = pair_.bytes_of(drawn);
        if (!chance().fires("damage", 4)) return bytes;
        const std::size_t end = bytes.size() - 6; // of ICRC and VCRC
        const auto span = static_cast<std::uint32_t>(end - ci::local_route_size);
        for (unsigned i = 0; i <= chance().pick(4, "bits"); ++i)
            bytes[ci::local_route_size + chance().pick(std::min(span, 40u), "byte")] ^=
                static_cast<UCHAR>(1u << chance().pick(8, "bit"));
        EXPECT_EQ(ci::write_crcs(bytes.data(), end, false), bytes.size());
        return bytes;
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

    // Payload is memory that was looked up: of a response, for the peer to read.
    void check(const packet& what) {
        using irpverbs::hca_software::transport::operation;
        const bool responds = what.row().what == operation::read_response;
        for (const auto& each : what.content.pieces())
            EXPECT_FALSE(memory_.leaks(each.data(), each.size(), responds ? IB_AC_RDMA_READ : 0));
    }

    guarded_memory memory_;
    simulated_pair pair_;
    std::vector<region*> regions_;
    IB_XRCD domains_[2]{};
    region* window_ = nullptr;
    simulated_srq srqs_[2]{{memory_, domains_[0]}, {memory_, domains_[1]}};
};

class HostilePackets : public testing::TestWithParam<ib_qp_type_t> {};

TEST_P(HostilePackets, OfEachProgram_TouchGrantedMemoryOnly) {
    expect_campaign(hostile_seeds,
                    [](std::uint64_t seed) { hostile_peer(seed, GetParam()).attack(); });
}

INSTANTIATE_TEST_SUITE_P(On, HostilePackets,
                         testing::Values(IB_QPT_RELIABLE_CONN, IB_QPT_UNRELIABLE_CONN,
                                         IB_QPT_UNRELIABLE_DGRM, IB_QPT_XRC_TGT));

} // namespace
