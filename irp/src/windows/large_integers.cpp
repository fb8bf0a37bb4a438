#include "standard.hpp"

#include <windows/wdk/rtl.h>

extern "C" {

ULONG RtlEnlargedUnsignedDivide(ULARGE_INTEGER Dividend, ULONG Divisor, PULONG Remainder) noexcept {
    if (Remainder != nullptr) *Remainder = static_cast<ULONG>(Dividend.QuadPart % Divisor);
    return static_cast<ULONG>(Dividend.QuadPart / Divisor);
}

LARGE_INTEGER RtlExtendedLargeIntegerDivide(LARGE_INTEGER Dividend, ULONG Divisor,
                                            PULONG Remainder) noexcept {
    const auto all = static_cast<ULONGLONG>(Dividend.QuadPart);
    if (Remainder != nullptr) *Remainder = static_cast<ULONG>(all % Divisor);
    return IrpverbsLarge(static_cast<LONGLONG>(all / Divisor));
}

LARGE_INTEGER RtlLargeIntegerDivide(LARGE_INTEGER Dividend, LARGE_INTEGER Divisor,
                                    PLARGE_INTEGER Remainder) noexcept {
    const auto all = static_cast<ULONGLONG>(Dividend.QuadPart);
    const auto by = static_cast<ULONGLONG>(Divisor.QuadPart);
    if (Remainder != nullptr) Remainder->QuadPart = static_cast<LONGLONG>(all % by);
    return IrpverbsLarge(static_cast<LONGLONG>(all / by));
}

LARGE_INTEGER RtlExtendedMagicDivide(LARGE_INTEGER Dividend, LARGE_INTEGER MagicDivisor,
                                     CCHAR ShiftCount) noexcept {
    const bool negative = Dividend.QuadPart < 0;
    const auto all = static_cast<ULONGLONG>(Dividend.QuadPart);
    const ULONGLONG size = negative ? 0 - all : all;
    const auto magic = static_cast<ULONGLONG>(MagicDivisor.QuadPart);
    __extension__ using wide = unsigned __int128;
    const auto high = static_cast<ULONGLONG>((wide{size} * magic) >> 64);
    const auto quotient = static_cast<LONGLONG>(high >> ShiftCount);
    return IrpverbsLarge(negative ? -quotient : quotient);
}

} // extern "C"
