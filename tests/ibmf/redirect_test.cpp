// Responses that redirect the requester. Source: IBA 13.5.2.
#include "ibmf_client.hpp"

#include <support/both_machines.hpp>

#include <boost/endian/conversion.hpp>

#include <optional>

namespace {

using namespace irpverbs::testing;
namespace ibmf = irpverbs::ibmf;

/// The redirection target in a ClassPortInfo.
struct place {
    ib_lid_t lid;
    std::uint32_t qp = 1;
    std::uint32_t qkey = IB_QP1_QKEY;
    std::uint16_t pkey = IB_PKEY_DEFAULT_FULL;
    std::uint8_t service_level = 0;
};

/// Turns a response into a redirection.
void redirect(std::array<UCHAR, IB_MAD_SIZE>& response, const place& to) {
    response[5] = MAD_STATUS_REDIRECT_REQUIRED;
    response[16] = 0, response[17] = MAD_ATTR_ID_CLASSPORTINFO;
    UCHAR* const info = &response[64];
    std::fill_n(info, 72, UCHAR{0});
    boost::endian::store_big_u32(info + 24, std::uint32_t{to.service_level} << 20);
    boost::endian::store_big_u16(info + 28, to.lid);
    boost::endian::store_big_u16(info + 30, to.pkey);
    boost::endian::store_big_u32(info + 32, to.qp);
    boost::endian::store_big_u32(info + 36, to.qkey);
}

bool is_response(unsigned from, const std::array<UCHAR, IB_MAD_SIZE>& bytes) {
    return from != 0 && (bytes[3] & 0x80) != 0;
}

class IbmfRedirects : public BothMachines {
protected:
    wire joined_;
    const echo_agent far_{1};
    const echo_agent near_{0};
    const client_scope manager_{0, PERF_MANAGER};
    test_message asked_{manager_.handle, performance};
};

TEST_P(IbmfRedirects, RedirectResponse_IsFollowed) {
    joined_.tap = [](unsigned from, auto& bytes) {
        if (is_response(from, bytes)) redirect(bytes, {wire::lids[0]});
        return true;
    };
    EXPECT_EQ(asked_.send_and_wait(), IBMF_SUCCESS);
    EXPECT_EQ(far_.requests_received, 1);
    EXPECT_EQ(near_.requests_received, 1);
    EXPECT_EQ(manager_.stats().st_redirected, 1u);
    EXPECT_EQ(manager_.stats().st_retries, 0u);
}

TEST_P(IbmfRedirects, RedirectToQpAndKey_RequestUsesThem) {
    std::vector<IB_MAD_ADDRESS> ways;
    joined_.sending = [&](unsigned from, const IB_MAD_SEND& what) {
        if (from == 0) ways.push_back(what.To);
    };
    joined_.tap = [&](unsigned from, auto& bytes) {
        if (is_response(from, bytes) && ways.size() == 1)
            redirect(bytes, {wire::lids[1], 0x1234, 0x80010001, IB_PKEY_DEFAULT_FULL, 5});
        return true;
    };
    // This wire has no such queue pair; the test checks that the request was sent there.
    asked_.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, {0, 20'000, 1'000, 0});
    ASSERT_GE(ways.size(), 2u);
    EXPECT_EQ(ways[1].Lid, wire::lids[1]);
    EXPECT_EQ(ways[1].Qp, 0x1234u);
    EXPECT_EQ(ways[1].QKey, 0x80010001u);
    EXPECT_EQ(ways[1].ServiceLevel, 5);
}

TEST_P(IbmfRedirects, RedirectLoop_EndsWithLastResponse) {
    joined_.tap = [](unsigned from, auto& bytes) {
        if (is_response(from, bytes)) redirect(bytes, {wire::lids[1]});
        return true;
    };
    EXPECT_EQ(asked_.send_and_wait(), IBMF_SUCCESS);
    EXPECT_EQ(asked_.received_header().status, MAD_STATUS_REDIRECT_REQUIRED);
    EXPECT_EQ(far_.requests_received, 5);
    EXPECT_EQ(manager_.stats().st_redirected, 4u);
}

TEST_P(IbmfRedirects, RedirectWithoutDestination_IsOrdinaryResponse) {
    bool other_attribute = false;
    joined_.tap = [&](unsigned from, auto& bytes) {
        if (!is_response(from, bytes)) return true;
        redirect(bytes, {static_cast<ib_lid_t>(other_attribute ? wire::lids[0] : 0)});
        if (other_attribute) bytes[17] = 0x35;
        return true;
    };
    for (const bool each : {false, true}) {
        other_attribute = each;
        EXPECT_EQ(asked_.send_and_wait(), IBMF_SUCCESS);
        EXPECT_EQ(asked_.received_header().status, MAD_STATUS_REDIRECT_REQUIRED);
    }
    EXPECT_EQ(near_.requests_received, 0);
    EXPECT_EQ(manager_.stats().st_redirected, 0u);
}

TEST_P(IbmfRedirects, RedirectToMulticastLid_IsOrdinaryResponse) {
    ib_lid_t lid = 0;
    joined_.tap = [&](unsigned from, auto& bytes) {
        if (is_response(from, bytes)) redirect(bytes, {lid});
        return true;
    };
    for (const ib_lid_t each : {IB_LID_MULTICAST_FIRST, ib_lid_t{0xFFFE}, IB_LID_PERMISSIVE}) {
        lid = each;
        EXPECT_EQ(asked_.send_and_wait(), IBMF_SUCCESS);
        EXPECT_EQ(asked_.received_header().status, MAD_STATUS_REDIRECT_REQUIRED);
    }
    EXPECT_EQ(far_.requests_received, 3);
    EXPECT_EQ(manager_.stats().st_redirected, 0u);
}

// A response from the first place no longer counts.
TEST_P(IbmfRedirects, ResponseFromFirstPeerAfterRedirect_IsIgnored) {
    std::optional<std::array<UCHAR, IB_MAD_SIZE>> first;
    KEVENT asked_again;
    KeInitializeEvent(&asked_again, NotificationEvent, FALSE);
    joined_.sending = [&](unsigned, const IB_MAD_SEND& what) {
        if (what.To.Lid == 9) KeSetEvent(&asked_again, IO_NO_INCREMENT, FALSE);
    };
    joined_.tap = [&](unsigned from, auto& bytes) {
        if (is_response(from, bytes)) {
            first = bytes;
            redirect(bytes, {9}); // no agent there
        }
        return true;
    };
    ASSERT_EQ(asked_.send(), IBMF_SUCCESS);
    KeWaitForSingleObject(&asked_again, Executive, KernelMode, FALSE, nullptr);
    joined_.inject(0, first->data(), IB_MAD_SIZE, wire::lids[1]);
    joined_.await_empty();
    EXPECT_EQ(asked_.calls(), 0);
    EXPECT_EQ(manager_.stats().st_wrong_peer, 1u);
    joined_.inject(0, first->data(), IB_MAD_SIZE, 9);
    EXPECT_EQ(asked_.status(), IBMF_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(IbmfRedirects);

} // namespace
