#include <ci/support/crc32.hpp>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace irpverbs::ci {

namespace {

using bytes = std::span<const std::uint8_t>;

#ifdef __x86_64__

constexpr std::uint32_t polynomial = 0xEDB88320; // its highest power is the lowest bit

// x^`power` modulo the polynomial, multiplied by x: the product of two reflected numbers lacks that
// factor.
constexpr std::int64_t factor(unsigned power) {
    std::uint32_t made = 1u << 31;
    while (power-- != 0)
        made = made >> 1 ^ ((made & 1) != 0 ? polynomial : 0);
    return static_cast<std::int64_t>(std::uint64_t{made} << 1);
}

constexpr std::size_t lane = 16; // bytes of a register
constexpr std::size_t stride = 4 * lane;

#define IRPVERBS_CARRYLESS __attribute__((target("pclmul,sse4.1")))

IRPVERBS_CARRYLESS __m128i load(const std::uint8_t* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

// Moves 16 bytes behind `Distance` bytes, modulo the polynomial, and adds them to those there.
template <std::size_t Distance>
IRPVERBS_CARRYLESS __m128i fold(__m128i what, __m128i onto) {
    const __m128i by = _mm_set_epi64x(factor(8 * Distance - 32), factor(8 * Distance + 32));
    const __m128i low = _mm_clmulepi64_si128(what, by, 0x00);
    const __m128i high = _mm_clmulepi64_si128(what, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), onto);
}

// Finds 16 bytes with the CRC that whole strides have behind the state; the state in front of the
// 16 is 0. Source: Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ.
IRPVERBS_CARRYLESS void shorten(std::uint32_t state, bytes what, std::uint8_t* to) {
    const std::uint8_t* at = what.data();
    __m128i parts[4] = {load(at), load(at + lane), load(at + 2 * lane), load(at + 3 * lane)};
    parts[0] = _mm_xor_si128(parts[0], _mm_cvtsi32_si128(static_cast<int>(state)));
    for (std::size_t done = stride; done < what.size(); done += stride)
        for (std::size_t i = 0; i < 4; ++i)
            parts[i] = fold<stride>(parts[i], load(at + done + i * lane));
    __m128i whole = fold<lane>(parts[0], parts[1]);
    whole = fold<lane>(whole, parts[2]);
    whole = fold<lane>(whole, parts[3]);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), whole);
}

bool has_carryless_multiplication() {
    static const bool has = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
    return has;
}

// Adds the first bytes, and returns those that are left.
bytes add_strides(boost::crc_32_type& state, bytes what) {
    const std::size_t whole = what.size() / stride * stride;
    if (whole == 0 || !has_carryless_multiplication()) return what;
    std::uint8_t shortened[lane];
    shorten(~state.checksum(), what.first(whole), shortened);
    state.reset(0);
    state.process_bytes(shortened, lane);
    return what.subspan(whole);
}

#else

bytes add_strides(boost::crc_32_type&, bytes what) { return what; }

#endif

} // namespace

void crc32::add(bytes what) {
    const bytes rest = add_strides(state_, what);
    state_.process_bytes(rest.data(), rest.size());
}

} // namespace irpverbs::ci
