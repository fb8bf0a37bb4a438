#include <ci/support/seq_socket.hpp>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

namespace irpverbs::ci::detail {

namespace {

constexpr int backlog = 64;

unique_descriptor make_socket(const std::string& path, sockaddr_un& at, int& error) {
    at = {};
    at.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof(at.sun_path)) {
        error = ENAMETOOLONG;
        return {};
    }
    std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
    unique_descriptor made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    error = made ? 0 : errno;
    return made;
}

const sockaddr* address(const sockaddr_un& at) { return reinterpret_cast<const sockaddr*>(&at); }

// The one descriptor of a control message.
using descriptor_space = std::array<char, CMSG_SPACE(sizeof(int))>;

// The padding behind it would have room for a second one, which nothing would close.
constexpr std::size_t descriptor_room = CMSG_LEN(sizeof(int));

unique_descriptor descriptor_in(msghdr& received) {
    for (cmsghdr* each = CMSG_FIRSTHDR(&received); each != nullptr;
         each = CMSG_NXTHDR(&received, each)) {
        if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
        int found = -1;
        std::memcpy(&found, CMSG_DATA(each), sizeof(found));
        return unique_descriptor(found);
    }
    return {};
}

} // namespace

unique_descriptor::~unique_descriptor() {
    if (descriptor_ >= 0) close(descriptor_);
}

std::string default_socket() {
    if (const char* const chosen = std::getenv("IRPVERBS_SOCKET"); chosen != nullptr) return chosen;
    if (const char* const run = std::getenv("XDG_RUNTIME_DIR"); run != nullptr && *run != '\0')
        return std::string(run) + "/irpverbs/socket";
    return "/tmp/irpverbs-" + std::to_string(geteuid()) + "/socket";
}

unique_descriptor connect_to(const std::string& path, int& error) {
    sockaddr_un at;
    unique_descriptor made = make_socket(path, at, error);
    if (!made) return made;
    if (connect(made.get(), address(at), sizeof(at)) == 0) return made;
    error = errno;
    return {};
}

unique_descriptor listen_at(const std::string& path, int& error) {
    sockaddr_un at;
    unique_descriptor made = make_socket(path, at, error);
    if (!made) return made;
    if (bind(made.get(), address(at), sizeof(at)) == 0 && listen(made.get(), backlog) == 0)
        return made;
    error = errno;
    return {};
}

int send_message(int socket, std::span<iovec> parts, int passed) {
    msghdr sent{};
    sent.msg_iov = parts.data();
    sent.msg_iovlen = parts.size();
    alignas(cmsghdr) descriptor_space space{};
    if (passed >= 0) {
        sent.msg_control = space.data();
        sent.msg_controllen = space.size();
        cmsghdr* const head = CMSG_FIRSTHDR(&sent);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(passed));
        std::memcpy(CMSG_DATA(head), &passed, sizeof(passed));
    }
    for (;;) {
        if (sendmsg(socket, &sent, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return 0;
        if (errno != EINTR) return errno;
    }
}

int send_when_possible(int socket, std::span<iovec> parts) {
    for (;;) {
        const int error = send_message(socket, parts);
        if (error != EAGAIN) return error;
        pollfd one{socket, POLLOUT, 0};
        poll(&one, 1, -1);
    }
}

received_message receive_message(int socket, std::span<std::byte> into, bool takes_descriptor) {
    iovec part{into.data(), into.size()};
    msghdr received{};
    received.msg_iov = &part;
    received.msg_iovlen = 1;
    alignas(cmsghdr) descriptor_space space{};
    if (takes_descriptor) {
        received.msg_control = space.data();
        received.msg_controllen = descriptor_room;
    }
    received_message made;
    for (;;) {
        const ssize_t size = recvmsg(socket, &received, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) {
            made.error = errno == ECONNRESET ? 0 : errno;
            return made;
        }
        made.size = static_cast<std::size_t>(size);
        if (takes_descriptor) made.with = descriptor_in(received);
        if ((received.msg_flags & MSG_TRUNC) != 0) made.error = EMSGSIZE;
        return made;
    }
}

received_message await_message(int socket, std::span<std::byte> into, int milliseconds,
                               bool takes_descriptor) {
    for (;;) {
        received_message made = receive_message(socket, into, takes_descriptor);
        if (made.error != EAGAIN) return made;
        pollfd one{socket, POLLIN, 0};
        if (poll(&one, 1, milliseconds) == 0) {
            made.error = ETIMEDOUT;
            return made;
        }
    }
}

bool peer_of(int socket, ucred& peer) {
    socklen_t size = sizeof(peer);
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
}

} // namespace irpverbs::ci::detail
