// IBMF on a host of a lab, against the SA that OpenSM serves. ibmf_test.py brings the lab up, and
// runs one test of this program after another in a lab of its own.
#include "raw_umad.hpp"

#include <ibmf/table_agent.hpp>
#include <support/verbs.hpp>

#include <hca/rdma.h>
#include <saa/records.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string_view>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

constexpr std::uint8_t get_table = 0x12;
constexpr ibmf_retrans_t patient{5, 2'000'000, 500'000, 0};
constexpr ibmf_retrans_t hasty{0, 100'000, 50'000, 0};

// Neither answered nor refused.
constexpr std::string_view dropped_by_opensm[] = {"Notice", "RandomFDBRecord", "TraceRecord",
                                                  "ServiceAssociationRecord"};

std::span<std::uint8_t> bytes_at(void* place, std::size_t size) {
    return {static_cast<std::uint8_t*>(place), size};
}

/// A question for the SA by IBMF, and the same for libibumad.
class sa_question {
public:
    sa_question(ibmf_handle_t handle, ib_lid_t to, std::uint16_t attribute, std::uint8_t method,
                std::uint64_t transaction)
        : message_(handle, {.mgmt_class = MAD_MGMT_CLASS_SUBN_ADM,
                            .method = method,
                            .tid = transaction,
                            .to = to,
                            .data_size = 200}) {
        ibmf_msg_bufs_t& parts = message_.shown->im_msgbufs_send;
        ibmf::detail::store_be<std::uint16_t>(
            reinterpret_cast<std::uint8_t*>(&parts.im_bufs_mad_hdr->AttributeID), attribute);
        std::ranges::fill(data(), std::uint8_t{0});
        ibmf::store(class_header(), ibmf::sa_header{});
    }
    /// The component `bit` is this number at the beginning of the record, as LIDs are.
    sa_question& with_lid(ib_lid_t lid) {
        ibmf::detail::store_be<std::uint16_t>(data().data(), lid);
        ibmf::store(class_header(), ibmf::sa_header{0, 0, 1});
        return *this;
    }
    /// One source: all paths from this port.
    sa_question& with_source(ib_lid_t lid) {
        ibmf::detail::store_be<std::uint16_t>(data().data() + 42, lid);
        ibmf::store(class_header(), ibmf::sa_header{0, 0, SA_PR_COMPMASK_SLID});
        return *this;
    }

    test_message& message() { return message_; }
    std::vector<std::uint8_t> raw() const {
        const ibmf_msg_bufs_t& parts = message_.shown->im_msgbufs_send;
        std::vector<std::uint8_t> whole(ibmf::mad_size);
        const auto put = [&](std::size_t at, const void* from, std::size_t size) {
            std::copy_n(static_cast<const std::uint8_t*>(from), size,
                        whole.begin() + static_cast<std::ptrdiff_t>(at));
        };
        put(0, parts.im_bufs_mad_hdr, ibmf::mad_header_size);
        put(ibmf::rmpp_data_offset, parts.im_bufs_cl_hdr, parts.im_bufs_cl_hdr_len);
        put(data_at, parts.im_bufs_cl_data, parts.im_bufs_cl_data_len);
        return whole;
    }
    static constexpr std::size_t data_at = ibmf::rmpp_data_offset + ibmf::sa_header::size;

private:
    std::span<std::uint8_t> data() const {
        ibmf_msg_bufs_t& parts = message_.shown->im_msgbufs_send;
        return bytes_at(parts.im_bufs_cl_data, parts.im_bufs_cl_data_len);
    }
    std::span<std::uint8_t, ibmf::sa_header::size> class_header() const {
        return bytes_at(message_.shown->im_msgbufs_send.im_bufs_cl_hdr, ibmf::sa_header::size)
            .first<ibmf::sa_header::size>();
    }

    test_message message_;
};

class IbmfLab : public ::testing::Test {
protected:
    explicit IbmfLab() { look_at_port(); }
    void look_at_port() {
        IB_CA* const ca = open_ca(hcas.fdo());
        const port_block port(ca, 1);
        lid = port->Lid;
        sm_lid = port->SmLid;
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    }
    ibmf_register_info_t as(ibmf_client_type_t type) { return {hcas.guid(), 1, type}; }

    /// Both ask; what libibumad received is what IBMF received.
    void expect_same_answer(sa_question& question, const saa::record_type& type) {
        SCOPED_TRACE(type.name);
        ++compared;
        const bool dropped = std::ranges::count(dropped_by_opensm, type.name) != 0;
        const std::vector<std::uint8_t> theirs =
            raw.ask(question.raw(), sm_lid, dropped ? 100 : 3000);
        EXPECT_EQ(theirs.empty(), dropped);
        if (dropped) {
            EXPECT_EQ(question.message().send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, hasty),
                      IBMF_TRANS_TIMEOUT);
            return;
        }
        ASSERT_GE(theirs.size(), sa_question::data_at);
        ASSERT_EQ(question.message().send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS);
        const ibmf::mad_header mine = question.message().received_header();
        const ibmf::mad_header other =
            ibmf::load_mad_header(std::span(theirs).first<ibmf::mad_header_size>());
        EXPECT_EQ(mine.status, other.status);
        EXPECT_EQ(mine.method, other.method);
        if (mine.status != 0) return; // a refusal has no data, whatever lies in the datagram
        const std::span<const std::uint8_t> data = question.message().received();
        const auto expected = std::span(theirs).subspan(sa_question::data_at);
        EXPECT_EQ(data.size(), expected.size());
        EXPECT_TRUE(std::ranges::equal(data, expected));
        ++answered;
        answered_bytes += data.size();
    }

    dispatch::asio_machine machine{{.processors = 2}};
    dispatch::machine::scope inside{machine};
    attached hcas{"rdma:"};
    raw_umad raw;
    ib_lid_t lid = 0;
    ib_lid_t sm_lid = 0;
    int compared = 0;
    int answered = 0;
    std::size_t answered_bytes = 0;
};

