// The syndrome of an acknowledgement: credits, and NAK codes.
#pragma once

#include "../event_scheduler.hpp"

#include <dispatch/ntdef.h>

#include <algorithm>
#include <array>

namespace irpverbs::hca_software::transport {

// Source: IBA 9.7.5.1 (AETH syndrome).
enum class syndrome_kind : UCHAR { acknowledged = 0, rnr_nak = 1, reserved = 2, nak = 3 };

enum nak_code : UCHAR {
    wrong_sequence = 0x60,
    invalid_request = 0x61,
    no_access = 0x62,
    failed_operation = 0x63,
};

inline constexpr UCHAR syndrome_value_mask = 0x1F;
inline constexpr UCHAR no_credits = 31; // the responder gives no credits: sends need none

inline syndrome_kind kind_of(UCHAR syndrome) { return syndrome_kind(syndrome >> 5 & 3); }
inline UCHAR rnr_nak_syndrome(UCHAR timer_code) {
    return static_cast<UCHAR>(0x20 | (timer_code & syndrome_value_mask));
}

/// The numbers of receives that codes of credits stand for. Source: IBA 9.7.7.2.4.
inline constexpr std::array<USHORT, no_credits> credits{
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

/// The code of the most credits that are not more than `receives`.
inline UCHAR credit_code(ULONG receives) {
    const auto above = std::ranges::upper_bound(credits, receives);
    return static_cast<UCHAR>(above - credits.begin() - 1);
}

/// The wait of a requester whose peer had no receive. Source: IBA 9.7.5.2.8, table 45.
inline constexpr std::array<ULONG, 32> rnr_times{
    // 10 us
    65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
    48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
    2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

inline machine_time rnr_time(UCHAR code) {
    return rnr_times[code & syndrome_value_mask] * 10 * microsecond;
}

/// The time after which a requester asks again; 0: never. Source: IBA 9.7.6.1.3 (4.096 us * 2^n).
inline machine_time acknowledge_timeout(UCHAR code) {
    code &= syndrome_value_mask;
    return code == 0 ? 0 : ((std::uint64_t{4096} << code) + 99) / 100;
}

} // namespace irpverbs::hca_software::transport
