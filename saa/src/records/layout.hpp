// Macros and functions that define the tables of fields.
#pragma once

#include <records/codec.hpp>

#include <array>

namespace irpverbs::saa::layout {

using enum field_kind;

/// A position on the wire, in bits.
constexpr std::uint16_t at(unsigned byte, unsigned bit = 0) {
    return static_cast<std::uint16_t>(byte * 8 + bit);
}

template <std::size_t N, std::size_t M>
constexpr std::array<field, N + M> operator+(const std::array<field, N>& first,
                                             const std::array<field, M>& second) {
    std::array<field, N + M> all{};
    for (std::size_t i = 0; i < N; ++i)
        all[i] = first[i];
    for (std::size_t i = 0; i < M; ++i)
        all[N + i] = second[i];
    return all;
}

/// Returns an attribute's fields as part of a record.
template <std::size_t N>
constexpr std::array<field, N> embedded(std::array<field, N> fields, std::size_t wire_byte,
                                        std::size_t host_offset) {
    for (field& f : fields) {
        f.wire_bit = static_cast<std::uint16_t>(f.wire_bit + wire_byte * 8);
        f.host_offset = static_cast<std::uint16_t>(f.host_offset + host_offset);
    }
    return fields;
}

/// Returns an attribute's fields without component bits, for the attribute by itself.
template <std::size_t N>
constexpr std::array<field, N> bare(std::array<field, N> fields) {
    for (field& f : fields)
        f.component = 0;
    return fields;
}

/// Whether each field lies within the record and the structure.
constexpr bool fits(std::span<const field> fields, std::size_t wire_size, std::size_t host_size) {
    for (const field& f : fields) {
        const std::size_t last = f.count - 1u;
        if (f.wire_bit + last * f.wire_stride + f.wire_width > wire_size * 8) return false;
        if (f.host_offset + last * f.host_stride + f.host_size > host_size) return false;
        if (f.wire_width + f.host_shift > f.host_size * 8) return false;
        if (f.wire_width > 57 && f.wire_bit % 8 != 0) return false; // read_bits accumulates 64 bits
    }
    return true;
}

} // namespace irpverbs::saa::layout

// One row per field of the structure HOST, which each table defines and undefines.
#define ROW(member, bit, width, mask, kind, ...)                                                   \
    field {                                                                                        \
#member, kind, 1, bit, width, width, offsetof(HOST, member), sizeof(HOST::member),         \
            sizeof(HOST::member), 0, mask, __VA_ARGS__                                             \
    }
#define ARRAY(member, bit, width, items, mask, kind)                                               \
    field {                                                                                        \
#member, kind, items, bit, width, width, offsetof(HOST, member), sizeof(HOST::member[0]),  \
            sizeof(HOST::member[0]), 0, mask, {}                                                   \
    }
// Two members or a structure of two, each of 64 bits.
#define PAIR(name, member, bit, mask, kind)                                                        \
    field {                                                                                        \
#name, kind, 2, bit, 64, 64, offsetof(HOST, member), 8, 8, 0, mask, {}                     \
    }
// One bit of a member that holds several.
#define BIT(name, member, shift, bit, mask)                                                        \
    field {                                                                                        \
#name, number, 1, bit, 1, 1, offsetof(HOST, member), 1, 1, shift, mask, {}                 \
    }
// A bit-field of the word of 32 bits at `offset`, `shift` bits from its low end.
#define BIT_FIELD(name, offset, shift, bit, width, kind, mask, ...)                                \
    field {                                                                                        \
#name, kind, 1, bit, width, width, offset, 4, 4, shift, mask, { __VA_ARGS__ }              \
    }
// A member of an array's elements, given by the first and the second element.
#define STRIDED(name, first, second, bit, width, stride, items, kind, mask)                        \
    field {                                                                                        \
#name, kind, items, bit, width, stride, offsetof(HOST, first),                             \
            offsetof(HOST, second) - offsetof(HOST, first), sizeof(HOST::first), 0, mask, {}       \
    }

// Defines layout_of for the structure `host`.
#define LAYOUT(host, record_name, id, size, old_size, table)                                       \
    static_assert(layout::fits(table, size, sizeof(host)));                                        \
    const record_type& layout_of(const host*) noexcept {                                           \
        static constexpr record_type type{record_name,                                             \
                                          id,                                                      \
                                          size,                                                    \
                                          old_size,                                                \
                                          sizeof(host),                                            \
                                          table,                                                   \
                                          layout::pack_all<table>,                                 \
                                          layout::unpack_all<table>};                              \
        return type;                                                                               \
    }