// A Get of each with no component, and of this host where there is a LID to say.
TEST_F(IbmfLab, EachAttributeIsGot) {
    const client_scope manager(as(SUBN_ADM_MANAGER), IBMF_REG_FLAG_RMPP);
    std::uint64_t transaction = 0;
    for (const saa::record_type& each : saa::record_types()) {
        sa_question any(manager.handle, sm_lid, each.attribute_id, MAD_METHOD_GET, ++transaction);
        expect_same_answer(any, each);
        sa_question own(manager.handle, sm_lid, each.attribute_id, MAD_METHOD_GET, ++transaction);
        expect_same_answer(own.with_lid(lid), each);
    }
    std::cout << "answered " << answered << " of " << compared << std::endl;
    EXPECT_GE(answered, 8);
}

TEST_F(IbmfLab, EachTableIsGot) {
    const client_scope manager(as(SUBN_ADM_MANAGER), IBMF_REG_FLAG_RMPP);
    std::uint64_t transaction = 100;
    for (const saa::record_type& each : saa::record_types()) {
        sa_question all(manager.handle, sm_lid, each.attribute_id, get_table, ++transaction);
        if (each.attribute_id == SA_PATHRECORD_ATTRID) all.with_source(lid);
        expect_same_answer(all, each);
    }
    std::cout << "answered " << answered << " of " << compared << ", " << answered_bytes << " bytes"
              << std::endl;
    EXPECT_GE(answered, 8);
    EXPECT_EQ(manager.stats().st_rmpp_errors, 0u);
}

// 200 at once: each is answered, once, by its own record.
TEST_F(IbmfLab, NothingIsLostAndNothingAnsweredTwice) {
    constexpr std::uint64_t count = 200;
    const client_scope manager(as(SUBN_ADM_MANAGER), IBMF_REG_FLAG_RMPP);
    std::vector<std::unique_ptr<sa_question>> all;
    for (std::uint64_t i = 0; i < count; ++i) {
        const ib_lid_t about = i % 2 == 0 ? lid : sm_lid;
        all.push_back(std::make_unique<sa_question>(manager.handle, sm_lid, SA_NODERECORD_ATTRID,
                                                    MAD_METHOD_GET, i + 1));
        all.back()->with_lid(about);
    }
    constexpr ibmf_retrans_t stubborn{12, 100'000, 100'000, 0};
    for (const auto& each : all)
        ASSERT_EQ(each->message().send(IBMF_MSG_TRANS_FLAG_SEQ, stubborn), IBMF_SUCCESS);
    std::cout << "asked" << std::endl; // ibmf_test.py may stop OpenSM and let it go on
    for (std::uint64_t i = 0; i < count; ++i) {
        test_message& each = all[i]->message();
        ASSERT_EQ(each.status(), IBMF_SUCCESS) << i;
        EXPECT_EQ(each.received_header().status, 0);
        EXPECT_EQ(ibmf::detail::load_be<std::uint16_t>(each.received().data()),
                  i % 2 == 0 ? lid : sm_lid);
    }
    for (const auto& each : all)
        EXPECT_EQ(each->message().calls(), 1);
    EXPECT_EQ(manager.stats().st_transactions, 0u);
    std::cout << "retries " << manager.stats().st_retries << std::endl;
}

// A table under the same conditions.
TEST_F(IbmfLab, ATableComesThrough) {
    const client_scope manager(as(SUBN_ADM_MANAGER), IBMF_REG_FLAG_RMPP);
    for (std::uint64_t i = 1; i <= 5; ++i) {
        sa_question nodes(manager.handle, sm_lid, SA_NODERECORD_ATTRID, get_table, i);
        expect_same_answer(nodes, *saa::find_record(SA_NODERECORD_ATTRID));
    }
    EXPECT_EQ(answered, 5);
}

