// Two ids of one program, on two hosts of the built-in fabric.
#pragma once

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <poll.h>
#include <string>
#include <string_view>
#include <utility>

namespace irpverbs::testing {

/// Addresses of host1 and host2, whose LIDs are 1 and 3.
inline constexpr const char* first_host = "198.18.0.1";
inline constexpr const char* second_host = "198.18.0.3";

/// An address in text, of either family.
struct address {
    explicit address(const char* text, std::uint16_t port = 0) {
        auto& in = reinterpret_cast<sockaddr_in&>(storage);
        auto& in6 = reinterpret_cast<sockaddr_in6&>(storage);
        if (inet_pton(AF_INET, text, &in.sin_addr) == 1) {
            in.sin_family = AF_INET;
            in.sin_port = htons(port);
        } else {
            EXPECT_EQ(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
            in6.sin6_family = AF_INET6;
            in6.sin6_port = htons(port);
        }
    }
    operator sockaddr*() { return reinterpret_cast<sockaddr*>(&storage); }

    sockaddr_storage storage{};
};

inline std::string text_of(const sockaddr* from) {
    char text[INET6_ADDRSTRLEN] = "";
    if (from->sa_family == AF_INET)
        inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(from)->sin_addr, text,
                  sizeof text);
    else
        inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(from)->sin6_addr, text,
                  sizeof text);
    return text;
}

/// An event, acknowledged at the end of the scope.
class taken_event {
public:
    explicit taken_event(rdma_event_channel* from) {
        EXPECT_EQ(rdma_get_cm_event(from, &event_), 0);
    }
    ~taken_event() { acknowledge(); }
    taken_event(const taken_event&) = delete;
    taken_event& operator=(const taken_event&) = delete;

    void acknowledge() {
        if (event_ == nullptr) return;
        EXPECT_EQ(rdma_ack_cm_event(std::exchange(event_, nullptr)), 0);
    }
    rdma_cm_event* operator->() const { return event_; }
    std::string name() const { return rdma_event_str(event_->event); }
    std::string_view data() const {
        return static_cast<const char*>(event_->param.conn.private_data);
    }

private:
    rdma_cm_event* event_ = nullptr;
};

/// A channel with its ids, which are destroyed in any order.
class channel {
public:
    channel() : channel_(rdma_create_event_channel()) { EXPECT_NE(channel_, nullptr); }
    ~channel() { rdma_destroy_event_channel(channel_); }
    channel(const channel&) = delete;
    channel& operator=(const channel&) = delete;
    operator rdma_event_channel*() const { return channel_; }

    bool is_readable() const {
        pollfd watched{channel_->fd, POLLIN, 0};
        return poll(&watched, 1, 0) == 1;
    }
    /// The name of the next event, which is acknowledged.
    std::string next() const { return taken_event(channel_).name(); }

private:
    rdma_event_channel* channel_;
};

/// An id with its queue pair.
class id {
public:
    explicit id(rdma_event_channel* at, rdma_port_space ps = RDMA_PS_TCP) {
        EXPECT_EQ(rdma_create_id(at, &id_, nullptr, ps), 0);
    }
    explicit id(rdma_cm_id* made) : id_(made) {}
    ~id() { destroy(); }
    id(const id&) = delete;
    id& operator=(const id&) = delete;
    operator rdma_cm_id*() const { return id_; }
    rdma_cm_id* operator->() const { return id_; }

    void destroy() {
        if (id_ == nullptr) return;
        if (id_->qp != nullptr) rdma_destroy_qp(id_);
        EXPECT_EQ(rdma_destroy_id(std::exchange(id_, nullptr)), 0);
    }
    int bind(address to) const { return rdma_bind_addr(id_, to); }
    /// Resolves the address and the route.
    void resolve(address to) const {
        EXPECT_EQ(rdma_resolve_addr(id_, nullptr, to, 1000), 0);
        EXPECT_EQ(taken_event(id_->channel).name(), "RDMA_CM_EVENT_ADDR_RESOLVED");
        EXPECT_EQ(rdma_resolve_route(id_, 1000), 0);
        EXPECT_EQ(taken_event(id_->channel).name(), "RDMA_CM_EVENT_ROUTE_RESOLVED");
    }
    void create_qp() const {
        ibv_qp_init_attr attr{};
        attr.qp_type = id_->qp_type;
        attr.cap = {4, 4, 1, 1, 16};
        EXPECT_EQ(rdma_create_qp(id_, nullptr, &attr), 0);
    }

private:
    rdma_cm_id* id_ = nullptr;
};

