// Ping-pong and stream over any kind of end. An end has
//   bool send()            starts a message, or a list of them; false: the window is full
//   void progress()        makes room in the window
//   receive()              takes messages that have arrived, posts as many receives, returns their
//                          number
//   void relax()           after a poll that found nothing
#pragma once

#include "partner.hpp"

namespace irpverbs::bench {

// The messages that may be under way, so that none arrives before its receive is posted.
inline constexpr std::uint64_t posted_receives = 128;

template <class End>
void send_one(End& from) {
    for (poll_limit limit; !from.send(); limit.count())
        from.progress();
}

template <class End>
void receive_one(End& to) {
    for (poll_limit limit; to.receive() == 0; limit.count())
        to.relax();
}

// An operation is a message one way.
template <class End>
void ping(End& self, std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations; i += 2) {
        send_one(self);
        receive_one(self);
    }
}

template <class End>
void pong(End& self, std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations; i += 2) {
        receive_one(self);
        send_one(self);
    }
}

// Messages in one direction, until the last one was received. `batch`: messages of a send().
template <class End>
void send_stream(End& from, const meeting& with, std::uint64_t operations, std::uint64_t batch) {
    const auto& consumed = with.words.consumed;
    poll_limit limit;
    for (std::uint64_t sent = 0; sent < operations;) {
        const bool has_receives =
            sent + batch <= consumed.load(std::memory_order_acquire) + posted_receives;
        if (has_receives && from.send()) {
            sent += batch;
            continue;
        }
        from.progress();
        limit.count();
    }
    for (; consumed.load(std::memory_order_acquire) < operations; limit.count())
        from.progress();
}

template <class End>
void receive_stream(End& to, const meeting& with, std::uint64_t operations) {
    poll_limit limit;
    for (std::uint64_t received = 0; received < operations;) {
        const std::uint64_t now = to.receive();
        received += now;
        if (now != 0)
            with.words.consumed.store(received, std::memory_order_release);
        else
            to.relax();
        limit.count();
    }
}

// Both ends belong to the caller.
template <class End>
void stream_to_itself(End& from, End& to, std::uint64_t operations, std::uint64_t batch) {
    poll_limit limit;
    std::uint64_t sent = 0;
    for (std::uint64_t received = 0; received < operations; limit.count()) {
        while (sent < operations && sent + batch <= received + posted_receives && from.send())
            sent += batch;
        from.progress();
        received += to.receive();
    }
}

} // namespace irpverbs::bench
