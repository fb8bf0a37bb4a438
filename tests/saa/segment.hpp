// Datagrams of RMPP as a test sees them on the wire.
#pragma once

#include <ibmf/ibmf_client.hpp>

#include <algorithm>
#include <array>
#include <atomic>

namespace irpverbs::testing {

/// The RMPP fields of a datagram.
struct segment {
    static constexpr int most_in_window = 64;

    explicit segment(const std::array<UCHAR, IB_MAD_SIZE>& bytes)
        : active((bytes[26] & 1) != 0), type(bytes[25]), number(word_at(bytes, 28)),
          window(word_at(bytes, 32)) {}
    bool is_data() const { return active && type == 1; }
    bool is_ack() const { return active && type == 2; }
    int window_last() const { return window; } // of an ACK

    bool active;
    UCHAR type;
    int number;

private:
    static int word_at(const std::array<UCHAR, IB_MAD_SIZE>& bytes, std::size_t at) {
        return bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
    }

    int window;
};

/// A tap for the wire that records the last segment that end 1 has sent.
inline auto furthest_of_end_1(std::atomic<int>& number) {
    return [&number](unsigned from, const auto& bytes) {
        const segment what(bytes);
        if (from == 1 && what.is_data()) number = std::max(number.load(), what.number);
        return true;
    };
}

} // namespace irpverbs::testing
