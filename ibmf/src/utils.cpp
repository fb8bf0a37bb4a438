#include <ibmf/ibmf.h>
#include <ibmf/ibmf_utils.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace {

constexpr unsigned max_count = 65535;

struct item {
    unsigned size; // bytes
    unsigned count;
};

std::optional<unsigned> size_of(char letter) {
    switch (letter) {
    case 'c':
        return 1;
    case 's':
        return 2;
    case 'l':
        return 4;
    case 'L':
        return 8;
    default:
        return std::nullopt;
    }
}

// Returns the next item and moves `format` past it; nothing at the end or at an invalid item.
std::optional<item> next_item(const char*& format) {
    const char* at = format;
    const bool counted = *at >= '0' && *at <= '9';
    unsigned count = counted ? 0 : 1;
    for (; *at >= '0' && *at <= '9' && count <= max_count; ++at)
        count = count * 10 + static_cast<unsigned>(*at - '0');
    const std::optional<unsigned> size = size_of(*at);
    if (!size || count == 0 || count > max_count) return std::nullopt;
    format = at + 1;
    return item{*size, count};
}

// Converts between the byte order of the host and of the wire, in both directions.
void copy_swapped(std::uint8_t* to, const std::uint8_t* from, unsigned size) {
    for (unsigned i = 0; i < size; ++i)
        to[i] = from[__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? size - 1 - i : i];
}

// Calls move(offset on the wire, offset in the structure, size) for each element that fits.
template <class Move>
int convert(const char* format, std::size_t data_size, std::size_t structure_size, Move move) {
    std::size_t at = 0;
    std::size_t field = 0;
    while (const std::optional<item> next = next_item(format))
        for (unsigned i = 0; i < next->count; ++i) {
            const std::size_t aligned = (field + next->size - 1) / next->size * next->size;
            if (data_size - at < next->size || structure_size < aligned + next->size)
                return static_cast<int>(at);
            move(at, aligned, next->size);
            at += next->size;
            field = aligned + next->size;
        }
    return static_cast<int>(at);
}

} // namespace

int ibmf_utils_wire_size(const char* format) noexcept {
    if (format == nullptr) return IBMF_INVALID_ARG;
    long long size = 0;
    while (const std::optional<item> next = next_item(format)) {
        size += static_cast<long long>(next->size) * next->count;
        if (size > INT_MAX) return IBMF_INVALID_ARG;
    }
    return *format == '\0' ? static_cast<int>(size) : IBMF_INVALID_ARG;
}

int ibmf_utils_unpack_data(const char* format, const uchar_t* data, size_t datalen, void* structure,
                           size_t structlen) noexcept {
    if (data == nullptr || structure == nullptr) return IBMF_INVALID_ARG;
    if (ibmf_utils_wire_size(format) < 0) return IBMF_INVALID_ARG;
    auto* const to = static_cast<std::uint8_t*>(structure);
    return convert(format, datalen, structlen,
                   [&](std::size_t at, std::size_t field, unsigned size) {
                       copy_swapped(to + field, data + at, size);
                   });
}

int ibmf_utils_pack_data(const char* format, const void* structure, size_t structlen, uchar_t* data,
                         size_t datalen) noexcept {
    if (data == nullptr || structure == nullptr) return IBMF_INVALID_ARG;
    if (ibmf_utils_wire_size(format) < 0) return IBMF_INVALID_ARG;
    const auto* const from = static_cast<const std::uint8_t*>(structure);
    return convert(format, datalen, structlen,
                   [&](std::size_t at, std::size_t field, unsigned size) {
                       copy_swapped(data + at, from + field, size);
                   });
}
