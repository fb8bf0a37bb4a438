/// One end of a reliable connection of the built-in software fabric, for coroutines.
#pragma once

#include <ci/async.hpp>
#include <dispatch/machine.hpp>
#include <hca/hca.hpp>

#include <boost/asio.hpp>

#include <array>
#include <cstring>

namespace samples {

namespace asio = boost::asio;
namespace ci = irpverbs::ci;

/// It has 64 bytes of memory.
struct connected_end {
    ci::channel_adapter ca;
    ci::protection_domain pd;
    ci::completion_queue cq;
    ci::memory_region mr;
    ci::queue_pair qp;
    std::array<std::byte, 64> bytes{};

    asio::awaitable<void> open(ib_guid_t guid, ib_qp_type_t type = IB_QPT_RELIABLE_CONN) {
        ca = co_await ci::open_ca(HcaFromGuid(guid));
        pd = co_await ci::allocate_pd(ca);
        cq = co_await ci::create_cq(ca, 16);
        mr = co_await ci::register_mr(pd, bytes, IB_AC_LOCAL_WRITE | IB_AC_REMOTE);
        ib_qp_create_t wanted{};
        wanted.qp_type = type;
        wanted.sq_depth = wanted.rq_depth = 4;
        wanted.sq_sge = wanted.rq_sge = 1;
        qp = co_await ci::create_qp(pd, cq, cq, wanted);
    }
    /// Also connects anew, after an error.
    asio::awaitable<void> connect(const connected_end& peer) const {
        ci::rtr_attributes path;
        path.av.port_num = 1;
        path.av.dlid = (co_await ci::query_port(peer.ca, 1))->Lid;
        path.dest_qp = peer.qp.number();
        co_await ci::modify_qp(qp, ci::to_state(IB_QPS_RESET));
        co_await ci::modify_qp(qp, ci::to_init(IB_QPT_RELIABLE_CONN, {.access = IB_AC_REMOTE}));
        co_await ci::modify_qp(qp, ci::to_rtr(IB_QPT_RELIABLE_CONN, path));
        co_await ci::modify_qp(qp, ci::to_rts(IB_QPT_RELIABLE_CONN));
    }
    /// Afterwards the memory may be freed, and the HCA can be detached: handles that are dropped
    /// close a moment later.
    asio::awaitable<void> close() {
        co_await qp.async_close();
        co_await mr.async_close();
        co_await cq.async_close();
        co_await pd.async_close();
        co_await ca.async_close();
    }
    ci::registered_buffer buffer(std::size_t count = 64) {
        return {mr, std::span(bytes).first(count)};
    }
    ci::remote_buffer remote() const {
        return {reinterpret_cast<ULONG_PTR>(bytes.data()), mr.rkey()};
    }
    const char* text() const { return reinterpret_cast<const char*>(bytes.data()); }
    void set_text(const char* text) {
        std::strncpy(reinterpret_cast<char*>(bytes.data()), text, bytes.size() - 1);
    }
};

/// Runs `body(first, second)`, which returns the exit status, with the first two HCAs.
inline int run_with_two_hcas(asio::awaitable<int> (*body)(ib_guid_t first, ib_guid_t second)) {
    irpverbs::dispatch::asio_machine machine;
    const irpverbs::dispatch::machine::scope inside(machine);
    const irpverbs::hca::attachment fabric("software:");
    const auto guids = irpverbs::hca::guids();
    return asio::co_spawn(machine.context(), body(guids[0], guids[1]), asio::use_future).get();
}

} // namespace samples
