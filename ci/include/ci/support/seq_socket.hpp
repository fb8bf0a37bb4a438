// Sockets that carry whole messages (AF_UNIX, SOCK_SEQPACKET), for the boundary between processes.
#ifndef IRPVERBS_CI_SUPPORT_SEQ_SOCKET_HPP
#define IRPVERBS_CI_SUPPORT_SEQ_SOCKET_HPP

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <sys/socket.h>
#include <sys/uio.h>
#include <utility>

namespace irpverbs::ci::detail {

/// Owns a descriptor.
class unique_descriptor {
public:
    unique_descriptor() = default;
    explicit unique_descriptor(int descriptor) : descriptor_(descriptor) {}
    unique_descriptor(unique_descriptor&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)) {}
    unique_descriptor& operator=(unique_descriptor&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~unique_descriptor();

    int get() const { return descriptor_; }
    int release() { return std::exchange(descriptor_, -1); }
    explicit operator bool() const { return descriptor_ >= 0; }

private:
    int descriptor_ = -1;
};

/// The socket of a daemon that was given none: $IRPVERBS_SOCKET, or "irpverbs/socket" in
/// $XDG_RUNTIME_DIR, or "/tmp/irpverbs-UID/socket".
std::string default_socket();

/// Return a non-blocking socket, or none and `error`, an errno.
unique_descriptor connect_to(const std::string& path, int& error);
unique_descriptor listen_at(const std::string& path, int& error);

/// The descriptors that go with a message; those behind the last one are none.
inline constexpr std::size_t max_descriptors = 3;
using descriptors = std::array<unique_descriptor, max_descriptors>;

/// Sends one message, with the descriptors of `passed`, which stay open. Returns an errno; 0: sent.
/// EAGAIN: the socket has no room.
int send_message(int socket, std::span<iovec> parts, const descriptors& passed = {});

/// Waits until the socket has room, then sends. Returns an errno. ETOOMANYREFS: more descriptors
/// are under way than the system permits.
int send_when_possible(int socket, std::span<iovec> parts, const descriptors& passed = {});

struct received_message {
    int error = 0;        // an errno. EMSGSIZE: the message was longer than the buffer
    std::size_t size = 0; // 0: the peer is gone
    descriptors with;
};

/// Receives one message, and at most so many descriptors; others are closed.
received_message receive_message(int socket, std::span<std::byte> into,
                                 std::size_t most_descriptors = 0);

/// Waits for a message; a negative time waits for ever. ETIMEDOUT: none came.
received_message await_message(int socket, std::span<std::byte> into, int milliseconds,
                               std::size_t most_descriptors = 0);

/// The process at the other end when it connected or listened. False: unknown.
bool peer_of(int socket, ucred& peer);

} // namespace irpverbs::ci::detail

#endif
