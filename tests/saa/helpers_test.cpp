// The helper functions of SA access: their requests, and their use of the responses.
#include "scripted_sa.hpp"

#include <saa/queries.hpp>
#include <support/both_machines.hpp>

#include <cstring>

namespace {

using namespace irpverbs::testing;

class SaHelpers : public BothMachines {
protected:
    const wire joined;
    sa_request seen{};
    sa_reply reply;
    scripted_sa sa{[this](const sa_request& request) {
        seen = request;
        return reply;
    }};
    const session_scope session;
};

struct helper_result {
    int status = IBMF_FAILURE;
    unsigned count = 0;
    std::vector<sa_path_record_t> records;

    void take(std::size_t length, sa_path_record_t* result) {
        EXPECT_EQ(length, count * sizeof(sa_path_record_t));
        records.assign(result, result + count);
        std::free(result);
    }
};

helper_result paths_between(const session_scope& session, std::uint8_t most,
                            ib_mtu_t mtu = IBMF_SAA_MTU_WC, ib_pkey_t p_key = IBMF_SAA_PKEY_WC,
                            boolean_t reversible = B_FALSE) {
    helper_result found;
    std::size_t length = 0;
    sa_path_record_t* result = nullptr;
    std::uint8_t count = most;
    found.status = ibmf_saa_gid_to_pathrecords(session.handle, gid_of(0x10), gid_of(0x99), p_key,
                                               mtu, reversible, &count, 0, &length, &result);
    found.count = count;
    if (found.status == IBMF_INVALID_ARG) return found;
    found.take(length, result);
    return found;
}

TEST_P(SaHelpers, GidToPathRecords_SendsComponentsAndBoundsCount) {
    reply = table_of<sa_path_record_t>({path_to(0x99, 1), path_to(0x99, 2), path_to(0x99, 3)});
    const helper_result found = paths_between(session, 2, IB_MTU_2048, 0x8001, B_TRUE);
    EXPECT_EQ(found.status, IBMF_SUCCESS);
    EXPECT_EQ(found.count, 2u); // no more than requested, however many arrive
    EXPECT_EQ(found.records[1].DLID, 2);
    EXPECT_EQ(seen.sa.component_mask, SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID |
                                          SA_PR_COMPMASK_NUMBPATH | SA_PR_COMPMASK_REVERSIBLE |
                                          SA_PR_COMPMASK_PKEY | SA_PR_COMPMASK_MTUSELECTOR |
                                          SA_PR_COMPMASK_MTU);
    const auto asked = seen.record<sa_path_record_t>();
    EXPECT_EQ(asked.NumbPath, 2);
    EXPECT_EQ(asked.P_Key, 0x8001);
    EXPECT_EQ(asked.Reversible, 1);
    EXPECT_EQ(asked.MtuSelector, SA_PR_MTU_SEL_GREATER);
    EXPECT_EQ(asked.Mtu, IB_MTU_1024);
}

TEST_P(SaHelpers, WildcardArguments_SetNoComponents) {
    reply = table_of<sa_path_record_t>({path_to(0x99, 1)});
    EXPECT_EQ(paths_between(session, 1, IB_MTU_256).status, IBMF_SUCCESS);
    EXPECT_EQ(seen.sa.component_mask,
              SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID | SA_PR_COMPMASK_NUMBPATH);
}

// Defect D9: NumbPath has seven bits.
TEST_P(SaHelpers, PathCountAtLimits_RefusedOrClampedToNumbPath) {
    reply = table_of<sa_path_record_t>({path_to(0x99, 1)});
    EXPECT_EQ(paths_between(session, 0).status, IBMF_INVALID_ARG);
    EXPECT_EQ(paths_between(session, 1, 6).status, IBMF_INVALID_ARG);
    EXPECT_EQ(paths_between(session, 255).status, IBMF_SUCCESS);
    EXPECT_EQ(seen.record<sa_path_record_t>().NumbPath, 127);
    EXPECT_EQ(seen.record<sa_path_record_t>().Reversible, 0);
    reply.data.clear();
    const helper_result none = paths_between(session, 3);
    EXPECT_EQ(none.status, IBMF_NO_RECORDS);
    EXPECT_EQ(none.count, 0u);
}

// Defect D9: outputs were written before they were checked.
TEST_P(SaHelpers, NullOutput_FailsWithoutWriting) {
    const auto refuses = [&](auto call, auto count) {
        for (const int missing : {0, 1, 2}) {
            std::size_t length = 7;
            void* result = &length;
            EXPECT_EQ(call(missing == 0 ? nullptr : &count, missing == 1 ? nullptr : &length,
                           missing == 2 ? nullptr : &result),
                      IBMF_INVALID_ARG);
            EXPECT_EQ(count, 5);
            EXPECT_EQ(length, 7u);
            EXPECT_EQ(result, &length);
        }
    };
    const auto paths = [](void** result) { return reinterpret_cast<sa_path_record_t**>(result); };
    const auto services = [](void** result) {
        return reinterpret_cast<sa_service_record_t**>(result);
    };
    refuses(
        [&](std::uint8_t* count, std::size_t* length, void** result) {
            return ibmf_saa_gid_to_pathrecords(session.handle, gid_of(1), gid_of(2), 0,
                                               IBMF_SAA_MTU_WC, B_FALSE, count, 0, length,
                                               paths(result));
        },
        std::uint8_t{5});
    refuses(
        [&](uint_t* count, std::size_t* length, void** result) {
            return ibmf_saa_paths_from_gid(session.handle, gid_of(1), 0, B_TRUE, 0, count, length,
                                           paths(result));
        },
        uint_t{5});
    std::string name("name");
    refuses(
        [&](uint_t* count, std::size_t* length, void** result) {
            return ibmf_saa_name_to_service_record(session.handle, name.data(), 0, 0, count, length,
                                                   services(result));
        },
        uint_t{5});
    refuses(
        [&](uint_t* count, std::size_t* length, void** result) {
            return ibmf_saa_id_to_service_record(session.handle, 42, 0, 0, count, length,
                                                 services(result));
        },
        uint_t{5});
    EXPECT_EQ(sa.requests_received(), 0);
}

static_assert(noexcept(irpverbs::saa::one_path_per_port({})), "a C function calls it");

TEST_P(SaHelpers, PathsFromGid_ReturnsOnePathPerPort) {
    reply = table_of<sa_path_record_t>(
        {path_to(7, 1), path_to(8, 2), path_to(7, 3), path_to(9, 4), path_to(8, 5)});
    helper_result found;
    std::size_t length = 0;
    sa_path_record_t* result = nullptr;
    found.status = ibmf_saa_paths_from_gid(session.handle, gid_of(0x10), 0, B_TRUE, 0, &found.count,
                                           &length, &result);
    EXPECT_EQ(found.status, IBMF_SUCCESS);
    found.take(length, result);
    ASSERT_EQ(found.count, 3u);
    EXPECT_EQ(found.records[0].DLID, 1);
    EXPECT_EQ(found.records[2].DLID, 4);
    EXPECT_EQ(seen.sa.component_mask,
              SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_NUMBPATH | SA_PR_COMPMASK_REVERSIBLE);
    EXPECT_EQ(seen.record<sa_path_record_t>().NumbPath, 1);
}

TEST_P(SaHelpers, ServiceByNameOrId_SendsComponentAndReturnsRecord) {
    reply = table_of<sa_service_record_t>({service_42()});
    uint_t count = 0;
    std::size_t length = 0;
    sa_service_record_t* result = nullptr;
    std::string name(63, 'x');
    EXPECT_EQ(ibmf_saa_name_to_service_record(session.handle, name.data(), 0, 0, &count, &length,
                                              &result),
              IBMF_SUCCESS);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(result->ServiceID, 42u);
    std::free(result);
    EXPECT_EQ(seen.sa.component_mask, SA_SR_COMPMASK_NAME);
    const auto asked = seen.record<sa_service_record_t>();
    EXPECT_EQ(std::memcmp(asked.ServiceName, name.c_str(), 64), 0);
    EXPECT_EQ(
        ibmf_saa_id_to_service_record(session.handle, 42, 0x8001, 0, &count, &length, &result),
        IBMF_SUCCESS);
    std::free(result);
    EXPECT_EQ(seen.sa.component_mask, SA_SR_COMPMASK_ID | SA_SR_COMPMASK_PKEY);
    EXPECT_EQ(seen.record<sa_service_record_t>().ServiceID, 42u);
}

TEST_P(SaHelpers, ServiceNameOf64Bytes_ReturnsReqInvalid) {
    uint_t count = 0;
    std::size_t length = 0;
    sa_service_record_t* result = nullptr;
    for (const std::size_t size : {64u, 65u, 1000u}) {
        std::string name(size, 'x');
        EXPECT_EQ(ibmf_saa_name_to_service_record(session.handle, name.data(), 0, 0, &count,
                                                  &length, &result),
                  IBMF_REQ_INVALID);
    }
    EXPECT_EQ(sa.requests_received(), 0);
}

// Without the lease's component bit the SA would keep the record for ever.
TEST_P(SaHelpers, UpdateServiceRecord_SendsLeaseNameAndData) {
    reply.data.resize(176);
    sa_service_record_t record{};
    record.ServiceID = 42;
    record.ServiceLease = 10;
    EXPECT_EQ(ibmf_saa_update_service_record(session.handle, &record, IBMF_SAA_UPDATE, 0),
              IBMF_SUCCESS);
    EXPECT_EQ(seen.header.method, SA_SUBN_ADM_SET);
    EXPECT_EQ(seen.sa.component_mask, 0x1FFFFFFFF7u); // all but the reserved one
    EXPECT_EQ(seen.record<sa_service_record_t>().ServiceLease, 10u);
    EXPECT_EQ(ibmf_saa_update_service_record(session.handle, &record, IBMF_SAA_DELETE, 0),
              IBMF_SUCCESS);
    EXPECT_EQ(seen.header.method, SA_SUBN_ADM_DELETE);
    EXPECT_EQ(seen.sa.component_mask,
              SA_SR_COMPMASK_ID | SA_SR_COMPMASK_GID | SA_SR_COMPMASK_PKEY | SA_SR_COMPMASK_KEY);
    EXPECT_EQ(ibmf_saa_update_service_record(session.handle, &record, IBMF_SAA_RETRIEVE, 0),
              IBMF_REQ_INVALID);
    EXPECT_EQ(ibmf_saa_update_service_record(session.handle, nullptr, IBMF_SAA_UPDATE, 0),
              IBMF_INVALID_ARG);
}

IRPVERBS_ON_BOTH_MACHINES(SaHelpers);

} // namespace
