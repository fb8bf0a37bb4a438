// Access to the fields of a message on the wire. Each message describes its fields once, to any
// access: at(position, width, member), where a position is in bits from the first byte behind the
// MAD header, and the most significant bit of a byte is its bit 0.
#pragma once

#include <cm/messages.hpp>

#include <algorithm>

namespace irpverbs::cm {

constexpr std::size_t at_byte(std::size_t byte, std::size_t bit = 0) { return byte * 8 + bit; }

/// The bytes that a field overlaps, at most 8, and the bits behind the field in the last of them.
struct field_extent {
    std::size_t first;
    std::size_t last;
    std::size_t behind;

    constexpr field_extent(std::size_t position, std::size_t width)
        : first(position / 8), last((position + width - 1) / 8),
          behind((last + 1) * 8 - position - width) {}
};

constexpr std::uint64_t mask_of(std::size_t width) { return ~std::uint64_t{0} >> (64 - width); }

/// Reads the fields into the members.
class field_reader {
public:
    explicit field_reader(std::span<const std::uint8_t, message_size> from) : from_(from) {}

    template <class Member>
    void operator()(std::size_t position, std::size_t width, Member& member) const {
        member = static_cast<Member>(bits(position, width));
    }
    void operator()(std::size_t position, ib_gid_t& gid) const {
        gid = {bits(position, 64), bits(position + 64, 64)};
    }
    template <std::size_t Size>
    void operator()(std::size_t position, bytes<Size>& data) const {
        std::ranges::copy(from_.subspan(position / 8, Size), data.begin());
    }

private:
    std::uint64_t bits(std::size_t position, std::size_t width) const {
        const field_extent where(position, width);
        std::uint64_t value = 0;
        for (std::size_t each = where.first; each <= where.last; ++each)
            value = value << 8 | from_[each];
        return value >> where.behind & mask_of(width);
    }

    std::span<const std::uint8_t, message_size> from_;
};

/// Writes the members into the fields, whose bits are 0 before.
class field_writer {
public:
    explicit field_writer(std::span<std::uint8_t, message_size> to) : to_(to) {}

    template <class Member>
    void operator()(std::size_t position, std::size_t width, const Member& member) const {
        put(position, width, static_cast<std::uint64_t>(member));
    }
    void operator()(std::size_t position, const ib_gid_t& gid) const {
        put(position, 64, gid.gid_prefix);
        put(position + 64, 64, gid.gid_guid);
    }
    template <std::size_t Size>
    void operator()(std::size_t position, const bytes<Size>& data) const {
        std::ranges::copy(data, to_.subspan(position / 8, Size).begin());
    }

private:
    void put(std::size_t position, std::size_t width, std::uint64_t value) const {
        const field_extent where(position, width);
        value = (value & mask_of(width)) << where.behind;
        for (std::size_t each = where.last + 1; each-- != where.first; value >>= 8)
            to_[each] = static_cast<std::uint8_t>(to_[each] | (value & 0xFF));
    }

    std::span<std::uint8_t, message_size> to_;
};

} // namespace irpverbs::cm

/// Defines the wire format of a message by its description: describe(message, access).
#define IRPVERBS_CM_MESSAGE(type, describe)                                                        \
    template <>                                                                                    \
    void store(const type& message, std::span<std::uint8_t, message_size> to) noexcept {           \
        std::ranges::fill(to, std::uint8_t{0});                                                    \
        describe(message, field_writer(to));                                                       \
    }                                                                                              \
    template <>                                                                                    \
    type load(std::span<const std::uint8_t, message_size> from) noexcept {                         \
        type message;                                                                              \
        describe(message, field_reader(from));                                                     \
        return message;                                                                            \
    }
