#include "ibsim_link.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <endian.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace shim {
namespace {

struct control_message {
    std::uint32_t magic = 0xdeadbeef;
    std::uint32_t client = 0;
    std::uint32_t type = 0;
    std::uint32_t length = 0;
    attribute data{};
};

struct introduction {
    std::uint32_t id = 0;
    std::uint32_t queue_pair = 0;
    std::uint32_t takes_requests = 0;
    char node[32] = {};
};

struct address {
    sockaddr_un name{};
    socklen_t length = 0;

    explicit address(const std::string& kind) {
        const char* lab = std::getenv("IBSIM_SOCKNAME");
        const std::string text = std::string(lab != nullptr ? lab : "sim") + ":" + kind;
        name.sun_family = AF_UNIX;
        if (text.size() + 2 > sizeof name.sun_path) fatal("IBSIM_SOCKNAME is too long");
        std::memcpy(name.sun_path + 1, text.data(), text.size());
        // ibsim's length of the name includes the zero bytes before and after it.
        length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 2 + text.size());
    }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

int open_socket(const std::string& own) {
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const address mine(own);
    if (socket < 0 || bind(socket, mine.get(), mine.length) != 0) fatal("socket " + own);
    return socket;
}

void connect_to(int socket, const std::string& peer) {
    const address theirs(peer);
    if (connect(socket, theirs.get(), theirs.length) != 0) fatal("no ibsim at " + peer);
}

} // namespace

void fatal(const std::string& what) {
    std::fprintf(stderr, "umad shim: %s: %s\n", what.c_str(), std::strerror(errno));
    _exit(97);
}

ibsim_link::ibsim_link() {
    const std::string id = std::to_string(getpid());
    control_ = open_socket("ctl" + id);
    connect_to(control_, "ctl");
    packets_ = open_socket("in" + id);

    introduction hello;
    hello.id = static_cast<std::uint32_t>(getpid());
    if (const char* host = std::getenv("SIM_HOST"))
        std::snprintf(hello.node, sizeof hello.node, "%s", host);
    // Only one client of a node can receive its requests.
    introduction response;
    for (const std::uint32_t takes_requests : {1u, 0u}) {
        hello.takes_requests = takes_requests;
        response = hello;
        if (ask(control::connect, {reinterpret_cast<std::uint8_t*>(&response), sizeof response}))
            break;
        if (takes_requests == 0) fatal("ibsim refused: unknown SIM_HOST, or a client too many");
    }
    client_ = response.id;
    connect_to(packets_, "out" + std::to_string(client_));
    const int room = 4 << 20;
    if (setsockopt(packets_, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) != 0)
        setsockopt(packets_, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
}

bool ibsim_link::ask(control what, std::span<std::uint8_t> in_and_out) {
    control_message message;
    message.client = client_;
    message.type = static_cast<std::uint32_t>(what);
    message.length = static_cast<std::uint32_t>(in_and_out.size());
    std::memcpy(message.data.data(), in_and_out.data(), in_and_out.size());
    if (::send(control_, &message, sizeof message, MSG_NOSIGNAL) != sizeof message) return false;
    pollfd ready{control_, POLLIN, 0};
    constexpr int max_wait_ms = 5000;
    if (poll(&ready, 1, max_wait_ms) != 1) return false;
    if (recv(control_, &message, sizeof message, 0) != sizeof message || message.type == 0)
        return false;
    std::memcpy(in_and_out.data(), message.data.data(), in_and_out.size());
    return true;
}

bool ibsim_link::send(const packet& what) {
    waiting_.push_back(what);
    return flush();
}

bool ibsim_link::flush() {
    while (!waiting_.empty()) {
        if (::send(packets_, &waiting_.front(), sizeof(packet), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
            if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) return false;
            gone_ = true; // queued packets are lost, as on a dead link
        }
        waiting_.pop_front();
    }
    return true;
}

bool ibsim_link::receive(packet& into) {
    return recv(packets_, &into, sizeof into, MSG_DONTWAIT) == sizeof into;
}

} // namespace shim
