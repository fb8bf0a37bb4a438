// Accesses of the SA: the requests, and the status and records that each response yields.
#include "scripted_sa.hpp"

#include <access/default_retrans.hpp>

#include <support/both_machines.hpp>

#include <algorithm>
#include <cstring>

namespace {

using namespace irpverbs::testing;
namespace saa = irpverbs::saa;

class SaAccess : public BothMachines {};

sa_path_record_t path_from_here(std::uint64_t guid, ib_lid_t lid) {
    sa_path_record_t path{};
    path.SGID = gid_of(wire::guids[0]);
    path.DGID = gid_of(guid);
    path.DLID = lid;
    return path;
}

struct path_access : test_access<sa_path_record_t> {
    explicit path_access(std::uint64_t guid = 0x99)
        : test_access(SA_PATHRECORD_ATTRID, path_from_here(guid, 0), path_ends) {}
};

// A host-endian template is packed and sent to the SM with its mask; the records of the response
// are unpacked.
TEST_P(SaAccess, Retrieve_SendsTemplateAndUnpacksTable) {
    const wire joined;
    sa_request seen{};
    scripted_sa sa([&](const sa_request& request) {
        seen = request;
        return table_of<sa_path_record_t>(
            {path_from_here(0x99, 7), path_from_here(0x99, 8), path_from_here(0x99, 9)});
    });
    const session_scope session;
    path_access access;
    EXPECT_EQ(access.ask(session), IBMF_SUCCESS);
    ASSERT_EQ(access.records().size(), 3u);
    EXPECT_EQ(access.records()[2].DLID, 9);
    EXPECT_EQ(access.records()[2].DGID.gid_guid, 0x99u);
    EXPECT_EQ(seen.header.method, SA_SUBN_ADM_GET_TABLE);
    EXPECT_EQ(seen.header.class_version, 2);
    EXPECT_EQ(seen.header.attribute_id, SA_PATHRECORD_ATTRID);
    EXPECT_EQ(seen.sa.component_mask, path_ends);
    EXPECT_EQ(seen.record<sa_path_record_t>().DGID.gid_guid, 0x99u);
}

TEST_P(SaAccess, SinglePathBetweenTwoPorts_UsesGetMethod) {
    const wire joined;
    std::uint8_t method = 0;
    scripted_sa sa([&](const sa_request& request) {
        method = request.header.method;
        return table_of<sa_path_record_t>({path_from_here(0x99, 7)});
    });
    const session_scope session;
    const auto method_for = [&](std::uint64_t components, std::uint8_t most) {
        sa_path_record_t wanted = path_from_here(0x99, 7);
        wanted.SLID = 1;
        wanted.NumbPath = most;
        test_access access(SA_PATHRECORD_ATTRID, wanted, components);
        EXPECT_EQ(access.ask(session), IBMF_SUCCESS);
        EXPECT_EQ(access.records().size(), 1u);
        return method;
    };
    constexpr std::uint64_t lids = SA_PR_COMPMASK_SLID | SA_PR_COMPMASK_DLID;
    EXPECT_EQ(method_for(path_ends | SA_PR_COMPMASK_NUMBPATH, 1), SA_SUBN_ADM_GET);
    EXPECT_EQ(method_for(lids | SA_PR_COMPMASK_NUMBPATH, 1), SA_SUBN_ADM_GET);
    EXPECT_EQ(method_for(path_ends | SA_PR_COMPMASK_NUMBPATH, 2), SA_SUBN_ADM_GET_TABLE);
    EXPECT_EQ(method_for(path_ends, 1), SA_SUBN_ADM_GET_TABLE);
    EXPECT_EQ(method_for(SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_NUMBPATH, 1), SA_SUBN_ADM_GET_TABLE);
    EXPECT_EQ(method_for(SA_PR_COMPMASK_DLID | SA_PR_COMPMASK_NUMBPATH, 1), SA_SUBN_ADM_GET_TABLE);
}

TEST_P(SaAccess, EqualQueriesAmongManyOthers_AreMerged) {
    const wire joined;
    const scripted_sa sa([](const sa_request&) { return sa_reply{.silent = true}; });
    std::vector<std::unique_ptr<path_access>> all;
    const session_scope session;
    for (int twice = 0; twice < 2; ++twice)
        for (std::uint64_t guid = 1; guid <= 300; ++guid) {
            all.push_back(std::make_unique<path_access>(guid));
            EXPECT_EQ(all.back()->begin(session), IBMF_SUCCESS);
        }
    EXPECT_EQ(session.stats().ss_merged, 300u);
}

TEST_P(SaAccess, TableOfManyDatagrams_ReceivedWhole) {
    const wire joined;
    std::vector<sa_path_record_t> all;
    for (ib_lid_t lid = 1; lid <= 3000; ++lid)
        all.push_back(path_from_here(lid, lid));
    scripted_sa sa([&](const sa_request&) { return table_of(all); });
    const session_scope session;
    path_access access;
    EXPECT_EQ(access.begin(session), IBMF_SUCCESS);
    EXPECT_EQ(access.status(), IBMF_SUCCESS);
    ASSERT_EQ(access.records().size(), all.size());
    EXPECT_EQ(access.records().back().DLID, 3000);
}

TEST_P(SaAccess, UpdateAndDelete_ReturnRecordOfResponse) {
    const wire joined;
    std::vector<std::uint8_t> methods;
    scripted_sa sa([&](const sa_request& request) {
        methods.push_back(request.header.method);
        sa_reply reply;
        reply.data = request.data;
        return reply;
    });
    const session_scope session;
    sa_mcmember_record_t member{};
    member.MLID = 0xC001;
    for (const auto type : {IBMF_SAA_UPDATE, IBMF_SAA_DELETE}) {
        test_access<sa_mcmember_record_t> access(SA_MCMEMBERRECORD_ATTRID, member, 1, type);
        EXPECT_EQ(access.ask(session), IBMF_SUCCESS);
        ASSERT_EQ(access.records().size(), 1u);
        EXPECT_EQ(access.records()[0].MLID, 0xC001);
    }
    EXPECT_EQ(methods, (std::vector<std::uint8_t>{SA_SUBN_ADM_SET, SA_SUBN_ADM_DELETE}));
}

TEST_P(SaAccess, UnknownAttribute_PassedAsWireBytes) {
    const wire joined;
    std::vector<std::uint8_t> seen;
    scripted_sa sa([&](const sa_request& request) {
        seen.assign(request.data.begin(), request.data.begin() + 5);
        sa_reply reply;
        reply.data = {1, 2, 3, 4, 5, 6, 7, 8, 9};
        return reply;
    });
    const session_scope session;
    const std::array<std::uint8_t, 5> bytes{9, 8, 7, 6, 5};
    test_access<std::array<std::uint8_t, 5>> access(0xFF40, bytes, 3);
    EXPECT_EQ(access.ask(session), IBMF_SUCCESS);
    EXPECT_EQ(access.length(), 9u);
    EXPECT_TRUE(std::ranges::equal(seen, bytes));
}

// Defect D10: OpenSM serves records that its ClassPortInfo does not announce, and so does this SA.
TEST_P(SaAccess, UnannouncedAttribute_IsRequestedAnyway) {
    const wire joined;
    scripted_sa sa([&](const sa_request& request) {
        EXPECT_EQ(request.header.attribute_id, SA_SWITCHINFORECORD_ATTRID);
        return table_of<sa_switchinfo_record_t>({{}});
    });
    const session_scope session;
    test_access<sa_switchinfo_record_t> access(SA_SWITCHINFORECORD_ATTRID, {}, 0);
    for (int i = 0; i < 2; ++i) // also after the response to ClassPortInfo has arrived
        EXPECT_EQ(access.ask(session), IBMF_SUCCESS);
    EXPECT_EQ(sa.requests_received(), 2);
}

TEST_P(SaAccess, MultiPathQuery_SentAsRmppTransfer) {
    const wire joined;
    std::vector<ib_gid_t> seen(40);
    sa_reply reply = table_of<sa_path_record_t>({path_from_here(0x99, 7)});
    scripted_sa sa([&](const sa_request& request) {
        sa_multipath_record_t record{};
        EXPECT_EQ(saa::unpack_multipath(request.data, record, seen), 40u);
        EXPECT_EQ(request.header.method, SA_SUBN_ADM_GET_MULTI);
        return reply;
    });
    const session_scope session;
    struct {
        sa_multipath_record_t record{};
        ib_gid_t gids[40];
    } wanted;
    wanted.record.SGIDCount = 10;
    wanted.record.DGIDCount = 30;
    for (unsigned i = 0; i < 40; ++i)
        wanted.gids[i] = gid_of(i);
    ibmf_saa_access_args_t args{
        SA_MULTIPATHRECORD_ATTRID, IBMF_SAA_RETRIEVE, 0, &wanted.record, 0, nullptr, nullptr};
    std::size_t length = 0;
    void* result = nullptr;
    EXPECT_EQ(ibmf_sa_access(session.handle, &args, 0, &length, &result), IBMF_SUCCESS);
    ASSERT_EQ(length, sizeof(sa_path_record_t));
    EXPECT_EQ(static_cast<sa_path_record_t*>(result)->DLID, 7);
    EXPECT_EQ(seen[39].gid_guid, 39u);
    std::free(result);
    reply.attribute = SA_MULTIPATHRECORD_ATTRID; // such records are never sent
    EXPECT_EQ(ibmf_sa_access(session.handle, &args, 0, &length, &result), IBMF_TRANS_FAILURE);
}

struct status_case {
    std::uint16_t wire;
    int ours;
};
constexpr status_case statuses[]{
    {0x0100, IBMF_NO_RESOURCES},       {0x0200, IBMF_REQ_INVALID},
    {0x0300, IBMF_NO_RECORDS},         {0x0400, IBMF_TOO_MANY_RECORDS},
    {0x0500, IBMF_INVALID_GID},        {0x0600, IBMF_INSUFF_COMPS},
    {0x0700, IBMF_REQ_INVALID},        {0x0800, IBMF_REQ_INVALID},
    {0x0004, IBMF_REQ_INVALID},        {0x0008, IBMF_UNSUPP_METHOD},
    {0x000C, IBMF_UNSUPP_METHOD_ATTR}, {0x001C, IBMF_INVALID_FIELD},
};

TEST_P(SaAccess, EachSaStatus_MapsToIbmfStatus) {
    const wire joined;
    std::uint16_t status = 0;
    scripted_sa sa([&](const sa_request&) {
        sa_reply reply;
        reply.status = status;
        reply.data.resize(64);
        return reply;
    });
    const session_scope session;
    for (const status_case& each : statuses) {
        status = each.wire;
        EXPECT_EQ(path_access().ask(session), each.ours) << each.wire;
    }
}

sa_reply with(sa_reply reply, const std::function<void(sa_reply&)>& change) {
    change(reply);
    return reply;
}

// No byte past the end is read, and the client gets an error.
TEST_P(SaAccess, MalformedResponse_ReturnsTransFailure) {
    const wire joined;
    const sa_reply good =
        table_of<sa_path_record_t>({path_from_here(0x99, 7), path_from_here(0x99, 8)});
    const std::vector<std::function<void(sa_reply&)>> changes{
        [](sa_reply& reply) { reply.attribute_offset = 0; },
        [](sa_reply& reply) { reply.attribute_offset = 7; }, // 56 bytes: less than a record
        [](sa_reply& reply) { reply.attribute = SA_NODERECORD_ATTRID; },
        [](sa_reply& reply) { reply.data.resize(63); },
        [](sa_reply& reply) { reply.data.resize(1); },
    };
    std::size_t which = 0;
    scripted_sa sa([&](const sa_request&) { return with(good, changes[which]); });
    const session_scope session;
    for (; which < changes.size(); ++which)
        EXPECT_EQ(path_access().ask(session), IBMF_TRANS_FAILURE) << which;
}

// OpenSM sets AttributeOffset to 0 then.
TEST_P(SaAccess, EmptyTable_ReturnsNoRecords) {
    const wire joined;
    scripted_sa sa([](const sa_request&) { return table_of<sa_path_record_t>({}); });
    const session_scope session;
    path_access access;
    EXPECT_EQ(access.ask(session), IBMF_NO_RECORDS);
    EXPECT_EQ(access.length(), 0u);
}

TEST_P(SaAccess, ShortLastRecordAndWideStride_AreAccepted) {
    const wire joined;
    scripted_sa sa([](const sa_request&) {
        sa_reply reply =
            table_of<sa_path_record_t>({path_from_here(0x99, 7), path_from_here(0x99, 8)});
        reply.data.insert(reply.data.begin() + 64, 16, 0xEE);
        reply.attribute_offset = 10;
        return reply;
    });
    const session_scope session;
    path_access access;
    EXPECT_EQ(access.ask(session), IBMF_SUCCESS);
    ASSERT_EQ(access.records().size(), 2u);
    EXPECT_EQ(access.records()[1].DLID, 8);
}

// Records of IBA 1.1 have 58 bytes; later fields are 0.
TEST_P(SaAccess, OlderRecordGeneration_AcceptedWithNewFieldsZero) {
    const wire joined;
    constexpr std::size_t older_stride = 64;
    scripted_sa sa([](const sa_request&) {
        sa_reply reply;
        reply.attribute_offset = older_stride / 8;
        reply.data.assign(older_stride + 58, 0xFF);
        reply.data[1] = 1;
        reply.data[older_stride + 1] = 2;
        return reply;
    });
    const session_scope session;
    test_access<sa_portinfo_record_t> access(SA_PORTINFORECORD_ATTRID, {}, 0);
    EXPECT_EQ(access.ask(session), IBMF_SUCCESS);
    ASSERT_EQ(access.records().size(), 2u);
    EXPECT_EQ(access.records()[0].EndportLID, 0xFF01);
    EXPECT_EQ(access.records()[1].EndportLID, 0xFF02);
    EXPECT_EQ(access.records()[1].PortInfo.OverrunErrors, 15);
    EXPECT_EQ(access.records()[1].PortInfo.LinkSpeedExtEnabled, 0);
}

TEST_P(SaAccess, InvalidArguments_FailWithEmptyOutputs) {
    const wire joined;
    const session_scope session;
    sa_path_record_t wanted{};
    ibmf_saa_access_args_t args{
        SA_PATHRECORD_ATTRID, IBMF_SAA_RETRIEVE, 0, &wanted, 0, nullptr, nullptr};
    const auto ask = [&](ibmf_saa_handle_t handle, uint_t flags = 0) {
        std::size_t length = 1;
        void* result = &wanted;
        const int status = ibmf_sa_access(handle, &args, flags, &length, &result);
        EXPECT_EQ(length, 0u);
        EXPECT_EQ(result, nullptr);
        return status;
    };
    std::size_t length = 0;
    void* result = nullptr;
    EXPECT_EQ(ibmf_sa_access(session.handle, nullptr, 0, &length, &result), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_sa_access(session.handle, &args, 0, nullptr, &result), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_sa_access(session.handle, &args, 0, &length, nullptr), IBMF_INVALID_ARG);
    EXPECT_EQ(ask(session.handle, 0x80), IBMF_INVALID_ARG);
    EXPECT_EQ(ask(nullptr), IBMF_BAD_HANDLE);
    EXPECT_EQ(ask(reinterpret_cast<ibmf_saa_handle_t>(~0ull)), IBMF_BAD_HANDLE);
    {
        const at_dispatch_level raised;
        EXPECT_EQ(ask(session.handle), IBMF_INVALID_ARG);
    }
    args.sq_access_type = static_cast<ibmf_saa_access_type_t>(3);
    EXPECT_EQ(ask(session.handle), IBMF_REQ_INVALID);
    args.sq_access_type = IBMF_SAA_UPDATE;
    args.sq_attr_id = SA_TRACERECORD_ATTRID;
    EXPECT_EQ(ask(session.handle), IBMF_REQ_INVALID);
    args = {0xFF40, IBMF_SAA_RETRIEVE, 0, &wanted, 0, nullptr, nullptr};
    EXPECT_EQ(ask(session.handle), IBMF_REQ_INVALID);
    args.sq_template_length = 201;
    EXPECT_EQ(ask(session.handle), IBMF_REQ_INVALID);
    args.sq_template = nullptr;
    EXPECT_EQ(ask(session.handle), IBMF_INVALID_ARG);
}

// Seed 003: "ignored for known attribute ids". A careful author passes the wire length.
TEST_P(SaAccess, TemplateLengthOfAKnownAttribute_Ignored) {
    const wire joined;
    scripted_sa sa([](const sa_request& request) {
        EXPECT_EQ(request.record<sa_path_record_t>().DLID, 9);
        return table_of<sa_path_record_t>({path_from_here(9, 9)});
    });
    const session_scope session;
    sa_path_record_t wanted = path_from_here(9, 9);
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{64}, sizeof wanted, std::size_t{1} << 40}) {
        ibmf_saa_access_args_t args{SA_PATHRECORD_ATTRID,
                                    IBMF_SAA_RETRIEVE,
                                    SA_PR_COMPMASK_DLID,
                                    &wanted,
                                    size,
                                    nullptr,
                                    nullptr};
        std::size_t length = 0;
        void* result = nullptr;
        EXPECT_EQ(ibmf_sa_access(session.handle, &args, 0, &length, &result), IBMF_SUCCESS) << size;
        std::free(result);
    }
}

