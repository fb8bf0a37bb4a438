// A client of the daemon without the driver, which may send what no client of ours sends.
#pragma once

#include "client.hpp"

#include <ci/driver.h>
#include <ci/support/packet.hpp>
#include <ci/support/seq_socket.hpp>
#include <ci/support/wire.hpp>

#include <cstring>
#include <vector>

namespace irpverbs::testing {

namespace wire = ci::wire;

/// A connection without the driver.
class raw_client {
public:
    explicit raw_client(const std::string& path) {
        int error = 0;
        socket_ = ci::detail::connect_to(path, error);
    }

    template <class Message>
    void send(const Message& message, const ci::detail::descriptors& passed = {}) {
        std::array<iovec, 1> part{{{const_cast<Message*>(&message), sizeof(message)}}};
        ci::detail::send_message(socket_.get(), part, passed);
    }
    /// Waits until the daemon reads.
    template <class Message>
    void send_all(const Message& message) {
        std::array<iovec, 1> part{{{const_cast<Message*>(&message), sizeof(message)}}};
        ci::detail::send_when_possible(socket_.get(), part);
    }
    /// False: the daemon has closed the connection, or sends nothing for long.
    template <class Message>
    bool receive(Message& message) {
        if (unread_.empty() && !receive_packet()) return false;
        const ci::crossing::message next = ci::crossing::take_first(unread_);
        if (next.size() < sizeof(message)) return false;
        std::memcpy(&message, next.data(), sizeof(message));
        return true;
    }
    void end() { socket_ = {}; }
    /// Packets that were received.
    std::size_t packets() const { return packets_; }
    bool is_closed() {
        wire::header any{};
        return !receive(any);
    }
    NTSTATUS greet(const wire::hello& hello) {
        wire::welcome made{};
        send(hello);
        return receive(made) ? made.status : STATUS_FILE_CLOSED;
    }
    NTSTATUS greet() { return greet(good_hello()); }
    static wire::hello good_hello() {
        return {{wire::kind::hello, 0, {}, 0, 0}, wire::magic, wire::version, sizeof(void*)};
    }
    wire::reply ask(const wire::request& request) {
        wire::reply made{};
        send(request);
        EXPECT_TRUE(receive(made));
        EXPECT_EQ(made.head.id, request.head.id);
        return made;
    }
    /// With the value that the verb reads.
    template <class Value>
    wire::reply ask(const wire::request& request, const Value& value) {
        struct {
            wire::request head;
            Value value;
        } whole{request, value};
        static_assert(sizeof(whole) == wire::padded(sizeof(request) + sizeof(value)));
        wire::reply made{};
        send(whole);
        EXPECT_TRUE(receive(made));
        return made;
    }
    /// A descriptor of the last message that had some.
    const ci::detail::unique_descriptor& received(wire::open_descriptor which) const {
        return received_.back()[static_cast<std::size_t>(which)];
    }
    template <class... Value>
    NTSTATUS status_of(const wire::request& request, const Value&... value) {
        return ask(request, value...).status;
    }

private:
    static constexpr int longest_wait = 20'000; // milliseconds

    bool receive_packet() {
        auto got = ci::detail::await_message(socket_.get(), buffer_, longest_wait,
                                             ci::detail::max_descriptors);
        if (got.error != 0 || got.size == 0) return false;
        ++packets_;
        unread_ = ci::crossing::message(buffer_).first(got.size);
        if (got.with[0]) received_.push_back(std::move(got.with));
        return true;
    }

    std::vector<std::byte> buffer_ = std::vector<std::byte>(wire::max_message);
    ci::crossing::message unread_; // messages of the last packet
    std::size_t packets_ = 0;
    ci::detail::unique_descriptor socket_;
    std::vector<ci::detail::descriptors> received_; // a client that closes them is gone
};

inline wire::request request_of(UCHAR verb, std::uint64_t object, std::uint64_t number = 0) {
    return {{wire::kind::request, verb, {}, 0, 5}, object, number, 0, 0, 0, 0, 0};
}

inline ib_guid_t first_hca(test_daemon& serving) {
    ib_guid_t guid = 0;
    serving.run([&] {
        ULONG count = 1;
        HcaEnumerate(&guid, &count);
    });
    return guid;
}

/// A raw client with an open HCA.
struct raw_ca : raw_client {
    explicit raw_ca(test_daemon& serving) : raw_ca(serving, first_hca(serving)) {}
    raw_ca(test_daemon& serving, ib_guid_t hca) : raw_client(serving.socket()) {
        EXPECT_EQ(greet(), STATUS_SUCCESS);
        const wire::reply opened = ask(request_of(HCA_MN_OPEN_CA, hca));
        EXPECT_EQ(opened.status, STATUS_SUCCESS);
        handle = opened.information;
    }
    std::uint64_t handle = 0;
};

inline wire::request with_id(wire::request request, std::uint64_t id) {
    request.head.id = id;
    return request;
}

/// One packet.
struct two_requests {
    two_requests(const wire::request& one, const wire::request& other) : first(one), second(other) {
        first.head.next = sizeof(first);
    }
    wire::request first;
    wire::request second;
};

/// So many replies, in the order of their arrival.
inline std::vector<wire::reply> receive_all(raw_client& from, std::size_t count) {
    std::vector<wire::reply> made(count);
    for (wire::reply& each : made) {
        if (from.receive(each)) continue;
        ADD_FAILURE() << "no reply";
        break;
    }
    return made;
}

} // namespace irpverbs::testing
