// Wire bytes to host structures and back, as the compiler makes it of a table, all of whose places
// it knows. What is written lies in zeroes before.
#pragma once

#include <saa/records.hpp>

#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

namespace irpverbs::saa::layout {

constexpr std::uint64_t low_bits(unsigned width) {
    return width == 64 ? ~0ull : (1ull << width) - 1;
}

/// Names, data and forwarding tables: the same bytes on both sides.
constexpr bool is_block(const field& f) {
    return f.count > 1 && f.wire_width == 8 && f.wire_stride == 8 && f.host_size == 1 &&
           f.host_stride == 1 && f.host_shift == 0;
}

/// Bits wherever they are: read_bits as far as what it is told is known late.
std::uint64_t read_bits(const std::uint8_t* bytes, std::size_t bit, unsigned width);
void write_bits(std::uint8_t* bytes, std::size_t bit, unsigned width, std::uint64_t value);

/// The integer of so many bytes; of an odd number: nothing.
template <std::size_t Bytes>
using word = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t,
                       std::conditional_t<Bytes == 4, std::uint32_t,
                                          std::conditional_t<Bytes == 8, std::uint64_t, void>>>>;

template <class Word>
Word turned(Word value) {
    if constexpr (std::endian::native == std::endian::big || sizeof(Word) == 1) return value;
    if constexpr (sizeof(Word) == 2) return __builtin_bswap16(value);
    if constexpr (sizeof(Word) == 4) return __builtin_bswap32(value);
    if constexpr (sizeof(Word) == 8) return __builtin_bswap64(value);
}

template <unsigned Bit, unsigned Width>
std::uint64_t read(const std::uint8_t* bytes) {
    constexpr unsigned first = Bit / 8;
    constexpr unsigned end = (Bit + Width + 7) / 8;
    using whole = word<end - first>;
    if constexpr (std::is_void_v<whole>) {
        return read_bits(bytes, Bit, Width);
    } else {
        whole value;
        std::memcpy(&value, bytes + first, sizeof value);
        return turned(value) >> (end * 8 - Bit - Width) & low_bits(Width);
    }
}

template <unsigned Bit, unsigned Width>
void write(std::uint8_t* bytes, std::uint64_t value) {
    constexpr unsigned first = Bit / 8;
    constexpr unsigned end = (Bit + Width + 7) / 8;
    using whole = word<end - first>;
    if constexpr (std::is_void_v<whole>) {
        write_bits(bytes, Bit, Width, value);
    } else {
        whole others;
        std::memcpy(&others, bytes + first, sizeof others);
        const auto mine = static_cast<whole>((value & low_bits(Width)) << (end * 8 - Bit - Width));
        const auto all = static_cast<whole>(others | turned(mine));
        std::memcpy(bytes + first, &all, sizeof all);
    }
}

/// The member that a field is, or is a part of.
template <const auto& Table, std::size_t Field, std::size_t Element>
struct place {
    static constexpr const field& f = Table[Field];
    static constexpr std::size_t host = f.host_offset + Element * f.host_stride;
    static constexpr unsigned wire = static_cast<unsigned>(f.wire_bit + Element * f.wire_stride);
    using member = word<f.host_size>;

    static void pack(const std::uint8_t* from, std::uint8_t* to) {
        member value;
        std::memcpy(&value, from + host, sizeof value);
        write<wire, f.wire_width>(to, std::uint64_t{value} >> f.host_shift);
    }
    static void unpack(const std::uint8_t* from, std::uint8_t* to) {
        member others;
        std::memcpy(&others, to + host, sizeof others);
        const std::uint64_t value = read<wire, f.wire_width>(from);
        const auto all = static_cast<member>(others | value << f.host_shift);
        std::memcpy(to + host, &all, sizeof all);
    }
};

constexpr std::size_t most_written_out = 2; // elements of a field; more are a loop

template <const auto& Table, std::size_t Field>
using elements = std::make_index_sequence<Table[Field].count>;

template <const auto& Table, std::size_t Field>
void pack_field(const std::uint8_t* host, std::uint8_t* wire) {
    constexpr const field& f = Table[Field];
    if constexpr (is_block(f))
        std::memcpy(wire + f.wire_bit / 8, host + f.host_offset, f.count);
    else if constexpr (f.count <= most_written_out)
        [&]<std::size_t... Element>(std::index_sequence<Element...>) {
            (place<Table, Field, Element>::pack(host, wire), ...);
        }
    (elements<Table, Field>());
    else for (std::size_t i = 0; i < f.count; ++i)
        write_bits(wire, f.wire_bit + i * f.wire_stride, f.wire_width, get_element(f, host, i));
}

template <const auto& Table, std::size_t Field>
void unpack_field(const std::uint8_t* wire, std::uint8_t* host) {
    constexpr const field& f = Table[Field];
    if constexpr (is_block(f))
        std::memcpy(host + f.host_offset, wire + f.wire_bit / 8, f.count);
    else if constexpr (f.count <= most_written_out)
        [&]<std::size_t... Element>(std::index_sequence<Element...>) {
            (place<Table, Field, Element>::unpack(wire, host), ...);
        }
    (elements<Table, Field>());
    else for (std::size_t i = 0; i < f.count; ++i)
        set_element(f, host, i, read_bits(wire, f.wire_bit + i * f.wire_stride, f.wire_width));
}

template <const auto& Table>
void pack_all(const void* host, std::uint8_t* wire) {
    [&]<std::size_t... Field>(std::index_sequence<Field...>) {
        (pack_field<Table, Field>(static_cast<const std::uint8_t*>(host), wire), ...);
    }
    (std::make_index_sequence<Table.size()>());
}

template <const auto& Table>
void unpack_all(const std::uint8_t* wire, void* host) {
    [&]<std::size_t... Field>(std::index_sequence<Field...>) {
        (unpack_field<Table, Field>(wire, static_cast<std::uint8_t*>(host)), ...);
    }
    (std::make_index_sequence<Table.size()>());
}

} // namespace irpverbs::saa::layout