TEST_P(SaAccess, TemplateLengthOfAMultiPathRecord_IgnoredWithItsGids) {
    const wire joined;
    scripted_sa sa(
        [](const sa_request&) { return table_of<sa_path_record_t>({path_from_here(9, 9)}); });
    const session_scope session;
    struct {
        sa_multipath_record_t record{};
        ib_gid_t gids[2];
    } many;
    many.record.SGIDCount = many.record.DGIDCount = 1;
    for (const std::size_t size : {std::size_t{0}, sizeof many.record, sizeof many}) {
        ibmf_saa_access_args_t args{
            SA_MULTIPATHRECORD_ATTRID, IBMF_SAA_RETRIEVE, 0, &many, size, nullptr, nullptr};
        std::size_t length = 0;
        void* result = nullptr;
        EXPECT_EQ(ibmf_sa_access(session.handle, &args, 0, &length, &result), IBMF_SUCCESS) << size;
        std::free(result);
    }
}

// C code may pass such a value. The sanitizer for undefined behaviour stops a load as enumeration.
TEST_P(SaAccess, AccessTypeBeyondTheEnumeration_RefusedAndNotLoaded) {
    const wire joined;
    scripted_sa sa([](const sa_request&) { return table_of<sa_path_record_t>({}); });
    const session_scope session;
    sa_path_record_t wanted{};
    ibmf_saa_access_args_t args{
        SA_PATHRECORD_ATTRID, IBMF_SAA_RETRIEVE, 0, &wanted, 0, nullptr, nullptr};
    for (const int type : {3, 7, -1, 0x7FFFFFFF}) {
        std::memcpy(&args.sq_access_type, &type, sizeof type);
        std::size_t length = 0;
        void* result = nullptr;
        EXPECT_EQ(ibmf_sa_access(session.handle, &args, 0, &length, &result), IBMF_REQ_INVALID);
    }
    EXPECT_EQ(sa.requests_received(), 0);
}

