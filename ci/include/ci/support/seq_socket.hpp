// Sockets that carry whole messages (AF_UNIX, SOCK_SEQPACKET), for the boundary between processes.
#ifndef IRPVERBS_CI_SUPPORT_SEQ_SOCKET_HPP
#define IRPVERBS_CI_SUPPORT_SEQ_SOCKET_HPP

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

/// Sends one message, with a descriptor unless that is negative. Returns an errno; 0: sent. EAGAIN:
/// the socket has no room.
int send_message(int socket, std::span<iovec> parts, int passed = -1);

/// Waits until the socket has room, then sends. Returns an errno.
int send_when_possible(int socket, std::span<iovec> parts);

struct received_message {
    int error = 0;        // an errno. EMSGSIZE: the message was longer than the buffer
    std::size_t size = 0; // 0: the peer is gone
    unique_descriptor with;
};

/// Receives one message. A descriptor is accepted only with `takes_descriptor`; others are closed.
received_message receive_message(int socket, std::span<std::byte> into,
                                 bool takes_descriptor = false);

/// Waits for a message; a negative time waits for ever. ETIMEDOUT: none came.
received_message await_message(int socket, std::span<std::byte> into, int milliseconds,
                               bool takes_descriptor = false);

/// The process at the other end when it connected or listened. False: unknown.
bool peer_of(int socket, ucred& peer);

} // namespace irpverbs::ci::detail

#endif
