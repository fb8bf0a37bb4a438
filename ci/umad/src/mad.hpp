// Fields of a management datagram that the kernel's MAD layer reads. Source: IBA 13.4.3, 13.6.2.1;
// include/rdma/ib_mad.h of Linux for the classes with RMPP and the sizes of their headers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace irpverbs::umad {

inline constexpr std::size_t mad_size = 256;
inline constexpr std::size_t mad_header = 24;
inline constexpr std::size_t rmpp_body = 36; // where a segment's class header begins
inline constexpr std::size_t rmpp_room = mad_size - rmpp_body;

using mad = std::array<std::uint8_t, mad_size>;

inline std::uint16_t get16(const std::uint8_t* at) {
    return static_cast<std::uint16_t>(at[0] << 8 | at[1]);
}
inline std::uint32_t get32(const std::uint8_t* at) {
    return static_cast<std::uint32_t>(get16(at)) << 16 | get16(at + 2);
}
inline std::uint64_t get64(const std::uint8_t* at) {
    return static_cast<std::uint64_t>(get32(at)) << 32 | get32(at + 4);
}
inline void put32(std::uint8_t* at, std::uint32_t value) {
    for (int i = 0; i < 4; ++i)
        at[i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
}

inline std::uint8_t class_of(const std::uint8_t* m) { return m[1]; }
inline std::uint8_t version_of(const std::uint8_t* m) { return m[2]; }
inline std::uint8_t method_of(const std::uint8_t* m) { return m[3]; }
inline bool is_response(const std::uint8_t* m) {
    constexpr std::uint8_t trap_repress = 0x07;
    return (m[3] & 0x80) != 0 || m[3] == trap_repress;
}
inline bool is_smp(const std::uint8_t* m) { return m[1] == 0x01 || m[1] == 0x81; }
inline std::uint16_t agent_of(const std::uint8_t* m) { return get16(m + 10); }
inline std::uint32_t low_tid(const std::uint8_t* m) { return get32(m + 12); }

inline bool has_oui(std::uint8_t mad_class) { return mad_class >= 0x30 && mad_class <= 0x4f; }
inline bool may_segment(std::uint8_t mad_class) {
    constexpr std::uint8_t subnet_administration = 0x03, device_management = 0x06, bis = 0x12;
    return mad_class == subnet_administration || mad_class == device_management ||
           mad_class == bis || has_oui(mad_class);
}
/// The offset of the data of a class; the bytes before it are repeated in each segment.
inline std::size_t data_offset(std::uint8_t mad_class) {
    if (mad_class == 0x03) return 56;
    if (has_oui(mad_class)) return 40;
    return may_segment(mad_class) ? 64 : rmpp_body;
}

namespace rmpp {
enum type : std::uint8_t { data = 1, ack = 2, stop = 3, abort = 4 };
enum flag : std::uint8_t { active = 1, first = 2, last = 4 };
enum code : std::uint8_t {
    too_long = 118,
    bad_length = 119,
    bad_first = 120,
    bad_type = 121,
    window_too_small = 122,
    segment_too_big = 123,
    bad_status = 124,
    bad_version = 125,
    too_many_retries = 126,
};

inline bool is_active(const std::uint8_t* m) {
    return may_segment(class_of(m)) && (m[26] & active) != 0;
}
inline std::uint8_t version(const std::uint8_t* m) { return m[24]; }
inline std::uint8_t type_of(const std::uint8_t* m) { return m[25]; }
inline std::uint8_t flags(const std::uint8_t* m) { return m[26]; }
inline std::uint8_t status(const std::uint8_t* m) { return m[27]; }
inline std::uint32_t segment(const std::uint8_t* m) { return get32(m + 28); }
inline std::uint32_t payload_or_window(const std::uint8_t* m) { return get32(m + 32); }

inline void set(std::uint8_t* m, type what, std::uint8_t its_flags, std::uint8_t its_status,
                std::uint32_t data1, std::uint32_t data2) {
    m[24] = 1;
    m[25] = what;
    m[26] = static_cast<std::uint8_t>((m[26] & 0xf8) | active | its_flags);
    m[27] = its_status;
    put32(m + 28, data1);
    put32(m + 32, data2);
}
} // namespace rmpp

} // namespace irpverbs::umad