// response_bounds_test.cpp tests the memory of such a response.
TEST_P(SaAccess, AnnouncedLengthExceedsData_ReturnsTransFailure) {
    wire joined;
    const std::vector<sa_path_record_t> all(100, path_from_here(9, 9));
    scripted_sa sa([&](const sa_request&) { return table_of(all); });
    const session_scope session;
    bool lies = true;
    joined.tap = [&](unsigned from, std::array<UCHAR, IB_MAD_SIZE>& bytes) {
        const bool first = from == 1 && bytes[25] == 1 && (bytes[26] & 3) == 3;
        if (first && lies) std::fill_n(&bytes[32], 4, UCHAR{0xFF}); // PayloadLength
        return true;
    };
    EXPECT_EQ(path_access().ask(session), IBMF_TRANS_FAILURE);
    lies = false;
    EXPECT_EQ(path_access().ask(session), IBMF_SUCCESS);
    joined.tap = nullptr;
}

TEST_P(SaAccess, CallbackAccessAtDispatchLevel_Succeeds) {
    const wire joined;
    scripted_sa sa(
        [](const sa_request&) { return table_of<sa_path_record_t>({path_from_here(9, 9)}); });
    const session_scope session;
    path_access access;
    {
        const at_dispatch_level raised;
        EXPECT_EQ(access.begin(session), IBMF_SUCCESS);
    }
    EXPECT_EQ(access.status(), IBMF_SUCCESS);
    EXPECT_EQ(access.calls(), 1);
    EXPECT_EQ(access.records().size(), 1u);
}

