#include "qp_end.hpp"

#include "as_result.hpp"

#include <ci/data_path.h>
#include <ci/names.hpp>
#include <irp/within.hpp>

#include <fmt/format.h>

namespace irpctl {

using namespace std::chrono_literals;

namespace {

constexpr ib_qkey_t qkey = 0x11;
constexpr UCHAR atomics_and_reads = 16; // outstanding; the ConnectX default

// Ethernet ports have no LID: peers are found by the GID.
ib_av_attr_t way_to(const IB_PORT_ATTR& peer, std::uint8_t port) {
    ib_av_attr_t made{};
    made.port_num = port;
    made.dlid = peer.Lid;
    if (peer.LinkLayer != IB_LINK_LAYER_ETHERNET) return made;
    made.grh_valid = TRUE;
    made.grh.dest_gid = ci::gids(peer)[0];
    made.grh.hop_limit = 64;
    return made;
}

} // namespace

void qp_end::fail(const char* action, std::string_view why) const {
    throw failure(fmt::format("{}: {}: {}", which_.name, action, why));
}

asio::awaitable<void> qp_end::open(const ci::channel_adapter& ca, ib_qp_type_t type,
                                   std::size_t size, ULONG depth) {
    type_ = type;
    size_ = size;
    ca_ = ca;
    bytes_.resize(grh_bytes + size);
    pd_ = co_await ci::allocate_pd(ca, asio::use_awaitable);
    cq_ = co_await ci::create_cq(ca, 2 * depth, asio::use_awaitable);
    mr_ = co_await ci::register_mr(pd_, bytes_, IB_AC_LOCAL_WRITE | IB_AC_REMOTE,
                                   asio::use_awaitable);
    ib_qp_create_t wanted{};
    wanted.qp_type = type;
    wanted.sq_depth = wanted.rq_depth = depth;
    wanted.sq_sge = wanted.rq_sge = 1;
    qp_ = co_await ci::create_qp(pd_, cq_, cq_, wanted, asio::use_awaitable);
}

asio::awaitable<void> qp_end::connect(const qp_end& peer) {
    const ci::port_attributes port =
        co_await ci::query_port(peer.ca_, peer.port_, asio::use_awaitable);
    ci::rtr_attributes path;
    path.av = way_to(*port, port_);
    path.dest_qp = peer.qp_.number();
    path.resp_res = atomics_and_reads;
    co_await ci::modify_qp(
        qp_, ci::to_init(type_, {.port = port_, .access = IB_AC_REMOTE, .qkey = qkey}),
        asio::use_awaitable);
    co_await ci::modify_qp(qp_, ci::to_rtr(type_, path), asio::use_awaitable);
    co_await ci::modify_qp(qp_, ci::to_rts(type_, {.init_depth = atomics_and_reads}),
                           asio::use_awaitable);
    if (type_ == IB_QPT_UNRELIABLE_DGRM)
        av_ = co_await ci::create_av(pd_, path.av, asio::use_awaitable);
}

asio::awaitable<void> qp_end::close() {
    if (qp_ != nullptr) co_await qp_.async_close(asio::use_awaitable);
    if (av_ != nullptr) co_await av_.async_close(asio::use_awaitable);
    if (mr_ != nullptr) co_await mr_.async_close(asio::use_awaitable);
    if (cq_ != nullptr) co_await cq_.async_close(asio::use_awaitable);
    if (pd_ != nullptr) co_await pd_.async_close(asio::use_awaitable);
}

ib_local_ds_t qp_end::segment(std::size_t size) const {
    return {reinterpret_cast<ULONG_PTR>(bytes_.data() + grh_bytes), static_cast<ULONG>(size),
            mr_.lkey()};
}

ib_send_wr_t qp_end::request(ib_wr_type_t type, const qp_end& peer) {
    sent_ = segment(size_);
    ib_send_wr_t made{};
    made.ds_array = &sent_;
    made.num_ds = 1;
    made.wr_type = type;
    made.send_opt = IB_SEND_OPT_SIGNALED;
    if (type_ == IB_QPT_UNRELIABLE_DGRM) {
        made.dgrm.ud = {av_, peer.qp_.number(), qkey, 0};
    } else {
        made.remote_ops.vaddr = peer.segment(0).vaddr;
        made.remote_ops.rkey = peer.mr_.rkey();
    }
    return made;
}

void qp_end::post(ib_send_wr_t what) {
    const NTSTATUS status = CiPostSend(qp_, &what, nullptr);
    if (!NT_SUCCESS(status)) fail("CiPostSend", NtStatusMeaning(status));
}

void qp_end::post_receive() {
    const bool has_grh = type_ == IB_QPT_UNRELIABLE_DGRM;
    ib_local_ds_t into = segment(size_);
    if (has_grh) into.vaddr -= grh_bytes;
    if (has_grh) into.length += grh_bytes;
    ib_recv_wr_t what{nullptr, 0, &into, 1};
    const NTSTATUS status = CiPostRecv(qp_, &what, nullptr);
    if (!NT_SUCCESS(status)) fail("CiPostRecv", NtStatusMeaning(status));
}

bool qp_end::poll(IB_WC& completion) {
    ULONG taken = 0;
    const NTSTATUS status = CiGetCqResults(cq_, 1, &completion, &taken);
    if (!NT_SUCCESS(status)) fail("CiGetCqResults", NtStatusMeaning(status));
    if (taken != 0 && completion.Status != IB_WC_SUCCESS)
        fail("work completion", ci::name_of(static_cast<IB_WC_STATUS>(completion.Status)));
    return taken != 0;
}

asio::awaitable<void> qp_end::wait() {
    co_await ci::arm_cq(cq_, IB_CQ_ARM_NEXT, asio::use_awaitable);
    const ci::cq_attributes now = co_await ci::query_cq(cq_, asio::use_awaitable);
    if (now->Filled != 0) co_return; // came before the arming
    const auto [error] = co_await ci::get_cq_comp_event(cq_, irpverbs::irp::within(10s, as_result));
    if (error == boost::system::errc::timed_out)
        fail("work completion", "none came for 10 seconds");
    if (error) throw boost::system::system_error(error);
}

} // namespace irpctl