inline rdma_conn_param with_data(std::string_view text) {
    rdma_conn_param made{};
    made.private_data = text.data();
    made.private_data_len = static_cast<std::uint8_t>(text.size() + 1);
    made.responder_resources = 2;
    made.initiator_depth = 1;
    made.retry_count = 7;
    made.rnr_retry_count = 7;
    return made;
}

/// A server's id on host1 that listens, and a client's on host2.
struct two_ids {
    explicit two_ids(rdma_port_space ps = RDMA_PS_TCP) : listener(server, ps), active(client, ps) {
        EXPECT_EQ(listener.bind(address(first_host)), 0);
        EXPECT_EQ(rdma_listen(listener, 4), 0);
        EXPECT_EQ(active.bind(address(second_host)), 0);
    }
    address servers_address(const char* text = first_host) const {
        return address(text, ntohs(rdma_get_src_port(listener)));
    }
    /// Sends the request, and returns the id that the server gets.
    rdma_cm_id* request(std::string_view data = "hello") {
        active.resolve(servers_address());
        active.create_qp();
        rdma_conn_param param = with_data(data);
        EXPECT_EQ(rdma_connect(active, &param), 0);
        const taken_event requested(server);
        EXPECT_EQ(requested.name(), "RDMA_CM_EVENT_CONNECT_REQUEST");
        EXPECT_EQ(requested.data(), data);
        EXPECT_EQ(requested->listen_id, static_cast<rdma_cm_id*>(listener));
        return requested->id;
    }

    channel server;
    channel client;
    id listener;
    id active;
};

/// An established connection.
struct connected_ids : two_ids {
    connected_ids() : passive(request()) {
        passive.create_qp();
        rdma_conn_param param = with_data("welcome");
        EXPECT_EQ(rdma_accept(passive, &param), 0);
        const taken_event established(client);
        EXPECT_EQ(established.name(), "RDMA_CM_EVENT_ESTABLISHED");
        EXPECT_EQ(established.data(), "welcome");
        EXPECT_EQ(server.next(), "RDMA_CM_EVENT_ESTABLISHED");
    }

    id passive;
};

/// Memory that the queue pair of an id reaches.
class message {
public:
    explicit message(rdma_cm_id* of) : region_(rdma_reg_msgs(of, bytes.data(), bytes.size())) {
        EXPECT_NE(region_, nullptr);
    }
    ~message() { EXPECT_EQ(rdma_dereg_mr(region_), 0); }
    message(const message&) = delete;
    message& operator=(const message&) = delete;

    void receive(rdma_cm_id* at) {
        EXPECT_EQ(rdma_post_recv(at, this, bytes.data(), bytes.size(), region_), 0);
    }
    void send(rdma_cm_id* from, std::string_view text) {
        text.copy(bytes.data(), bytes.size());
        EXPECT_EQ(
            rdma_post_send(from, this, bytes.data(), bytes.size(), region_, IBV_SEND_SIGNALED), 0);
    }

    ibv_mr* region() const { return region_; }

    std::array<char, 64> bytes{};

private:
    ibv_mr* region_;
};

/// Sends a text from one end of a connection to the other.
inline void expect_message(rdma_cm_id* from, rdma_cm_id* to, std::string_view text) {
    message received(to);
    message sent(from);
    received.receive(to);
    sent.send(from, text);
    ibv_wc wc{};
    EXPECT_EQ(rdma_get_send_comp(from, &wc), 1);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(rdma_get_recv_comp(to, &wc), 1);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(received.bytes.data(), text);
}

} // namespace irpverbs::testing