TEST_P(SaAccess, PortDown_ReturnsBadPortStateAtOnce) {
    wire joined;
    const session_scope session;
    joined.set_state(0, IB_PORT_DOWN);
    EXPECT_EQ(path_access().ask(session), IBMF_BAD_PORT_STATE);
    path_access access;
    EXPECT_EQ(access.begin(session), IBMF_BAD_PORT_STATE);
    EXPECT_EQ(access.calls(), 0);
}

// One request serves all; each access has records of its own.
TEST_P(SaAccess, EqualQueries_ShareOneRequest) {
    const wire joined;
    scripted_sa sa(
        [](const sa_request&) { return table_of<sa_path_record_t>({path_from_here(9, 9)}); });
    const session_scope session;
    const session_scope other;
    path_access first;
    path_access second;
    path_access third;
    path_access different(0x98);
    {
        const at_dispatch_level raised; // keeps responses from arriving in between
        EXPECT_EQ(first.begin(session), IBMF_SUCCESS);
        EXPECT_EQ(second.begin(other), IBMF_SUCCESS);
        EXPECT_EQ(third.begin(session, IBMF_SAA_BULK), IBMF_SUCCESS);
        EXPECT_EQ(different.begin(session), IBMF_SUCCESS);
    }
    for (path_access* each : {&first, &second, &third, &different}) {
        EXPECT_EQ(each->status(), IBMF_SUCCESS);
        EXPECT_EQ(each->records().size(), 1u);
    }
    const ibmf_saa_stats_t stats = session.stats();
    EXPECT_EQ(stats.ss_merged + static_cast<unsigned>(sa.requests_received()), 4u);
    if (simulated()) {
        EXPECT_EQ(stats.ss_merged, 2u);
        EXPECT_EQ(sa.requests_received(), 2);
    }
}

