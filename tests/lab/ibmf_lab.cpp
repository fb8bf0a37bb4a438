// Single records, many requests at once, and tables; see ibmf_lab.hpp.
#include "ibmf_lab.hpp"

#include <ibmf/table_agent.hpp>

#include <boost/endian/conversion.hpp>

#include <cstdlib>
#include <memory>
#include <string>

namespace irpverbs::testing {
namespace {

// Each of 200 simultaneous requests is answered once, by its own record.
TEST_F(IbmfLab, ConcurrentRequests_EachReceivesOneResponse) {
    constexpr std::uint64_t count = 200;
    const client_scope manager(as(SUBN_ADM_MANAGER), IBMF_REG_FLAG_RMPP);
    std::vector<std::unique_ptr<sa_request>> all;
    for (std::uint64_t i = 0; i < count; ++i) {
        const ib_lid_t about = i % 2 == 0 ? lid : sm_lid;
        all.push_back(std::make_unique<sa_request>(manager.handle, sm_lid, SA_NODERECORD_ATTRID,
                                                   MAD_METHOD_GET, i + 1));
        all.back()->with_lid(about);
    }
    constexpr ibmf_retrans_t stubborn{12, 100'000, 100'000, 0};
    for (const auto& each : all)
        ASSERT_EQ(each->message().send(IBMF_MSG_TRANS_FLAG_SEQ, stubborn), IBMF_SUCCESS);
    for (std::uint64_t i = 0; i < count; ++i) {
        test_message& each = all[i]->message();
        ASSERT_EQ(each.status(), IBMF_SUCCESS) << i;
        EXPECT_EQ(each.received_header().status, 0);
        EXPECT_EQ(boost::endian::load_big_u16(each.received().data()), i % 2 == 0 ? lid : sm_lid);
    }
    for (const auto& each : all)
        EXPECT_EQ(each->message().calls(), 1);
    EXPECT_EQ(manager.stats().st_transactions, 0u);
    std::cout << "retries " << manager.stats().st_retries << std::endl;
}

// Fetches tables under the same conditions.
TEST_F(IbmfLab, GetTable_MatchesRawResponse) {
    const client_scope manager(as(SUBN_ADM_MANAGER), IBMF_REG_FLAG_RMPP);
    for (std::uint64_t i = 1; i <= 5; ++i) {
        sa_request nodes(manager.handle, sm_lid, SA_NODERECORD_ATTRID, get_table, i);
        expect_same_response(nodes);
        EXPECT_EQ(nodes.message().received_header().status, 0);
    }
}

// ibmf_test.py makes the shim or the link drop datagrams, from the start or after the first table.
TEST_F(IbmfLab, GetTableUnderLoss_ReceivedWhole) {
    constexpr std::uint64_t times = 3;
    constexpr std::size_t segment_data = 200;
    constexpr std::size_t stride = 112;
    const client_scope manager(as(SUBN_ADM_MANAGER), IBMF_REG_FLAG_RMPP);
    sa_request first(manager.handle, sm_lid, SA_NODERECORD_ATTRID, get_table, 1);
    const std::vector<std::uint8_t> known = raw.ask(first.raw(), sm_lid, 3000);
    const std::size_t size = known.size() - sa_request::data_at;
    std::cout << "nodes " << size / stride << std::endl;
    std::string line;
    std::getline(std::cin, line);
    for (std::uint64_t i = 1; i <= times; ++i) {
        sa_request nodes(manager.handle, sm_lid, SA_NODERECORD_ATTRID, get_table, i);
        ASSERT_EQ(nodes.message().send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS);
        expect_equal(nodes, known);
        EXPECT_EQ(nodes.message().received().size(), size);
    }
    EXPECT_EQ(manager.stats().st_rmpp_errors, 0u);
    // Segments after a lost one arrive twice.
    EXPECT_GT(manager.stats().st_datagrams_received, times * (size / segment_data + 1));
}

// An agent that responds to another host without OpenSM. ibmf_test.py starts both, and ends this
// test.
TEST_F(IbmfLab, AgentWithLargeTable_ServesRemoteHost) {
    table_agent agent(as(SUBN_ADM_AGENT));
    agent.resize(100'000);
    std::cout << "serves at " << lid << std::endl;
    std::string line;
    std::getline(std::cin, line);
    EXPECT_EQ(agent.last_response_status(), IBMF_SUCCESS);
    EXPECT_EQ(agent.stats().st_rmpp_errors, 0u);
}

TEST_F(IbmfLab, GetTableFromRemoteAgent_ReceivedWhole) {
    const char* const where = std::getenv("IBMF_LAB_AGENT");
    ASSERT_NE(where, nullptr);
    const auto agent = static_cast<ib_lid_t>(std::stoi(where));
    const client_scope manager(as(SUBN_ADM_MANAGER), IBMF_REG_FLAG_RMPP);
    for (std::uint64_t i = 1; i <= 10; ++i) {
        sa_request table(manager.handle, agent, SA_NODERECORD_ATTRID, get_table, i);
        ASSERT_EQ(table.message().send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS);
        const std::span<const std::uint8_t> got = table.message().received();
        ASSERT_EQ(got.size(), 100'000u);
        for (std::size_t at = 0; at < got.size(); ++at)
            ASSERT_EQ(got[at], static_cast<std::uint8_t>(at * 31 + at / 251)) << at;
    }
}

} // namespace
} // namespace irpverbs::testing
