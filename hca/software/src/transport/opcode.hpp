// The opcodes of the base transport header, as data.
#pragma once

#include <dispatch/ntdef.h>

namespace irpverbs::hca_software::transport {

/// The transport service: the high 3 bits of an opcode. Source: IBA 9.2, table 35.
enum class service : UCHAR {
    reliable_connection = 0x00,
    unreliable_connection = 0x20,
    reliable_datagram = 0x40,
    unreliable_datagram = 0x60,
    extended_reliable_connection = 0xA0,
};
inline constexpr UCHAR service_mask = 0xE0;

/// The operation of which a packet is a part.
enum class operation : UCHAR {
    reserved,
    send,
    write,
    read,
    read_response,
    acknowledge,
    atomic_acknowledge,
    compare_swap,
    fetch_add,
    atomic_write,
};

/// The place of a packet in its message: `only` is first and last.
enum position : UCHAR { middle = 0, first = 1, last = 2, only = first | last };

/// Extension headers, as bits, in the order in which they follow the base transport header.
enum extension : UCHAR {
    has_datagram = 0x01,       // DETH
    has_shared_receive = 0x02, // XRCETH
    has_rdma = 0x04,           // RETH
    has_atomic = 0x08,         // AtomicETH
    has_acknowledge = 0x10,    // AETH
    has_result = 0x20,         // AtomicAckETH
    has_immediate = 0x40,      // ImmDt
    has_invalidate = 0x80,     // IETH
};

enum class payload_rule : UCHAR {
    none,      // no payload
    full,      // the path MTU
    not_empty, // 1 byte to the path MTU
    any,       // 0 to the path MTU
};

struct opcode_row {
    operation what = operation::reserved;
    position where = only;
    UCHAR extensions = 0;
    payload_rule payload = payload_rule::none;
    UCHAR header_size = 0; // bytes of all extension headers

    constexpr bool is_first() const { return (where & first) != 0; }
    constexpr bool is_last() const { return (where & last) != 0; }
    constexpr bool has(extension which) const { return (extensions & which) != 0; }
};

inline service service_of(UCHAR opcode) { return service(opcode & service_mask); }

/// A row whose operation is reserved: the service has no such opcode.
const opcode_row& row_of(UCHAR opcode);

/// The header of a last packet that carries data of the message beside the payload.
enum class trailer : UCHAR { none, immediate, invalidate };

/// The opcode of a packet that the service has.
UCHAR opcode_of(service of, operation what, position where, trailer with = trailer::none);

} // namespace irpverbs::hca_software::transport