TEST_P(SaAccess, EqualUpdates_AreNotMerged) {
    const wire joined;
    scripted_sa sa([](const sa_request& request) {
        sa_reply reply;
        reply.data = request.data;
        return reply;
    });
    const session_scope session;
    test_access<sa_mcmember_record_t> first(SA_MCMEMBERRECORD_ATTRID, {}, 1, IBMF_SAA_UPDATE);
    test_access<sa_mcmember_record_t> second(SA_MCMEMBERRECORD_ATTRID, {}, 1, IBMF_SAA_UPDATE);
    EXPECT_EQ(first.begin(session), IBMF_SUCCESS);
    EXPECT_EQ(second.begin(session), IBMF_SUCCESS);
    EXPECT_EQ(first.status(), IBMF_SUCCESS);
    EXPECT_EQ(second.status(), IBMF_SUCCESS);
    EXPECT_EQ(sa.requests_received(), 2);
}

// The bound holds, bulk accesses wait, and all are answered.
TEST_P(SaAccess, RequestsBeyondLimit_WaitAndBulkRunsLast) {
    const wire joined;
    std::vector<std::uint64_t> order;
    scripted_sa sa([&](const sa_request& request) {
        order.push_back(request.record<sa_path_record_t>().DGID.gid_guid);
        return table_of<sa_path_record_t>({path_from_here(9, 9)});
    });
    const session_scope session;
    EXPECT_EQ(ibmf_saa_limit_port(session.handle, 0), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_saa_limit_port(session.handle, 1), IBMF_SUCCESS);
    std::vector<std::unique_ptr<path_access>> all;
    {
        const at_dispatch_level raised;
        for (unsigned i = 0; i < 6; ++i) {
            all.push_back(std::make_unique<path_access>(i + 1));
            EXPECT_EQ(all.back()->begin(session, i < 3 ? IBMF_SAA_BULK : 0), IBMF_SUCCESS);
        }
        EXPECT_LE(session.stats().ss_in_flight, 1u);
    }
    for (const auto& each : all)
        EXPECT_EQ(each->status(), IBMF_SUCCESS);
    ASSERT_EQ(order.size(), 6u);
    if (simulated()) {
        // The port's own request for ClassPortInfo occupies the one slot until all are queued.
        EXPECT_EQ(order, (std::vector<std::uint64_t>{4, 5, 6, 1, 2, 3}));
    }
}

