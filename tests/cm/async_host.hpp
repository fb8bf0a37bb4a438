// A host of tests of the C++ wrappers: its objects, as handles.
#pragma once

#include "cm_end.hpp"

#include <cm/async.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace irpverbs::testing {

struct async_host {
    ci::channel_adapter ca;
    ci::protection_domain pd;
    ci::completion_queue cq;
    cm::manager cm;

    boost::asio::awaitable<void> open(ib_guid_t guid) {
        ca = co_await ci::open_ca(HcaFromGuid(guid));
        pd = co_await ci::allocate_pd(ca);
        cq = co_await ci::create_cq(ca, 16);
        cm = co_await cm::open(ca, 1, IB_CM_OPEN_WITHOUT_SA);
    }
    boost::asio::awaitable<void> close() {
        co_await cm.async_close();
        co_await cq.async_close();
        co_await pd.async_close();
        co_await ca.async_close();
    }
    boost::asio::awaitable<ci::queue_pair> make_qp() const {
        return ci::create_qp(pd, cq, cq, small_qp(nullptr), boost::asio::use_awaitable);
    }
};

} // namespace irpverbs::testing
