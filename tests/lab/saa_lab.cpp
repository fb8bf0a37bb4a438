// SA access on a host of a lab, over the rdma driver, against OpenSM; or against our own subnet
// manager, if the environment names software:FILE. saa_test.py runs each test of this program in a
// new lab.
#include <local_subnet_manager.hpp>
#include <support/coroutines.hpp>
#include <support/verbs.hpp>

#include <ibmf/ibmf_extras.h>
#include <saa/async.hpp>
#include <saa/ibmf_saa_extras.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <set>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

sa_node_record_t node_at(ib_lid_t lid, std::uint16_t device = 0) {
    sa_node_record_t record{};
    record.LID = lid;
    record.NodeInfo.DeviceID = device;
    return record;
}

class SaaLab : public ::testing::Test {
protected:
    SaaLab() {
        IB_CA* const ca = open_ca(hcas.fdo());
        {
            const port_block port(ca, 1);
            lid = port->Lid;
            gid = *IbPortGid(&*port, 0);
        }
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
        EXPECT_EQ(ibmf_sa_session_open(gid.gid_guid, 0, nullptr, IBMF_VERSION, 0, &session),
                  IBMF_SUCCESS);
    }
    ~SaaLab() override {
        if (session != nullptr) close();
    }
    void close() { EXPECT_EQ(ibmf_sa_session_close(&session, 0), IBMF_SUCCESS); }

    template <class Host>
    saa::found<Host> all_of(const Host& wanted = {}, std::uint64_t components = 0) {
        call_result<saa::found<Host>> result;
        saa::retrieve(session, saa::query_template<Host>{wanted, components}, 0, result.handler());
        return std::move(result.result());
    }
    saa::found<sa_path_record_t> paths_from_here() {
        call_result<saa::found<sa_path_record_t>> result;
        saa::paths_from_gid(session, gid, 0, true, 0, result.handler());
        return std::move(result.result());
    }

    /// IBMF's counter of the port's retries, which any client can read.
    std::uint64_t retries_of_port() {
        ibmf_register_info_t info{hcas.guid(), 1, PERF_MANAGER};
        ibmf_impl_caps_t capabilities{};
        ibmf_handle_t client = nullptr;
        ibmf_stats_t stats{};
        EXPECT_EQ(ibmf_register(&info, IBMF_VERSION, 0, nullptr, nullptr, &client, &capabilities),
                  IBMF_SUCCESS);
        EXPECT_EQ(ibmf_query_stats(client, B_TRUE, &stats), IBMF_SUCCESS);
        EXPECT_EQ(ibmf_unregister(&client, 0), IBMF_SUCCESS);
        return stats.st_retries;
    }

    dispatch::asio_machine machine{{.processors = 2}};
    dispatch::machine::scope inside{machine};
    static std::string uri() {
        const char* const said = std::getenv("IRPVERBS_SAA_LAB_HCA");
        return said != nullptr ? said : "rdma:";
    }
    attached hcas{uri()};
    samples::local_subnet_manager managed{uri()};
    ib_lid_t lid = 0;
    ib_gid_t gid{};
    ibmf_saa_handle_t session = nullptr;
};

TEST_F(SaaLab, RetrieveManyTypes_ReturnsRecords) {
    const auto nodes = all_of<sa_node_record_t>();
    EXPECT_EQ(nodes.status, IBMF_SUCCESS);
    bool here = false;
    for (const sa_node_record_t& each : nodes.records)
        here = here || (each.LID == lid && each.NodeInfo.PortGUID == gid.gid_guid);
    EXPECT_TRUE(here);
    EXPECT_EQ(all_of<sa_portinfo_record_t>().status, IBMF_SUCCESS);
    EXPECT_EQ(all_of<sa_link_record_t>().status, IBMF_SUCCESS);
    EXPECT_EQ(all_of<sa_switchinfo_record_t>().records.size(), 1u);
    const auto sms = all_of<sa_sminfo_record_t>();
    ASSERT_EQ(sms.records.size(), 1u);
    EXPECT_EQ(sms.records[0].SMInfo.SMState, SM_STATE_MASTER);
    EXPECT_EQ(all_of<sa_node_record_t>(node_at(0xBF00), SA_NODEINFO_COMPMASK_NODELID).status,
              IBMF_NO_RECORDS);
    EXPECT_EQ(all_of<ib_mad_classportinfo_t>().records.size(), 1u);
    std::cout << "nodes " << nodes.records.size() << std::endl; // for saa_test.py
}

