// Every C++ coroutine function of the library on the software HCA, on both machines, inline and
// pended.
#include "mad_client.hpp"

#include <support/both_machines.hpp>
#include <support/coroutines.hpp>
#include <support/verbs.hpp>

#include <ci/async.hpp>
#include <dispatch/status.hpp>
#include <hca/hca.hpp>
#include <hca/software.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>

namespace {

namespace asio = boost::asio;
using namespace irpverbs;
using namespace std::chrono_literals;
using irpverbs::testing::attached;
using irpverbs::testing::run_to_end;

constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);

boost::system::error_code code(NTSTATUS status) { return dispatch::make_error_code(status); }

class CiWrappers : public irpverbs::testing::BothMachines {
protected:
    // Runs with verbs that complete inline and with verbs that pend.
    void run(asio::awaitable<void> (*body)(ib_guid_t guid)) {
        for (const HCA_SOFTWARE_COMMANDS each : {HcaCommandsInline, HcaCommandsByDpc}) {
            const attached hcas;
            EXPECT_EQ(HcaSoftwareSetCommands(hcas.guid(), each), STATUS_SUCCESS);
            run_to_end(machine(), [&] { return body(hcas.guid()); });
        }
    }
};

asio::awaitable<void> use_attributes(ib_guid_t guid) {
    ci::channel_adapter ca = co_await ci::open_ca(HcaFromGuid(guid));
    const ci::ca_attributes all = co_await ci::query_ca(ca);
    EXPECT_EQ(all->NodeGuid, guid);
    EXPECT_EQ(ci::ports(*all).size(), 2u);
    EXPECT_EQ(ci::node_description(*all), hca::name(guid));

    const ci::port_attributes port = co_await ci::query_port(ca, 1);
    EXPECT_EQ(port->State, IB_PORT_ACTIVE);
    EXPECT_EQ(ci::gids(*port)[0].gid_guid, ci::gids(ci::ports(*all)[0])[0].gid_guid);
    EXPECT_EQ(ci::pkeys(*port)[0], IB_PKEY_DEFAULT_FULL);

    IB_MODIFY_CA name{};
    std::ranges::copy(std::string_view("renamed"), name.NodeDescription);
    co_await ci::modify_ca(ca, IB_MODIFY_CA_NODE_DESCRIPTION, name);
    EXPECT_EQ(ci::node_description(*co_await ci::query_ca(ca)), "renamed");

    IB_MODIFY_PORT change{};
    change.SetCapabilities = IB_PORT_CAP_IS_SM;
    co_await ci::modify_port(ca, 1, IB_MODIFY_PORT_CAPABILITIES, change);
    EXPECT_NE((co_await ci::query_port(ca, 1))->CapabilityMask & IB_PORT_CAP_IS_SM, 0u);
    co_await ci::close_ca(ca);
}

TEST_P(CiWrappers, QueryAndModify_ReturnAndChangeAttributes) { run(use_attributes); }

