// IBMF on a host of a lab, against OpenSM's SA. ibmf_test.py runs each test of this program in a
// new lab.
#pragma once

#include "raw_umad.hpp"
#include "sa_request.hpp"

#include <support/verbs.hpp>

#include <hca/rdma.h>

#include <iostream>

namespace irpverbs::testing {

constexpr ibmf_retrans_t patient{5, 2'000'000, 500'000, 0};
constexpr ibmf_retrans_t hasty{0, 100'000, 50'000, 0};

class IbmfLab : public ::testing::Test {
protected:
    explicit IbmfLab() { look_at_port(); }
    void look_at_port() {
        IB_CA* const ca = open_ca(hcas.fdo());
        {
            const port_block port(ca, 1);
            lid = port->Lid;
            sm_lid = port->SmLid;
            gid = *IbPortGid(&*port, 0);
        }
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    }
    ibmf_register_info_t as(ibmf_client_type_t type) { return {hcas.guid(), 1, type}; }

    /// Sends the request by libibumad and by IBMF, and expects the same response.
    void expect_same_response(sa_request& request) {
        const std::vector<std::uint8_t> theirs = raw.ask(request.raw(), sm_lid, 3000);
        ASSERT_GE(theirs.size(), sa_request::data_at);
        ASSERT_EQ(request.message().send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS);
        expect_equal(request, theirs);
    }
    static void expect_equal(sa_request& request, std::span<const std::uint8_t> theirs) {
        const ibmf::mad_header mine = request.message().received_header();
        const ibmf::mad_header other = ibmf::load_mad_header(theirs.first<ibmf::mad_header_size>());
        EXPECT_EQ(mine.status, other.status);
        EXPECT_EQ(mine.method, other.method);
        if (mine.status != 0) return; // the data of an error response is undefined
        const std::span<const std::uint8_t> data = request.message().received();
        const auto expected = theirs.subspan(sa_request::data_at);
        EXPECT_EQ(data.size(), expected.size());
        EXPECT_TRUE(std::ranges::equal(data, expected));
    }

    dispatch::asio_machine machine{{.processors = 2}};
    dispatch::machine::scope inside{machine};
    attached hcas{"rdma:"};
    raw_umad raw;
    ib_lid_t lid = 0;
    ib_lid_t sm_lid = 0;
    ib_gid_t gid{};
};

} // namespace irpverbs::testing
