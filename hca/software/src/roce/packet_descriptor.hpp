// A descriptor of which each read and write is one frame: a TAP device, or an end of a pair of
// packet sockets.
#pragma once

#include "packet.hpp"

#include <optional>
#include <utility>

namespace irpverbs::hca_software::roce {

class packet_descriptor {
public:
    /// Takes the descriptor, which is not blocking.
    explicit packet_descriptor(int taken) : descriptor_(taken) {}
    packet_descriptor(packet_descriptor&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)) {}
    packet_descriptor& operator=(packet_descriptor&&) = delete;
    ~packet_descriptor();

    int number() const { return descriptor_; }

    /// Writes a frame of two parts. Returns an errno; 0: it is written. Never blocks.
    int write(const_bytes headers, const_bytes payload) const;
    /// Reads a frame, or as much of it as `to` has room for. Returns its size; 0: there is none,
    /// now; none: there will be none any more.
    std::optional<std::size_t> read(std::span<UCHAR> to) const;

private:
    int descriptor_;
};

} // namespace irpverbs::hca_software::roce
