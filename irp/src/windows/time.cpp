#include "standard.hpp"

#include <windows/wdk/rtl.h>

namespace {

using ticks = std::chrono::duration<LONGLONG, std::ratio<1, 10'000'000>>;
using days = std::chrono::sys_days;

constexpr LONGLONG second = 10'000'000;
constexpr LONGLONG year_1970 = 11644473600;
constexpr LONGLONG year_1980 = year_1970 + 315532800;

days first_day() { return std::chrono::year{1601} / 1 / 1; }

BOOLEAN seconds_since(LONGLONG start, const LARGE_INTEGER& time, ULONG& seconds) {
    const LONGLONG elapsed = time.QuadPart / second - start;
    if (time.QuadPart < 0 || elapsed < 0 || elapsed > MAXULONG) return FALSE;
    seconds = static_cast<ULONG>(elapsed);
    return TRUE;
}

} // namespace

extern "C" {

void RtlTimeToTimeFields(PLARGE_INTEGER Time, PTIME_FIELDS TimeFields) noexcept {
    const ticks time{Time->QuadPart};
    const auto whole = std::chrono::floor<std::chrono::days>(time);
    const days day = first_day() + whole;
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss clock{std::chrono::floor<std::chrono::milliseconds>(time - whole)};
    *TimeFields = {static_cast<CSHORT>(static_cast<int>(date.year())),
                   static_cast<CSHORT>(static_cast<unsigned>(date.month())),
                   static_cast<CSHORT>(static_cast<unsigned>(date.day())),
                   static_cast<CSHORT>(clock.hours().count()),
                   static_cast<CSHORT>(clock.minutes().count()),
                   static_cast<CSHORT>(clock.seconds().count()),
                   static_cast<CSHORT>(clock.subseconds().count()),
                   static_cast<CSHORT>(std::chrono::weekday{day}.c_encoding())};
}

BOOLEAN RtlTimeFieldsToTime(PTIME_FIELDS TimeFields, PLARGE_INTEGER Time) noexcept {
    const TIME_FIELDS& fields = *TimeFields;
    const std::chrono::year_month_day date{std::chrono::year{fields.Year},
                                           std::chrono::month{static_cast<unsigned>(fields.Month)},
                                           std::chrono::day{static_cast<unsigned>(fields.Day)}};
    const bool valid = fields.Year >= 1601 && date.ok() && fields.Hour >= 0 && fields.Hour < 24 &&
                       fields.Minute >= 0 && fields.Minute < 60 && fields.Second >= 0 &&
                       fields.Second < 60 && fields.Milliseconds >= 0 && fields.Milliseconds < 1000;
    if (!valid) return FALSE;
    const ticks time = (days{date} - first_day()) + std::chrono::hours{fields.Hour} +
                       std::chrono::minutes{fields.Minute} + std::chrono::seconds{fields.Second} +
                       std::chrono::milliseconds{fields.Milliseconds};
    Time->QuadPart = time.count();
    return TRUE;
}

BOOLEAN RtlTimeToSecondsSince1970(PLARGE_INTEGER Time, PULONG ElapsedSeconds) noexcept {
    return seconds_since(year_1970, *Time, *ElapsedSeconds);
}
BOOLEAN RtlTimeToSecondsSince1980(PLARGE_INTEGER Time, PULONG ElapsedSeconds) noexcept {
    return seconds_since(year_1980, *Time, *ElapsedSeconds);
}
void RtlSecondsSince1970ToTime(ULONG ElapsedSeconds, PLARGE_INTEGER Time) noexcept {
    Time->QuadPart = (ElapsedSeconds + year_1970) * second;
}
void RtlSecondsSince1980ToTime(ULONG ElapsedSeconds, PLARGE_INTEGER Time) noexcept {
    Time->QuadPart = (ElapsedSeconds + year_1980) * second;
}
void ExLocalTimeToSystemTime(PLARGE_INTEGER LocalTime, PLARGE_INTEGER SystemTime) noexcept {
    *SystemTime = *LocalTime;
}
void ExSystemTimeToLocalTime(PLARGE_INTEGER SystemTime, PLARGE_INTEGER LocalTime) noexcept {
    *LocalTime = *SystemTime;
}

ULONG RtlRandomEx(PULONG Seed) noexcept {
    constexpr ULONG modulus = 0x7fffffff;
    *Seed = static_cast<ULONG>((ULONGLONG{*Seed} * 48271 + 12345) % modulus);
    return *Seed;
}
ULONG RtlRandom(PULONG Seed) noexcept { return RtlRandomEx(Seed); }
ULONG RtlUniform(PULONG Seed) noexcept { return RtlRandomEx(Seed); }

} // extern "C"