// Three tries of 150, 300 and 600 ms, the last two up to a quarter longer; no more than the one
// deadline over all of it, two and a half times the sum. Fewer datagrams than the socket of a
// stopped OpenSM takes in: when it is full ibsim waits for it, and serves nobody.
TEST_F(IbmfLab, ASilentSaIsGivenUpInTime) {
    constexpr ULONGLONG millisecond = 10'000;
    constexpr ULONGLONG scheduling = 10'000 * millisecond; // a loaded machine's, at most
    constexpr unsigned count = 3;
    const client_scope manager(as(SUBN_ADM_MANAGER), IBMF_REG_FLAG_RMPP);
    std::vector<std::unique_ptr<sa_question>> all;
    for (std::uint64_t i = 1; i <= count; ++i)
        all.push_back(std::make_unique<sa_question>(manager.handle, sm_lid, SA_NODERECORD_ATTRID,
                                                    i % 2 == 0 ? MAD_METHOD_GET : get_table, i));
    const ULONGLONG begun = KeQueryInterruptTime();
    for (const auto& each : all)
        ASSERT_EQ(each->message().send(IBMF_MSG_TRANS_FLAG_SEQ, {2, 100'000, 50'000, 0}),
                  IBMF_SUCCESS);
    for (const auto& each : all)
        EXPECT_EQ(each->message().status(), IBMF_TRANS_TIMEOUT);
    const ULONGLONG took = KeQueryInterruptTime() - begun;
    EXPECT_GE(took, 1050 * millisecond);
    EXPECT_LE(took, 2625 * millisecond + scheduling);
    EXPECT_EQ(manager.stats().st_timeouts, count);
    EXPECT_EQ(manager.stats().st_retries, 2 * count);
}

// ibmf_test.py kills the master, and the standby takes over.
TEST_F(IbmfLab, TheStandbyAnswersOnceItIsMaster) {
    const client_scope manager(as(SUBN_ADM_MANAGER), IBMF_REG_FLAG_RMPP);
    const ib_lid_t first = sm_lid;
    std::uint64_t transaction = 0;
    const auto ask = [&](const ibmf_retrans_t& times) {
        sa_question own(manager.handle, sm_lid, SA_NODERECORD_ATTRID, MAD_METHOD_GET,
                        ++transaction);
        return own.with_lid(lid).message().send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, times);
    };
    EXPECT_EQ(ask(patient), IBMF_SUCCESS);
    std::cout << "replace" << std::endl;
    for (int tries = 0; sm_lid == first && tries < 300; ++tries) {
        const int status = ask(hasty);
        EXPECT_TRUE(status == IBMF_SUCCESS || status == IBMF_TRANS_TIMEOUT) << status;
        look_at_port();
    }
    ASSERT_NE(sm_lid, first);
    EXPECT_EQ(ask(patient), IBMF_SUCCESS);
    EXPECT_EQ(manager.stats().st_transactions, 0u);
}

// ibmf_test.py pulls the cable of this host in the middle, and never puts it back.
TEST_F(IbmfLab, ATransferEndsWhenItsLinkDoes) {
    const client_scope manager(as(SUBN_ADM_MANAGER), IBMF_REG_FLAG_RMPP);
    constexpr ibmf_retrans_t times{3, 200'000, 50'000, 3'000'000};
    std::cout << "pull" << std::endl;
    int status = IBMF_SUCCESS;
    for (std::uint64_t i = 1; i <= 100'000 && status == IBMF_SUCCESS; ++i) {
        sa_question paths(manager.handle, sm_lid, SA_PATHRECORD_ATTRID, get_table, i);
        status = paths.message().send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, times);
    }
    EXPECT_TRUE(status == IBMF_TRANS_TIMEOUT || status == IBMF_TRANS_FAILURE ||
                status == IBMF_BAD_PORT_STATE)
        << status;
    EXPECT_EQ(manager.stats().st_transactions, 0u);
}

// The two halves of a conversation between hosts, without OpenSM in it. ibmf_test.py ends this one.
TEST_F(IbmfLab, AnAgentServes) {
    table_agent agent(as(SUBN_ADM_AGENT));
    agent.resize(100'000);
    std::cout << "serves at " << lid << std::endl;
    std::string line;
    std::getline(std::cin, line);
    EXPECT_EQ(agent.last_answer_status(), IBMF_SUCCESS);
    EXPECT_EQ(agent.stats().st_rmpp_errors, 0u);
}

TEST_F(IbmfLab, AnAgentIsAsked) {
    const char* const where = std::getenv("IBMF_LAB_AGENT");
    ASSERT_NE(where, nullptr);
    const auto agent = static_cast<ib_lid_t>(std::stoi(where));
    const client_scope manager(as(SUBN_ADM_MANAGER), IBMF_REG_FLAG_RMPP);
    for (std::uint64_t i = 1; i <= 10; ++i) {
        sa_question table(manager.handle, agent, SA_NODERECORD_ATTRID, get_table, i);
        ASSERT_EQ(table.message().send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS);
        const std::span<const std::uint8_t> got = table.message().received();
        ASSERT_EQ(got.size(), 100'000u);
        for (std::size_t at = 0; at < got.size(); ++at)
            ASSERT_EQ(got[at], static_cast<std::uint8_t>(at * 31 + at / 251)) << at;
    }
}

} // namespace