asio::awaitable<void> use_queue(ib_guid_t guid) {
    ci::channel_adapter ca = co_await ci::open_ca(HcaFromGuid(guid));
    ci::completion_queue cq = co_await ci::create_cq(ca, 8);
    EXPECT_EQ((co_await ci::query_cq(cq))->NumCqes, 8u);
    EXPECT_EQ(co_await ci::resize_cq(cq, 2), 2u);

    boost::system::error_code armed;
    ci::arm_cq_now(cq, IB_CQ_ARM_SOLICITED, armed);
    EXPECT_FALSE(armed);
    ci::arm_cq_now(cq, IB_CQ_ARM_NEXT);
    EXPECT_THROW(ci::arm_cq_now(nullptr, IB_CQ_ARM_NEXT), dispatch::status_error);
    co_await ci::arm_cq(cq, IB_CQ_ARM_NEXT);
    IB_WC made{};
    for (made.WrId = 1; made.WrId <= 3; ++made.WrId)
        EXPECT_EQ(HcaSoftwareInsertCompletion(cq, &made),
                  made.WrId < 3 ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW);
    co_await ci::get_cq_comp_event(cq);
    EXPECT_EQ(co_await ci::get_cq_async_event(cq), IB_AE_CQ_ERROR);
    std::array<IB_WC, 4> found{};
    EXPECT_EQ(ci::get_cq_results(cq, std::span(found).first(1)), 1u);
    EXPECT_EQ(found[0].WrId, 1u);
    EXPECT_EQ(co_await ci::poll_cq(cq, found), 1u);
    EXPECT_EQ(found[0].WrId, 2u);
    boost::system::error_code error = code(STATUS_UNSUCCESSFUL);
    EXPECT_EQ(ci::get_cq_results(cq, found, error), 0u);
    EXPECT_FALSE(error);
    EXPECT_EQ(ci::get_cq_results(nullptr, found, error), 0u);
    EXPECT_EQ(error, code(STATUS_INVALID_PARAMETER));
    EXPECT_THROW(ci::get_cq_results(nullptr, found), dispatch::status_error);

    const auto [busy] = co_await ca.async_close(as_tuple);
    EXPECT_EQ(busy, code(STATUS_DEVICE_BUSY));
    co_await ci::destroy_cq(cq);
    co_await ci::close_ca(ca);
}

TEST_P(CiWrappers, CompletionQueueVerbs_ReturnTheirResults) { run(use_queue); }

