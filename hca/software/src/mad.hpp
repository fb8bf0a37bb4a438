// Datagrams as bytes: offsets and big-endian numbers.
#pragma once

#include <ci/mad.h>

#include <boost/endian/conversion.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace irpverbs::hca_software {

using mad_bytes = std::array<UCHAR, IB_MAD_SIZE>;

/// The bytes of an attribute, in the classes that the fabric itself serves. Source: IBA 14.2.1.
using attribute_bytes = std::span<UCHAR, 64>;

/// Reads and writes `Size` bytes, most significant first. The caller ensures that they exist.
template <std::size_t Size>
std::uint64_t load(const UCHAR* from) {
    return boost::endian::endian_load<std::uint64_t, Size, boost::endian::order::big>(from);
}
template <std::size_t Size>
void store(UCHAR* to, std::uint64_t value) {
    boost::endian::endian_store<std::uint64_t, Size, boost::endian::order::big>(to, value);
}

inline USHORT load16(const UCHAR* from) { return static_cast<USHORT>(load<2>(from)); }
inline ULONG load32(const UCHAR* from) { return static_cast<ULONG>(load<4>(from)); }

inline constexpr UCHAR base_version = 1;
inline constexpr UCHAR max_hops = 63; // of a directed route
inline constexpr UCHAR response_bit = 0x80;
inline constexpr UCHAR response_time = 8;       // RespTimeValue of every agent: 1 ms
inline constexpr USHORT direction_bit = 0x8000; // directed route: the SMP is on its way back

enum mad_class : UCHAR {
    class_subnet = 0x01,
    class_directed = 0x81,
    class_administration = 0x03,
    class_performance = 0x04,
    class_connections = 0x07, // communication management
};

inline constexpr UCHAR connections_version = 2; // of class_connections

enum mad_method : UCHAR {
    method_get = 0x01,
    method_set = 0x02,
    method_send = 0x03,
    method_trap = 0x05,
    method_report = 0x06,
    method_trap_repress = 0x07,
    method_get_response = 0x81,
};

inline constexpr USHORT notice_id = 0x0002;

// Source: IBA 13.4.7 (status field).
enum mad_status : USHORT {
    status_ok = 0,
    status_bad_version = 0x0004,
    status_bad_method = 0x0008,
    status_bad_attribute = 0x000C,
    status_bad_field = 0x001C,
};

/// The common header, in place.
struct mad_header {
    UCHAR* bytes;

    UCHAR base() const { return bytes[0]; }
    UCHAR management_class() const { return bytes[1]; }
    UCHAR class_version() const { return bytes[2]; }
    UCHAR method() const { return bytes[3]; }
    USHORT status() const { return load16(bytes + 4); }
    std::uint64_t transaction() const { return load<8>(bytes + 8); }
    USHORT attribute() const { return load16(bytes + 16); }
    ULONG modifier() const { return load32(bytes + 20); }
    /// True for a response. Source: IBA 13.4.5 (TrapRepress answers a Trap).
    bool is_response() const {
        return (method() & response_bit) != 0 || method() == method_trap_repress;
    }
    bool is_subnet_management() const {
        return management_class() == class_subnet || management_class() == class_directed;
    }

    void set_method(UCHAR method) { bytes[3] = method; }
    void set_status(USHORT status) { store<2>(bytes + 4, status); }
    void set_transaction(std::uint64_t value) { store<8>(bytes + 8, value); }
};

inline mad_header header_of(mad_bytes& mad) { return {mad.data()}; }

/// The attribute of a datagram of classes 0x01, 0x81 and 0x04.
inline attribute_bytes attribute_of(mad_bytes& mad) { return std::span(mad).subspan<64, 64>(); }

inline constexpr std::size_t oui_offset = 37;

/// Subnet management uses QP0.
inline constexpr bool on_qp0(UCHAR management_class) {
    return management_class == class_subnet || management_class == class_directed;
}

} // namespace irpverbs::hca_software
