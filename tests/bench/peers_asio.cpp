// Boost.Asio on one thread. The contexts have concurrency hint 1, which promises Asio that one
// thread runs them: its best case with locks still in place.
#include "asio_pended.hpp"
#include "measurements.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace irpverbs::bench {
namespace {

constexpr int one_thread = 1;

void post_poll_one(run& sample) {
    asio::io_context context(one_thread);
    const auto work = asio::make_work_guard(context);
    std::uint64_t called = 0;
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i) {
        asio::post(context, [&called] { ++called; });
        context.poll_one();
    }
    sample.stop();
    expect(called == operations, "asio/post_poll_one");
}

// Each handler posts the next one, the cheapest deferred call of Asio.
struct chain {
    asio::io_context& context;
    std::uint64_t& left;
    void operator()() {
        if (--left) asio::post(context, *this);
    }
};

void post_inside_run(run& sample) {
    asio::io_context context(one_thread);
    std::uint64_t left = sample.operations();
    sample.start();
    asio::post(context, chain{context, left});
    context.run();
    sample.stop();
    expect(left == 0, "asio/post_inside_run");
}

void pend_outside_run(run& sample) {
    asio::io_context context(one_thread);
    pended_list list;
    const auto work = asio::make_work_guard(context);
    std::uint64_t bytes = 0;
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i) {
        async_pend(context, list, [&bytes](error_code, std::size_t n) { bytes += n; });
        list.pop()->complete({}, 42);
        context.poll_one();
    }
    sample.stop();
    expect(bytes == operations * 42, "asio/pend_outside_run");
}

// The same inside run(), where Asio recycles the memory of its handlers.
struct pend_chain {
    asio::io_context& context;
    pended_list& list;
    std::uint64_t left;

    void next() {
        async_pend(context, list, [this](error_code, std::size_t) {
            if (--left) next();
        });
        list.pop()->complete({}, 42);
    }
};

void pend_inside_run(run& sample) {
    asio::io_context context(one_thread);
    pended_list list;
    pend_chain requests{context, list, sample.operations()};
    sample.start();
    asio::post(context, [&requests] { requests.next(); });
    context.run();
    sample.stop();
    expect(requests.left == 0, "asio/pend_inside_run");
}

void pend_cancel_slot(run& sample) {
    asio::io_context context(one_thread);
    pended_list list;
    const auto work = asio::make_work_guard(context);
    asio::cancellation_signal signal;
    std::uint64_t cancelled = 0;
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i) {
        async_pend(context, list,
                   asio::bind_cancellation_slot(signal.slot(), [&](error_code error, std::size_t) {
                       cancelled += error == asio::error::operation_aborted;
                   }));
        signal.emit(asio::cancellation_type::total);
        context.poll_one();
    }
    sample.stop();
    expect(cancelled == operations, "asio/pend_cancel_slot");
}

#if defined(BOOST_ASIO_HAS_CO_AWAIT)
asio::awaitable<void> await_many(asio::io_context& context, pended_list& list, std::uint64_t count,
                                 std::uint64_t& bytes) {
    for (std::uint64_t i = 0; i < count; ++i)
        bytes += co_await async_pend(context, list, asio::use_awaitable);
}

void coroutine_pend(run& sample) {
    asio::io_context context(one_thread);
    pended_list list;
    std::uint64_t bytes = 0;
    sample.start();
    asio::co_spawn(context, await_many(context, list, sample.operations(), bytes), asio::detached);
    context.poll();
    while (pended_operation* pended = list.pop()) {
        pended->complete({}, 42);
        context.poll();
    }
    sample.stop();
    expect(bytes == sample.operations() * 42, "asio/coroutine_pend");
}
#endif

} // namespace

void add_asio(catalog& all) {
    all.add("asio/post_poll_one", "post outside run(), then poll_one", post_poll_one);
    all.add("asio/post_inside_run", "each handler posts the next, inside run()", post_inside_run);
    all.add("asio/pend_outside_run", "async_initiate, pended, completed, poll_one",
            pend_outside_run);
    all.add("asio/pend_inside_run", "async_initiate, pended, completed, all inside run()",
            pend_inside_run);
    all.add("asio/pend_cancel_slot", "async_initiate, pended, cancelled through the slot",
            pend_cancel_slot);
#if defined(BOOST_ASIO_HAS_CO_AWAIT)
    all.add("asio/coroutine_pend", "co_await of a pended operation with use_awaitable",
            coroutine_pend);
#endif
}

} // namespace irpverbs::bench
