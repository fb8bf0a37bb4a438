// One side of a transfer under test, the other one scripted.
#pragma once

#include "rmpp_world.hpp"

#include <gtest/gtest.h>

namespace irpverbs::ibmf::rmpp::testing {

inline std::uint8_t code_of(rmpp_status status) { return static_cast<std::uint8_t>(status); }

// A datagram of the transfer of `of` with this RMPP header.
inline datagram packet(const rmpp_message& of, const rmpp_header& header) {
    datagram bytes = of.headers;
    store(header_at<rmpp_header::size>(mad_buffer(bytes), mad_header_size), header);
    return bytes;
}

inline rmpp_header ack(std::uint32_t segment, std::uint32_t window_last) {
    return {.type = rmpp_type::ack,
            .flags = rmpp_active,
            .segment = segment,
            .length_or_window = window_last};
}

// The header of a DATA segment of `of` as a correct sender writes it.
inline rmpp_header data_header(const rmpp_message& of, std::uint32_t segment) {
    const std::size_t each = of.segment_data();
    const std::size_t segments = std::max<std::size_t>(1, (of.data.size() + each - 1) / each);
    const std::size_t class_header = of.layout.class_header_size;
    rmpp_header header{.type = rmpp_type::data, .flags = rmpp_active, .segment = segment};
    if (segment == segments) {
        header.flags |= rmpp_last;
        header.length_or_window =
            static_cast<std::uint32_t>(class_header + of.data.size() - (segments - 1) * each);
    }
    if (segment == 1) {
        header.flags |= rmpp_first;
        header.length_or_window =
            static_cast<std::uint32_t>(class_header * segments + of.data.size());
    }
    return header;
}

inline datagram data_packet(const rmpp_message& of, std::uint32_t segment) {
    datagram bytes = packet(of, data_header(of, segment));
    const std::size_t from = (segment - 1) * of.segment_data();
    const std::size_t size = std::min(of.segment_data(), of.data.size() - from);
    std::copy_n(of.data.begin() + static_cast<std::ptrdiff_t>(from), size,
                bytes.begin() + static_cast<std::ptrdiff_t>(of.layout.data_offset()));
    return bytes;
}

// Everything that is to be sent now, as RMPP headers.
template <class Transmit>
std::vector<rmpp_header> drained(Transmit transmit) {
    std::vector<rmpp_header> sent;
    for (datagram bytes{}; transmit(bytes) && sent.size() < 1000;)
        sent.push_back(view_of(bytes).rmpp());
    return sent;
}
inline std::vector<rmpp_header> drained(sender& from, ticks now) {
    return drained([&](mad_buffer to) { return from.transmit(to, now); });
}
inline std::vector<rmpp_header> drained(receiver& from) {
    return drained([&](mad_buffer to) { return from.transmit(to); });
}

inline std::vector<std::uint32_t> segments_of(const std::vector<rmpp_header>& headers) {
    std::vector<std::uint32_t> numbers;
    for (const rmpp_header& header : headers)
        numbers.push_back(header.segment);
    return numbers;
}

inline void expect_stop_or_abort(const std::vector<rmpp_header>& sent, rmpp_status code) {
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].type,
              code == rmpp_status::resources_exhausted ? rmpp_type::stop : rmpp_type::abort);
    EXPECT_STREQ(ibmf::name_of(sent[0].status), ibmf::name_of(code));
    EXPECT_EQ(sent[0].flags, rmpp_active);
    EXPECT_EQ(sent[0].segment, 0u);
}

} // namespace irpverbs::ibmf::rmpp::testing
