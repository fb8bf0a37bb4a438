// The CRC-32 of Ethernet, which is also that of InfiniBand's invariant CRC.
#pragma once

#include <boost/crc.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace irpverbs::ci {

/// The CRC of bytes that are added in pieces: by carry-less multiplication where the processor has
/// it. Source: IBA 7.8.1.
class crc32 {
public:
    void add(std::span<const std::uint8_t> bytes);
    std::uint32_t value() const { return state_.checksum(); }

private:
    boost::crc_32_type state_;
};

} // namespace irpverbs::ci