asio::awaitable<void> use_queue_pair(ib_guid_t guid) {
    ci::channel_adapter ca = co_await ci::open_ca(HcaFromGuid(guid));
    ci::protection_domain pd = co_await ci::allocate_pd(ca);
    ci::completion_queue cq = co_await ci::create_cq(ca, 8);
    std::array<std::byte, 16> memory{};
    ci::memory_region mr =
        co_await ci::register_mr(pd, memory, IB_AC_LOCAL_WRITE | IB_AC_RDMA_WRITE);
    EXPECT_EQ((co_await ci::query_mr(mr))->lkey, mr.lkey());
    ci::memory_region paged = co_await ci::allocate_frmr(pd, 4);
    EXPECT_EQ((co_await ci::query_mr(paged))->lkey, paged.lkey());
    co_await ci::deregister_mr(paged);
    constexpr ULONG page = 4096;
    const ib_phys_range_t range{static_cast<ULONGLONG>(ULONG_PTR{page}) * 16, page};
    paged = co_await ci::register_pmr(pd, {page, 1, 0, &range, page, page, IB_AC_LOCAL_WRITE});
    EXPECT_EQ((co_await ci::query_mr(paged))->local_ub, 2 * page);
    co_await ci::modify_pmr(
        paged, {IB_MR_MOD_ADDR, nullptr, {page, 1, 0, &range, ULONGLONG{2} * page, page, 0}});
    EXPECT_EQ((co_await ci::query_mr(paged))->local_ub, 3 * page);
    ci::memory_region sharing =
        co_await ci::register_smr(pd, paged, reinterpret_cast<void*>(ULONG_PTR{4 * page}), 0);
    EXPECT_EQ((co_await ci::query_mr(sharing))->local_ub, 5 * page);
    const auto [held] = co_await paged.async_close(as_tuple);
    EXPECT_EQ(held, code(STATUS_DEVICE_BUSY));
    co_await ci::deregister_mr(sharing);
    co_await ci::deregister_mr(paged);
    const ib_mr_mod_t readable{IB_MR_MOD_ACCESS, nullptr, {nullptr, 0, IB_AC_RDMA_READ, 0}};
    co_await ci::modify_mr(mr, readable);
    EXPECT_EQ((co_await ci::query_mr(mr))->access_ctrl, ib_access_t{IB_AC_RDMA_READ});
    const ib_mr_mod_t writable{
        IB_MR_MOD_ACCESS, nullptr, {nullptr, 0, IB_AC_LOCAL_WRITE | IB_AC_RDMA_WRITE, 0}};
    co_await ci::modify_mr(mr, writable);
    EXPECT_EQ(mr.rkey(), mr.lkey());

    ib_av_attr_t way{};
    way.port_num = 1;
    ci::address_vector av = co_await ci::create_av(pd, way);
    way.dlid = 10;
    co_await ci::modify_av(av, way);
    EXPECT_EQ((co_await ci::query_av(av))->attr.dlid, 10);
    co_await ci::destroy_av(av);

    ib_qp_create_t wanted{};
    wanted.qp_type = IB_QPT_UNRELIABLE_CONN;
    wanted.sq_depth = wanted.rq_depth = 4;
    ci::queue_pair qp = co_await ci::create_qp(pd, cq, cq, wanted);
    const auto events = qp.async_events();
    co_await ci::modify_qp(qp, ci::to_init(wanted.qp_type, {.port = 2}));
    EXPECT_EQ((co_await ci::query_qp(qp))->primary_port, 2);
    wanted.qp_type = IB_QPT_UNRELIABLE_DGRM;
    ci::queue_pair datagrams = co_await ci::create_qp(pd, cq, cq, wanted);
    ci::multicast_attachment attached =
        co_await ci::attach_mcast(datagrams, {0xFF12401BFFFF0000, 1}, 0xC001);
    const auto [attached_status] = co_await datagrams.async_close(as_tuple);
    EXPECT_EQ(attached_status, code(STATUS_DEVICE_BUSY));
    co_await ci::detach_mcast(attached);
    co_await ci::destroy_qp(datagrams);

    co_await ci::flush_qp(qp);
    EXPECT_EQ((co_await ci::query_qp(qp))->state, IB_QPS_ERROR);
    const auto [late, none] = co_await ci::get_qp_async_event(qp, irp::within(1ms, as_tuple));
    EXPECT_EQ(late, code(STATUS_IO_TIMEOUT));

    const auto [pd_status] = co_await pd.async_close(as_tuple);
    EXPECT_EQ(pd_status, code(STATUS_DEVICE_BUSY));
    const auto [cq_status] = co_await cq.async_close(as_tuple);
    EXPECT_EQ(cq_status, code(STATUS_DEVICE_BUSY));
    co_await ci::destroy_qp(qp);
    const auto [gone, nothing] = co_await events.next(as_tuple);
    EXPECT_EQ(gone, code(STATUS_FILE_CLOSED));
    co_await ci::deregister_mr(mr);
    co_await ci::deallocate_pd(pd);
    co_await ci::destroy_cq(cq);
    co_await ci::close_ca(ca);
}

TEST_P(CiWrappers, QueuePairVerbs_ReturnTheirResults) { run(use_queue_pair); }

asio::awaitable<void> use_xrc(ib_guid_t guid) {
    ci::channel_adapter ca = co_await ci::open_ca(HcaFromGuid(guid));
    ci::protection_domain pd = co_await ci::allocate_pd(ca);
    ci::completion_queue cq = co_await ci::create_cq(ca, 8);
    ci::xrc_domain xrcd = co_await ci::allocate_xrcd(ca);
    ib_srq_create_t receives{};
    receives.max_wr = receives.max_sge = 1;
    ci::shared_receive_queue srq = co_await ci::create_srq(pd, xrcd, cq, receives);
    EXPECT_EQ((co_await ci::query_srq(srq))->h_xrcd, static_cast<IB_XRCD*>(xrcd));
    ci::queue_pair target = co_await ci::create_xrc_target(pd, xrcd);
    ib_qp_create_t sends{};
    sends.sq_depth = sends.sq_sge = 1;
    ci::queue_pair initiator = co_await ci::create_xrc_initiator(pd, cq, sends);
    EXPECT_EQ((co_await ci::query_qp(initiator))->qp_type, ib_qp_type_t{IB_QPT_XRC_INI});
    EXPECT_EQ((co_await ci::query_qp(target))->h_xrcd, static_cast<IB_XRCD*>(xrcd));
    const auto [busy] = co_await xrcd.async_close(as_tuple);
    EXPECT_EQ(busy, code(STATUS_DEVICE_BUSY));
    co_await ci::destroy_qp(target);
    co_await ci::destroy_srq(srq);
    co_await ci::deallocate_xrcd(xrcd);
    co_await ci::destroy_qp(initiator);
    co_await ci::destroy_cq(cq);
    co_await ci::deallocate_pd(pd);
    co_await ci::close_ca(ca);
}

