// Boost.Asio between two threads with one context each.
#include "measurements.hpp"
#include "two_threads.hpp"

#include <boost/asio.hpp>

namespace irpverbs::bench {
namespace {

namespace asio = boost::asio;

struct side {
    asio::io_context context{1};
    asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
};

// One request at a time, posted to the other context, and its response posted back.
struct volley {
    side here, there;
    std::uint64_t left;
    std::atomic<bool> over{false};

    explicit volley(std::uint64_t count) : left(count) {}

    void serve() {
        if (left-- == 0) return stop();
        asio::post(there.context, [this] { asio::post(here.context, [this] { serve(); }); });
    }
    void stop() {
        over = true;
        here.context.stop();
        there.context.stop();
    }
};

void round_trip_sleeping(run& sample) {
    volley ball(sample.operations());
    asio::post(ball.here.context, [&] { ball.serve(); });
    on_two_processors(
        sample, [&] { ball.here.context.run(); }, [&] { ball.there.context.run(); });
}

void round_trip_spinning(run& sample) {
    volley ball(sample.operations());
    asio::post(ball.here.context, [&] { ball.serve(); });
    const auto spin = [&ball](side& mine) {
        while (!ball.over.load(std::memory_order_relaxed))
            mine.context.poll();
    };
    on_two_processors(
        sample, [&] { spin(ball.here); }, [&] { spin(ball.there); });
}

// Up to 64 requests are outstanding; each response sends the next request.
struct window {
    side here, there;
    std::uint64_t to_send, to_come;
    std::atomic<bool> over{false};

    explicit window(std::uint64_t count) : to_send(count), to_come(count) {}

    void send() {
        --to_send;
        asio::post(there.context, [this] { asio::post(here.context, [this] { on_response(); }); });
    }
    void on_response() {
        --to_come;
        if (to_send) send();
    }
};

void window_64(run& sample) {
    window requests(sample.operations());
    on_two_processors(
        sample,
        [&] {
            for (int i = 0; i < 64 && requests.to_send; ++i)
                requests.send();
            while (requests.to_come)
                requests.here.context.poll();
            requests.over = true;
        },
        [&] {
            while (!requests.over.load(std::memory_order_relaxed))
                requests.there.context.poll();
        });
}

} // namespace

void add_asio_threads(catalog& all) {
    all.add("asio/window_64", "post out, post back, 64 outstanding, both poll", window_64,
            threads::two);
    all.add("asio/round_trip_spinning", "post out, post back, both poll", round_trip_spinning,
            threads::two);
    all.add("asio/round_trip_sleeping", "post out, post back, both in run()", round_trip_sleeping,
            threads::two);
}

} // namespace irpverbs::bench