TEST_F(SaaLab, PathsFromOwnPort_ReachEachPortOnce) {
    const auto paths = paths_from_here();
    EXPECT_EQ(paths.status, IBMF_SUCCESS);
    std::set<std::uint64_t> ends;
    for (const sa_path_record_t& each : paths.records) {
        EXPECT_EQ(each.SGID.gid_guid, gid.gid_guid);
        EXPECT_EQ(each.SLID, lid);
        ends.insert(each.DGID.gid_guid);
    }
    EXPECT_EQ(ends.size(), paths.records.size());
    std::cout << "paths " << paths.records.size() << std::endl;
    std::uint8_t count = 3;
    std::size_t length = 0;
    sa_path_record_t* result = nullptr;
    EXPECT_EQ(ibmf_saa_gid_to_pathrecords(session, gid, paths.records[0].DGID, 0, IB_MTU_1024,
                                          B_TRUE, &count, 0, &length, &result),
              IBMF_SUCCESS);
    ASSERT_EQ(count, 1);
    EXPECT_EQ(result->DLID, paths.records[0].DLID);
    std::free(result);
    EXPECT_EQ(ibmf_saa_gid_to_pathrecords(session, gid, {gid.gid_prefix, 0xDEAD}, 0, 0, B_TRUE,
                                          &count, 0, &length, &result),
              IBMF_NO_RECORDS);
}

TEST_F(SaaLab, BroadcastGroupOfTheDefaultPartition_HasAPath) {
    sa_mcmember_record_t group{};
    group.MGID = {0xff12401bffff0000, 0xffffffff};
    const auto groups = all_of(group, SA_MC_COMPMASK_MGID);
    ASSERT_EQ(groups.records.size(), 1u);
    EXPECT_EQ(groups.records[0].Q_Key, 0xb1bu);
    sa_path_record_t path{};
    path.DGID = group.MGID;
    const auto paths = all_of(path, SA_PR_COMPMASK_DGID);
    ASSERT_EQ(paths.records.size(), 1u);
    EXPECT_EQ(paths.records[0].DLID, groups.records[0].MLID);
    EXPECT_EQ(paths.records[0].Mtu, groups.records[0].MTU);
    EXPECT_EQ(paths.records[0].Rate, groups.records[0].Rate);
    path.MtuSelector = SA_PR_MTU_SEL_EXACTLY;
    EXPECT_EQ(
        all_of(path, SA_PR_COMPMASK_DGID | SA_PR_COMPMASK_MTU | SA_PR_COMPMASK_MTUSELECTOR).status,
        IBMF_REQ_INVALID);
}