TEST_P(CiWrappers, XrcVerbs_ReturnTheirResults) { run(use_xrc); }

// The handles end in the order of a program that knows nothing of their order.
asio::awaitable<void> drop_handles(ib_guid_t guid) {
    ci::queue_pair qp;
    ci::memory_region mr;
    std::array<std::byte, 16> memory{};
    {
        const ci::channel_adapter ca = co_await ci::open_ca(HcaFromGuid(guid));
        const ci::completion_queue sends = co_await ci::create_cq(ca, 8);
        const ci::completion_queue receives = co_await ci::create_cq(ca, 8);
        const ci::protection_domain pd = co_await ci::allocate_pd(ca);
        mr = co_await ci::register_mr(pd, memory, 0);
        qp = co_await ci::create_qp(pd, sends, receives, ib_qp_create_t{});
    }
    EXPECT_EQ((co_await ci::query_qp(qp))->state, IB_QPS_RESET);
    EXPECT_EQ((co_await ci::query_mr(mr))->lkey, mr.lkey());
}

// The HCA detaches after each run, which fails while it is open.
TEST_P(CiWrappers, HandlesOfAQueuePair_EndInAnyOrder) { run(drop_handles); }

asio::awaitable<void> use_windows(ib_guid_t guid) {
    const ci::channel_adapter ca = co_await ci::open_ca(HcaFromGuid(guid));
    const ci::completion_queue cq = co_await ci::create_cq(ca, 8);
    std::array<std::byte, 16> memory{};
    ci::protection_domain pd = co_await ci::allocate_pd(ca);
    ci::memory_region mr = co_await ci::register_mr(pd, memory, IB_AC_LOCAL_WRITE | IB_AC_MW_BIND);
    ci::memory_window mw = co_await ci::allocate_mw(pd, mr, IB_MWT_TYPE_1);
    EXPECT_EQ((co_await ci::query_mw(mw))->rkey, mw.rkey());
    {
        const ci::queue_pair qp = co_await ci::create_qp(pd, cq, cq, ib_qp_create_t{});
        ib_bind_wr_t what{};
        what.current_rkey = mw.rkey();
        boost::system::error_code error;
        EXPECT_EQ(ci::bind_mw(mw, qp, what, error), 0u);
        EXPECT_EQ(error, code(STATUS_INVALID_DEVICE_STATE));
        EXPECT_THROW(ci::bind_mw(mw, qp, what), dispatch::status_error);
    }
    const auto [busy] = co_await mr.async_close(as_tuple);
    EXPECT_EQ(busy, code(STATUS_DEVICE_BUSY)) << "the window keeps it";
    co_await ci::deallocate_mw(mw);
    co_await ci::deregister_mr(mr);
    mw = co_await ci::allocate_mw(pd, IB_MWT_TYPE_2);
    pd = {};
    EXPECT_EQ((co_await ci::query_mw(mw))->type, ULONG{IB_MWT_TYPE_2});
}

TEST_P(CiWrappers, Windows_KeepTheirDomainAndRegion) { run(use_windows); }

