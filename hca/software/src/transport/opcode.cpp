#include "opcode.hpp"

#include <array>
#include <cstddef>

namespace irpverbs::hca_software::transport {

namespace {

using enum operation;
using enum payload_rule;

constexpr std::size_t opcodes = 0x20; // of a service

/// Sizes of the extension headers, by bit.
constexpr std::array<UCHAR, 8> extension_sizes{8, 4, 16, 28, 4, 8, 4, 4};

constexpr opcode_row row(operation what, position where, payload_rule payload,
                         unsigned extensions = 0) {
    opcode_row made{what, where, static_cast<UCHAR>(extensions), payload, 0};
    for (std::size_t bit = 0; bit < extension_sizes.size(); ++bit)
        if ((extensions >> bit & 1) != 0)
            made.header_size = static_cast<UCHAR>(made.header_size + extension_sizes[bit]);
    return made;
}

using table = std::array<opcode_row, opcodes>;

// Source: IBA 9.2, table 35; 9.4 (the payload of each packet).
constexpr table of_unreliable_connection = [] {
    table made{};
    made[0x00] = row(send, first, full);
    made[0x01] = row(send, middle, full);
    made[0x02] = row(send, last, not_empty);
    made[0x03] = row(send, last, not_empty, has_immediate);
    made[0x04] = row(send, only, any);
    made[0x05] = row(send, only, any, has_immediate);
    made[0x06] = row(write, first, full, has_rdma);
    made[0x07] = row(write, middle, full);
    made[0x08] = row(write, last, not_empty);
    made[0x09] = row(write, last, not_empty, has_immediate);
    made[0x0A] = row(write, only, any, has_rdma);
    made[0x0B] = row(write, only, any, has_rdma | has_immediate);
    return made;
}();

constexpr table of_reliable_connection = [] {
    table made = of_unreliable_connection;
    made[0x0C] = row(read, only, none, has_rdma);
    made[0x0D] = row(read_response, first, full, has_acknowledge);
    made[0x0E] = row(read_response, middle, full);
    made[0x0F] = row(read_response, last, not_empty, has_acknowledge);
    made[0x10] = row(read_response, only, any, has_acknowledge);
    made[0x11] = row(acknowledge, only, none, has_acknowledge);
    made[0x12] = row(atomic_acknowledge, only, none, has_acknowledge | has_result);
    made[0x13] = row(compare_swap, only, none, has_atomic);
    made[0x14] = row(fetch_add, only, none, has_atomic);
    made[0x16] = row(send, last, not_empty, has_invalidate);
    made[0x17] = row(send, only, any, has_invalidate);
    made[0x1D] = row(atomic_write, only, not_empty, has_rdma); // source: IBA annex A19
    return made;
}();

constexpr table of_unreliable_datagram = [] {
    table made{};
    made[0x04] = row(send, only, any, has_datagram);
    made[0x05] = row(send, only, any, has_datagram | has_immediate);
    return made;
}();

constexpr bool is_request(operation what) {
    return what == send || what == write || what == read || what == compare_swap ||
           what == fetch_add || what == atomic_write;
}

// Every request names a shared receive queue. Source: IBA annex A14 (XRC packets).
constexpr table of_extended_reliable_connection = [] {
    table made = of_reliable_connection;
    for (opcode_row& each : made)
        if (is_request(each.what))
            each = row(each.what, each.where, each.payload,
                       unsigned{each.extensions} | has_shared_receive);
    return made;
}();

constexpr table of_no_service{};

template <class Enum>
constexpr std::size_t index(Enum value) {
    return static_cast<std::size_t>(value);
}

constexpr trailer trailer_of(const opcode_row& of) {
    if (of.has(has_immediate)) return trailer::immediate;
    return of.has(has_invalidate) ? trailer::invalidate : trailer::none;
}

/// Opcodes by operation, position and trailer. A reliable connection has all of them, and the other
/// services use the same low bits.
constexpr auto codes = [] {
    std::array<std::array<std::array<UCHAR, 3>, 4>, 10> made{};
    for (std::size_t code = 0; code < opcodes; ++code) {
        const opcode_row& of = of_reliable_connection[code];
        made[index(of.what)][of.where][index(trailer_of(of))] = static_cast<UCHAR>(code);
    }
    return made;
}();

const table& table_of(service which) {
    switch (which) {
    case service::reliable_connection:
        return of_reliable_connection;
    case service::unreliable_connection:
        return of_unreliable_connection;
    case service::unreliable_datagram:
        return of_unreliable_datagram;
    case service::extended_reliable_connection:
        return of_extended_reliable_connection;
    case service::reliable_datagram:
        break;
    }
    return of_no_service;
}

} // namespace

const opcode_row& row_of(UCHAR opcode) {
    return table_of(service_of(opcode))[opcode & ~unsigned{service_mask}];
}

UCHAR opcode_of(service of, operation what, position where, trailer with) {
    const UCHAR low = codes[index(what)][where][index(with)];
    return static_cast<UCHAR>(static_cast<UCHAR>(of) | low);
}

} // namespace irpverbs::hca_software::transport