// The request is itself an RMPP transfer.
TEST_F(SaaLab, MultiPathToSeveralPorts_ReturnsOnePathEach) {
    const auto all = paths_from_here();
    constexpr std::size_t wanted = 10; // OpenSM reads only eleven GIDs
    ASSERT_GE(all.records.size(), wanted);
    struct {
        sa_multipath_record_t record{};
        ib_gid_t gids[1 + wanted];
    } asked;
    asked.record.SGIDCount = 1;
    asked.record.DGIDCount = wanted;
    asked.gids[0] = gid;
    for (std::size_t i = 0; i < wanted; ++i)
        asked.gids[1 + i] = all.records[i].DGID;
    std::uint64_t components = SA_MPR_COMPMASK_SGIDCOUNT | SA_MPR_COMPMASK_DGIDCOUNT;
    const auto paths = [&](int& status) {
        ibmf_saa_access_args_t args{SA_MULTIPATHRECORD_ATTRID,
                                    IBMF_SAA_RETRIEVE,
                                    components,
                                    &asked.record,
                                    sizeof asked,
                                    nullptr,
                                    nullptr};
        std::size_t length = 0;
        void* result = nullptr;
        status = ibmf_sa_access(session, &args, 0, &length, &result);
        const std::unique_ptr<void, decltype(&std::free)> freed(result, &std::free);
        const auto* const first = static_cast<const sa_path_record_t*>(result);
        return std::vector(first, first + length / sizeof *first);
    };
    int status = IBMF_FAILURE;
    const auto found = paths(status);
    EXPECT_EQ(status, IBMF_SUCCESS);
    ASSERT_EQ(found.size(), wanted);
    for (std::size_t i = 0; i < wanted; ++i) {
        EXPECT_EQ(found[i].SLID, lid);
        EXPECT_EQ(found[i].DLID, all.records[i].DLID);
    }
    asked.gids[wanted].gid_guid = 0xDEAD;
    EXPECT_TRUE(paths(status).empty());
    EXPECT_EQ(status, IBMF_INVALID_GID);
}

TEST_F(SaaLab, ServiceRegisteredAndDeleted_FoundOnlyInBetween) {
    sa_service_record_t record{};
    record.ServiceID = 0x1234;
    record.ServiceGID = gid;
    record.ServiceP_Key = IB_PKEY_DEFAULT_FULL;
    record.ServiceLease = 100;
    record.ServiceData[3] = 42;
    std::memcpy(record.ServiceName, "lab.service", 11);
    EXPECT_EQ(ibmf_saa_update_service_record(session, &record, IBMF_SAA_UPDATE, 0), IBMF_SUCCESS);
    uint_t count = 0;
    std::size_t length = 0;
    sa_service_record_t* result = nullptr;
    char name[] = "lab.service";
    EXPECT_EQ(ibmf_saa_name_to_service_record(session, name, 0, 0, &count, &length, &result),
              IBMF_SUCCESS);
    ASSERT_EQ(count, 1u);
    EXPECT_EQ(result->ServiceID, 0x1234u);
    EXPECT_EQ(result->ServiceData[3], 42);
    EXPECT_LE(result->ServiceLease, 100u);
    std::free(result);
    EXPECT_EQ(ibmf_saa_update_service_record(session, &record, IBMF_SAA_DELETE, 0), IBMF_SUCCESS);
    EXPECT_EQ(ibmf_saa_id_to_service_record(session, 0x1234, 0, 0, &count, &length, &result),
              IBMF_NO_RECORDS);
}

// Distinct queries, all at once and uncached: the limit of outstanding ones holds, none fails, and
// none is repeated.
TEST_F(SaaLab, TenThousandConcurrentQueries_NoneFailsOrRepeats) {
    constexpr unsigned many = 10'000;
    ibmf_saa_stats_t before{};
    EXPECT_EQ(ibmf_saa_query_stats(session, &before), IBMF_SUCCESS);
    using one = call_result<saa::found<sa_node_record_t>>;
    std::vector<std::unique_ptr<one>> all;
    for (unsigned i = 0; i < many; ++i) {
        const saa::query_template<sa_node_record_t> wanted{
            node_at(lid, static_cast<std::uint16_t>(i)),
            SA_NODEINFO_COMPMASK_NODELID | SA_NODEINFO_COMPMASK_DEVICEID};
        all.push_back(std::make_unique<one>());
        saa::retrieve(session, wanted, 0, all.back()->handler());
    }
    unsigned failed = 0;
    for (const auto& each : all) {
        const int status = each->result().status;
        if (status != IBMF_SUCCESS && status != IBMF_NO_RECORDS) ++failed;
    }
    EXPECT_EQ(failed, 0u);
    ibmf_saa_stats_t stats{};
    EXPECT_EQ(ibmf_saa_query_stats(session, &stats), IBMF_SUCCESS);
    EXPECT_EQ(stats.ss_merged, 0u);
    EXPECT_EQ(stats.ss_queries - before.ss_queries, many);
    EXPECT_EQ(stats.ss_resent, 0u);
    EXPECT_EQ(retries_of_port(), 0u);
}