asio::awaitable<void> post_in_vain(ib_guid_t guid) {
    const ci::channel_adapter ca = co_await ci::open_ca(HcaFromGuid(guid));
    const ci::protection_domain pd = co_await ci::allocate_pd(ca);
    const ci::completion_queue cq = co_await ci::create_cq(ca, 8);
    const ci::queue_pair qp = co_await ci::create_qp(pd, cq, cq, ib_qp_create_t{});
    ib_send_wr_t send{};
    ib_recv_wr_t receive{};
    boost::system::error_code error;
    EXPECT_EQ(ci::post_send(qp, &send, error), &send);
    EXPECT_TRUE(error);
    EXPECT_EQ(ci::post_recv(qp, &receive, error), &receive);
    EXPECT_TRUE(error);
    EXPECT_THROW(ci::post_send(qp, &send), dispatch::status_error);
    EXPECT_THROW(ci::post_recv(qp, &receive), dispatch::status_error);
}

TEST_P(CiWrappers, PostThatFails_ReturnsTheWorkRequestOrThrows) { run(post_in_vain); }

asio::awaitable<void> use_events(ib_guid_t guid) {
    using namespace asio::experimental::awaitable_operators;
    ci::channel_adapter ca = co_await ci::open_ca(HcaFromGuid(guid));
    const auto events = ca.port_events(1);
    HcaSoftwareFlapLink(guid, 1);
    EXPECT_EQ(co_await events.next(), IB_AE_PORT_ERROR);
    EXPECT_EQ(co_await ci::get_ca_port_event(ca, 1), IB_AE_PORT_ACTIVE);

    const auto [late, none] = co_await events.next(irp::within(1ms, as_tuple));
    EXPECT_EQ(late, code(STATUS_IO_TIMEOUT));
    const auto first =
        co_await (events.next(asio::use_awaitable) || ci::query_port(ca, 1, asio::use_awaitable));
    EXPECT_EQ(first.index(), 1u); // the wait is cancelled, and no event is lost:
    HcaSoftwareChangeSm(guid, 1, 7, 0);
    EXPECT_EQ(co_await events.next(), IB_AE_SM_CHANGE);
    co_await ci::close_ca(ca);
    const auto [gone, nothing] = co_await events.next(as_tuple);
    EXPECT_EQ(gone, code(STATUS_FILE_CLOSED));
}

TEST_P(CiWrappers, CancelledEventWait_NoEventLost) { run(use_events); }

asio::awaitable<void> fail_hca(ib_guid_t guid) {
    ci::channel_adapter ca = co_await ci::open_ca(HcaFromGuid(guid));
    HcaSoftwareFail(guid);
    co_await ci::get_ca_fatal_event(ca);
    const auto [again] = co_await ca.fatal_events().next(irp::within(1ms, as_tuple));
    EXPECT_EQ(again, code(STATUS_IO_TIMEOUT)); // one event completes one IRP
    const auto [failed, port] = co_await ci::query_port(ca, 1, as_tuple);
    EXPECT_EQ(failed, code(STATUS_FILE_FORCED_CLOSED));
    EXPECT_TRUE(port.empty());
    co_await ci::close_ca(ca);
}

TEST_P(CiWrappers, HcaFails_FatalEventIsReceivedOnce) { run(fail_hca); }

asio::awaitable<void> be_called(ib_guid_t guid) {
    struct called {
        int port_events = 0;
        int completions = 0;
    } count;
    const IB_CA_DISPATCH ca_calls{nullptr, [](IB_CA*, VOID* context, UCHAR, IB_ASYNC_EVENT) {
                                      ++static_cast<called*>(context)->port_events;
                                  }};
    const IB_CQ_DISPATCH cq_calls{
        [](VOID* context) { ++static_cast<called*>(context)->completions; }, nullptr};
    ci::channel_adapter ca = co_await ci::open_ca(HcaFromGuid(guid), &count, ca_calls);
    ci::completion_queue cq = co_await ci::create_cq(ca, 4, &count, cq_calls);
    HcaSoftwareFlapLink(guid, 1);
    EXPECT_EQ(count.port_events, 2);
    co_await ci::arm_cq(cq, IB_CQ_ARM_NEXT);
    const IB_WC made{};
    EXPECT_EQ(HcaSoftwareInsertCompletion(cq, &made), STATUS_SUCCESS);
    EXPECT_EQ(count.completions, 1);
    co_await ci::destroy_cq(cq);
    co_await ci::close_ca(ca);
}

