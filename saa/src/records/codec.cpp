// The codec between wire bytes and host structures, driven by the table of fields.
#include <records/codec.hpp>

#include <algorithm>
#include <array>
#include <bit>

namespace irpverbs::saa {

using layout::is_block;
using layout::low_bits;
using layout::read_bits;
using layout::write_bits;

namespace layout {

std::uint64_t read_bits(const std::uint8_t* bytes, std::size_t bit, unsigned width) {
    const std::size_t end = bit + width;
    std::uint64_t value = 0;
    for (std::size_t i = bit / 8; i * 8 < end; ++i)
        value = value << 8 | bytes[i];
    return value >> ((8 - end % 8) % 8) & low_bits(width);
}

// The destination bits are zero before the call.
void write_bits(std::uint8_t* bytes, std::size_t bit, unsigned width, std::uint64_t value) {
    const std::size_t end = bit + width;
    value = (value & low_bits(width)) << ((8 - end % 8) % 8);
    for (std::size_t i = (end + 7) / 8; i-- > bit / 8; value >>= 8)
        bytes[i] = static_cast<std::uint8_t>(bytes[i] | value);
}

} // namespace layout

namespace {

template <class Member>
std::uint64_t load_as(const std::uint8_t* member) {
    Member value;
    std::memcpy(&value, member, sizeof value);
    return value;
}

std::uint64_t load(const std::uint8_t* member, unsigned size) {
    switch (size) {
    case 1:
        return *member;
    case 2:
        return load_as<std::uint16_t>(member);
    case 4:
        return load_as<std::uint32_t>(member);
    default:
        return load_as<std::uint64_t>(member);
    }
}

template <class Member>
void store_as(std::uint8_t* member, std::uint64_t value) {
    const Member narrow = static_cast<Member>(value);
    std::memcpy(member, &narrow, sizeof narrow);
}

void store(std::uint8_t* member, unsigned size, std::uint64_t value) {
    switch (size) {
    case 1:
        store_as<std::uint8_t>(member, value);
        break;
    case 2:
        store_as<std::uint16_t>(member, value);
        break;
    case 4:
        store_as<std::uint32_t>(member, value);
        break;
    default:
        store_as<std::uint64_t>(member, value);
        break;
    }
}

std::size_t wire_end(const field& f) {
    return f.wire_bit + (f.count - 1u) * f.wire_stride + f.wire_width;
}

void pack_by_table(const record_type& type, const std::uint8_t* host, std::uint8_t* wire) {
    for (const field& f : type.fields) {
        if (is_block(f)) {
            std::memcpy(wire + f.wire_bit / 8, host + f.host_offset, f.count);
            continue;
        }
        for (std::size_t i = 0; i < f.count; ++i)
            write_bits(wire, f.wire_bit + i * f.wire_stride, f.wire_width, get_element(f, host, i));
    }
}

// `size`: the bytes on the wire.
void unpack_by_table(const record_type& type, const std::uint8_t* wire, std::size_t size,
                     std::uint8_t* host) {
    for (const field& f : type.fields) {
        if (wire_end(f) > size * 8) continue;
        if (is_block(f)) {
            std::memcpy(host + f.host_offset, wire + f.wire_bit / 8, f.count);
            continue;
        }
        for (std::size_t i = 0; i < f.count; ++i)
            set_element(f, host, i, read_bits(wire, f.wire_bit + i * f.wire_stride, f.wire_width));
    }
}

} // namespace

std::uint64_t get_element(const field& f, const void* host, std::size_t index) noexcept {
    const auto* member =
        static_cast<const std::uint8_t*>(host) + f.host_offset + index * f.host_stride;
    return load(member, f.host_size) >> f.host_shift & low_bits(f.wire_width);
}

void set_element(const field& f, void* host, std::size_t index, std::uint64_t value) noexcept {
    auto* member = static_cast<std::uint8_t*>(host) + f.host_offset + index * f.host_stride;
    const std::uint64_t mask = low_bits(f.wire_width) << f.host_shift;
    const std::uint64_t others = load(member, f.host_size) & ~mask;
    store(member, f.host_size, others | (value << f.host_shift & mask));
}

std::uint64_t component_of(const field& f, std::size_t index) noexcept {
    if (f.count == 1 || std::popcount(f.component) != f.count) return f.component;
    return 1ull << (static_cast<std::size_t>(std::countr_zero(f.component)) + index);
}

std::size_t pack(const record_type& type, const void* host, std::span<std::uint8_t> wire) noexcept {
    if (wire.size() < type.wire_size) return 0;
    std::memset(wire.data(), 0, type.wire_size);
    if (type.pack_all != nullptr)
        type.pack_all(host, wire.data());
    else
        pack_by_table(type, static_cast<const std::uint8_t*>(host), wire.data());
    return type.wire_size;
}

bool unpack(const record_type& type, std::span<const std::uint8_t> wire, void* host) noexcept {
    if (wire.size() < type.old_wire_size) return false;
    const bool whole = wire.size() >= type.wire_size;
    std::memset(host, 0, type.host_size);
    if (whole && type.unpack_all != nullptr)
        type.unpack_all(wire.data(), host);
    else
        unpack_by_table(type, wire.data(), whole ? type.wire_size : type.old_wire_size,
                        static_cast<std::uint8_t*>(host));
    return true;
}

std::optional<record_table> record_table::parse(const record_type& type,
                                                std::uint16_t attribute_offset,
                                                std::span<const std::uint8_t> payload) noexcept {
    record_table table;
    if (payload.empty()) return table; // OpenSM's empty table has AttributeOffset 0
    table.stride_ = std::size_t{attribute_offset} * 8;
    if (table.stride_ < type.old_wire_size) return std::nullopt;
    table.record_size_ =
        table.stride_ < type.wire_size ? type.old_wire_size : std::size_t{type.wire_size};
    const std::size_t whole = payload.size() / table.stride_;
    // The last record may lack its padding.
    const bool short_last = payload.size() % table.stride_ >= table.record_size_;
    table.count_ = whole + (short_last ? 1 : 0);
    table.payload_ = payload;
    return table;
}

std::span<const std::uint8_t> record_table::operator[](std::size_t index) const noexcept {
    return payload_.subspan(index * stride_, record_size_);
}

bool matches(const record_type& type, std::uint64_t mask, const void* wanted,
             const void* candidate) noexcept {
    for (const field& f : type.fields) {
        if ((f.component & mask) == 0) continue;
        for (std::size_t i = 0; i < f.count; ++i)
            if ((component_of(f, i) & mask) != 0 &&
                get_element(f, wanted, i) != get_element(f, candidate, i))
                return false;
    }
    return true;
}

std::size_t pack_multipath(const sa_multipath_record_t& record, std::span<const ib_gid_t> gids,
                           std::span<std::uint8_t> wire) noexcept {
    const std::size_t size = layout_of(&record).wire_size;
    const std::size_t counted = std::size_t{record.SGIDCount} + record.DGIDCount;
    if (counted != gids.size() || wire.size() < size + counted * 16) return 0;
    pack(record, wire);
    std::uint8_t* at = wire.data() + size;
    std::memset(at, 0, counted * 16);
    for (const ib_gid_t& gid : gids) {
        write_bits(at, 0, 64, gid.gid_prefix);
        write_bits(at, 64, 64, gid.gid_guid);
        at += 16;
    }
    return size + counted * 16;
}

std::optional<std::size_t> unpack_multipath(std::span<const std::uint8_t> wire,
                                            sa_multipath_record_t& record,
                                            std::span<ib_gid_t> out) noexcept {
    const auto fixed = unpack<sa_multipath_record_t>(wire);
    if (!fixed) return std::nullopt;
    const std::size_t size = layout_of(&record).wire_size;
    const std::size_t counted = std::size_t{fixed->SGIDCount} + fixed->DGIDCount;
    if (wire.size() - size < counted * 16) return std::nullopt;
    record = *fixed;
    for (std::size_t i = 0; i < std::min(counted, out.size()); ++i) {
        const std::uint8_t* at = wire.data() + size + i * 16;
        out[i] = {read_bits(at, 0, 64), read_bits(at, 64, 64)};
    }
    return counted;
}

} // namespace irpverbs::saa