// Events of leaving hosts arrive while queries are sent without pause, from this SM and from the
// one that takes over. saa_test.py unplugs a host, ends the SM, and unplugs another.
TEST_F(SaaLab, EventsUnderLoadAndSmChange_AreReported) {
    struct listener {
        static void on_event(ibmf_saa_handle_t, ibmf_saa_subnet_event_t what,
                             ibmf_saa_event_details_t* details, void* context) {
            auto& self = *static_cast<listener*>(context);
            if (what == IBMF_SAA_EVENT_GID_UNAVAILABLE) {
                std::cout << "gone 0x" << std::hex << details->ie_gid.gid_guid << std::endl;
                ++self.gone;
            } else if (what == IBMF_SAA_EVENT_LOST) {
                std::cout << "lost" << std::endl;
                self.lost = true;
            }
        }
        bool has_all() const { return lost && gone >= 2; }
        std::atomic<int> gone{0};
        std::atomic<bool> lost{false};
    } subscriber;
    ibmf_saa_subnet_event_args_t args{listener::on_event, &subscriber};
    ibmf_saa_handle_t events = nullptr;
    ASSERT_EQ(ibmf_sa_session_open(gid.gid_guid, 0, &args, IBMF_VERSION,
                                   IBMF_SAA_SESSION_CACHED_PATHS, &events),
              IBMF_SUCCESS);
    ibmf_saa_path_cache_stats_t cached{};
    while (cached.pc_subscribed == 0)
        ASSERT_EQ(ibmf_saa_query_path_cache(events, &cached), IBMF_SUCCESS);
    std::cout << "subscribed" << std::endl;
    const char* const said = std::getenv("IRPVERBS_SAA_LAB_STORM");
    const unsigned at_once = said != nullptr ? static_cast<unsigned>(std::atoi(said)) : 200;
    unsigned asked = 0, failed = 0;
    while (!subscriber.has_all()) {
        using one = call_result<saa::found<sa_node_record_t>>;
        std::vector<std::unique_ptr<one>> all;
        for (unsigned i = 0; i < at_once; ++i, ++asked) {
            const saa::query_template<sa_node_record_t> wanted{
                node_at(lid, static_cast<std::uint16_t>(asked)),
                SA_NODEINFO_COMPMASK_NODELID | SA_NODEINFO_COMPMASK_DEVICEID};
            all.push_back(std::make_unique<one>());
            saa::retrieve(session, wanted, 0, all.back()->handler());
        }
        for (const auto& each : all) {
            const int status = each->result().status;
            if (status != IBMF_SUCCESS && status != IBMF_NO_RECORDS) ++failed;
        }
    }
    EXPECT_EQ(failed, 0u);
    std::cout << "asked " << std::dec << asked << std::endl;
    EXPECT_EQ(ibmf_sa_session_close(&events, 0), IBMF_SUCCESS);
}

// OpenSM is stopped during this test.
TEST_F(SaaLab, SaStopped_QueriesEndAtDeadlineOrSessionClose) {
    call_result<saa::found<sa_node_record_t>> late;
    call_result<saa::found<sa_path_record_t>> closed;
    const saa::query_template<sa_node_record_t> nodes;
    saa::retrieve(session, nodes, 0, irp::within(std::chrono::milliseconds(50), late.handler()));
    saa::paths(session, {.sgid = gid, .dgid = gid}, closed.handler());
    EXPECT_EQ(late.status(), STATUS_IO_TIMEOUT);
    close();
    EXPECT_EQ(closed.status(), STATUS_CANCELLED);
}

} // namespace