TEST_P(CiWrappers, DispatchTables_UpCallsAreMade) { run(be_called); }

asio::awaitable<void> exchange_datagrams(ib_guid_t guid) {
    using irpverbs::testing::agent_of;
    using irpverbs::testing::to_lid;
    using irpverbs::testing::vendor_class;
    ci::channel_adapter ca = co_await ci::open_ca(HcaFromGuid(guid));
    const ib_lid_t lid = (co_await ci::query_port(ca, 2))->Lid;
    // outside of co_await: g++ 12 has no room in a coroutine for the initializer list
    const IB_MAD_AGENT_ATTR asks = agent_of(vendor_class);
    const IB_MAD_AGENT_ATTR receives = agent_of(vendor_class, {1}, 2);
    ci::mad_agent asker = co_await ci::register_mad_agent(ca, asks);
    ci::mad_agent responder = co_await ci::register_mad_agent(ca, receives);

    irpverbs::testing::mad sent_request(vendor_class, 1, 5);
    const IB_MAD_SEND sent{to_lid(lid), sent_request.data(), IB_MAD_SIZE, 1000};
    co_await ci::send_mad(asker, sent);
    ci::received_mad request = co_await ci::get_mad(responder);
    EXPECT_EQ(request.data.size(), IB_MAD_SIZE);
    request.data[3] |= std::byte{0x80};
    const IB_MAD_SEND response{request.from, request.data.data(), IB_MAD_SIZE, 0};
    co_await ci::send_mad(responder, response);
    EXPECT_EQ((co_await asker.datagrams().next()).from.Lid, lid);

    IB_MAD_AGENT_ATTR own{};
    own.PortNumber = 1;
    own.QpKind = IB_MAD_QP_OWN_MADS;
    own.Keys = {IB_PKEY_DEFAULT_FULL, 1};
    ci::mad_agent with_qp = co_await ci::register_mad_agent(ca, own);
    own.Keys.QKey = IB_QP1_QKEY;
    co_await ci::modify_mad_agent(with_qp, own.Keys);
    IB_MAD_SEND to_it = sent;
    to_it.To.Lid = (co_await ci::query_port(ca, 1))->Lid;
    to_it.To.Qp = static_cast<IB_MAD_AGENT*>(with_qp)->Attr.Qp;
    co_await ci::send_mad(asker, to_it);
    EXPECT_EQ((co_await ci::get_mad(with_qp)).from.Lid, to_it.To.Lid);

    co_await ci::deregister_mad_agent(with_qp);
    co_await ci::deregister_mad_agent(asker);
    co_await ci::deregister_mad_agent(responder);
    co_await ci::close_ca(ca);
}

TEST_P(CiWrappers, TwoMadAgents_ExchangeDatagrams) { run(exchange_datagrams); }

TEST_P(CiWrappers, AttachmentScope_DetachesAtItsEnd) {
    EXPECT_TRUE(hca::guids().empty());
    {
        const hca::attachment fabric("software:");
        const std::vector<ib_guid_t> all = hca::guids();
        ASSERT_EQ(all.size(), 4u);
        EXPECT_EQ(hca::name(all[0]), "host1");
        EXPECT_THROW(hca::name(0x1234), dispatch::status_error);
    }
    EXPECT_TRUE(hca::guids().empty());
    try {
        const hca::attachment none("software:/no/such/file");
        ADD_FAILURE() << "nothing was thrown";
    } catch (const dispatch::status_error& error) {
        EXPECT_EQ(error.status(), STATUS_NO_SUCH_FILE);
        EXPECT_NE(std::string_view(error.what()).find("/no/such/file"), std::string_view::npos);
    }
}

IRPVERBS_ON_BOTH_MACHINES(CiWrappers);

} // namespace
