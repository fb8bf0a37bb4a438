// The messages that a program has not read yet, and the descriptor that it polls.
#pragma once

#include <infiniband/umad.h>

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace irpverbs::umad {

inline constexpr std::size_t header_size = sizeof(ib_user_mad_t);

/// The owner serialises the calls.
class inbox {
public:
    /// A message behind its ib_user_mad header, as read(2) of the kernel's device returns it.
    using message = std::vector<std::uint8_t>;

    /// `descriptor`: an eventfd of type EFD_SEMAPHORE. It counts the messages, so that each one
    /// wakes an edge-triggered poll. Ownership: the caller's.
    explicit inbox(int descriptor) : descriptor_(descriptor) {}

    void insert(std::uint32_t agent, std::uint32_t status, const ib_mad_addr_t& peer,
                std::span<const std::uint8_t> content);

    /// Removes the first message into `taken` and returns 0, or an error number of read(2) for a
    /// buffer of `size` bytes: EAGAIN: there is none. EINVAL: the buffer has no room for a header
    /// and a datagram. ENOSPC: the message is longer; it stays, and `taken` is a copy of its first
    /// bytes. EIO: the device is gone.
    int remove(std::size_t size, message& taken);
    /// The device is gone: the descriptor is readable from now on. IRQL: <= DISPATCH_LEVEL.
    void end();
    bool has_ended() const { return has_ended_; }
    /// A read would wait.
    bool must_wait() const { return messages_.empty() && !has_ended_; }

private:
    int descriptor_;
    bool has_ended_ = false;
    std::deque<message> messages_;
};

} // namespace irpverbs::umad
