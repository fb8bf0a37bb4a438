#include <ci/support/seq_socket.hpp>

#include <dispatch/support/sanitizers.hpp>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#if IRPVERBS_THREAD_SANITIZER
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
#endif

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

// A control message with all descriptors.
using descriptor_space = std::array<char, CMSG_SPACE(max_descriptors * sizeof(int))>;

void take_descriptors(msghdr& received, descriptors& made) {
    std::size_t count = 0;
    for (cmsghdr* each = CMSG_FIRSTHDR(&received); each != nullptr;
         each = CMSG_NXTHDR(&received, each)) {
        if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t size = each->cmsg_len - CMSG_LEN(0);
        for (std::size_t at = 0; at + sizeof(int) <= size && count < made.size();
             at += sizeof(int)) {
            int found = -1;
            std::memcpy(&found, CMSG_DATA(each) + at, sizeof(found));
            made[count++] = unique_descriptor(found);
        }
    }
}

// Adds those that exist to a message.
void pass(const descriptors& passed, descriptor_space& space, msghdr& sent) {
    std::array<int, max_descriptors> numbers{};
    std::size_t count = 0;
    while (count < passed.size() && passed[count]) {
        numbers[count] = passed[count].get();
        ++count;
    }
    if (count == 0) return;
    sent.msg_control = space.data();
    sent.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const head = CMSG_FIRSTHDR(&sent);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(head), numbers.data(), count * sizeof(int));
}

// ThreadSanitizer looks at the parts of a message when sendmsg has returned. By then the peer may
// have answered, and the answer may have been written to the buffer that was sent.
ssize_t send_parts(int socket, const msghdr& sent) {
#if IRPVERBS_THREAD_SANITIZER
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
#endif
    const ssize_t size = sendmsg(socket, &sent, MSG_NOSIGNAL | MSG_DONTWAIT);
#if IRPVERBS_THREAD_SANITIZER
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
    return size;
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

int send_message(int socket, std::span<iovec> parts, const descriptors& passed) {
    msghdr sent{};
    sent.msg_iov = parts.data();
    sent.msg_iovlen = parts.size();
    alignas(cmsghdr) descriptor_space space{};
    pass(passed, space, sent);
    for (;;) {
        if (send_parts(socket, sent) >= 0) return 0;
        if (errno != EINTR) return errno;
    }
}

int send_when_possible(int socket, std::span<iovec> parts, const descriptors& passed) {
    for (;;) {
        const int error = send_message(socket, parts, passed);
        if (error != EAGAIN) return error;
        pollfd one{socket, POLLOUT, 0};
        poll(&one, 1, -1);
    }
}

received_message receive_message(int socket, std::span<std::byte> into,
                                 std::size_t most_descriptors) {
    iovec part{into.data(), into.size()};
    msghdr received{};
    received.msg_iov = &part;
    received.msg_iovlen = 1;
    alignas(cmsghdr) descriptor_space space{};
    if (most_descriptors != 0) { // the padding of the space would have room for more
        received.msg_control = space.data();
        received.msg_controllen = CMSG_LEN(most_descriptors * sizeof(int));
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
        take_descriptors(received, made.with);
        if ((received.msg_flags & MSG_TRUNC) != 0) made.error = EMSGSIZE;
        return made;
    }
}

received_message await_message(int socket, std::span<std::byte> into, int milliseconds,
                               std::size_t most_descriptors) {
    for (;;) {
        received_message made = receive_message(socket, into, most_descriptors);
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