IRPVERBS_ON_BOTH_MACHINES(SaAccess);

TEST(SaAccessRetries, NoResponse_TimesOutAfterAllRetries) {
    irpverbs::dispatch::random_choices chance(1);
    irpverbs::dispatch::sim_machine machine(chance);
    const irpverbs::dispatch::machine::scope inside(machine);
    const wire joined;
    scripted_sa sa([](const sa_request&) { return sa_reply{.silent = true}; });
    const session_scope session;
    EXPECT_EQ(path_access().ask(session), IBMF_TRANS_TIMEOUT);
    EXPECT_EQ(sa.requests_received(), irpverbs::saa::default_retrans.retrans_retries + 1);
    EXPECT_EQ(session.stats().ss_resent, 0u);
}

// The SA announces 4 us: without growing intervals 20 requests would leave within a millisecond.
TEST(SaAccessRetries, DeadSa_AnnouncedAShortTime_RetriesGrowApart) {
    irpverbs::dispatch::random_choices chance(1);
    irpverbs::dispatch::sim_machine machine(chance);
    const irpverbs::dispatch::machine::scope inside(machine);
    wire joined;
    scripted_sa sa([](const sa_request&) { return sa_reply{.silent = true}; });
    sa.response_time = 0;
    const session_scope session;
    KeFlushQueuedDpcs();
    ib_mad_classportinfo_t any{};
    EXPECT_EQ(test_access(SA_CLASSPORTINFO_ATTRID, any, 0).ask(session), IBMF_SUCCESS);
    std::vector<ULONGLONG> sent;
    joined.tap = [&](unsigned from, const auto&) {
        if (from == 0) sent.push_back(KeQueryInterruptTime());
        return true;
    };
    EXPECT_EQ(path_access().ask(session), IBMF_TRANS_TIMEOUT);
    ASSERT_EQ(sent.size(), irpverbs::saa::default_retrans.retrans_retries + 1);
    constexpr ULONGLONG second = 10'000'000;
    const auto gap = [&](std::size_t after) { return sent[after + 1] - sent[after]; };
    EXPECT_LT(gap(0), second / 1000);
    EXPECT_GT(gap(10), 100 * gap(0));
    for (std::size_t i = 1; i + 1 < sent.size(); ++i)
        EXPECT_LE(gap(i), second + second / 100) << i;
    EXPECT_GT(sent.back() - sent.front(), 2 * second);
}

// A new SM gets the request when the old one fell silent.
TEST(SaAccessRetries, SmMovedWithoutResponse_RequestResentToNewSm) {
    irpverbs::dispatch::random_choices chance(1);
    irpverbs::dispatch::sim_machine machine(chance);
    const irpverbs::dispatch::machine::scope inside(machine);
    wire joined;
    bool moved = false;
    joined.move_sm(77); // no port has that LID
    scripted_sa sa(
        [&](const sa_request&) { return table_of<sa_path_record_t>({path_from_here(9, 9)}); });
    const session_scope session;
    joined.tap = [&](unsigned from, const auto&) {
        if (from == 0 && !std::exchange(moved, true)) joined.move_sm(wire::lids[1]);
        return true;
    };
    EXPECT_EQ(path_access().ask(session), IBMF_SUCCESS);
    EXPECT_GE(session.stats().ss_resent, 1u);
}

} // namespace
